package advice_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/trace"
	"relock/lessons/advice"
	"relock/lessons/lessonstest"
)

// Each rule has a cure. The run of a cure breaks no rule that it is
// against, but for two inside where the resource decides.
func TestCuresHold(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range check.Names() {
		list := append(advice.Cures([]advice.Broken{{Rule: rule}}), advice.Cures([]advice.Broken{{Rule: rule, Faults: []string{"lose-reply"}, ForEver: true}})...)
		if len(list) == 0 {
			t.Errorf("nothing helps against %s", rule)
		}
		for _, c := range list {
			seen[c.Name] = true
			shown := lessonstest.Play(t, c.Run+".yaml")
			guarded := shown.Scenario.Resource != nil && shown.Scenario.Resource.Checks != ""
			for _, e := range shown.Events {
				v, broken := e.Body.(trace.Violation)
				if broken && slices.Contains(c.Rules, v.Rule) && (!guarded || check.Harms(v.Rule)) {
					t.Errorf("%s: its run %s breaks %s", c.Name, c.Run, v.Rule)
				}
			}
			if got := slices.Sorted(maps.Keys(c.Code)); len(got) > 0 && !slices.Equal(got, slices.Sorted(slices.Values(advice.Languages))) {
				t.Errorf("%s has code in %v", c.Name, got)
			}
		}
	}
	if len(seen) < 11 {
		t.Errorf("%d cures", len(seen))
	}
}

func TestCuresBeginWithHarm(t *testing.T) {
	for _, c := range []struct {
		broken []advice.Broken
		want   string
	}{
		{[]advice.Broken{{Rule: "mutual-exclusion"}, {Rule: "lost-update", Harms: true}}, "check-at-the-resource one-statement take-in-one-command"},
		{[]advice.Broken{{Rule: "mutual-exclusion", Faults: []string{"lease-ends"}}}, "check-at-the-resource"},
		{[]advice.Broken{{Rule: "shut-out", Faults: []string{"lose-reply"}}, {Rule: "done-twice", Harms: true}}, "idempotency-key give-back-what-may-be-yours"},
		{[]advice.Broken{{Rule: "shut-out", Faults: []string{"lose-request"}, ForEver: true}}, "take-in-one-command"},
		{[]advice.Broken{{Rule: "shut-out", Faults: []string{"lose-request"}}}, ""},
		{[]advice.Broken{{Rule: "foreign-release"}}, "compare-and-delete"},
		{nil, ""},
	} {
		var names []string
		for _, one := range advice.Cures(c.broken) {
			names = append(names, one.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.broken, got, c.want)
		}
	}
}

func TestTheLanguageOfAWorker(t *testing.T) {
	for command, want := range map[string]string{
		"python3 worker.py": "python", "/usr/bin/python3.11 -u a": "python", "node w.mjs": "node", "npx tsx w.ts": "node", "java -jar w.jar": "java", "./worker": "go", "go run .": "go", "": "go",
	} {
		if got := advice.LanguageOf(strings.Fields(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
