package lessons

import (
	"bytes"
	_ "embed" // the texts
	"errors"
	"fmt"
	"sync"

	"relock/engine/lock/exhibit"
	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

//go:embed protocols.yaml
var protocolTexts []byte

// Protocol says what a lock guarantees and where it fails.
type Protocol struct {
	Name       string        `yaml:"name"`
	Source     phrase.Text   `yaml:"source"`     // the article or library it comes from
	Guarantees []phrase.Text `yaml:"guarantees"` // at least one
	Holes      []phrase.Text `yaml:"holes"`      // at least one
}

// Protocols returns the texts in the order in which scenario.Protocols lists
// the locks. It fails if a text is missing or belongs to no lock.
var Protocols = sync.OnceValues(readProtocols)

func readProtocols() ([]Protocol, error) {
	var list []Protocol
	dec := yaml.NewDecoder(bytes.NewReader(protocolTexts))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("lessons: protocols.yaml: %w", err)
	}
	byName := map[string]Protocol{}
	for _, p := range list {
		if len(p.Guarantees) == 0 || len(p.Holes) == 0 || p.Source == "" {
			return nil, fmt.Errorf("lessons: protocols.yaml: %q needs a source, guarantees and holes", p.Name)
		}
		byName[p.Name] = p
	}
	var out []Protocol
	for _, known := range exhibit.All() {
		p, ok := byName[known.Name]
		if !ok {
			return nil, fmt.Errorf("lessons: protocols.yaml: no text about %q", known.Name)
		}
		out = append(out, p)
	}
	if len(out) != len(list) {
		return nil, errors.New("lessons: protocols.yaml: a text about no lock, or two about one")
	}
	return out, nil
}
