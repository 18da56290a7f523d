package stepper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/site"
	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/site/wire"
	"relock/web/words"
)

// speaker is one page that steps: it asks by commands, and is answered by frames.
type speaker struct {
	s       *Sockets
	of      board.Tenant
	l       words.Language
	conn    *wire.Conn
	sent    map[int]*Shown // by branch
	seat    *turn.Seat
	ctx     context.Context
	re      int       // the id of the command under way, 0 of none
	began   time.Time // when that command was read
	account *limit.Account
	reader  *Reader

	do      func(ctx context.Context, c board.Command) error
	opened  func() bool                 // something is
	changed func() <-chan struct{}      // nil if nothing changes by itself
	follow  func(context.Context) error // shows what has changed
	gone    string                      // why there is nothing to step through any more, "" while there is

	sending sync.Mutex // guards conn's frames
}

// newReader returns what answers the page's questions about its branches, which look finds.
func (p *speaker) newReader(look func(context.Context, ...int) (Branches, error)) *Reader {
	return &Reader{
		Sockets: p.s, Language: p.l, Context: p.ctx, Seat: p.seat, Address: p.account.Address(), Ends: site.OfPlay, Look: look,
		Film: func(_ *scenario.Scenario, b *board.Track) *film.Film { return p.sent[b.ID].Film },
		Lanes: func(branch, row int) (string, error) {
			if _, err := look(p.ctx, branch); err != nil {
				return "", err
			}
			return DrawnLanes(p.l, p.sent[branch].Film, row)
		},
		Tell: func(_ *Exploration, found Told) error { return p.send(Frame{V: 1, Told: found}) },
	}
}

// serve carries out commands, one after the other, until ctx or the page ends, and
// shows what changes by itself.
func (p *speaker) serve(ctx context.Context, commands <-chan []byte) {
	for {
		var changed <-chan struct{}
		if p.changed != nil {
			changed = p.changed()
			if p.inTurn(ctx, p.follow) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case text := <-commands:
			if p.inTurn(ctx, func(ctx context.Context) error { return p.carryOut(ctx, text) }) != nil {
				return
			}
		}
	}
}

// inTurn does something when it is its turn.
func (p *speaker) inTurn(ctx context.Context, do func(context.Context) error) error {
	p.began = time.Now()
	if err := p.seat.Take(ctx); err != nil {
		return err
	}
	defer p.seat.Done()
	return do(ctx)
}

// errWrite is returned by carryOut when the page cannot be reached.
var errWrite = errors.New("the page is gone")

// carryOut does what a frame asks for. It answers with the result and then
// done, or with the reason for refusing.
func (p *speaker) carryOut(ctx context.Context, text []byte) error {
	c, err := board.ParseCommand(p.of, text)
	p.re = int(c.ID)
	if err == nil {
		err = p.do(ctx, c)
	}
	if !errors.Is(err, board.ErrKeys) {
		name := c.Do
		if name == "" || name != board.DoOpen && !p.opened() {
			name = "none"
		}
		p.s.Meter.Command(name, time.Since(p.began))
	}
	switch {
	case err == nil:
		return p.write(Frame{Done: true})
	case errors.Is(err, errWrite), ctx.Err() != nil:
		return err
	}
	if limit := site.LimitName(err); limit != "" {
		p.s.NoteRefusal(ctx, p.account.Address(), limit)
	}
	return p.write(Frame{Refused: p.s.Explained(ctx, p.l, c.Do, err), Told: Told{Mistake: mistakeOf(err)}})
}

// answer sends what was asked.
func (p *speaker) answer(f Answered) error {
	if f == (Answered{}) {
		return nil
	}
	a := Frame{Lanes: f.Lanes, Compared: f.Compared, Trace: f.Trace, Causes: f.Causes, Stands: f.Stands}
	if f.LanesOf != nil {
		a.LanesOf = *f.LanesOf
	}
	return p.write(a)
}

// show sends the positions and rows of a branch that the page does not have yet.
func (p *speaker) show(b *board.Track, done *Shown, position func(i int) Position) error {
	done.Add(b.Path)
	if err := portions(p.l, done.Film, b, done.positions, position, p.write); err != nil {
		return err
	}
	done.positions = len(b.Positions)
	return nil
}

// write sends a frame in answer to the current command.
func (p *speaker) write(a Frame) error {
	a.V, a.Re = 1, p.re
	var err error
	p.seat.Away(p.ctx, func() { err = p.send(a) })
	return err
}

// send sends a frame, whichever of the page's goroutines asks for it.
func (p *speaker) send(a Frame) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("stepper: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.conn.Text(text) != nil {
		return errWrite
	}
	return nil
}
