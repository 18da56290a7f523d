package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Broken returns the rules that were broken, in the order in which each was first.
func Broken(events []trace.Event) []string {
	var rules []string
	for _, e := range events {
		if v, is := e.Body.(trace.Violation); is && !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}

// Late returns how late the timers of a run of sc on the wall clock were at worst, and
// whether that was too late for its instants to be the scenario's.
func Late(sc *scenario.Scenario, events []trace.Event) (time.Duration, bool) {
	if len(events) == 0 {
		return 0, false
	}
	end, _ := events[len(events)-1].Body.(trace.End)
	return end.Lateness.Duration(), end.Late(sc.Lock.Lease)
}

// Unexpected returns how a run differs from what its scenario expects, one
// sentence per difference. With a nil expect there is none.
func Unexpected(expect *scenario.Expect, events []trace.Event) []phrase.Wording {
	if expect == nil {
		return nil
	}
	ends := map[string]string{}
	for _, e := range events {
		if b, is := e.Body.(trace.End); is {
			ends[e.Thread] = string(b.Result)
		}
	}
	var out []phrase.Wording
	if expect.Violations != nil {
		want := slices.Compact(slices.Sorted(slices.Values(*expect.Violations)))
		if got := slices.Sorted(slices.Values(Broken(events))); !slices.Equal(got, want) {
			out = append(out, phrase.Say("violations: expected %s, but there were %s", listed(want), listed(got)))
		}
	}
	for _, thread := range slices.Sorted(maps.Keys(expect.Outcome)) {
		want, got := expect.Outcome[thread], phrase.Plain(ends[thread])
		if ends[thread] == "" {
			got = phrase.Say("never ended")
		}
		if ends[thread] != want {
			out = append(out, phrase.Say("outcome of %s: expected %s, but it was %s", thread, want, got))
		}
	}
	return out
}

func listed(rules []string) phrase.Wording {
	if len(rules) == 0 {
		return phrase.Say("none")
	}
	return phrase.Plain(strings.Join(rules, ", "))
}
