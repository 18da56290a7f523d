package page

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/words"
)

// Pointless are faults that would change nothing if they struck, and why. A field that is
// left out means all there are.
type Pointless struct {
	Do     []string `json:"do,omitempty"`
	Thread string   `json:"thread,omitempty"`
	At     []string `json:"at,omitempty"`
	For    string   `json:"for,omitempty"`  // "300ms": only those of this length
	Keep   bool     `json:"keep,omitempty"` // only those that keep the data
	Why    string   `json:"why"`            // a sentence
}

// NewPointless words in l what would change nothing at a position, in few
// entries.
func NewPointless(l words.Language, list []run.Pointless) []Pointless {
	var out []Pointless
	for _, p := range list {
		one := entry(*p.Fault, l.Sentence(p.Why.Says()))
		switch p.Why.Reason {
		case run.HasEnded:
			one.Do, one.At = nil, nil // whatever it is
		case run.IsPaused:
			one.For = phrase.Duration(p.Fault.For)
		}
		out = add(out, one)
	}
	return merged(out)
}

// NewNever words in l what can never strike in a scenario.
func NewNever(l words.Language, sc *scenario.Scenario) []Pointless {
	var out []Pointless
	for _, s := range sc.Strikes() {
		if s.Never != "" {
			one := entry(s.Fault, l.Say("This cannot happen with %s.", s.Never))
			one.Thread = "" // none of them can have it
			out = add(out, one)
		}
	}
	return merged(out)
}

func entry(f scenario.Fault, why string) Pointless {
	one := Pointless{Do: []string{f.Do}, Thread: f.Thread, Keep: f.Keep, Why: why}
	if f.At != "" {
		one.At = []string{f.At}
	}
	return one
}

// add adds an entry, to the kinds of one that differs in nothing else.
func add(list []Pointless, one Pointless) []Pointless {
	for i, o := range list {
		same := o.Thread == one.Thread && o.For == one.For && o.Why == one.Why && slices.Equal(o.At, one.At)
		if one.Keep && !o.Keep && same && slices.Contains(o.Do, fault.Restart) {
			return list // what loses nothing without data loses nothing with them
		}
		if !same || o.Keep != one.Keep {
			continue
		}
		if len(one.Do) > 0 && !slices.Contains(o.Do, one.Do[0]) {
			list[i].Do = append(list[i].Do, one.Do[0])
		}
		return list
	}
	return append(list, one)
}

// merged makes one entry of those that differ in their calls only.
func merged(list []Pointless) []Pointless {
	var out []Pointless
	for _, one := range list {
		i := slices.IndexFunc(out, func(o Pointless) bool {
			return len(o.At) > 0 && len(one.At) > 0 && o.Thread == one.Thread && o.Why == one.Why && slices.Equal(o.Do, one.Do)
		})
		if i < 0 {
			out = append(out, one)
		} else {
			out[i].At = append(out[i].At, one.At...)
		}
	}
	return out
}
