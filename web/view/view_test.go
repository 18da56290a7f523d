package view_test

import (
	"testing"

	"relock/web/timeline"
	"relock/web/view"
	"relock/web/words"
)

func TestVerdict(t *testing.T) {
	broken := []timeline.Row{{Violations: []timeline.Violation{{Rule: "x"}}}}
	for _, c := range []struct {
		rows  []timeline.Row
		ended bool
		want  string
		tone  timeline.Tone
	}{
		{nil, false, "running", timeline.Quiet},
		{[]timeline.Row{{}}, true, "no rule was broken", timeline.Good},
		{broken, false, "1 rule was broken", timeline.Bad},
		{append(broken, broken...), true, "2 times a rule was broken", timeline.Bad},
		{[]timeline.Row{{Event: "The run was ended: stopped", EventTone: timeline.Bad, Final: true}}, true, "The run was ended: stopped", timeline.Bad},
	} {
		if got, tone := view.Verdict(words.English, c.rows, c.ended); got != c.want || tone != c.tone {
			t.Errorf("%q %s, want %q %s", got, tone, c.want, c.tone)
		}
	}
}
