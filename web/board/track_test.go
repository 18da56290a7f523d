package board_test

import (
	"context"
	"encoding/json"
	"testing"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
)

// oneOf is the journal of one of several servers that share a log in memory.
type oneOf struct {
	*board.Solo

	name string
}

func (o oneOf) Server() string         { return o.name }
func (o oneOf) Gone([]string) []string { return nil }

// deposed is a journal whose leader stands still before it appends: by then
// another server leads the room, and what is in the log is that one's.
type deposed struct {
	oneOf

	other chan board.Entry // that is appended instead; closed: all is as ever
	tried chan struct{}    // the leader is about to append
	goOn  chan struct{}    // it is fenced
}

func (d *deposed) Lead(ctx context.Context, code string) (board.Term, error) {
	t, err := d.Solo.Lead(ctx, code)
	return &deposedTerm{t, d}, err
}

type deposedTerm struct {
	board.Term

	d *deposed
}

func (t *deposedTerm) Append(ctx context.Context, list []board.Entry) error {
	if len(list) == 0 || list[0].Do != "step" || list[0].Refused != "" {
		return t.Term.Append(ctx, list)
	}
	select {
	case other, armed := <-t.d.other:
		if !armed {
			break
		}
		t.d.tried <- struct{}{}
		<-t.d.goOn
		other.Seq, other.At = list[0].Seq, list[0].At
		if err := t.Term.Append(ctx, []board.Entry{other}); err != nil {
			return err
		}
		t.d.tried <- struct{}{}
		<-t.d.goOn
		return board.ErrFenced
	default:
	}
	return t.Term.Append(ctx, list)
}

// A server tries a step, and is fenced before it is in the log: another one had
// 7 ms pass there. All show what the log has, no matter which server made what before.
func TestWhatWasTriedAndNotLoggedIsNeverShown(t *testing.T) {
	const step, another = `{"do":"step","thread":"A"}`, `{"do":"time","to":"by","by":"7ms"}`
	moved := func(branch, parent, at int, move string) board.Entry {
		m := board.Made{Branch: branch, Parent: parent, Fork: at, After: at, Moves: []json.RawMessage{json.RawMessage(move)}}
		return board.Entry{Do: "time", Made: []board.Made{m}, Stand: &board.Stand{Branch: branch, At: at + 1}}
	}
	for name, c := range map[string]struct {
		before []string
		logged board.Entry
		want   string // moves of the branch on which all stand
	}{
		"at the end of a branch": {nil, moved(0, -1, 0, `{"until":"7ms"}`), `[{"until":"7ms"}]`},
		"as a branch of its own": {[]string{another, `{"do":"go","branch":0,"at":0}`}, moved(1, 0, 0, `{"until":"9ms"}`), `[{"until":"9ms"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			log := solo(t, "")
			d := &deposed{oneOf: oneOf{log, "a"}, other: make(chan board.Entry, 1), tried: make(chan struct{}), goOn: make(chan struct{})}
			leads, follows := newHouse(t, d), newHouse(t, oneOf{log, "b"})
			code, secret := open(t, leads)
			host := joinAs(t, leads, code, board.Host, secret)
			joinAs(t, follows, code, board.Audience, "")
			host.mustDo(c.before...)
			was := trackOf(t, leads, code)

			d.other <- c.logged
			lost := make(chan string)
			go func() { lost <- host.do(step) }()
			<-d.tried
			equalTracks(t, "before it is in the log", trackOf(t, leads, code), was)
			d.goOn <- struct{}{}
			<-d.tried
			until(t, "both to have what was logged", func() bool {
				return state(t, leads, code).Stand == *c.logged.Stand && state(t, follows, code).Stand == *c.logged.Stand
			})
			check := func(when string) {
				t.Helper()
				a, b := trackOf(t, leads, code), trackOf(t, follows, code)
				equalTracks(t, when, a, b)
				equalTracks(t, when+", made again", a, again(t, a.Moves))
			}
			check("while the term goes on")
			if text, _ := json.Marshal(trackOf(t, leads, code).Moves); string(text) != c.want {
				t.Errorf("the moves are %s, want %s", text, c.want)
			}
			d.goOn <- struct{}{}
			second := joinAs(t, leads, code, board.Host, secret)
			check("after the term")
			second.mustDo(`{"do":"time","to":"event"}`)
			until(t, "the follower to have it", func() bool { return state(t, follows, code).Stand.At == c.logged.Stand.At+1 })
			check("when the class goes on")
			host.client.Leave()
			close(d.other)
		})
	}
}

// trackOf is the branch on which a room stands, as a server shows it.
func trackOf(t *testing.T, h *board.House, code string) *engine.Path {
	t.Helper()
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	var b *board.Track
	err = r.Look(func(v board.View) (err error) {
		b, err = v.Run.Track(v.Context, v.State, v.State.Stand.Branch)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Path
}

// again makes moves in a run of its own.
func again(t *testing.T, moves []scenario.Move) *engine.Path {
	t.Helper()
	b, err := engine.PathOf(t.Context(), leaseExpiry(t).WithSchedule(moves))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func equalTracks(t *testing.T, when string, got, want *engine.Path) {
	t.Helper()
	as := func(b *engine.Path) string {
		text, err := json.Marshal([]any{append([]scenario.Move{}, b.Moves...), b.Positions, append([]trace.Event{}, b.Events...)})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if a, b := as(got), as(want); a != b {
		t.Errorf("%s: the branch is\n%s\nwant\n%s", when, a, b)
	}
}
