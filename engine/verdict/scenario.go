package verdict

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Of returns the evidence of no order yet of a scenario: of a lock that is known to
// be exclusive, with the scenario's own faults and those of some other kinds asked
// for.
func Of(sc *scenario.Scenario, kinds []string) *Evidence {
	e := &Evidence{Shared: sc.Lock.Kind.Shared(), Advice: Advice{
		NoKey:    Help{Says: phrase.Say("Choose a lock that has a key in Redis.")},
		Nobody:   Help{Says: phrase.Say("Give the threads more retries, or remove a fault that keeps them out.")},
		One:      Help{Says: phrase.Say("Give it more retries, start it later, or play every order.")},
		Unstruck: Help{Says: phrase.Say("Let it strike earlier or elsewhere, or remove it.")},
		Cut:      Help{Says: phrase.Say("Allow more states, or fewer delays and faults.")},

		Unreached: Help{Says: phrase.Say("Add what leads there: a level more (depth), a fault, or what the script answers (replies).")},
	}, Unreached: releases(sc.Lock)}
	if len(sc.Threads) == 1 {
		e.Advice.One.Says = phrase.Say("Add a second thread.")
	}
	asked := func(fault, thread string, at time.Duration) {
		i := slices.IndexFunc(e.Unstruck, func(o Unstruck) bool { return o.Fault == fault && o.Thread == thread })
		if i < 0 {
			i = len(e.Unstruck)
			e.Unstruck = append(e.Unstruck, Unstruck{Fault: fault, Thread: thread})
		}
		e.Unstruck[i].at = max(e.Unstruck[i].at, at)
	}
	for _, f := range sc.Faults {
		if f.Timed {
			asked(f.Do, f.Thread, f.Time)
		} else {
			asked(f.Do, f.Thread, 0)
		}
	}
	for _, kind := range kinds {
		asked(kind, "", 0)
	}
	return e
}

// removes matches a command in a script that takes something away.
var removes = regexp.MustCompile(`(?i)redis\.p?call\(\s*['"](DEL|UNLINK|DELEX|GETDEL|HDEL|ZREM|SREM|LREM|LPOP|RPOP)['"]`)

// releases are the lines of an own lock's unlock script that take something away.
func releases(l scenario.Lock) []Release {
	if !l.Own() {
		return nil
	}
	var list []Release
	for _, s := range l.Implementation().Scripts {
		if s.Call != lock.CallUnlock {
			continue
		}
		number := 0
		for line := range strings.Lines(s.Source) {
			number++
			if code, _, _ := strings.Cut(line, "--"); removes.MatchString(code) {
				list = append(list, Release{Line{s.Name, number}, strings.TrimSpace(code)})
			}
		}
	}
	return list
}

// OfRun is the judgement on one order of a scenario, which was played.
func OfRun(sc *scenario.Scenario, events []trace.Event) Judgement {
	w := Watching(Of(sc, nil))
	for i := range events {
		w.See(events[i])
	}
	return w.Judge()
}

// Watch judges one order while it is played. It is not safe for concurrent use.
type Watch struct {
	before  *Evidence
	witness Witness
	each    []Witness // of several locks, if each has to be judged
	broken  []string  // rules
	over    time.Duration
}

// Watching returns a watch that has seen no event, of a lock of which this is known before;
// it changes nothing there.
func Watching(before *Evidence) *Watch { return &Watch{before: before} }

// See takes the next event: each rule that it says is broken applies.
func (w *Watch) See(e trace.Event) {
	w.witness.See(e)
	if w.before.Each {
		w.each = append(w.each, make([]Witness, max(len(e.Locks)-len(w.each), 0))...)
		for i := range e.Locks {
			if mine, ok := e.Of(i); ok {
				w.each[i].See(mine)
			}
		}
	}
	if v, violation := e.Body.(trace.Violation); violation {
		w.broken = append(w.broken, v.Rule)
	}
	w.over = e.At.Duration()
}

// Judge concludes from the events so far.
func (w *Watch) Judge() Judgement {
	e := *w.before
	e.Unstruck, e.Unreached = slices.Clone(e.Unstruck), slices.Clone(e.Unreached)
	e.Broken = slices.Concat(e.Broken, w.broken)
	witness := w.witness
	if len(w.each) > 0 {
		witness = OfEach(w.each)
		witness.Struck = w.witness.Struck
	}
	e.Add(&witness)
	for i, u := range e.Unstruck {
		if u.at > w.over {
			e.Unstruck[i].Why = phrase.Say("The run was over before.")
		}
	}
	return e.Judge()
}
