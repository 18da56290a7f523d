package course

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // what was found
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"sync"

	"relock/engine/explore"
	"relock/engine/scenario"
)

// foundJSON is what the searches of the built-in course found, so that nobody
// waits for them. `make generate` makes it, and a test searches once more.
//
//go:embed found.json
var foundJSON []byte

// keptFound is a Found in that file, by what was searched.
type keptFound struct {
	Schedule json.RawMessage `json:"schedule,omitempty"`
	Cost     int             `json:"cost,omitempty"`
	Broken   *big.Int        `json:"broken"`
	Standing *big.Int        `json:"by_standing_still,omitempty"`
	All      *big.Int        `json:"all"`
}

var keptFounds = sync.OnceValues(func() (map[string]keptFound, error) {
	out := map[string]keptFound{}
	if err := json.Unmarshal(foundJSON, &out); err != nil {
		return nil, fmt.Errorf("course: found.json: %w", err)
	}
	return out, nil
})

// searchKey tells a search from others: whatever its outcome depends on.
func searchKey(sc *scenario.Scenario, rule string, within explore.Bounds) (string, error) {
	text, err := sc.Compact()
	if err != nil {
		return "", fmt.Errorf("course: %w", err)
	}
	of := fmt.Appendf(nil, "%s\n%s\n%d %v %d", text, rule, within.Delays, within.Kinds, within.MaxFaults)
	if len(within.Lengths) > 0 {
		of = fmt.Append(of, within.Lengths)
	}
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:12]), nil
}

// found reads what was kept of a search of sc.
func (k keptFound) found(sc *scenario.Scenario, within explore.Bounds) (*Found, error) {
	f := &Found{All: k.All, Broken: k.Broken, Standing: k.Standing, Cost: k.Cost, Within: within}
	if len(k.Schedule) == 0 {
		return f, nil
	}
	var err error
	if f.Schedule, err = sc.ParseMoves(k.Schedule); err != nil {
		return nil, fmt.Errorf("course: found.json: %w", err)
	}
	return f, nil
}

func keep(f *Found) (keptFound, error) {
	k := keptFound{Cost: f.Cost, Broken: f.Broken, All: f.All}
	if f.Standing != nil && f.Standing.Sign() > 0 {
		k.Standing = f.Standing
	}
	if f.Schedule != nil {
		var err error
		if k.Schedule, err = json.Marshal(f.Schedule); err != nil {
			return k, fmt.Errorf("course: %w", err)
		}
	}
	return k, nil
}

// Found is what the searches of all items have found, as JSON: for the
// built-in course the file that BuiltIn reads. It fails with Mistakes.
func (c *Course) Found() ([]byte, error) {
	all := map[string]keptFound{}
	for _, i := range c.All() {
		if _, err := i.Made(); err != nil {
			return nil, err
		}
		maps.Copy(all, i.searched)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", " ")
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	return out.Bytes(), nil
}
