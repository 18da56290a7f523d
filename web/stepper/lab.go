package stepper

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/labs"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/templates"
)

// MostOrders is how many orders a search from a page of a lab tries.
const MostOrders = 2000

// labPlayer is one page and the lab that it steers. Others may steer it, too.
type labPlayer struct {
	*speaker

	of     *labs.Lab
	page   LabPage
	leave  func()
	state  labs.State
	drawn  *scenario.Scenario   // of what was shown
	had    map[int]*labs.Branch // as they were shown, nil before anything is
	header string               // scenario, rail and scripts, as they were shown
	search *labs.Search         // as last sent
}

// LabPage is what the page of a lab has beside the stage.
type LabPage struct {
	Rail func(labs.State) page.LabRail
	End  func() // closes the lab; nil where the visitor may not
}

// LabSocket serves a page of a lab in the given state. The lab outlives it.
func (s *Sockets) LabSocket(w http.ResponseWriter, r *http.Request, one *labs.Lab, st labs.State, of LabPage) error {
	return s.speak(w, r, shell.LabSocket, board.Lab, func(by *speaker) func() {
		p := &labPlayer{speaker: by, of: one, page: of, state: st, leave: one.Enter()}
		p.reader = p.newReader(p.look)
		p.do, p.opened = p.decide, func() bool { return p.had != nil }
		p.changed, p.follow = one.Changed, p.followed
		return p.leave
	})
}

// look returns branches for the reader.
func (p *labPlayer) look(_ context.Context, ids ...int) (at Branches, err error) {
	at.Scenario = p.state.Scenario
	for _, id := range ids {
		if p.sent[id] == nil {
			return at, board.ErrNoBranch
		}
		b, err := p.had[id].Whole()
		if err != nil {
			return at, err
		}
		at.List = append(at.List, b)
	}
	return at, nil
}

// decide does what a command asks for.
func (p *labPlayer) decide(ctx context.Context, c board.Command) error {
	switch c.Do {
	case board.DoOpen:
		return p.open()
	case "run":
		return p.run(ctx, c)
	case "search":
		return p.of.Search(ctx, lab.Bounds{Faults: c.Kinds, MaxFaults: c.MostFaults, MaxOrders: MostOrders})
	case board.DoHalt:
		p.of.Halt()
		return nil
	case "end":
		if p.page.End == nil {
			return phrase.New("only the visitor who opened this lab can close it")
		}
		p.page.End()
		return nil
	}
	if is, err := p.reader.Answer(ctx, c, p.answer); is {
		return err
	}
	return p.order(ctx, c)
}

// open sends everything.
func (p *labPlayer) open() (err error) {
	if p.state, err = p.of.State(); err != nil {
		return err
	}
	p.forget()
	p.search = nil
	if p.header, err = p.headerNow(); err != nil {
		return err
	}
	rail, err := p.rail()
	if err != nil {
		return err
	}
	text, err := p.state.Scenario.Compact()
	if err != nil {
		return err
	}
	sc := film.NewScenario(p.l, p.state.Scenario)
	sc.Bare = true
	o := &Opened{Scenario: text, Title: p.l.Say("Your lock, on the stage"), Lease: sc.LeaseMillis, Key: sc.Key, At: 1 << 20, Rail: rail}
	for _, t := range sc.Threads {
		o.Threads = append(o.Threads, t.Name)
	}
	for _, b := range p.state.Branches {
		if b.Live {
			o.Live = &b.ID
		}
	}
	if o.Head, err = templates.Text(p.l, templates.Head(sc)); err != nil {
		return err
	}
	if o.Stage, err = templates.Text(p.l, templates.Stage(sc, page.Before(p.l, p.state.Scenario))); err != nil {
		return err
	}
	if o.Lua, err = p.lua(); err != nil {
		return err
	}
	if err := p.write(Frame{Opened: o}); err != nil {
		return err
	}
	return p.showNew()
}

// headerNow is what the page has around the branches: it changes when the key is found, or
// a client says who it is.
func (p *labPlayer) headerNow() (string, error) {
	frame, err := p.state.Scenario.Compact()
	if err != nil {
		return "", err
	}
	rail, err := p.rail()
	if err != nil {
		return "", err
	}
	lua, err := p.lua()
	return string(frame) + rail + lua, err
}

// lua are the scripts of the clients.
func (p *labPlayer) lua() (string, error) {
	all := map[string]string{}
	for _, b := range p.state.Branches {
		if b.Header.Lab != nil {
			maps.Copy(all, b.Header.Lab.Scripts)
		}
	}
	return templates.Text(p.l, templates.Lua(film.ScriptsOf(p.l, p.state.Scenario, trace.Header{Lab: &trace.Lab{Scripts: all}})))
}

func (p *labPlayer) rail() (string, error) {
	return templates.Text(p.l, templates.LabRail(p.page.Rail(p.state)))
}

// followed shows what has changed by itself.
func (p *labPlayer) followed(context.Context) error {
	p.re = 0
	if p.had == nil {
		return nil
	}
	state, err := p.of.State()
	if err != nil {
		p.gone, _ = p.l.Explain(err)
		return err
	}
	return errors.Join(p.renewed(state), p.sendHeader())
}

// renewed shows the lab's state now.
func (p *labPlayer) renewed(state labs.State) error {
	p.state = state
	if p.drawn != state.Scenario { // rows speak of the key, and of the lease
		p.forget()
	}
	return p.showNew()
}

