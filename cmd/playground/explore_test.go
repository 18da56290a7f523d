package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const fragile = "../../lessons/scenarios/mutex-unsafe.yaml"

// The lines of -json are a contract, and each schedule in them breaks its rule
// when it is run as it stands.
func TestExploreAsJSONLines(t *testing.T) {
	got := playground(t, "", "explore", "-json", "-delays", "2", "-faults", "crash", fragile)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	const first = `{"explore":1,"title":"SETNX, PEXPIRE, DEL: when all goes well","delays":2,"faults":["crash"],"max_faults":0,"ending":"exhausted","states":`
	if got.code != exitOK || len(lines) != 5 || !strings.HasPrefix(lines[0], first) || !strings.HasSuffix(lines[0], `,"schedules":"182","broken":"115"}`) {
		t.Fatalf("exit code %d, %d lines: %s", got.code, len(lines), got.out)
	}
	if again := playground(t, "", "explore", "-json", "-delays", "2", "-faults", "crash", "-workers", "1", fragile); again.out != got.out {
		t.Errorf("on one worker: %s", again.out)
	}
	cost := -1
	for _, line := range lines[1:] {
		var rule struct {
			Rule           string
			Delays, Faults int
			Schedule       json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &rule); err != nil {
			t.Fatal(err)
		}
		if rule.Delays+rule.Faults < cost {
			t.Errorf("%s is cheaper than the one before", rule.Rule)
		}
		cost = rule.Delays + rule.Faults
		text := strings.Split(read(t, fragile), "expect:")[0] + "schedule: " + string(rule.Schedule) + "\n"
		if run := playground(t, text, "run", "-json", "-"); !strings.Contains(run.out, fmt.Sprintf(`"rule":%q`, rule.Rule)) {
			t.Errorf("%s does not break %s", rule.Schedule, rule.Rule)
		}
	}
}

func TestExploreKeepsAScenarioToItsWord(t *testing.T) {
	scenario := strings.Split(read(t, fragile), "expect:")[0] + "expect: {explore: {delays: %s, faults: [crash], max-faults: 0, violations: [%s]}}\n"
	for _, c := range []struct {
		delays, violations string
		args               []string
		code               int
		err                string
	}{
		{"0", "", nil, exitOK, ""},
		{"1", "orphan", nil, exitOK, ""},
		{"1", "", nil, exitUnexpected, "expected schedules that break no rule, but they break orphan"},
		{"1", "orphan", []string{"-max-states", "20"}, exitUnexpected, ""},
		{"1", "", []string{"-delays", "0"}, exitOK, ""}, // of other bounds nothing is said
		{"9", "", nil, exitUsage, "allowed: a whole number from 0 to 8"},
		{"0", "", []string{"-delays", "9"}, exitUsage, "delays must be 0 to 8"},
		{"0", "", []string{"-max-faults", "5"}, exitUsage, "faults must be 0 to 4"},
		{"0", "", []string{"-max-states", "-1"}, exitUsage, "states must be 1 to 5000000"},
		{"0", "", []string{"-faults", "earthquake"}, exitUsage, `there is no fault "earthquake" that could strike in this scenario; allowed: pause, crash`},
	} {
		got := playground(t, fmt.Sprintf(scenario, c.delays, c.violations), append(append([]string{"explore", "-json"}, c.args...), "-")...)
		if got.code != c.code || !strings.Contains(got.err, c.err) {
			t.Errorf("%s delays, [%s], %v: exit code %d, want %d: %s", c.delays, c.violations, c.args, got.code, c.code, got.err)
		}
		if c.code == exitUsage && got.out != "" {
			t.Errorf("%v was half taken: %s", c.args, got.out)
		}
	}
}

func TestExploreInWords(t *testing.T) {
	got := playground(t, "", "explore", "-delays", "1", fragile)
	for _, want := range []string{"15 orders with at most 1 delay and no fault, in 60 states", "1 of 15 (7 %)", "key left behind (orphan)", "✗ key left behind", "1 of 15 orders with at most 1 delay and no fault break a rule. All of them were tried."} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	sound := playground(t, "", "explore", "-lang", "zh", "-delays", "0", good)
	if !strings.Contains(sound.out, "没有一种破坏规则；再往外没有查过。") {
		t.Errorf("in Chinese: %s", sound.out)
	}
}
