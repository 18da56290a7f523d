package stepper_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/course"
	"relock/engine/racetest"
	"relock/web/webtest"
	"relock/web/words"
)

// Whether the goal of an item can still be reached is told after the moves that were
// named; of what is no such item, or of another scenario, nothing is.
func TestGoalOverTheSocket(t *testing.T) {
	racetest.Skip(t)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	item, _ := c.Item("trouble/sell-it-twice")
	text, err := item.Scenario.Compact()
	if err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, nil).Searcher(t, string(text))
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"})
	told := func(moves int) string {
		p.Must(webtest.Object{"do": "goal", "branch": 0, "moves": moves, "item": item.Path()})
		for began := time.Now(); p.Last.Goal == nil; p.Read() {
			if time.Since(began) > time.Minute {
				t.Fatal("nothing is told")
			}
		}
		g := p.Last.Goal
		p.Last.Goal = nil
		if g.Moves != moves || g.Branch != 0 {
			t.Errorf("of %d moves it tells of %+v", moves, g)
		}
		return g.HTML
	}
	if html := told(0); html != "" {
		t.Errorf("at the start: %s", html)
	}
	if html := told(3); !strings.Contains(html, "can no longer be done") || !strings.Contains(html, `data-back="1"`) {
		t.Errorf("after three moves: %s", html)
	}
	for _, command := range []webtest.Object{
		{"do": "goal", "branch": 0, "moves": 1, "item": "lease/outlast"},
		{"do": "goal", "branch": 0, "moves": 1, "item": "lease/who-knows"},
		{"do": "goal", "branch": 0, "moves": 1, "item": "nothing"},
		{"do": "goal", "branch": 0, "moves": 99, "item": item.Path()},
		{"do": "goal", "branch": 7, "moves": 0, "item": item.Path()},
	} {
		if all := p.Ask(command); all[len(all)-1].Refused == "" {
			t.Errorf("%v is not refused", command)
		}
	}
}
