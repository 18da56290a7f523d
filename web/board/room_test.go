package board_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"relock/engine/scenario"
	"relock/web/board"
)

func leaseExpiry(t *testing.T) *scenario.Scenario {
	t.Helper()
	text, err := os.ReadFile("../../lessons/scenarios/lease-expiry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc.WithSchedule(nil)
}

// asked is the question of the tests: its second option is right.
func asked(context.Context, *scenario.Scenario, int) (*board.Question, error) {
	return &board.Question{
		Text: map[string]string{"en": "What next?"}, Options: map[string][]string{"en": {"nothing", "B gets in", "A goes on"}}, Right: 1,
	}, nil
}

func newHouse(t *testing.T, journal board.Journal) *board.House {
	t.Helper()
	h := board.NewHouse(board.Config{Journal: journal, Log: slog.New(slog.DiscardHandler), Ask: asked, Plan: planned})
	t.Cleanup(h.Close)
	return h
}

func solo(t *testing.T, dir string) *board.Solo {
	t.Helper()
	s, err := board.NewSolo(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// member is a test's end of a connection.
type member struct {
	t       *testing.T
	client  *board.Client
	id      int64
	joined  *board.Joined
	pending []board.Answer
}

func enter(t *testing.T, h *board.House, code string) *member {
	t.Helper()
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return entered(t, r, nil)
}

// entered returns who has entered a room, and has not joined yet.
func entered(t *testing.T, r *board.Room, c board.Caster) *member {
	t.Helper()
	m := &member{t: t, client: &board.Client{}}
	r.Enter(m.client, "en", "", c)
	t.Cleanup(m.client.Leave)
	return m
}

func joinAs(t *testing.T, h *board.House, code string, part board.Part, secret string) *member {
	t.Helper()
	m := enter(t, h, code)
	if refused := m.do(`{"do":"join","part":"` + string(part) + `","secret":"` + secret + `"}`); refused != "" {
		t.Fatalf("join as %s: %s", part, refused)
	}
	return m
}

// do gives a command and waits for its answer: why it was refused, or "".
func (m *member) do(command string) (refused string) {
	m.t.Helper()
	m.id++
	return m.give(m.id, command)
}

func (m *member) give(id int64, command string) (refused string) {
	m.t.Helper()
	c, err := board.ParseCommand(board.Class, []byte(`{"id":`+strconv.FormatInt(id, 10)+`,`+command[1:]))
	if err == nil {
		err = m.client.Give(m.t.Context(), c)
	}
	if err != nil {
		return err.Error()
	}
	limit := time.After(time.Minute)
	for {
		m.pending = append(m.pending, m.client.News().Answers...)
		for i, a := range m.pending {
			if a.ID == id {
				m.pending = append(m.pending[:i], m.pending[i+1:]...)
				if a.Joined != nil {
					m.joined = a.Joined
				}
				return a.Refused
			}
		}
		select {
		case <-m.client.Bell():
		case <-limit:
			m.t.Fatalf("no answer to %s", command)
		}
	}
}

func (m *member) mustDo(commands ...string) {
	m.t.Helper()
	for _, c := range commands {
		if refused := m.do(c); refused != "" {
			m.t.Fatalf("%s: %s", c, refused)
		}
	}
}

// state is the room as a server has it, copied.
func state(t *testing.T, h *board.House, code string) *board.State {
	t.Helper()
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	copied := &board.State{}
	err = r.Look(func(v board.View) error {
		text, err := json.Marshal(v.State)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, copied)
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

func open(t *testing.T, h *board.House) (code, secret string) {
	t.Helper()
	code, secret, err := h.Open(t.Context(), board.Plan{Scenario: leaseExpiry(t)})
	if err != nil {
		t.Fatal(err)
	}
	return code, secret
}

func TestALesson(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host := joinAs(t, h, code, board.Host, secret)
		a, b := joinAs(t, h, code, board.Player, ""), joinAs(t, h, code, board.Player, "")
		a.mustDo(`{"do":"claim","thread":"A"}`, `{"do":"step","thread":"A"}`)
		if refused := b.do(`{"do":"step","thread":"A"}`); refused == "" {
			t.Error("B could step A's thread")
		}
		host.mustDo(`{"do":"step"}`, `{"do":"ask","kind":"predict"}`)
		a.mustDo(`{"do":"vote","option":1}`)
		b.mustDo(`{"do":"vote","option":0}`, `{"do":"vote","option":2}`) // the second thought counts
		if q := state(t, h, code).Question; q == nil || len(q.Votes) != 2 || q.Closed {
			t.Fatalf("the question: %+v", q)
		}
		host.mustDo(`{"do":"reveal"}`)
		if refused := a.do(`{"do":"vote","option":0}`); refused == "" {
			t.Error("a vote counted after the votes were revealed")
		}
		host.mustDo(`{"do":"again"}`)
		b.mustDo(`{"do":"vote","option":1}`)
		host.mustDo(`{"do":"reveal"}`, `{"do":"step"}`)
		s := state(t, h, code)
		if got := s.Question.Counts(1); got[0] != 0 || got[1] != 1 || got[2] != 1 {
			t.Errorf("first round: %v", got)
		}
		if got := s.Question.Counts(2); got[0] != 0 || got[1] != 1 || got[2] != 0 {
			t.Errorf("second round: %v", got)
		}
		if len(s.Branches) != 1 || len(s.Branches[0].Moves) != 3 || s.Stand.At != 3 {
			t.Errorf("branches %+v, stand %+v", s.Branches, s.Stand)
		}
		// Back, and another order: that makes a branch, on which all stand.
		host.mustDo(`{"do":"go","branch":0,"at":1}`, `{"do":"strike","fault":{"do":"pause","thread":"A","for":"300ms"}}`)
		if s = state(t, h, code); len(s.Branches) != 2 || s.Stand.Branch != 1 || s.Stand.At != 2 || len(s.Branches[1].Moves) != 2 {
			t.Errorf("branches %+v, stand %+v", s.Branches, s.Stand)
		}
		// Along what the branch did.
		host.mustDo(`{"do":"go","branch":0,"at":0}`)
		a.mustDo(`{"do":"step","thread":"A"}`)
		if s = state(t, h, code); len(s.Branches) != 2 || s.Stand.Branch != 0 || s.Stand.At != 1 {
			t.Errorf("along the branch: %d branches, stand %+v", len(s.Branches), s.Stand)
		}
	})
}

func TestACommandCountsOnce(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host := joinAs(t, h, code, board.Host, secret)
		host.mustDo(`{"do":"step"}`)
		if refused := host.give(host.id, `{"do":"step"}`); refused != "" {
			t.Errorf("again: %s", refused)
		}
		refused := host.do(`{"do":"go","branch":7}`)
		if again := host.give(host.id, `{"do":"go","branch":0}`); refused == "" || again != refused {
			t.Errorf("refused %q, and again %q", refused, again)
		}
		if s := state(t, h, code); len(s.Branches[0].Moves) != 1 {
			t.Errorf("%d moves, want 1", len(s.Branches[0].Moves))
		}
	})
}

func TestWhoReturnsIsTheSame(t *testing.T) {
	onKept(t, func(t *testing.T, server func() board.Journal) {
		first := board.NewHouse(board.Config{Journal: server(), Log: slog.New(slog.DiscardHandler), Ask: asked})
		code, secret := open(t, first)
		host, player := joinAs(t, first, code, board.Host, secret), joinAs(t, first, code, board.Player, "")
		player.mustDo(`{"do":"claim","thread":"B"}`)
		host.mustDo(`{"do":"step"}`, `{"do":"ask","kind":"predict"}`)
		player.mustDo(`{"do":"vote","option":1}`)
		was := state(t, first, code)
		first.Close() // nothing is written at the end that was not before

		h := newHouse(t, server())
		again := enter(t, h, code)
		if refused := again.do(`{"do":"join","part":"player","member":"` + player.joined.Member + `","token":"wrong"}`); refused == "" {
			t.Fatal("a wrong token was taken")
		}
		again = enter(t, h, code)
		again.id = 40
		if refused := again.do(`{"do":"join","part":"player","member":"` + player.joined.Member + `","token":"` + player.joined.Token + `"}`); refused != "" {
			t.Fatal(refused)
		}
		if j := again.joined; j.Member != player.joined.Member || j.Name != player.joined.Name || j.Mine == nil || *j.Mine != 1 {
			t.Errorf("came back as %+v, was %+v", j, player.joined)
		}
		now := state(t, h, code)
		if now.Seq <= was.Seq || now.Epoch != was.Epoch || len(now.Branches[0].Moves) != 1 || now.Question == nil || len(now.Question.Votes) != 1 || now.Seats["B"].By[0] != again.joined.Member {
			t.Errorf("it was %+v, and is %+v", was, now)
		}
		until(t, "the others to be away", func() bool { return state(t, h, code).Present() == 1 })
	})
}

func TestATable(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host := joinAs(t, h, code, board.Host, secret)
		var table []*member
		for range 3 {
			m := joinAs(t, h, code, board.Player, "")
			m.mustDo(`{"do":"claim","thread":"A"}`)
			table = append(table, m)
		}
		moves := func() int { return len(state(t, h, code).Branches[0].Moves) }
		table[0].mustDo(`{"do":"step","thread":"A"}`)
		table[1].mustDo(`{"do":"strike","fault":{"do":"pause","thread":"A","for":"300ms"}}`)
		if n := moves(); n != 0 {
			t.Fatalf("%d moves before the table has decided", n)
		}
		if refused := host.do(`{"do":"decide","thread":"A"}`); refused == "" {
			t.Error("one to one was decided without the host's word")
		}
		table[2].mustDo(`{"do":"step","thread":"A"}`) // all have wished
		s := state(t, h, code)
		if moves() != 1 || string(s.Branches[0].Moves[0]) != "0" || len(s.Seats["A"].Wishes) != 0 {
			t.Errorf("moves %s, seat %+v", s.Branches[0].Moves, s.Seats["A"])
		}
		// A works now, and cannot step. The table begins again.
		table[0].mustDo(`{"do":"step","thread":"A"}`)
		if refused := host.do(`{"do":"decide","thread":"A"}`); refused == "" || moves() != 1 || len(state(t, h, code).Seats["A"].Wishes) != 0 {
			t.Errorf("refused: %q, %d moves, seat %+v", refused, moves(), state(t, h, code).Seats["A"])
		}
		table[1].mustDo(`{"do":"strike","fault":{"do":"pause","thread":"A","for":"300ms"}}`)
		host.mustDo(`{"do":"decide","thread":"A"}`)
		if n := moves(); n != 2 {
			t.Errorf("%d moves after the host has decided, want 2", n)
		}
	})
}

