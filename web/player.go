package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"relock/engine"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/room"
	"relock/web/session"
	"relock/web/templates"
	"relock/web/turn"
	"relock/web/wire"
	"relock/web/words"
)

// player is one page and its stepping session.
type player struct {
	s       *Server
	l       words.Language
	conn    *wire.Conn
	session *engine.Session
	sent    map[int]*shown // by branch
	seat    *turn.Seat
	ctx     context.Context
	re      int       // the id of that command
	began   time.Time // when that command was read
	account *session.Account

	sending     sync.Mutex   // guards conn's frames
	exploration *exploration // nil without one
	walked      *walked      // nil without one
}

// hold accounts for the memory that the session and its page now take. It fails
// with a *session.LimitError if that is too much.
func (p *player) hold() error {
	size := p.session.Size()
	for _, b := range p.session.Branches() {
		size += len(b.Events) * film.EventSize(p.session.Scenario())
	}
	return p.account.Hold(size)
}

// shown is a branch, as far as it has been rendered for the page.
type shown struct {
	film      *film.Film
	events    int
	positions int // how many the page has
}

// open begins a session and sends all of its branches.
func (p *player) open(ctx context.Context, c openArgs) error {
	state, err := opened(c)
	if err != nil {
		return err
	}
	branches, err := schedules(state.Scenario, c.Branches)
	if err != nil {
		return err
	}
	fresh, err := engine.Open(ctx, state.Scenario.WithSchedule(branches[0].moves))
	if err != nil {
		return err
	}
	opened := false
	defer func() {
		if !opened {
			fresh.Close()
		}
	}()
	for _, b := range branches[1:] {
		if _, err := fresh.Add(ctx, b.parent, b.fork, b.moves); err != nil {
			return err
		}
	}
	if p.session != nil {
		p.session.Close()
	}
	p.forget()
	p.session, p.sent, opened = fresh, map[int]*shown{}, true
	if err := p.hold(); err != nil {
		fresh.Close()
		p.session = nil
		_ = p.account.Hold(0)
		return err
	}
	o, err := p.s.described(p.l, fresh.Scenario())
	if err != nil {
		return err
	}
	o.At = state.At
	if err := p.write(answer{Opened: o}); err != nil {
		return err
	}
	for _, b := range fresh.Branches() {
		if err := p.show(b); err != nil {
			return err
		}
	}
	return nil
}

func opened(c openArgs) (link.State, error) {
	if c.Link != "" {
		return link.Decode(c.Link)
	}
	sc, err := scenario.Parse([]byte(c.Scenario))
	if err != nil {
		return link.State{}, err
	}
	return link.State{Scenario: sc, At: len(sc.Schedule)}, nil
}

type schedule struct {
	parent, fork int
	moves        []scenario.Move
}

// schedules reads the branches that a page brings along. Without any, there is
// only the scenario's schedule.
func schedules(sc *scenario.Scenario, list []broughtJSON) ([]schedule, error) {
	if len(list) == 0 {
		return []schedule{{-1, 0, sc.Schedule}}, nil
	}
	if len(list) > engine.MaxBranches {
		return nil, engine.ErrBranches
	}
	var out []schedule
	for i, b := range list {
		one, err := movesOf(sc, b.Moves)
		if err != nil {
			return nil, err
		}
		if b.Parent >= i || b.Parent < -1 || b.Fork < 0 || b.Fork > len(one) {
			return nil, phrase.New("the branches do not fit each other: a parent comes before its branch, and the fork is within its moves")
		}
		out = append(out, schedule{b.Parent, b.Fork, one})
	}
	return out, nil
}

