package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Limits of Bounds.MaxStates.
const (
	MaxStates = 5_000_000 // some 300 bytes each

	DefaultStates = 1_000_000
)

// Errors of Bounds.Check.
var (
	ErrDelays = phrase.New("delays must be 0 to %d", scenario.MaxDelays)
	ErrFaults = phrase.New("faults must be 0 to %d", scenario.MaxStruck)
	ErrStates = phrase.New("states must be 1 to %d", MaxStates)
	ErrKinds  = phrase.New("choose at least one kind of fault, or no faults")
)

// Bounds say how far a search goes.
type Bounds struct {
	Delays    int      // 0 to scenario.MaxDelays
	Kinds     []string // of faults that may strike; at least one where MaxFaults is more than 0
	MaxFaults int      // that strike, 0 to scenario.MaxStruck
	MaxStates int      // 1 to MaxStates; 0 is DefaultStates

	// Lengths are how long a fault may last that lasts for a while: each is tried. Nil is
	// as long as the kind lasts by hand.
	Lengths []time.Duration

	// From is the moves that are made already: the search goes on from there.
	From []scenario.Move
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
	return phrase.Say("fault %q cannot strike in this scenario; allowed: %s", e.kind, strings.Join(e.allowed, ", "))
}

// Check returns b with its defaults filled in. It fails with ErrDelays,
// ErrFaults, ErrStates or ErrKinds, or with an error that names the kinds of faults that sc
// can have.
func (b Bounds) Check(sc *scenario.Scenario) (Bounds, error) {
	if b.MaxStates == 0 {
		b.MaxStates = DefaultStates
	}
	switch {
	case b.Delays < 0 || b.Delays > scenario.MaxDelays:
		return b, fmt.Errorf("explore: %w", ErrDelays)
	case b.MaxFaults < 0 || b.MaxFaults > scenario.MaxStruck:
		return b, fmt.Errorf("explore: %w", ErrFaults)
	case b.MaxStates < 1 || b.MaxStates > MaxStates:
		return b, fmt.Errorf("explore: %w", ErrStates)
	case b.MaxFaults > 0 && len(b.Kinds) == 0:
		return b, fmt.Errorf("explore: %w", ErrKinds)
	}
	allowed := sc.StrikeKinds()
	for _, kind := range b.Kinds {
		if !slices.Contains(allowed, kind) {
			return b, fmt.Errorf("explore: %w", &kindError{kind, allowed})
		}
	}
	return b, nil
}

// faults returns the faults that may strike.
func (b Bounds) faults(sc *scenario.Scenario) []scenario.Fault {
	var list []scenario.Fault
	if b.MaxFaults == 0 {
		return nil
	}
	for _, s := range sc.Strikes() {
		if s.Never != "" || !slices.Contains(b.Kinds, s.Fault.Do) {
			continue
		}
		if s.Fault.For == 0 || len(b.Lengths) == 0 {
			list = append(list, s.Fault)
			continue
		}
		for _, s.Fault.For = range b.Lengths {
			list = append(list, s.Fault)
		}
	}
	return list
}
