package verdict

import (
	"slices"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Of returns the evidence of no order yet of a scenario: of a lock that is known to
// be exclusive, with the scenario's own faults and those of some other kinds asked
// for.
func Of(sc *scenario.Scenario, kinds []string) *Evidence {
	e := &Evidence{Advice: Advice{
		NoKey:    phrase.Say("Choose a lock that has a key in Redis."),
		Nobody:   phrase.Say("Give the threads more retries, or take a fault away that keeps them out."),
		One:      phrase.Say("Give it more retries, start it later, or play every order: explore."),
		Unstruck: phrase.Say("Let it strike earlier or elsewhere, or take it away."),
		Cut:      phrase.Say("Allow more states, or fewer delays and faults."),
	}}
	if len(sc.Threads) == 1 {
		e.Advice.One = phrase.Say("Add a second thread.")
	}
	asked := func(fault, thread string) {
		u := Unstruck{Fault: fault, Thread: thread}
		if !slices.ContainsFunc(e.Unstruck, func(o Unstruck) bool { return o.Fault == fault && o.Thread == thread }) {
			e.Unstruck = append(e.Unstruck, u)
		}
	}
	for _, f := range sc.Faults {
		asked(f.Do, f.Thread)
	}
	for _, kind := range kinds {
		asked(kind, "")
	}
	return e
}

// OfRun is the judgement on one order of a scenario, which was played.
func OfRun(sc *scenario.Scenario, events []trace.Event) Judgement {
	e := Of(sc, nil)
	e.Play(events)
	if len(events) > 0 {
		over := events[len(events)-1].At.Duration()
		for i, u := range e.Unstruck {
			late := func(f scenario.Fault) bool {
				return f.Do == u.Fault && f.Thread == u.Thread && f.Timed && f.Time > over
			}
			if slices.ContainsFunc(sc.Faults, late) {
				e.Unstruck[i].Why = phrase.Say("The run was over before.")
			}
		}
	}
	return e.Judge()
}