// described is what a page needs to know of a scenario before its rows come.
func (s *Server) described(l words.Language, sc *scenario.Scenario) (*openedJSON, error) {
	text, err := sc.Compact()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	shown := film.NewScenario(l, sc)
	o := &openedJSON{Scenario: text, Title: titleOf(l, sc), Lease: shown.LeaseMillis, Key: shown.Key, Never: page.NewNever(l, sc)}
	for _, t := range shown.Threads {
		o.Threads = append(o.Threads, t.Name)
	}
	if o.Head, err = rendered(l, templates.Head(shown, true)); err != nil {
		return nil, err
	}
	if o.Rail, err = rendered(l, templates.Rail(shown)); err != nil {
		return nil, err
	}
	if o.Lua, err = rendered(l, templates.Lua(film.Scripts(l, sc))); err != nil {
		return nil, err
	}
	if o.Kinds, err = kindsOf(l, sc); err != nil {
		return nil, err
	}
	if name := s.exampleOf(sc); name != "" {
		shown, err := exhibitOf(name)
		if err != nil {
			return nil, err
		}
		ending, err := endingOf(l, name)
		if err != nil {
			return nil, err
		}
		o.Shows = l.Say(shown.Shows)
		if o.Ways, err = rendered(l, templates.EndingWays(ending)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// exampleOf is the name of the bundled scenario that sc is, whatever moves were
// made in it, or "".
func (s *Server) exampleOf(sc *scenario.Scenario) string {
	text := bare(sc)
	for _, e := range s.examples {
		if e.sc().Title == sc.Title && bare(e.sc()) == text {
			return e.name
		}
	}
	return ""
}

// bare is a scenario without moves and expectations, "" where it cannot be
// written.
func bare(sc *scenario.Scenario) string {
	without := *sc
	without.Schedule, without.Expect = nil, nil
	text, err := without.Compact()
	if err != nil {
		return ""
	}
	return string(text)
}

// step makes a thread's move, or the policy's if no thread is given.
func (p *player) step(ctx context.Context, b *engine.Branch, c stepArgs) error {
	at := c.after(b)
	if c.Thread == "" && at != len(b.Moves) {
		return phrase.New("the next move here has been made already; a step without a thread goes on at the branch's end")
	}
	return p.moved(func() (*engine.Branch, error) {
		switch {
		case c.Thread == "":
			return p.session.Step(ctx, b.ID)
		case c.Network:
			return p.session.StepNetwork(ctx, b.ID, at, c.Thread, c.Node)
		case c.Node > 0:
			return p.session.StepNode(ctx, b.ID, at, c.Thread, c.Node)
		default:
			return p.session.StepThread(ctx, b.ID, at, c.Thread, c.Background)
		}
	})
}

func (p *player) cut(ctx context.Context, b *engine.Branch, c afterMoves) error {
	return p.moved(func() (*engine.Branch, error) { return p.session.Cut(ctx, b.ID, c.after(b)) })
}

func (p *player) drop(_ context.Context, b *engine.Branch, _ onBranch) error {
	if err := p.session.Drop(b.ID); err != nil {
		return phrase.New("the only branch there is stays")
	}
	delete(p.sent, b.ID)
	_ = p.hold() // it holds less
	return p.write(answer{Dropped: &b.ID})
}

// lanes sends the lanes around a row; by default the one that the first moves
// led to.
func (p *player) lanes(_ context.Context, b *engine.Branch, c lanesArgs) error {
	at := len(b.Moves)
	if c.At != nil && *c.At >= 0 && *c.At < at {
		at = *c.At
	}
	row := b.Positions[at].Row
	if c.Row != nil {
		row = *c.Row
	}
	html, err := drawnLanes(p.l, p.sent[b.ID].film, row)
	if err != nil {
		return err
	}
	return p.write(answer{Lanes: html, LanesOf: b.ID})
}

// moved makes one move and shows the result.
func (p *player) moved(move func() (*engine.Branch, error)) error {
	if err := p.hold(); err != nil {
		return err
	}
	b, err := move()
	if err != nil {
		return err
	}
	return p.show(b)
}

// show sends the positions and rows of a branch that the page does not have
// yet. What a branch shares with its parent, the page already has.
func (p *player) show(b *engine.Branch) error {
	done := p.sent[b.ID]
	if done == nil || done.events > len(b.Events) {
		done = &shown{film: film.New(p.l, p.session.Scenario(), b.Header.Owners)}
		if p.sent[b.Parent] != nil {
			done.positions = b.Fork + 1
		}
		p.sent[b.ID] = done
	}
	for _, e := range b.Events[done.events:] {
		done.film.Add(e)
	}
	done.events = len(b.Events)
	for from := done.positions; from <= len(b.Positions); {
		to := min(from+framePosition, len(b.Positions))
		a, err := partOf(p.l, done.film, b, from, to)
		if err != nil {
			return err
		}
		a.Branch = &branchJSON{ID: b.ID, Parent: b.Parent, Fork: b.Fork}
		if to == len(b.Positions) {
			if a.Lanes, err = drawnLanes(p.l, done.film, b.Positions[to-1].Row); err != nil {
				return err
			}
			a.LanesOf = b.ID
		}
		if err := p.write(a); err != nil {
			return err
		}
		if from = to; to == len(b.Positions) {
			break
		}
	}
	done.positions = len(b.Positions)
	return nil
}

// run makes the policy's moves until the requested condition holds.
func (p *player) run(ctx context.Context, b *engine.Branch, c runArgs) error {
	until, err := room.Aim(p.session.Scenario(), c.To, c.Thread, film.Matters)
	if err != nil {
		return err
	}
	if b.Positions[len(b.Positions)-1].Over {
		return &run.Refusal{Reason: run.IsOver}
	}
	shown := time.Now()
	for !b.Positions[len(b.Positions)-1].Over {
		if time.Since(shown) >= showEvery {
			if err := p.show(b); err != nil {
				return err
			}
			shown = time.Now()
		}
		before := len(b.Events)
		if _, err := p.session.Step(ctx, b.ID); err != nil {
			return errors.Join(p.show(b), err)
		}
		if err := p.hold(); err != nil {
			return errors.Join(p.show(b), err)
		}
		found := false
		for _, e := range b.Events[before:] {
			found = found || until(e)
		}
		if found {
			break
		}
	}
	return p.show(b)
}

func (p *player) time(ctx context.Context, b *engine.Branch, c timeArgs) error {
	var d time.Duration
	switch engine.Passage(c.To) {
	case engine.ToEvent, engine.ToExpiry:
	case engine.ByLength:
		var ok bool
		if d, ok = scenario.ParsePassage(c.By); !ok {
			return phrase.New("time passes by a length such as 50ms or 1.5s, up to 24h")
		}
	default:
		return phrase.New("time cannot pass to %q; allowed: event, expiry, by", c.To)
	}
	return p.moved(func() (*engine.Branch, error) {
		return p.session.PassTime(ctx, b.ID, c.after(b), engine.Passage(c.To), d)
	})
}

func (p *player) strike(ctx context.Context, b *engine.Branch, c strikeArgs) error {
	m, err := p.session.Scenario().ParseStrike(c.Fault)
	if err != nil {
		return err
	}
	return p.moved(func() (*engine.Branch, error) { return p.session.Apply(ctx, b.ID, c.after(b), m) })
}

// compare shows two branches row by row.
func (p *player) compare(_ context.Context, left *engine.Branch, c compareArgs) error {
	right, err := p.session.Branch(c.With)
	if err != nil {
		return err
	}
	films := []*film.Film{p.sent[left.ID].film, p.sent[right.ID].film}
	html, err := compared(p.l, p.session.Scenario(), []*engine.Branch{left, right}, films, c.Names)
	if err != nil {
		return err
	}
	return p.write(answer{Compared: html})
}

// locks plays the branch's schedule on several locks.
func (p *player) locks(ctx context.Context, b *engine.Branch, c locksArgs) error {
	html, err := onLocks(ctx, p.l, p.session.Scenario(), b, c.Protocols)
	if err != nil {
		return err
	}
	return p.write(answer{Compared: html})
}

// trace sends a branch's trace as JSON Lines.
func (p *player) trace(_ context.Context, on *engine.Branch, _ onBranch) error {
	text, err := traced(p.session.Scenario(), on)
	if err != nil {
		return err
	}
	return p.write(answer{Trace: text})
}