func TestTheDoor(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host := joinAs(t, h, code, board.Host, secret)
		if refused := enter(t, h, code).do(`{"do":"join","part":"host","secret":"guessed"}`); refused == "" {
			t.Error("a guessed secret makes a host")
		}
		joinAs(t, h, code, board.Host, board.CoHost(secret))
		guest := joinAs(t, h, code, board.Audience, "")
		if refused := guest.do(`{"do":"step"}`); refused == "" {
			t.Error("the audience can step")
		}
		host.mustDo(`{"do":"lock"}`)
		if refused := enter(t, h, code).do(`{"do":"join","part":"audience"}`); refused == "" {
			t.Error("a locked room lets people in")
		}
		host.mustDo(`{"do":"remove","member":"` + guest.joined.Member + `"}`)
		guest.closes(board.Removed)
		back := func() *member {
			m := enter(t, h, code)
			m.do(`{"do":"join","part":"audience","member":"` + guest.joined.Member + `","token":"` + guest.joined.Token + `"}`)
			return m
		}
		back().closes(board.Removed)
		host.mustDo(`{"do":"restore","member":"` + guest.joined.Member + `"}`)
		if m := back(); m.joined == nil {
			t.Error("who was restored cannot come back")
		}
		host.mustDo(`{"do":"end"}`)
		host.closes(board.Over)
	})
}

