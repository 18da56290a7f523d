package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"relock/engine/racetest"
)

const fragile = "../../lessons/scenarios/mutex-unsafe.yaml"

// The lines of -json are a contract, and each schedule in them breaks its rule
// when it is run as it stands.
func TestExploreAsJSONLines(t *testing.T) {
	racetest.Skip(t)
	found := func(args ...string) result {
		return playground(t, "", append(append([]string{"explore", "-json", "-delays", "2", "-faults", "crash", "-max-faults", "0"}, args...), fragile)...)
	}
	got := found("-check-redis=false")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	const first = `{"explore":1,"title":"SETNX, PEXPIRE, DEL: when all goes well","delays":2,"faults":["crash"],"max_faults":0,"ending":"exhausted","states":`
	if got.code != exitUnexpected || len(lines) != 5 || !strings.HasPrefix(lines[0], first) || !strings.HasSuffix(lines[0], `,"schedules":"182","broken":"115","by_standing_still":"6","verdict":"broken"}`) {
		t.Fatalf("exit code %d, %d lines: %s", got.code, len(lines), got.out)
	}
	if again := found("-check-redis=false", "-workers", "1"); again.out != got.out {
		t.Errorf("on one worker: %s", again.out)
	}
	if plain := regexp.MustCompile(`"checked_on":"[0-9.]+",`).ReplaceAllString(found().out, ""); plain != got.out || found().out == plain {
		t.Errorf("with a Redis of this machine: %s", found().out)
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
	racetest.Skip(t)
	scenario := strings.Split(read(t, fragile), "expect:")[0] + "expect: {explore: {delays: %s, faults: [crash], max-faults: 0, violations: [%s]}}\n"
	for _, c := range []struct {
		delays, violations string
		args               []string
		code               int
		err                string
	}{
		{"0", "", nil, exitOK, ""},
		{"1", "shut-out", nil, exitOK, ""},
		{"1", "", nil, exitUnexpected, "expected schedules that break no rule, but they break shut-out"},
		{"1", "shut-out", []string{"-max-states", "20"}, exitUnexpected, ""},
		{"1", "", []string{"-delays", "0"}, exitOK, ""}, // it says nothing about other bounds
		{"9", "", nil, exitUsage, "allowed: a whole number from 0 to 8"},
		{"0", "", []string{"-delays", "9"}, exitUsage, "delays must be 0 to 8"},
		{"0", "", []string{"-max-faults", "5"}, exitUsage, "faults must be 0 to 4"},
		{"0", "", []string{"-max-states", "-1"}, exitUsage, "states must be 1 to 5000000"},
		{"0", "", []string{"-max-states", "0"}, exitUsage, "states must be 1 to 5000000"},
		{"0", "", []string{"-max-faults", "1"}, exitUsage, "choose at least one kind of fault"},
		{"0", "", []string{"-max-faults", "1", "-faults", " , "}, exitUsage, "choose at least one kind of fault"},
		{"0", "shut-out", []string{"-delays", "0", "-faults", "crash", "-max-states", "6"}, exitUnexpected, ""}, // it says nothing about 1 fault
		{"0", "", []string{"-faults", "earthquake"}, exitUsage, `fault "earthquake" cannot strike in this scenario; allowed: pause, crash`},
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

// Kinds of faults alone mean that one of them strikes.
func TestExploreWithAFault(t *testing.T) {
	racetest.Skip(t)
	alone := playground(t, "", "explore", "-json", "-delays", "0", "-faults", "crash", fragile)
	said := playground(t, "", "explore", "-json", "-delays", "0", "-faults", "crash", "-max-faults", "1", fragile)
	if alone.code != exitUnexpected || alone.out != said.out || !strings.Contains(alone.out, `"max_faults":1`) {
		t.Errorf("exit code %d: %s, and with 1 fault %s", alone.code, alone.out, said.out)
	}
}

// A search that is cut short says why, and promises nothing; what it knows comes
// first, and then what was drawn, which is no share of all orders.
func TestExploreIsCutShort(t *testing.T) {
	racetest.Skip(t)
	got := playground(t, "", "explore", "-delays", "2", "-max-states", "60", fragile)
	at := -1
	for _, want := range []string{
		"some of the orders with at most 2 delays and no fault: ", "orders, in 60 states", "Of those tried",
		"The search was cut short: there are more than 60 states. Of ",
		"Of 1,000 orders drawn at random (PCT), ", "this is not a share of all",
	} {
		text := strings.Join(strings.Fields(got.out), " ")
		next := strings.Index(text, want)
		if next <= at {
			t.Fatalf("no %q after what comes before it in\n%s", want, got.out)
		}
		at = next
	}
	lines := playground(t, "", "explore", "-json", "-delays", "2", "-max-states", "60", fragile)
	var drawn struct{ Drawn, Broken int }
	all := strings.Split(strings.TrimSpace(lines.out), "\n")
	if err := json.Unmarshal([]byte(all[len(all)-1]), &drawn); err != nil {
		t.Fatal(err)
	}
	if drawn.Drawn != 1000 || drawn.Broken == 0 || drawn.Broken == drawn.Drawn {
		t.Errorf("drawn: %+v", drawn)
	}
	if !strings.Contains(all[0], `"ending":"bound","why":"there are more than 60 states","states":60`) {
		t.Errorf("first: %s", all[0])
	}
}

// If no order ends, it prints what it knows, and nobody waits.
func TestExploreWithoutAnEnd(t *testing.T) {
	racetest.Skip(t)
	const endless = `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: unlimited, interval: 20ms}}
defaults: {work: 10ms}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}, {thread: B, at: work, level: 1, do: stall}]
`
	got := playground(t, endless, "explore", "-delays", "0", "-max-states", "200", "-")
	text := strings.Join(strings.Fields(got.out), " ")
	for _, want := range []string{"No order was tried to the end, but some unfinished ones break a rule.", "in none that was", "(PCT) ended"} {
		if got.code != exitUnexpected || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", got.code, want, got.out)
		}
	}
}

func TestExploreInWords(t *testing.T) {
	racetest.Skip(t)
	got := playground(t, "", "explore", "-delays", "1", fragile)
	for _, want := range []string{"15 orders with at most 1 delay and no fault, in 60 states", "1 of 15 (7 %)", "shut out (shut-out)", "✗ shut out", "1 of 15 orders with at most 1 delay and no fault break a rule. All of them were tried."} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	sound := playground(t, "", "explore", "-lang", "zh", "-delays", "0", good)
	if !strings.Contains(sound.out, "没有一种违反规则；范围之外没有搜过。") {
		t.Errorf("in Chinese: %s", sound.out)
	}
}
