package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"relock/engine/racetest"
)

const late = "../../lessons/scenarios/late-write-without-a-token.yaml"

// The lines of -json are a contract: what was, each change, and what follows. Each
// scenario in them breaks what its line says.
func TestMendAsJSONLines(t *testing.T) {
	racetest.Skip(t)
	got := playground(t, "", "mend", "-json", "-delays", "1", "-max-states", "1000", "../../lessons/scenarios/mutex-get-del-foreign-release.yaml")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	const first = `{"mend":1,"title":"Between GET and DEL the lock becomes another's","delays":1,"faults":[],"max_faults":0,"max_states":1000,"changes":18,"orders":"`
	if got.code != exitOK || len(lines) != 20 || !strings.HasPrefix(lines[0], first) {
		t.Fatalf("exit code %d, %d lines: %s %s", got.code, len(lines), got.out, got.err)
	}
	few := []string{"mend", "-json", "-delays", "0", "-max-states", "1000", "../../lessons/scenarios/mutex-get-del-foreign-release.yaml"}
	if some, one := playground(t, "", few...), playground(t, "", slices.Insert(few, 2, "-workers", "1")...); one.out != some.out || !strings.Contains(one.out, `"delays":0`) {
		t.Errorf("on one worker: %s", one.out)
	}
	for n, line := range lines[1 : len(lines)-1] {
		if testing.Short() && n%6 > 0 {
			continue
		}
		var cure struct {
			Change, Verdict, Orders, Broken string
			All                             bool
			Scenario                        json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &cure); err != nil {
			t.Fatal(err)
		}
		if !cure.All {
			continue
		}
		alone := playground(t, string(cure.Scenario), "explore", "-json", "-delays", "1", "-")
		if !strings.Contains(alone.out, `"schedules":"`+cure.Orders+`","broken":"`+cure.Broken+`"`) {
			t.Errorf("%s: %s of %s, but explored alone: %s", cure.Change, cure.Broken, cure.Orders, alone.out)
		}
	}
	var last struct {
		Tried  int
		Best   []string
		Mended bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Tried != 18 || !last.Mended || last.Best[0] != "checks: token, protocol: fenced" {
		t.Errorf("%s, %v", lines[len(lines)-1], err)
	}
}

func TestMendExitCodes(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"-delays", "1", fragile}, exitOK, ""},
		{[]string{"-delays", "0", late}, exitOK, ""}, // with the help of what it protects
		{[]string{"-delays", "0", "../../lessons/scenarios/lease-expiry.yaml"}, exitOK, ""},
		{[]string{"-delays", "0", good}, exitOK, ""}, // there is nothing to mend
		{[]string{"-delays", "9", good}, exitUsage, "delays must be 0 to 8"},
		{[]string{"-max-states", "0", good}, exitUsage, "states must be 1 to 5000000"},
		{[]string{"-faults", "earthquake", good}, exitUsage, `fault "earthquake" cannot strike in this scenario; allowed: pause, crash`},
		{[]string{"-post-mortem", good}, exitUsage, "-json and -post-mortem: allowed: one of them"},
		{[]string{good, fragile}, exitUsage, "mend takes one scenario file"},
		{nil, exitUsage, "mend takes one scenario file"},
		{[]string{"nowhere.yaml"}, exitUsage, "nowhere.yaml"},
	} {
		got := playground(t, "", append([]string{"mend", "-json"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.err, c.err) || c.code == exitUsage && got.out != "" {
			t.Errorf("%v: exit code %d, want %d: %s %s", c.args, got.code, c.code, got.err, got.out)
		}
	}
}

// The best stands first, a lease is no cure where a longer pause breaks it, and the
// terminal says both.
func TestMendInWords(t *testing.T) {
	racetest.Skip(t)
	got := playground(t, "", "mend", "-delays", "0", late)
	text := strings.Join(strings.Fields(got.out), " ")
	at := -1
	for _, want := range []string{
		"As it is, 1 of 1 orders with no delay and no fault but the scenario's own break a rule.", "One change each", "A lease of 500 ms", "mutual-exclusion 1 → 0/1", "with a pause of 500 ms: 1",
		"Best first. Where two mend it,", "1. A fencing token, checked by the resource", "2. A version, checked by the resource", "3. A watchdog that runs apart from the work", "4. A lease of 500 ms", "With a pause of 500 ms, 1 of 1 do.", "For one rule, where others stay broken:", "– Stop when the lock is lost", "No lock can mend this alone: the resource it protects must decide.",
	} {
		next := strings.Index(text, want)
		if next <= at {
			t.Fatalf("no %q after what comes before it in\n%s", want, got.out)
		}
		at = next
	}
	if zh := playground(t, "", "mend", "-lang", "zh", "-delays", "0", late); !strings.Contains(zh.out, "单靠锁修不好") {
		t.Errorf("in Chinese: %s", zh.out)
	}
}

// A post-mortem begins with what happened, when, why, and what mends it; the run is
// one that breaks a rule, also where the file's own does not.
func TestPostMortem(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		file string
		want []string
	}{
		{late, []string{
			"# A write that comes too late, unchecked", "**What happened:** At 105 ms (T8): A and B are in their critical sections at once", "At 240 ms (T10): A wrote 1 over", "**Why:** ", "Redis drops A's key",
			"**What to change:** No lock can mend this alone: the resource it protects must decide. This protects it: ", "Without it: writes 1 (240 ms).\n\n**How that was tried:** As it is, 1 of 1 orders with no delay and no fault but the scenario's own break a rule.", "| Time |",
		}},
		{"../../lessons/scenarios/lease-expiry.yaml", []string{"| **T2–T5** | ", "| **4 refusals of B** |", "| **T6**<br>200 ms |", "at B's lock, level 1, no. 5. With the change: refused (210 ms). Without it: acquired (210 ms).", "With the change: 3 of 341 orders break a rule, all only because"}},
		{"../../lessons/scenarios/mutex-get-del.yaml", []string{"**What happened:** ", "**What to change:** This mends it: Compare and delete in one script.", "beyond these bounds", "As it is, 7 of 99 orders", "With the change: None of ", "✗"}},
	} {
		args := []string{"mend", "-post-mortem"}
		if c.file == late {
			args = append(args, "-delays", "0")
		} else if testing.Short() {
			args = append(args, "-max-states", "1000") // enough for all but locks of a majority
		}
		got := playground(t, "", append(args, c.file)...)
		if got.code != exitOK {
			t.Errorf("exit code %d: %s", got.code, got.err)
		}
		for _, want := range c.want {
			if !strings.Contains(got.out, want) {
				t.Errorf("no %q in\n%.1500s", want, got.out)
			}
		}
		if strings.Contains(got.out, "**T2–T5**") && strings.Contains(got.out, "**T3**<br>") {
			t.Errorf("a row that is folded is there, too\n%s", got.out)
		}
		first, _, _ := strings.Cut(got.out, "\n|")
		for says := range strings.SplitSeq(first, ". ") {
			if n := strings.Count(first, says); n > 1 && len(says) > 40 {
				t.Errorf("it says %d times: %s", n, says)
			}
		}
	}
}
