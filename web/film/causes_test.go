package film_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// rowOf is the number of an event's row.
func rowOf(events []trace.Event, seq int) int {
	row := 0
	for i, e := range events {
		if i == 0 || events[i-1].Step != e.Step {
			row++
		}
		if e.Seq == seq {
			return row
		}
	}
	return 0
}

var lengths = regexp.MustCompile(`\d[\d,]* ms`)

// Of each bundled scenario that breaks a rule the causes are events of their rows, in
// order, the last is in the row that breaks it, and what they say is of who is in them.
func TestEachCauseIsInItsRow(t *testing.T) {
	t.Parallel()
	told := 0
	for _, name := range lessonstest.Names(t) {
		run := lessonstest.Play(t, name)
		seen := map[string]bool{}
		for _, e := range run.Events {
			v, is := e.Body.(trace.Violation)
			if !is || seen[v.Rule] {
				continue
			}
			seen[v.Rule] = true
			row := rowOf(run.Events, e.Seq)
			list := film.Causes(words.English, run.Scenario, run.Header, run.Events, row)
			if len(list) == 0 || len(list) > check.MostCauses {
				t.Fatalf("%s, %s: %d causes", name, v.Rule, len(list))
			}
			last := list[len(list)-1]
			if last.Row != row || last.Broken == "" {
				t.Errorf("%s, %s at row %d: it ends with %+v", name, v.Rule, row, last)
			}
			for i, c := range list {
				told++
				if rowOf(run.Events, c.Seq) != c.Row || i > 0 && c.Seq <= list[i-1].Seq || c.Says == "" {
					t.Errorf("%s, %s: %+v is not in its row, or out of order", name, v.Rule, c)
				}
				of := run.Events[slices.IndexFunc(run.Events, func(e trace.Event) bool { return e.Seq == c.Seq })]
				if of.Thread != "" && !strings.Contains(c.Says, of.Thread) {
					t.Errorf("%s, %s: it says %q of an event of %s", name, v.Rule, c.Says, of.Thread)
				}
				if b, struck := of.Body.(trace.Fault); struck && b.Do == fault.Pause {
					if want := words.English.Duration(b.ForMS.Duration()); b.ForMS > 0 && !slices.Contains(lengths.FindAllString(c.Says, -1), want) {
						t.Errorf("%s, %s: it says %q of a pause of %s", name, v.Rule, c.Says, want)
					}
				}
				if _, ends := of.Body.(trace.Expired); ends && !strings.Contains(c.Says, "drops") {
					t.Errorf("%s, %s: it says %q of a lease that ends", name, v.Rule, c.Says)
				}
			}
		}
	}
	if told < 300 {
		t.Errorf("%d causes were told", told)
	}
}

// Without a fault that is told as a cause a bundled scenario does not break the rule as
// it does with it.
func TestACauseIsNeeded(t *testing.T) {
	t.Parallel()
	without := 0
	for _, name := range lessonstest.Names(t) {
		run := lessonstest.Play(t, name)
		i := slices.IndexFunc(run.Events, func(e trace.Event) bool { return e.Kind() == trace.KindViolation })
		if i < 0 || len(run.Scenario.Schedule) > 0 {
			continue
		}
		v := run.Events[i].Body.(trace.Violation)
		for _, c := range film.Causes(words.English, run.Scenario, run.Header, run.Events, 0) {
			b, struck := run.Events[c.Seq-1].Body.(trace.Fault)
			if !struck {
				continue
			}
			sc := *run.Scenario
			sc.Faults = nil
			for _, f := range run.Scenario.Faults {
				if f.Do != b.Do || f.Thread != run.Events[c.Seq-1].Thread && f.Thread != b.Thread || f.Node != 0 && f.Node != b.Node {
					sc.Faults = append(sc.Faults, f)
				}
			}
			if len(sc.Faults) == len(run.Scenario.Faults) {
				continue // drift, which is a thread's
			}
			without++
			for _, e := range lessonstest.PlayScenario(t, &sc).Events {
				if again, is := e.Body.(trace.Violation); is && again.Rule == v.Rule && slices.Equal(again.Threads, v.Threads) && e.At == run.Events[i].At {
					t.Errorf("%s: without %q %s is broken all the same", name, c.Says, v.Rule)
				}
			}
		}
	}
	if without < 20 {
		t.Errorf("%d faults were left out", without)
	}
}

// Of a run that breaks no rule there is nothing to tell.
func TestNoCauses(t *testing.T) {
	t.Parallel()
	run := lessonstest.Play(t, "two-threads.yaml")
	if list := film.Causes(words.English, run.Scenario, run.Header, run.Events, 3); list != nil {
		t.Errorf("%+v", list)
	}
}
