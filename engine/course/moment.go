package course

import (
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Moment is a place in a run, as the package comment describes it. The zero
// value is none.
type Moment struct {
	text   string
	before bool
	nth    int // from 1; 0 is none
	is     func(trace.Event) bool
	edge   string // "start" or "end"
	rule   string // that is broken, or ""
}

// Zero reports whether it is none.
func (m Moment) Zero() bool { return m.text == "" }

// String is the moment as it was written.
func (m Moment) String() string { return m.text }

// results are the words for what comes of a call, or of a thread.
var results = []trace.Result{
	trace.Acquired, trace.Reentered, trace.Refused, trace.Released, trace.Decremented, trace.Renewed,
	trace.Aged, trace.NotHeld, trace.Exhausted, trace.Lost, trace.Cancelled, trace.Failed, trace.Done, trace.Crashed,
}

// doings are other words for what a thread does.
var doings = map[string]func(trace.Body) bool{
	"works":  func(b trace.Body) bool { w, ok := b.(trace.Work); return ok && w.State == trace.WorkBegin },
	"worked": func(b trace.Body) bool { w, ok := b.(trace.Work); return ok && w.State == trace.WorkEnd },
	"waits":  func(b trace.Body) bool { _, ok := b.(trace.Wait); return ok },
	"reads":  func(b trace.Body) bool { r, ok := b.(trace.Resource); return ok && r.Op == trace.OpRead },
	"writes": func(b trace.Body) bool { r, ok := b.(trace.Resource); return ok && r.Op == trace.OpWrite },
	"ended":  func(b trace.Body) bool { _, ok := b.(trace.End); return ok },
}

// parseMoment reads a moment of a run of sc.
func parseMoment(text string, sc *scenario.Scenario) (Moment, error) {
	m := Moment{text: text, nth: 1}
	words := strings.Fields(text)
	if n := len(words); n > 1 {
		if nth, err := strconv.Atoi(words[n-1]); err == nil {
			if nth < 1 {
				return Moment{}, phrase.New("%q: 1 is the first", text)
			}
			m.nth, words = nth, words[:n-1]
		}
	}
	if len(words) > 1 && words[0] == "before" {
		m.before, words = true, words[1:]
	}
	if len(words) == 0 {
		return Moment{}, phrase.New("%q is no moment", text)
	}
	isThread := func(name string) bool {
		return slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == name })
	}
	switch first := words[0]; {
	case len(words) == 1 && (first == "start" || first == "end"):
		m.edge = first
	case len(words) == 1 && first == "expired":
		m.is = func(e trace.Event) bool { return e.Kind() == trace.KindExpired }
	case len(words) == 1 && first == "kept":
		m.is = func(e trace.Event) bool { return e.Key.Exists() && e.Key.PTTL == trace.NoExpiry }
	case len(words) == 2 && first == "broken":
		rule, ok := check.Named(words[1])
		if !ok {
			return Moment{}, phrase.New("%q: there is no rule %q; allowed: %s", text, rule, strings.Join(check.Names(), ", "))
		}
		m.rule = rule
		m.is = func(e trace.Event) bool {
			v, ok := e.Body.(trace.Violation)
			name, _ := check.Named(v.Rule) // a kept trace may be older than it
			return ok && name == rule
		}
	case len(words) > 1 && first == "believe":
		for _, t := range words[1:] {
			if !isThread(t) {
				return Moment{}, phrase.New("%q: there is no thread %q", text, t)
			}
		}
		m.is = func(e trace.Event) bool {
			for _, t := range words[1:] {
				if e.Belief[t] == 0 {
					return false
				}
			}
			return true
		}
	case len(words) == 1 && isFault(first):
		m.is = func(e trace.Event) bool { f, ok := e.Body.(trace.Fault); return ok && f.Do == first }
	case len(words) == 2 && isThread(first):
		does, err := doing(words[1])
		if err != nil {
			return Moment{}, phrase.New("%q: %s", text, err)
		}
		m.is = func(e trace.Event) bool { return e.Thread == first && does(e.Body) }
	default:
		return Moment{}, phrase.New("%q is no moment of this scenario", text)
	}
	return m, nil
}

func isFault(name string) bool { _, ok := fault.Named(name); return ok }

func doing(word string) (func(trace.Body) bool, error) {
	if slices.Contains(results, trace.Result(word)) {
		return func(b trace.Body) bool {
			switch b := b.(type) {
			case trace.Outcome:
				return b.Result == trace.Result(word)
			case trace.End:
				return b.Result == trace.Result(word)
			default:
				return false
			}
		}, nil
	}
	if does, ok := doings[word]; ok {
		return does, nil
	}
	if isFault(word) {
		return func(b trace.Body) bool { f, ok := b.(trace.Fault); return ok && f.Do == word }, nil
	}
	if word == strings.ToUpper(word) {
		return func(b trace.Body) bool { c, ok := b.(trace.Command); return ok && strings.EqualFold(c.Arg(0), word) }, nil
	}
	return nil, phrase.New("nothing is called %q", word)
}

// find returns the index of the moment's event; -1 for "start". If the run never gets
// there, ok is false.
func (m Moment) find(events []trace.Event) (at int, ok bool) {
	switch m.edge {
	case "start":
		return -1, true
	case "end":
		return len(events) - 1, true
	}
	left := m.nth
	for i, e := range events {
		if m.is(e) {
			if left--; left == 0 {
				return i, true
			}
		}
	}
	return 0, false
}

// stand returns how many events there are when the stage is at the moment: all of its
// step, or those before it.
func (m Moment) stand(events []trace.Event) (count int, ok bool) {
	at, ok := m.find(events)
	if !ok || at < 0 {
		return 0, ok
	}
	step := events[at].Step
	if m.before {
		return slices.IndexFunc(events, func(e trace.Event) bool { return e.Step == step }), true
	}
	return stepEnd(events, at), true
}

// stepEnd is how many events there are when the step of the one at i is over.
func stepEnd(events []trace.Event, i int) int {
	end := i + 1
	for end < len(events) && events[end].Step == events[i].Step {
		end++
	}
	return end
}