// A locked room is locked in every part: for who is new, who was removed, and
// who comes back as something else. Only a host can let the stage in.
func TestALockedRoom(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host := joinAs(t, h, code, board.Host, secret)
		stage, guest, removed := joinAs(t, h, code, board.Stage, ""), joinAs(t, h, code, board.Audience, ""), joinAs(t, h, code, board.Player, "")
		host.mustDo(`{"do":"lock"}`, `{"do":"remove","member":"`+removed.joined.Member+`"}`)
		for _, part := range []board.Part{board.Stage, board.Player, board.Audience} {
			if m := enter(t, h, code); m.do(`{"do":"join","part":"`+string(part)+`"}`) == "" {
				t.Errorf("a locked room lets somebody in as %s", part)
			}
			m := enter(t, h, code)
			if m.do(`{"do":"join","part":"`+string(part)+`","member":"`+removed.joined.Member+`","token":"`+removed.joined.Token+`"}`) == "" {
				t.Errorf("who was removed comes back as %s", part)
			}
		}
		for _, was := range []*member{stage, guest} {
			m := enter(t, h, code)
			m.mustDo(`{"do":"join","part":"player","member":"` + was.joined.Member + `","token":"` + was.joined.Token + `"}`)
			if m.joined.Part != was.joined.Part || m.do(`{"do":"claim","thread":"A"}`) == "" {
				t.Errorf("%s came back as %s", was.joined.Part, m.joined.Part)
			}
		}
		joinAs(t, h, code, board.Host, board.CoHost(secret))
		joinAs(t, h, code, board.Stage, secret)
		host.mustDo(`{"do":"lock","locked":false}`)
		m := enter(t, h, code)
		m.mustDo(`{"do":"join","part":"player","member":"` + guest.joined.Member + `","token":"` + guest.joined.Token + `"}`)
		if m.joined.Part != board.Player {
			t.Errorf("in an open room one stays %s", m.joined.Part)
		}
	})
}

