package film

import (
	"slices"

	"relock/engine/check"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// Cause is a link of the chain by which a rule came to be broken.
type Cause struct {
	Row    int    // of the film, from 1
	Says   string // a sentence: what the film says of the event
	Broken string // of the last: what a person calls the rule
	Seq    int    // of the event
}

// Causes says in l how a run of sc came to break a rule: check.Causes of the first
// violation of a row, which counts from 1, or where the row breaks none, of the run. A
// run without a violation has no causes.
func Causes(l words.Language, sc *scenario.Scenario, h trace.Header, events []trace.Event, row int) []Cause {
	broke, rows := -1, 0 // of the events up to the violation
	for i, e := range events {
		if i == 0 || events[i-1].Step != e.Step {
			rows++
		}
		if _, is := e.Body.(trace.Violation); is && (broke < 0 || rows == row) {
			broke = i
			if rows >= row {
				break
			}
		}
		if broke >= 0 && rows > row {
			break
		}
	}
	if broke < 0 {
		return nil
	}
	events = events[:broke+1]
	seqs := check.Causes(events, h.Owners)
	teller := NarratorOf(l, sc, h)
	var list []Cause
	rows = 0
	for i, e := range events {
		if i == 0 || events[i-1].Step != e.Step {
			rows++
		}
		says := teller.Tell(e)
		if slices.Contains(seqs, e.Seq) {
			list = append(list, Cause{Row: rows, Says: says, Seq: e.Seq})
		}
	}
	v := events[broke].Body.(trace.Violation)
	if len(list) > 0 {
		list[len(list)-1].Broken = l.Clause(sc.Lock.Kind.Title(v.Rule))
	}
	return list
}
