package stepper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/link"
)

// player is one page and what it steps through.
type player struct {
	*speaker

	board *board.Alone // nil before something is opened
}

// errNothingOpen is returned for commands about what is not open yet.
var errNothingOpen = phrase.New("nothing is open yet: send the command open first")

// look returns branches, all where none are named.
func (p *player) look(ctx context.Context, ids ...int) (at Branches, err error) {
	if p.board == nil {
		return at, errNothingOpen
	}
	at.Scenario = p.board.Scenario()
	if len(ids) == 0 {
		at.List, err = p.board.Tracks(ctx)
		return at, err
	}
	for _, id := range ids {
		b, err := p.board.Track(ctx, id)
		if err != nil {
			return at, err
		}
		at.List = append(at.List, b)
	}
	return at, nil
}

// hold accounts for the memory that the session and its page now take. It fails
// with a *limit.Error if that is too much.
func (p *player) hold() error {
	return p.account.Hold(p.board.Size() + p.board.Events()*film.EventSize(p.board.Scenario()))
}

// open begins a session and sends all of its branches.
func (p *player) open(ctx context.Context, c board.Command) error {
	state, err := opened(c)
	if err != nil {
		return err
	}
	lines, err := linesOf(state.Scenario, c.Branches)
	if err != nil {
		return err
	}
	fresh, err := board.OpenAlone(ctx, state.Scenario, lines, film.Matters, p.hold)
	if err != nil {
		return err
	}
	p.reader.Forget()
	p.close()
	p.board, p.sent = fresh, map[int]*Shown{}
	if err := p.hold(); err != nil {
		p.close()
		_ = p.account.Hold(0)
		return err
	}
	o, err := p.s.Described(p.l, fresh.Scenario())
	if err != nil {
		return err
	}
	o.At = min(state.At, len(fresh.Branches()[0].Moves))
	if misfits := fresh.Dropped(); len(misfits) > 0 {
		o.Dropped = p.l.Sentence(misfits[0].Says())
	}
	if err := p.write(Frame{Opened: o}); err != nil {
		return err
	}
	list, err := fresh.Tracks(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if err := p.showMade(b); err != nil {
			return err
		}
	}
	return nil
}

// close ends what is open, if something is.
func (p *player) close() {
	if p.board != nil {
		p.board.Close()
		p.board = nil
	}
}

func opened(c board.Command) (link.Contents, error) {
	if c.Link != "" {
		return link.Decode(c.Link)
	}
	sc, err := scenario.Parse([]byte(c.Scenario))
	if err != nil {
		return link.Contents{}, err
	}
	return link.Contents{Scenario: sc, At: len(sc.Schedule)}, nil
}

// linesOf reads the branches that a page brings along. Without any, there is
// only the scenario's schedule.
func linesOf(sc *scenario.Scenario, list []board.Branch) ([]board.Line, error) {
	if len(list) == 0 {
		return []board.Line{{Parent: -1, Moves: sc.Schedule}}, nil
	}
	if len(list) > board.MaxBranches {
		return nil, board.ErrBranches
	}
	var out []board.Line
	for i, b := range list {
		one, err := MovesOf(sc, b.Moves)
		if err != nil {
			return nil, err
		}
		if b.Parent >= i || b.Parent < -1 || b.Fork < 0 || b.Fork > len(one) {
			return nil, phrase.New("the branches do not fit each other: a parent comes before its branch, and the fork is within its moves")
		}
		out = append(out, board.Line{Parent: b.Parent, Fork: b.Fork, Moves: one})
	}
	return out, nil
}

// decide does what a command asks for.
func (p *player) decide(ctx context.Context, c board.Command) (err error) {
	switch c.Do {
	case board.DoOpen:
		return p.open(ctx, c)
	case "step":
		return p.step(ctx, c)
	case board.DoExample, board.DoWalk:
		if c, err = p.reader.Way(ctx, c); err != nil {
			return err
		}
	}
	if is, err := p.reader.Answer(ctx, c, p.answer); is {
		return err
	}
	return p.order(ctx, c)
}

// step makes a thread's move, or the policy's if no thread is given.
func (p *player) step(ctx context.Context, c board.Command) error {
	if c.Thread == "" && c.At != nil {
		at, err := p.look(ctx, c.Branch)
		if err != nil {
			return err
		}
		if *c.At != len(at.List[0].Moves) {
			return phrase.New("the next move here is already made; a step without a thread goes on at the branch's end")
		}
	}
	return p.order(ctx, c)
}

// MovesOf reads a list of moves, in the format of a scenario's schedule.
func MovesOf[T any](sc *scenario.Scenario, list []T) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("stepper: %w", err)
	}
	return sc.ParseMoves(text)
}

// order carries out a command, and shows what it comes to, a run's progress now
// and then.
func (p *player) order(ctx context.Context, c board.Command) error {
	if p.board == nil {
		return errNothingOpen
	}
	shown, made := time.Now(), board.Entry{}
	for e, err := p.board.Do(ctx, c); ; e, err = p.board.GoOn(ctx) {
		if e.Stand != nil || e.Dropped != nil {
			made = e
		}
		var panicked *panics.Error
		if errors.As(err, &panicked) {
			panic(panicked) // it ends the session
		}
		goes := err == nil && p.board.Going()
		if !goes || time.Since(shown) >= showEvery {
			if err := errors.Join(p.tell(ctx, c, made), err); err != nil || !goes {
				return err
			}
			shown, made = time.Now(), board.Entry{}
		}
	}
}

// tell shows what a command came to.
func (p *player) tell(ctx context.Context, c board.Command, e board.Entry) error {
	if e.Dropped != nil {
		delete(p.sent, *e.Dropped)
		_ = p.hold() // it holds less
		if err := p.write(Frame{Dropped: e.Dropped}); err != nil {
			return err
		}
	}
	if e.Stand == nil || e.Dropped != nil && len(e.Made) == 0 {
		return nil
	}
	if c.Do != board.DoAdd || len(e.Made) > 0 {
		b, err := p.board.Track(ctx, e.Stand.Branch)
		if err != nil {
			return err
		}
		if err := p.showMade(b); err != nil {
			return err
		}
	}
	if c.Do == board.DoAdd {
		return p.write(Frame{Went: &wentJSON{e.Stand.Branch, e.Stand.At}})
	}
	return nil
}

// showMade sends the positions and rows of a branch that the page does not have
// yet. The page already has the part that a branch shares with its parent.
func (p *player) showMade(b *board.Track) error {
	done := p.sent[b.ID]
	if done == nil || done.Events > len(b.Events) {
		done = &Shown{Film: film.New(p.l, p.board.Scenario(), b.Header.Owners)}
		if p.sent[b.Parent] != nil {
			done.positions = b.Fork + 1
		}
		p.sent[b.ID] = done
	}
	return p.show(b, done, func(i int) Position { return PositionOf(p.l, b, i) })
}
