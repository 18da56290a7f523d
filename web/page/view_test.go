package page_test

import (
	"testing"

	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

func TestVerdict(t *testing.T) {
	broken := []film.Row{{Violations: []film.Violation{{Rule: "x"}}}}
	for _, c := range []struct {
		rows  []film.Row
		ended bool
		want  string
		tone  film.Tone
	}{
		{nil, false, "running", film.Quiet},
		{[]film.Row{{}}, true, "no rule was broken", film.Good},
		{broken, false, "1 rule was broken", film.Bad},
		{append(broken, broken...), true, "a rule was broken 2 times", film.Bad},
		{[]film.Row{{Event: "The run was ended: stopped", EventTone: film.Bad, Final: true}}, true, "The run was ended: stopped", film.Bad},
	} {
		if got, tone := page.Verdict(words.English, c.rows, c.ended); got != c.want || tone != c.tone {
			t.Errorf("%q %s, want %q %s", got, tone, c.want, c.tone)
		}
	}
}