// It says done only of what was done: not of an ID below a join's, and not of a refusal
// that it no longer remembers.
func TestWhatIsNotRememberedWasNotDone(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		code, secret := open(t, h)
		host, voter := joinAs(t, h, code, board.Host, secret), joinAs(t, h, code, board.Audience, "")
		host.mustDo(`{"do":"ask","kind":"predict"}`)
		voter.id = 9
		voter.mustDo(`{"do":"vote","option":0}`) // 10
		again := enter(t, h, code)
		again.id = 11
		again.mustDo(`{"do":"join","part":"audience","member":"` + voter.joined.Member + `","token":"` + voter.joined.Token + `"}`) // 12
		if refused := again.give(11, `{"do":"vote","option":1}`); refused != "" {
			t.Errorf("what was not answered before is refused: %s", refused)
		}
		if q := state(t, h, code).Question; q.Votes[voter.joined.Member] != 1 {
			t.Errorf("it is said to be done, and the votes are %v", q.Votes)
		}
		for id := int64(20); id < 50; id++ {
			if again.give(id, `{"do":"vote","option":7}`) == "" {
				t.Fatal("there are eight options")
			}
		}
		for id, want := range map[int64]string{10: "", 11: "", 49: "no such option", 20: "too old", 12: "too old", 3: "too old"} {
			if refused := again.give(id, `{"do":"vote","option":0}`); want == "" && refused != "" || !strings.Contains(refused, want) {
				t.Errorf("id %d again: %q", id, refused)
			}
		}
		if q := state(t, h, code).Question; q.Votes[voter.joined.Member] != 1 {
			t.Errorf("the votes are %v", q.Votes)
		}
	})
}

// closes waits until the member's connection is to be closed.
func (m *member) closes(want board.Closing) {
	m.t.Helper()
	limit := time.After(time.Minute)
	for {
		if why := m.client.News().Closing; why != 0 {
			if why != want {
				m.t.Errorf("closed with %d, want %d", why, want)
			}
			return
		}
		select {
		case <-m.client.Bell():
		case <-limit:
			m.t.Fatalf("not closed, want %d", want)
		}
	}
}

