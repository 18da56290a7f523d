package main

import (
	"encoding/json"
	"strings"
	"testing"

	"relock/engine/explore/card"
)

func TestCard(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		out  []string
		err  []string
	}{
		{
			"one lock",
			[]string{"card", "reentrant"},
			exitOK,
			[]string{
				"Report card of reentrant", "at most 1 delay", "reentrant without a fault: survived",
				// A pause outlives the lease, a crash costs a lease, a copy that comes late is
				// taken for a new call. A thread that leaves its inner level has no work left: it
				// is no longer inside.
				"\npause         ◔      ◔     ✗     ✗     ✗     ◑       ◑       ✗\n",
				"\ncrash         ✓      ✓     ◔     ◔     ◔     ◔       ◔       ◔\n",
				"\nevict         ✗\n",
				"  late-copy: A lock 1, B lock 1\n",
			},
			nil,
		},
		{
			"two locks",
			[]string{"card", "reentrant", "mutex"},
			exitOK,
			[]string{
				"Report card of reentrant and mutex", "\npause         ◔ ◔    ◔ ◔   ✗ ✗   ✗ ·", "In each cell: first reentrant, then mutex.",
			},
			nil,
		},
		{"in Chinese", []string{"card", "-lang", "zh-CN", "mutex"}, exitOK, []string{"mutex 的成绩单", "任何时刻"}, nil},
		{"none", []string{"card"}, exitUsage, nil, []string{"card needs one lock or two, given 0"}},
		{"three", []string{"card", "mutex", "value", "spin"}, exitUsage, nil, []string{"given 3"}},
		{"twice the same", []string{"card", "mutex", "mutex"}, exitUsage, nil, []string{"mutex is named twice"}},
		{"an unknown lock", []string{"card", "mutexx"}, exitUsage, nil, []string{`there is no lock and no file "mutexx"; allowed: a scenario's file, reentrant, `}},
		{"too many delays", []string{"card", "-delays", "3", "mutex"}, exitUsage, nil, []string{"-delays 3: allowed: 0 to 2"}},
		{"an unknown cell", []string{"card", "-example", "pause@C", "mutex"}, exitUsage, nil, []string{`no cell "pause@C"`}},
		{"an example of two", []string{"card", "-example", "pause@A.work.1", "mutex", "value"}, exitUsage, nil, []string{"-example takes one lock"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := playground(t, "", c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d: %s", got.code, c.code, got.err)
			}
			for _, want := range c.out {
				if !strings.Contains(got.out, want) {
					t.Errorf("no %q in:\n%s", want, got.out)
				}
			}
			for _, want := range c.err {
				if !strings.Contains(got.err, want) {
					t.Errorf("no %q in %q", want, got.err)
				}
			}
			if c.code == exitUsage && got.out != "" {
				t.Errorf("printed: %s", got.out)
			}
		})
	}
}

// TestCardSearchedNow compares a bundled card with one made now.
func TestCardSearchedNow(t *testing.T) {
	bundled := playground(t, "", "card", "-json", "spin")
	now := playground(t, "", "card", "-json", "-delays", "1", "spin")
	if bundled.code != exitOK || now.out != bundled.out {
		t.Errorf("bundled:\n%snow:\n%s", bundled.out, now.out)
	}
	var c card.Card
	if err := json.Unmarshal([]byte(now.out), &c); err != nil || c.Protocol != "spin" || len(c.Cells) == 0 {
		t.Errorf("%v: %s", err, now.out)
	}
}

// TestCardExampleRuns opens a cell.
func TestCardExampleRuns(t *testing.T) {
	example := playground(t, "", "card", "-example", "pause@A.work.1", "mutex")
	got := playground(t, example.out, "run", "-")
	if got.code != exitUnexpected || !strings.Contains(got.out, "✗ two inside at once (mutual-exclusion)") {
		t.Errorf("exit code %d: %s\n%s", got.code, got.err, got.out)
	}
}
