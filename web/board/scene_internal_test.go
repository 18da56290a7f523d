package board

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"relock/engine/scenario"
	"relock/web/lesson"
)

// A log that begins again has all that was played, whatever was cut off.
func TestALogThatBeginsAnewHasAllScenes(t *testing.T) {
	text, err := os.ReadFile("../../lessons/scenarios/lease-expiry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Scenario: sc.WithSchedule(nil)}
	scene, stand, err := plan.scene(0)
	if err != nil {
		t.Fatal(err)
	}
	f := &referee{state: &State{}, runs: &runs{}, now: time.Now, note: func(err error) { t.Error(err) }, long: 3, plan: func(context.Context, lesson.Place) (Plan, error) { return plan, nil }}
	f.state.Fold(Entry{Seq: 1, Whole: &State{
		Scene: *scene, Stand: *stand, Made: 1, People: map[string]*Member{"m1": {ID: "m1", Part: Host, Conn: "x/1"}}, Seats: map[string]Seat{},
	}})
	if f.run, err = f.runs.of(0, scene.Scenario); err != nil {
		t.Fatal(err)
	}
	defer f.runs.close()
	var list []Entry
	for id, c := range []Command{{Do: "step"}, {Do: DoOpen, Example: "x"}, {Do: "step"}, {Do: "step"}, {Do: DoOpen, Example: "x"}, {Do: "step"}, {Do: "step"}} {
		c.ID = int64(id + 1)
		list = append(list, f.decide(t.Context(), Request{Conn: "x/1", Member: "m1", Lang: "en", Command: c})...)
	}
	cut := &State{}
	for _, e := range list[lastWhole(list):] {
		text, err := json.Marshal(e) // as a journal keeps it
		if err != nil {
			t.Fatal(err)
		}
		var kept Entry
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		cut.Fold(kept)
	}
	want, err := json.Marshal(f.state)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(cut)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) || len(cut.Earlier) != 2 || len(cut.Earlier[1].Branches[0].Moves) != 2 || len(cut.Branches[0].Moves) != 2 {
		t.Errorf("after the cut it is %s, want %s", got, want)
	}
}
