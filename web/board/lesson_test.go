package board_test

import (
	"log/slog"
	"os"
	"testing"

	"relock/web/board"
	"relock/web/lesson"
)

// A room that was made for a lesson is led on by the next server where it was.
func TestALessonGoesOnWithTheNextServer(t *testing.T) {
	text, err := os.ReadFile("testdata/lesson.yaml")
	if err != nil {
		t.Fatal(err)
	}
	taught, err := lesson.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	onKept(t, func(t *testing.T, server func() board.Journal) {
		first := board.NewHouse(board.Config{Journal: server(), Log: slog.New(slog.DiscardHandler), Ask: asked, Plan: planned})
		code, secret, err := first.Open(t.Context(), board.Plan{Scenario: leaseExpiry(t), Lesson: taught})
		if err != nil {
			t.Fatal(err)
		}
		host := joinAs(t, first, code, board.Host, secret)
		host.mustDo(`{"do":"lesson","to":"next"}`, `{"do":"lesson","to":"next"}`, `{"do":"lesson","to":"next"}`, `{"do":"lesson","to":"next"}`)
		want := state(t, first, code).Taught
		if want.Step != 1 || !want.Asked || want.Stand.At != 1 {
			t.Errorf("it has come to %+v", want)
		}
		first.Close()

		h := newHouse(t, server())
		host = joinAs(t, h, code, board.Host, secret)
		s := state(t, h, code)
		if s.Taught != want || s.Lesson == nil || len(s.Lesson.Steps) != len(taught.Steps) || s.LessonNext() != board.LessonReveals || !s.Rules.Held {
			t.Errorf("it is read as %+v, and next is %q", s.Taught, s.LessonNext())
		}
		host.mustDo(`{"do":"lesson","to":"next"}`, `{"do":"lesson","at":5}`)
		if s := state(t, h, code); s.Taught.Step != 5 || len(s.Earlier) != 1 || s.LessonNext() != board.LessonEnds {
			t.Errorf("it goes on to %+v", s.Taught)
		}
	})
}
