package board_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/lesson"
)

// planned is what there is to open in the tests: the bundled scenarios.
func planned(_ context.Context, at lesson.Place) (board.Plan, error) {
	text, err := os.ReadFile(filepath.Join("../../lessons/scenarios", filepath.Base(at.Example)+".yaml"))
	if err != nil {
		return board.Plan{}, phrase.New("there is no example of that name")
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		return board.Plan{}, err
	}
	return board.Plan{Scenario: sc.WithSchedule(make([]scenario.Move, at.Row())), At: at.Row()}, nil
}

// played goes through a lesson of two scenarios, and leaves the second one with
// a move and a branch.
func played(t *testing.T, h *board.House, code, secret string) (host, a *member) {
	t.Helper()
	host, a = joinAs(t, h, code, board.Host, secret), joinAs(t, h, code, board.Player, "")
	a.mustDo(`{"do":"claim","thread":"A"}`, `{"do":"step","thread":"A"}`)
	host.mustDo(`{"do":"step"}`, `{"do":"go","branch":0,"at":1}`, `{"do":"strike","fault":{"do":"pause","thread":"A","for":"300ms"}}`)
	host.mustDo(`{"do":"allow","faults":["crash"]}`, `{"do":"ask","kind":"predict"}`)
	a.mustDo(`{"do":"vote","option":1}`)
	host.mustDo(`{"do":"open","example":"fenced-late-write"}`, `{"do":"step"}`, `{"do":"go","branch":2,"at":0}`, `{"do":"time","to":"event"}`)
	return host, a
}

// checkPlayed compares a room with what played leaves.
func checkPlayed(t *testing.T, s *board.State) {
	t.Helper()
	if len(s.Earlier) != 1 || len(s.Earlier[0].Branches) != 2 || len(s.Earlier[0].Branches[0].Moves) != 2 || !strings.Contains(string(s.Earlier[0].Scenario), "The lease ends") {
		t.Errorf("of the first scenario is kept: %+v", s.Earlier)
	}
	if strings.Contains(string(s.Scenario), "The lease ends") || s.First != 2 || s.Branch(0) != nil || s.Branch(2) == nil || s.Branch(3) == nil || s.Made != 4 {
		t.Errorf("the class is in %s with branches %+v, %d made", s.Scenario, s.Branches, s.Made)
	}
	if s.Stand.Branch != 3 || s.Stand.At != 1 {
		t.Errorf("it stands at %+v", s.Stand)
	}
	if s.Question != nil || len(s.Past) != 1 || len(s.Past[0].Votes) != 1 || s.Past[0].Scene != 0 {
		t.Errorf("asked is %+v, and was %+v", s.Question, s.Past)
	}
	if !slices.Contains(s.Rules.Allowed, "crash") {
		t.Errorf("allowed are %v", s.Rules.Allowed)
	}
}

func TestAClassGoesOnToAnotherScenario(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host, a := played(t, h, code, secret)
		s := state(t, h, code)
		checkPlayed(t, s)
		if len(s.Seats) != 1 || len(s.Seats["A"].By) != 1 || len(s.People) != 2 {
			t.Errorf("seats %+v of %d people", s.Seats, len(s.People))
		}
		for refused, is := range map[string]string{
			"a thread that is not one's own steps":         a.do(`{"do":"step","thread":"B"}`),
			"the host leads to a branch of the old one":    host.do(`{"do":"go","branch":0,"at":0}`),
			"a player opens a scenario":                    a.do(`{"do":"open","example":"fenced-late-write"}`),
			"a scenario is opened that there is not":       host.do(`{"do":"open","example":"nowhere"}`),
			"nothing is opened":                            host.do(`{"do":"open"}`),
			"two things are opened":                        host.do(`{"do":"open","example":"fenced-late-write","item":"lease/x"}`),
			"votes count for what is asked no more":        a.do(`{"do":"vote","option":0}`),
			"a command is longer than any but open may be": host.do(`{"do":"step","thread":"` + strings.Repeat("A", 20<<10) + `"}`),
		} {
			if is == "" {
				t.Error(refused)
			}
		}
		checkPlayed(t, state(t, h, code))
		host.mustDo(`{"do":"ask","kind":"predict"}`)
		if q := state(t, h, code).Question; q == nil || q.ID != 2 || q.Scene != 1 {
			t.Errorf("asked: %+v", q)
		}
	})
}