// casts is a caster.
type casts func(*board.News) bool

func (c casts) Cast(n *board.News) bool { return c(n) }

// hosted opens a room, which a host joins.
func hosted(t *testing.T) (r *board.Room, host *member) {
	t.Helper()
	h := newHouse(t, solo(t, ""))
	code, secret := open(t, h)
	host = joinAs(t, h, code, board.Host, secret)
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return r, host
}

// A change is first offered to who can send it at once, before the one who made it
// has an answer; and it is News if it was not taken, or if other news come before.
func TestAChangeIsOfferedOrNews(t *testing.T) {
	t.Parallel()
	r, host := hosted(t)
	var offers atomic.Int64
	var takes atomic.Bool
	takes.Store(true)
	watcher := entered(t, r, casts(func(n *board.News) bool {
		if !n.Changed || n.Sees != (board.Sight{Lang: "en"}) {
			t.Errorf("offered %+v", *n)
		}
		offers.Add(1)
		return takes.Load()
	}))
	watcher.mustDo(`{"do":"join","part":"audience"}`)
	before := offers.Load()
	host.mustDo(`{"do":"step"}`)
	if n := offers.Load(); n == before || watcher.client.News().Changed {
		t.Errorf("%d offers before the step, then %d; it is news, too", before, n)
	}
	takes.Store(false)
	host.mustDo(`{"do":"step"}`)
	refused := offers.Load()
	host.mustDo(`{"do":"step"}`)
	if n := offers.Load(); n != refused {
		t.Error("offered though an earlier change is news")
	}
	if news := watcher.client.News(); !news.Changed {
		t.Errorf("what was not taken is no news: %+v", news)
	}
	if news := watcher.client.News(); news.Changed {
		t.Error("it is news twice")
	}
}

// Who comes hears what changes from then on, until they leave.
func TestWhoIsHereHears(t *testing.T) {
	t.Parallel()
	r, host := hosted(t)
	offers := make([]atomic.Int64, 3)
	watchers := make([]*member, len(offers))
	for i := range watchers {
		watchers[i] = entered(t, r, casts(func(*board.News) bool {
			offers[i].Add(1)
			return true
		}))
	}
	heard := func() (who []int) {
		before := make([]int64, len(offers))
		for i := range offers {
			before[i] = offers[i].Load()
		}
		host.mustDo(`{"do":"step"}`)
		for i := range offers {
			if offers[i].Load() > before[i] {
				who = append(who, i)
			}
		}
		return who
	}
	if who := heard(); len(who) > 0 {
		t.Errorf("%v hear, and nobody has joined", who)
	}
	watchers[0].mustDo(`{"do":"join","part":"audience"}`)
	if who := heard(); !slices.Equal(who, []int{0}) {
		t.Errorf("%v hear, want the first", who)
	}
	watchers[1].mustDo(`{"do":"join","part":"audience"}`)
	if who := heard(); !slices.Equal(who, []int{0, 1}) {
		t.Errorf("%v hear, want the first two", who)
	}
	watchers[0].client.Leave()
	if who := heard(); !slices.Equal(who, []int{1}) {
		t.Errorf("%v hear, want the second alone", who)
	}
}

// It would come after the news of why the connection is to end.
func TestAConnectionThatEndsIsOfferedNothing(t *testing.T) {
	t.Parallel()
	r, host := hosted(t)
	var offers atomic.Int64
	watcher := entered(t, r, casts(func(*board.News) bool {
		offers.Add(1)
		return true
	}))
	watcher.mustDo(`{"do":"join","part":"audience"}`)
	id := watcher.client.Member()
	host.mustDo(`{"do":"remove","member":"` + id + `"}`)
	if watcher.client.News().Closing != board.Removed {
		t.Fatal("not removed")
	}
	before := offers.Load()
	host.mustDo(`{"do":"step"}`)
	if offers.Load() != before {
		t.Error("one who was removed is offered a frame")
	}
}
