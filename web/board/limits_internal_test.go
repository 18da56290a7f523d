package board

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/scenario"
)

// begun is a referee of a room that was just made, at an instant of the test's.
func begun(t *testing.T, now *time.Time) *referee {
	t.Helper()
	at := now.UnixMilli()
	f := &referee{state: &State{}, now: func() time.Time { return *now }, note: func(err error) { t.Error(err) }}
	f.state.Fold(Entry{Seq: 1, At: at, Whole: &State{Opened: at, Deserted: at, Hosts: []string{"proof"}, People: map[string]*Member{}, Seats: map[string]Seat{}}})
	return f
}

// comes has somebody join, and returns the sentence that refuses it.
func comes(t *testing.T, f *referee, conn int, from string, part Part) string {
	t.Helper()
	list := f.decide(t.Context(), Request{Conn: fmt.Sprintf("x/%d", conn), Lang: "en", From: from, Secret: "proof", Fresh: fmt.Sprint(conn), Command: Command{ID: 1, Do: DoJoin, Part: part}})
	return list[0].Refused
}

func TestARoomWithoutAHostEndsSoon(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	comes(t, f, 1, "", Audience)
	now = now.Add(HostsCome - time.Millisecond)
	if list := f.tick(t.Context()); len(list) > 0 || !f.deadline().Equal(now.Add(time.Millisecond)) {
		t.Errorf("it does %+v, and more at %v", list, f.deadline())
	}
	now = now.Add(time.Millisecond)
	if f.tick(t.Context()); !f.state.Ended {
		t.Error("a room that no host has entered goes on")
	}
	f = begun(t, &now)
	now = now.Add(time.Second)
	comes(t, f, 1, "", Host)
	f.decide(t.Context(), Request{Conn: "x/1", Left: true})
	now = now.Add(HostsAbsent - time.Millisecond)
	if f.tick(t.Context()); f.state.Ended {
		t.Error("a room whose host has left ended too soon")
	}
	now = now.Add(time.Millisecond)
	if f.tick(t.Context()); !f.state.Ended {
		t.Error("a room whose host has left goes on")
	}
}

// An address leaves as many seats to others as it takes; a large class behind
// one fits.
func TestOneAddressCannotTakeAllSeats(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	conn := 0
	fill := func(from string) (n int) {
		for {
			if conn++; comes(t, f, conn, from, Audience) != "" {
				return n
			}
			n++
		}
	}
	if n := fill("phone"); n != (MaxMembers+2)/3 { // half as many as are left for others, and one where that is no whole number
		t.Errorf("one address has taken %d of %d seats", n, MaxMembers)
	}
	if n := fill("school"); n < 100 {
		t.Errorf("the next one got %d", n)
	}
	for range 7 {
		fill(fmt.Sprint("phone", conn))
	}
	if conn++; comes(t, f, conn, "someone", Player) != "" {
		t.Error("nobody else can come in")
	}
}

// Who comes back to a locked room keeps the part, but a host only with the host's secret.
func TestWhoComesBackToALockedRoom(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	for conn, part := range []Part{Host, Player, Audience} {
		comes(t, f, conn, "", part)
	}
	f.state.Rules.Locked = true
	for _, c := range []struct {
		member       int
		as, is, then Part
		secret       string
	}{
		{1, Player, Host, Player, ""},
		{2, Audience, Player, Player, ""},
		{3, Player, Audience, Audience, ""},
		{3, Host, Audience, Host, "proof"},
	} {
		id := fmt.Sprint("m", c.member)
		if is := f.state.People[id].Part; is != c.is {
			t.Errorf("%s is %s, want %s", id, is, c.is)
		}
		f.decide(t.Context(), Request{Conn: "x/9", Lang: "en", Secret: c.secret, Token: fmt.Sprint(c.member - 1), Fresh: "9", Command: Command{Do: DoJoin, Member: id, Part: c.as}})
		if then := f.state.People[id].Part; then != c.then {
			t.Errorf("%s, who was %s, comes back as %s and is %s, want %s", id, c.is, c.as, then, c.then)
		}
	}
}

func TestARoomIsFull(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	for conn := range MaxMembers {
		if refused := comes(t, f, conn, "", Audience); refused != "" {
			t.Fatalf("number %d is refused: %s", conn+1, refused)
		}
	}
	if refused := comes(t, f, MaxMembers, "", Player); refused != "The room is full: it takes 1,000." {
		t.Errorf("one more hears %q", refused)
	}
	if refused := comes(t, f, MaxMembers+1, "", Host); refused != "" {
		t.Errorf("a host is refused: %s", refused)
	}
}

