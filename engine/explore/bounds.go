package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Limits of Bounds.
const (
	MaxDelays = 8 // two dozen decisions and eight delays make more orders than anybody waits for
	MaxFaults = 4

	// MaxStates bounds what a search holds: some 300 bytes a state.
	MaxStates = 5_000_000

	// DefaultStates is for a person who waits.
	DefaultStates = 1_000_000
)

// Errors of Bounds.Check.
var (
	ErrDelays    = phrase.New("delays must be 0 to %d", MaxDelays)
	ErrMaxFaults = phrase.New("faults must be 0 to %d", MaxFaults)
	ErrStates    = phrase.New("states must be 1 to %d", MaxStates)
)

// Bounds say how far a search goes.
type Bounds struct {
	Delays    int      // how often nobody moves though somebody could, 0 to MaxDelays
	Faults    []string // the kinds that may be struck by hand
	MaxFaults int      // how many in all, 0 to MaxFaults
	MaxStates int      // 1 to limit MaxStates; 0 is DefaultStates
	From      []scenario.Move
}

// kindError refuses a kind of fault.
type kindError struct {
	kind    string
	allowed []string
}

// Error says it in English.
func (e *kindError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *kindError) Says() phrase.Wording {
	return phrase.Say("this scenario has no fault %q that could be struck by hand; it has %s", e.kind, strings.Join(e.allowed, ", "))
}

// Check returns b with its defaults filled in. It fails with ErrDelays,
// ErrMaxFaults or ErrStates, or with an error that names the kinds of faults
// that sc can have.
func (b Bounds) Check(sc *scenario.Scenario) (Bounds, error) {
	if b.MaxStates == 0 {
		b.MaxStates = DefaultStates
	}
	switch {
	case b.Delays < 0 || b.Delays > MaxDelays:
		return b, fmt.Errorf("explore: %w", ErrDelays)
	case b.MaxFaults < 0 || b.MaxFaults > MaxFaults:
		return b, fmt.Errorf("explore: %w", ErrMaxFaults)
	case b.MaxStates < 1 || b.MaxStates > MaxStates:
		return b, fmt.Errorf("explore: %w", ErrStates)
	}
	allowed := Kinds(sc)
	for _, kind := range b.Faults {
		if !slices.Contains(allowed, kind) {
			return b, &kindError{kind, allowed}
		}
	}
	return b, nil
}

// Kinds returns the kinds of faults that can be struck by hand in sc, in the
// order in which they are explained.
func Kinds(sc *scenario.Scenario) []string {
	var list []string
	for _, s := range sc.Strikes() {
		if s.Never == "" && !slices.Contains(list, s.Fault.Do) {
			list = append(list, s.Fault.Do)
		}
	}
	return list
}

var (
	_ = strconv.Itoa
	_ = fault.Pause
)