// The server that leads is gone: the next one has all scenes, and goes on.
func TestEveryServerHasAllScenes(t *testing.T) {
	onKept(t, func(t *testing.T, server func() board.Journal) {
		first := board.NewHouse(board.Config{Journal: server(), Log: slog.New(slog.DiscardHandler), Ask: asked, Plan: planned})
		code, secret := open(t, first)
		played(t, first, code, secret)
		first.Close()

		h := newHouse(t, server())
		host := joinAs(t, h, code, board.Host, secret)
		checkPlayed(t, state(t, h, code))
		host.mustDo(`{"do":"step"}`)
		if b := state(t, h, code).Branch(3); b == nil || len(b.Moves) != 2 {
			t.Errorf("the branch goes on: %+v", b)
		}
	})
}

// A server that only follows shows the new scenario's run, also to who comes
// late.
func TestAFollowerShowsTheNewScenario(t *testing.T) {
	onKept(t, func(t *testing.T, server func() board.Journal) {
		j := server()
		h := newHouse(t, j)
		other := h
		if _, files := j.(*board.Solo); !files { // two servers share no folder
			other = newHouse(t, server())
		}
		code, secret := open(t, h)
		guest := joinAs(t, other, code, board.Audience, "")
		played(t, h, code, secret)
		guest.mustDo(`{"do":"rename"}`) // by then the follower has all
		checkPlayed(t, state(t, other, code))
		r, err := other.Room(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Look(func(v board.View) error {
			if v.Run.Scenario().Title == leaseExpiry(t).Title || len(v.Kept) > 0 {
				t.Errorf("it shows %q with %v", v.Run.Scenario().Title, v.Kept)
			}
			b, err := v.Run.Track(v.Context, v.State, 3)
			if err == nil && len(b.Moves) != 1 {
				t.Errorf("%d moves of the branch, want 1", len(b.Moves))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestARoomKeepsSoManyScenes(t *testing.T) {
	h := newHouse(t, solo(t, ""))
	code, secret := open(t, h)
	host := joinAs(t, h, code, board.Host, secret)
	n := 1
	for ; n < 100; n++ {
		if refused := host.do(`{"do":"open","example":"two-threads"}`); refused != "" {
			if !strings.Contains(refused, "make a new room") {
				t.Errorf("it is refused: %s", refused)
			}
			break
		}
	}
	if s := state(t, h, code); n != 32 || len(s.Scenes()) != n {
		t.Errorf("%d scenes, and %d were opened, want 32", len(s.Scenes()), n)
	}
	host.mustDo(`{"do":"step"}`)
}

// A log of before a class could go on is read as ever.
func TestALogOfOneScenario(t *testing.T) {
	const code, secret = "HTPZA5", "222EKIQB7NY4GHLWM4RLUWPLS4RNVUKH"
	text, err := os.ReadFile("testdata/one-scenario.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, code+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, solo(t, dir))
	host := joinAs(t, h, code, board.Host, secret)
	if s := state(t, h, code); len(s.Branches) != 2 || s.Stand.Branch != 1 || s.Question == nil || len(s.Question.Votes) != 1 || len(s.Earlier) != 0 {
		t.Errorf("it is read as %+v", s)
	}
	host.mustDo(`{"do":"open","example":"two-threads"}`, `{"do":"step"}`)
	if s := state(t, h, code); len(s.Earlier) != 1 || len(s.Earlier[0].Branches) != 2 || s.Stand.Branch != 2 || len(s.Past) != 1 {
		t.Errorf("it goes on as %+v", s)
	}
}

// A room in which moves were made at once is led and followed as any other.
func TestARunAndACutAreInTheLog(t *testing.T) {
	onKept(t, func(t *testing.T, server func() board.Journal) {
		first := board.NewHouse(board.Config{Journal: server(), Log: slog.New(slog.DiscardHandler), Ask: asked, Plan: planned})
		code, secret := open(t, first)
		host := joinAs(t, first, code, board.Host, secret)
		host.mustDo(`{"do":"run","to":"end"}`)
		until(t, "the run to end", func() bool { return state(t, first, code).Going == nil })
		host.mustDo(`{"do":"cut","branch":0,"at":2}`)
		want := state(t, first, code)
		if len(want.Branches) != 2 || len(want.Branches[0].Moves) != 9 || len(want.Branches[1].Moves) != 2 || want.Stand != (board.Stand{Branch: 1, At: 2}) {
			t.Errorf("it has %+v, and all stand at %+v", want.Branches, want.Stand)
		}
		was := trackOf(t, first, code)
		first.Close()

		h := newHouse(t, server())
		host = joinAs(t, h, code, board.Host, secret)
		got := state(t, h, code)
		if len(got.Branches) != 2 || len(got.Branches[0].Moves) != 9 || got.Stand != want.Stand {
			t.Errorf("it is read as %+v, and all stand at %+v", got.Branches, got.Stand)
		}
		equalTracks(t, "on the next server", trackOf(t, h, code), was)
		host.mustDo(`{"do":"step"}`, `{"do":"go","branch":0,"at":9}`)
	})
}