// Members who come and go without doing anything leave nothing behind; those who voted or
// play a thread do.
func TestWhoLeavesNoTraceIsForgotten(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	comes(t, f, 1, "", Audience)
	comes(t, f, 2, "", Player)
	f.log(Entry{Question: &Question{ID: 1, Round: 1, Options: map[string][]string{"en": {"a", "b"}}}}, Entry{Seats: map[string]Seat{"A": {By: []string{"m2"}}}})
	f.decide(t.Context(), Request{Conn: "x/1", Member: "m1", Command: Command{ID: 2, Do: "vote", Option: new(int)}})
	for conn := 1; conn < 2*MaxMembers; conn++ {
		comes(t, f, conn, "", Audience)
		f.decide(t.Context(), Request{Conn: fmt.Sprintf("x/%d", conn), Left: true})
	}
	if n := len(f.state.People); n > keptAway+2 {
		t.Errorf("%d people are kept", n)
	}
	if f.state.People["m1"] == nil || f.state.People["m2"] == nil || f.state.People["m1999"] == nil || f.state.People["m100"] != nil {
		t.Error("not those are kept who are to be")
	}
}

// A whole class that is cut off before it has done anything comes back as itself,
// whoever comes and goes meanwhile from elsewhere.
func TestWhoDropsComesBackAsItself(t *testing.T) {
	const class = 300
	now := time.UnixMilli(1_800_000_000_000)
	f := begun(t, &now)
	leaves := func(conn int) { f.decide(t.Context(), Request{Conn: fmt.Sprintf("x/%d", conn), Left: true}) }
	var names []int
	for conn := range class {
		if refused := comes(t, f, conn, "school", Player); refused != "" {
			t.Fatalf("phone %d is refused: %s", conn, refused)
		}
		names = append(names, f.state.People[fmt.Sprintf("m%d", conn+1)].Name)
	}
	for conn := range class {
		leaves(conn)
	}
	for conn := class; conn < class+2*MaxMembers; conn++ {
		comes(t, f, conn, "elsewhere", Audience)
		leaves(conn)
	}
	if n := len(f.state.People); n > keptAway {
		t.Errorf("%d people are kept", n)
	}
	for conn := range class {
		id := fmt.Sprintf("m%d", conn+1)
		list := f.decide(t.Context(), Request{
			Conn: fmt.Sprintf("back/%d", conn), Lang: "en", From: "school", Token: fmt.Sprint(conn), Fresh: "fresh",
			Command: Command{ID: 1, Do: DoJoin, Part: Player, Member: id},
		})
		if list[0].Refused != "" || list[0].Member != id || f.state.People[id].Name != names[conn] {
			t.Fatalf("phone %d of %d comes back to %+v", conn+1, class, list[0])
		}
	}
}

// So many requests wait, and no more.
func TestTheInboxIsBounded(t *testing.T) {
	s, err := NewSolo("")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), "K7M4XW", Entry{Seq: 1, Whole: &State{}}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for ; sent <= mostRequests && err == nil; sent++ {
		err = s.Send(t.Context(), "K7M4XW", Request{Member: "m1"})
	}
	if sent != mostRequests+1 || !errors.Is(err, ErrBusy) {
		t.Errorf("%d requests wait: %v", sent, err)
	}
	if err := s.Send(t.Context(), "K7M4XW", Request{Left: true}); err != nil {
		t.Errorf("who leaves cannot say so: %v", err)
	}
}

// The next try forgets moves that never came into the log, say because another server
// leads now.
func TestATryThatIsNotLoggedIsForgotten(t *testing.T) {
	sc, err := scenario.Parse([]byte(`threads: [{name: A}, {name: B}]`))
	if err != nil {
		t.Fatal(err)
	}
	f := referee{state: &State{Scene: Scene{Branches: []Branch{{Parent: -1}}}, Made: 1}, run: runOf(sc), now: time.Now}
	defer f.run.Close()
	for range 2 {
		if _, err := f.make(t.Context(), 0, 0, engine.Wish{Thread: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	made, err := f.make(t.Context(), 0, 0, engine.Wish{Thread: "B"})
	if err != nil || made == nil || made.Branch != 0 || made.After != 0 || len(made.Moves) != 1 {
		t.Fatalf("B's first move comes to %+v, %v", made, err)
	}
	f.state.make(*made)
	b, err := f.run.Track(t.Context(), f.state, 0)
	if err != nil {
		t.Fatal(err)
	}
	if last := b.Events[len(b.Events)-1]; last.Thread != "B" || len(b.Moves) != 1 {
		t.Errorf("after %d moves the last event is %s's", len(b.Moves), last.Thread)
	}
}
