package catalog

import (
	"strings"
	"testing"

	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/words"
)

// The run does what the button of the front page says comes next: who acts, and when. Two
// presses lead to the broken rule.
func TestTheMovesOfTheFrontPage(t *testing.T) {
	p := lessonstest.Play(t, frontExample+".yaml")
	reel := film.New(words.English, p.Scenario, p.Owners)
	for _, e := range p.Events {
		reel.Add(e)
	}
	rows := reel.Rows()
	stops := page.StopsOf(rows, words.English.Each(frontMoves))
	if len(stops) != len(frontMoves)+1 {
		t.Fatalf("there are %d stops for %d moves", len(stops), len(frontMoves))
	}
	for i, want := range []struct {
		row    int
		broken bool
	}{{2, false}, {7, false}, {8, true}, {9, false}, {10, true}} {
		if stops[i].Row != want.row || (stops[i].Broken != "") != want.broken {
			t.Errorf("stop %d is T%d, broken %v, not T%d, %v", i, stops[i].Row, stops[i].Broken != "", want.row, want.broken)
		}
	}
	if passed := rows[6].Millis - rows[1].Millis; frontMoves[0] != "Let 95 ms pass" || passed != 95 {
		t.Errorf("%q lets %v ms pass", frontMoves[0], passed)
	}
	for i, move := range frontMoves[1:] {
		row := rows[stops[i+2].Row-1]
		if who := p.Scenario.Threads[row.Actor()].Name; !strings.HasPrefix(string(move), who+" ") {
			t.Errorf("%q is what %s does", move, who)
		}
	}
	if b := stops[3].Stage.Beliefs[1]; b.State != film.Done || !strings.Contains(b.Does, "wrote 1") {
		t.Errorf("after %q B is %+v", frontMoves[2], b)
	}
}

// The front page's last button leads to the moment that it shows last.
func TestTheLastButtonOfTheFrontPageLeadsToItsMoment(t *testing.T) {
	p := lessonstest.Play(t, frontExample+".yaml")
	s := &Pages{}
	address, err := s.mends(&runs.Recording{Scenario: p.Scenario}, 10)
	if err != nil {
		t.Fatal(err)
	}
	row, open, _ := strings.Cut(strings.TrimPrefix(address, "/play/"+frontExample+"?mend="), "#")
	shown, err := link.Decode(open)
	if err != nil {
		t.Fatal(err)
	}
	played := lessonstest.PlayScenario(t, shown.Scenario)
	if last := played.Events[len(played.Events)-1]; row != "10" || shown.At != len(shown.Scenario.Schedule) || last.Step < 10 {
		t.Errorf("%s leads to T%s after %d of %d moves, in a run of %d rows", address, row, shown.At, len(shown.Scenario.Schedule), last.Step)
	}
}
