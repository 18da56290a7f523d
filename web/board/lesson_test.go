package board_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
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

// A question of a lesson leaves with its answer: by the votes, by a second vote
// where the class can convince itself, or by the host's word.
func TestALessonLeavesNoQuestionWithoutItsAnswer(t *testing.T) {
	text, err := os.ReadFile("testdata/lesson.yaml")
	if err != nil {
		t.Fatal(err)
	}
	taught, err := lesson.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const voters = 20
	for name, c := range map[string]struct {
		right []int // so many of the voters, in each round
		want  string
	}{
		"few":                  {[]int{4}, "reveal tell go"},
		"divided, then most":   {[]int{11, 18}, "reveal again reveal go"},
		"divided twice":        {[]int{11, 11}, "reveal again reveal go"},
		"divided, then few":    {[]int{11, 4}, "reveal again reveal tell go"},
		"35 in 100 are enough": {[]int{7, 7}, "reveal again reveal go"},
		"70 in 100 are few":    {[]int{14, 14}, "reveal again reveal go"},
		"most":                 {[]int{18}, "reveal go"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, solo(t, t.TempDir()))
			code, secret, err := h.Open(t.Context(), board.Plan{Scenario: leaseExpiry(t), Lesson: taught})
			if err != nil {
				t.Fatal(err)
			}
			host := joinAs(t, h, code, board.Host, secret)
			var all []*member
			for range voters {
				all = append(all, joinAs(t, h, code, board.Player, ""))
			}
			for state(t, h, code).LessonNext() != board.LessonReveals {
				host.mustDo(`{"do":"lesson","to":"next"}`)
			}
			var came []string
			round := 0
			for {
				s := state(t, h, code)
				next := s.LessonNext()
				came = append(came, next)
				if next == board.LessonGoes {
					break
				}
				if next == board.LessonReveals {
					for i, m := range all {
						option := s.Question.Right
						if i >= c.right[round] {
							option = 1 - option
						}
						m.mustDo(fmt.Sprintf(`{"do":"vote","option":%d}`, option))
					}
					round++
				}
				host.mustDo(`{"do":"lesson","to":"next"}`)
			}
			if got := strings.Join(came, " "); got != c.want {
				t.Errorf("its next were %s, want %s", got, c.want)
			}
		})
	}
}
