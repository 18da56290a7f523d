package lab_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Where an order is over, each thread tries once more, alone: what stays in Redis is told by
// whether it keeps anybody out, and for how long.
func TestShutOutIsTried(t *testing.T) {
	racetest.Skip(t)
	for name, c := range map[string]struct {
		worker string
		faults []string
		rule   bool
		length trace.Millis
		says   string
	}{
		"a token is lost":               {"one token", []string{lab.LoseRequest}, true, trace.NoExpiry, "nobody ever gets in: B's request was lost"},
		"a count stays":                 {"counts up and down", []string{lab.LoseRequest}, true, trace.NoExpiry, "nobody ever gets in"},
		"the head of a line is dead":    {"a line", []string{lab.LoseRequest}, true, trace.NoExpiry, "only A can ever get in"},
		"a lease goes on":               {"nothing stays", []string{lab.LoseRequest}, true, trace.MillisOf(2 * time.Second), "nobody gets in for 2s"},
		"a deadline that is its own":    {"a deadline of its own clock", []string{lab.LoseRequest}, true, trace.MillisOf(3 * time.Second), "nobody gets in for 3s"},
		"who asked has died":            {"dies", []string{lab.LoseReply}, true, trace.NoExpiry, "nobody ever gets in"},
		"there is no more work":         {"sold out", nil, false, 0, ""},
		"the resource says no more":     {"nothing is due", nil, false, 0, ""},
		"tokens come back":              {"one token", nil, false, 0, ""},
		"a counter shuts nobody out":    {"nothing stays", nil, false, 0, ""},
		"a line without faults is fair": {"a line", nil, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, c.worker)
			o.Faults, o.MaxFaults = c.faults, len(c.faults)
			if c.worker == "nothing is due" {
				o.Resource = "due"
			}
			found := search(t, o)
			for _, r := range found.Rules {
				if r.Name != check.ShutOut {
					continue
				}
				if !c.rule {
					t.Fatalf("%s: %v", r.Name, r.Order.Decisions)
				}
				_, events, err := r.Order.Trace(found, o, "")
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if v, ok := e.Body.(trace.Violation); ok {
						if v.Rule == check.ShutOut && (v.For != c.length || !strings.Contains(v.Detail, c.says)) {
							t.Errorf("for %v, want %v: %s", v.For, c.length, v.Detail)
						}
					}
				}
				return
			}
			if c.rule {
				t.Errorf("nobody is shut out in %d orders: %s", found.Orders, rules(found))
			}
		})
	}
}

// A worker may count a lease from an instant that stands in the data, by its own clock: then
// nobody knows whether it would ever get in.
func TestNobodyKnowsWhenItsOwnClockLetsIn(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "since when by its own clock")
	o.Faults, o.MaxFaults = []string{lab.LoseRequest}, 1
	found := search(t, o)
	if len(found.Rules) > 0 || found.Evidence.Judge().Verdict != verdict.Unjudged {
		t.Errorf("%+v: %s", found.Evidence.Judge(), rules(found))
	}
}