// forget has all branches shown again.
func (p *labPlayer) forget() {
	p.had, p.sent, p.drawn = map[int]*labs.Branch{}, map[int]*Shown{}, p.state.Scenario
}

// sendHeader has a page open the lab again that has another header.
func (p *labPlayer) sendHeader() error {
	header, err := p.headerNow()
	if err != nil || header == p.header {
		return err
	}
	p.header = header
	return p.write(Frame{Renew: true})
}

// showNew sends what the page does not have.
func (p *labPlayer) showNew() error {
	for id := range p.had {
		if !slices.ContainsFunc(p.state.Branches, func(b *labs.Branch) bool { return b.ID == id }) {
			delete(p.had, id)
			delete(p.sent, id)
			if err := p.write(Frame{Dropped: &id}); err != nil {
				return err
			}
		}
	}
	for _, b := range p.state.Branches {
		if p.had[b.ID] == b {
			continue
		}
		if err := p.showBranch(b); err != nil {
			return err
		}
		p.had[b.ID] = b
	}
	if s := p.state.Search; s != nil && (p.search == nil || !reflect.DeepEqual(*s, *p.search)) {
		p.search = s
		html, err := templates.Text(p.l, templates.LabFound(page.NewLabFound(p.l, p.state.Scenario.Lock.Kind, s.Bounds, s.Orders, s.Waiting, s.Broken, s.Going, s.Tried, s.Err)))
		if err != nil {
			return err
		}
		return p.write(Frame{Searched: &searchedJSON{Going: s.Going, HTML: html}})
	}
	return nil
}

// showBranch sends a branch as it is now: from the last place that the page has on, or all
// of it if an earlier part has changed.
func (p *labPlayer) showBranch(b *labs.Branch) error {
	if len(b.Positions) == 0 { // its round is yet to begin
		return nil
	}
	done := p.sent[b.ID]
	if was := p.had[b.ID]; done == nil || was.Telling != b.Telling {
		h := b.Header
		h.Owners = maps.Clone(h.Owners)
		done = &Shown{Film: film.Of(p.l, p.state.Scenario, h), owners: h.Owners}
		p.sent[b.ID] = done
	}
	if len(done.owners) < len(b.Header.Owners) {
		maps.Copy(done.owners, b.Header.Owners)
	}
	done.positions = max(done.positions-1, 0) // more can be decided there, and more may have happened
	return p.show(&b.Track, done, func(i int) Position { return p.position(b, i) })
}

// position is what could be decided at a place of a branch.
func (p *labPlayer) position(b *labs.Branch, i int) Position {
	at, place := b.Positions[i], b.Places[i]
	out := Position{Row: at.Row, At: p.l.Duration(at.At), Over: at.Over}
	out.Options = page.NewLabOptions(p.l, place.Threads, place.Choices, at.Over)
	out.Pointless = page.NewLabPointless(p.l, place.Threads, place.Choices)
	if place.Expiry > 0 {
		out.Expiry = p.l.Duration(at.At + place.Expiry)
	}
	if i > 0 {
		out.Move = made(b.Places[i-1], b.Way[i-1])
	}
	return out
}

// made is a decision as the page has it: the choice, or what befell.
func made(at labs.Place, d lab.Decision) any {
	if d.Do != "" {
		return d
	}
	n := 0
	for _, t := range at.Threads {
		for _, c := range at.Choices {
			if c.Thread != t.Name || c.Do != "" {
				continue
			}
			if c.Thread == d.Thread && c.Node == d.Node && c.Nth == d.Nth {
				return n
			}
			n++
		}
	}
	return d
}

// order carries out a command that steps, and shows what has come of it.
func (p *labPlayer) order(ctx context.Context, c board.Command) error {
	var on int
	var err error
	p.seat.Away(p.ctx, func() { on, err = p.of.Do(ctx, c) })
	var diverged *lab.DivergedError
	if err != nil && !errors.As(err, &diverged) {
		return err
	}
	state, failed := p.of.State()
	if failed != nil {
		return failed
	}
	if err := p.renewed(state); err != nil {
		return err
	}
	if b := p.had[on]; b != nil && (on != c.Branch || c.Do == "again" || c.Do == "order") {
		if err := p.write(Frame{Went: &wentJSON{on, len(b.Way)}}); err != nil {
			return err
		}
	}
	if failed := p.sendHeader(); failed != nil {
		return failed
	}
	return err
}

// run goes on with the first command that waits, to the end of the round, or to the
// first rule that breaks.
func (p *labPlayer) run(ctx context.Context, c board.Command) error {
	b := p.had[c.Branch]
	if b == nil {
		return board.ErrNoBranch
	}
	breaks := func(e trace.Event) bool { return e.Kind() == trace.KindViolation }
	for range 200 {
		at := len(b.Positions) - 1
		if _, ok := b.Places[at].First(); !ok || b.Positions[at].Over {
			return nil
		}
		if err := p.order(ctx, board.Command{Do: "step", Branch: b.ID}); err != nil {
			return err
		}
		was := len(b.Events)
		for _, one := range p.state.Branches {
			if one.Live {
				b = one
			}
		}
		if slices.ContainsFunc(b.Events[min(was, len(b.Events)):], breaks) {
			return nil
		}
	}
	return nil
}
