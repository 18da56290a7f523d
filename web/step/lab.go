package step

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"relock/engine"
	"relock/engine/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/frame"
	"relock/web/labs"
	"relock/web/page"
	"relock/web/site"
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
	had    map[int]*labs.Branch // as they were shown
	dress  string               // title, rail and scripts, as they were shown
	search *labs.Search         // as it was told
}

// LabPage is what the page of a lab has beside the stage.
type LabPage struct {
	Rail func(labs.State) page.LabRail
	End  func() // closes the lab; nil where the visitor may not
}

// LabSocket serves a page of a lab that stands as the state says. The lab outlives it.
func (s *Sockets) LabSocket(w http.ResponseWriter, r *http.Request, one *labs.Lab, st labs.State, of LabPage) error {
	return s.speak(w, r, frame.LabSocket, board.Lab, func(by *speaker) func() {
		p := &labPlayer{speaker: by, of: one, page: of, state: st, leave: one.Enter()}
		p.reader = &Reader{
			Sockets: s, Language: p.l, Context: p.ctx, Seat: p.seat, Address: p.account.Address(), Ends: site.OfPlay, Look: p.look,
			Film: func(_ *scenario.Scenario, b *engine.Branch) *film.Film { return p.sent[b.ID].Film },
			Lanes: func(branch, row int) (string, error) {
				if p.sent[branch] == nil {
					return "", engine.ErrNoBranch
				}
				return DrawnLanes(p.l, p.sent[branch].Film, row)
			},
		}
		p.do, p.opened = p.decide, func() bool { return p.had != nil }
		p.changed, p.follow = one.Changed, p.followed
		return p.leave
	})
}

// look returns branches for the reader.
func (p *labPlayer) look(_ context.Context, ids ...int) (at Branches, err error) {
	at.Scenario = p.state.Scenario
	for _, id := range ids {
		i := slices.IndexFunc(p.state.Branches, func(b *labs.Branch) bool { return b.ID == id })
		if i < 0 || p.sent[id] == nil {
			return at, engine.ErrNoBranch
		}
		at.List = append(at.List, &p.state.Branches[i].Branch)
	}
	return at, nil
}

// decide does what a command asks for.
func (p *labPlayer) decide(ctx context.Context, c board.Command) error {
	switch c.Do {
	case board.DoOpen:
		return p.open()
	case "step":
		return p.step(ctx, c)
	case "run":
		return p.run(ctx, c)
	case "time":
		return p.time(ctx, c)
	case "strike":
		return p.strike(ctx, c)
	case "cut":
		return p.again(ctx, c.Branch, c.At)
	case "again":
		return p.again(ctx, -1, nil)
	case "drop":
		return p.drop(c)
	case "search":
		return p.of.Search(ctx, lab.Bounds{Faults: c.Kinds, MaxFaults: c.MostFaults, MaxOrders: MostOrders})
	case board.DoHalt:
		p.of.Halt()
		return nil
	case "order":
		return p.order(ctx, c)
	case "end":
		if p.page.End == nil {
			return phrase.New("only the visitor who opened this lab can close it")
		}
		p.page.End()
		return nil
	default:
		_, err := p.reader.Answer(ctx, c, p.answer)
		return err
	}
}

// open sends everything.
func (p *labPlayer) open() (err error) {
	if p.state, err = p.of.State(); err != nil {
		return err
	}
	p.had, p.sent, p.search, p.drawn = map[int]*labs.Branch{}, map[int]*Shown{}, nil, p.state.Scenario
	if p.dress, err = p.dressed(); err != nil {
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
	o := &Opened{Scenario: text, Title: p.l.Say("Your lock, on the stage"), Lease: sc.LeaseMillis, Key: sc.Key, At: 1 << 20, Rail: rail}
	for _, t := range sc.Threads {
		o.Threads = append(o.Threads, t.Name)
	}
	for _, b := range p.state.Branches {
		if b.Live {
			o.Live = &b.ID
		}
	}
	if o.Head, err = templates.Text(p.l, templates.Head(sc, true)); err != nil {
		return err
	}
	if o.Lua, err = p.lua(); err != nil {
		return err
	}
	if err := p.write(Frame{Opened: o}); err != nil {
		return err
	}
	return p.show()
}

// dressed is what the page is dressed with: it changes when the key is found, or a
// client says who it is.
func (p *labPlayer) dressed() (string, error) {
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
	return errors.Join(p.renewed(state), p.redress())
}

// renewed shows how the lab stands now.
func (p *labPlayer) renewed(state labs.State) error {
	p.state = state
	if p.drawn != state.Scenario { // rows speak of the key, and of the lease
		p.had, p.sent, p.drawn = map[int]*labs.Branch{}, map[int]*Shown{}, state.Scenario
	}
	return p.show()
}

// redress has a page open the lab again that is dressed otherwise.
func (p *labPlayer) redress() error {
	dress, err := p.dressed()
	if err != nil || dress == p.dress {
		return err
	}
	p.dress = dress
	return p.write(Frame{Renew: true})
}

// show sends what the page does not have.
func (p *labPlayer) show() error {
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
		html, err := templates.Text(p.l, templates.LabFound(page.NewLabFound(p.l, s.Bounds, s.Orders, s.Waiting, s.Broken, s.Going, s.Tried, s.Err)))
		if err != nil {
			return err
		}
		return p.write(Frame{Searched: &searchedJSON{Going: s.Going, HTML: html}})
	}
	return nil
}

// showBranch sends a branch as it is now: from the place on that is another one.
func (p *labPlayer) showBranch(b *labs.Branch) error {
	if len(b.Positions) == 0 { // its round is yet to begin
		return nil
	}
	was, done := p.had[b.ID], p.sent[b.ID]
	from := 0
	if was != nil && done != nil && continues(was, b) {
		from = max(len(was.Positions)-1, 0)
	} else {
		done = &Shown{Film: film.Of(p.l, p.state.Scenario, b.Header)}
		p.sent[b.ID] = done
	}
	for _, e := range b.Events[done.Events:] {
		done.Film.Add(e)
	}
	done.Events = len(b.Events)
	position := func(i int) Position { return p.position(b, i) }
	return portions(p.l, done.Film, &b.Branch, from, position, p.write)
}

// continues reports whether a branch has all that it had, and perhaps more.
func continues(was, now *labs.Branch) bool {
	if len(now.Events) < len(was.Events) || !reflect.DeepEqual(now.Header.Lab.Scripts, was.Header.Lab.Scripts) || len(now.Way) < len(was.Way) || len(was.Header.Owners) != len(now.Header.Owners) {
		return false
	}
	return slices.EqualFunc(was.Events, now.Events[:len(was.Events)], func(a, b trace.Event) bool { return reflect.DeepEqual(a, b) })
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
			if c.Thread == d.Thread && c.Nth == d.Nth {
				return n
			}
			n++
		}
	}
	return d
}

// at is where a command acts: at the end of its branch where it does not say.
func (p *labPlayer) at(branch int, at *int) (*labs.Branch, int, error) {
	for _, b := range p.state.Branches {
		if b.ID == branch {
			if at != nil {
				return b, *at, nil
			}
			return b, len(b.Way), nil
		}
	}
	return nil, 0, engine.ErrNoBranch
}

// decideAt carries out a decision, and shows what has come of it.
func (p *labPlayer) decideAt(ctx context.Context, branch int, at *int, d lab.Decision) error {
	_, n, err := p.at(branch, at)
	if err != nil {
		return err
	}
	var made int
	p.seat.Away(p.ctx, func() { made, err = p.of.Decide(ctx, branch, n, d) })
	return p.came(branch, made, err)
}

// came shows a branch on which something has come of a command.
func (p *labPlayer) came(branch, made int, err error) error {
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
	if made != branch {
		if b, _, err := p.at(made, nil); err == nil {
			if err := p.write(Frame{Went: &wentJSON{made, len(b.Way)}}); err != nil {
				return err
			}
		}
	}
	if failed := p.redress(); failed != nil {
		return failed
	}
	return err
}

func (p *labPlayer) step(ctx context.Context, c board.Command) error {
	b, at, err := p.at(c.Branch, c.At)
	if err != nil {
		return err
	}
	d := lab.Decision{Thread: c.Thread, Nth: c.Nth}
	if c.Thread == "" {
		var ok bool
		if d, ok = first(b.Places[min(max(at, 0), len(b.Places)-1)]); !ok {
			return lab.ErrNoChoice
		}
	}
	return p.decideAt(ctx, c.Branch, c.At, d)
}

// first is what goes on by default: the first command that waits.
func first(at labs.Place) (lab.Decision, bool) {
	for _, c := range at.Choices {
		if c.Do == "" && !c.Late {
			return lab.Decision{Thread: c.Thread, Nth: c.Nth}, true
		}
	}
	return lab.Decision{}, false
}

// run goes on with the first command that waits, to the end of the round, or to the
// first rule that breaks.
func (p *labPlayer) run(ctx context.Context, c board.Command) error {
	b, _, err := p.at(c.Branch, nil)
	if err != nil {
		return err
	}
	breaks := broken(b)
	for range 200 {
		d, ok := first(b.Places[len(b.Places)-1])
		if !ok || b.Positions[len(b.Positions)-1].Over || broken(b) > breaks {
			break
		}
		if err := p.decideAt(ctx, b.ID, nil, d); err != nil {
			return err
		}
		for _, one := range p.state.Branches {
			if one.Live {
				b = one
			}
		}
	}
	return nil
}

// broken counts the broken rules of a branch.
func broken(b *labs.Branch) (n int) {
	for _, e := range b.Events {
		if e.Kind() == trace.KindViolation {
			n++
		}
	}
	return n
}

func (p *labPlayer) time(ctx context.Context, c board.Command) error {
	if c.To != "expiry" {
		return phrase.New("a lab's clock only moves to the end of a lease: time with to: expiry")
	}
	return p.decideAt(ctx, c.Branch, c.At, lab.Decision{Do: lab.LeaseEnds})
}

func (p *labPlayer) strike(ctx context.Context, c board.Command) error {
	if !slices.Contains(lab.Faults(), c.LabFault.Do) {
		return phrase.New("there is no fault %.40q; allowed: %s", c.LabFault.Do, phrase.Names(lab.Faults()))
	}
	return p.decideAt(ctx, c.Branch, c.At, lab.Decision{Thread: c.LabFault.Thread, Do: c.LabFault.Do})
}

// again runs a round again: so many decisions of a branch, or none.
func (p *labPlayer) again(ctx context.Context, branch int, at *int) error {
	n := 0
	if at != nil {
		n = *at
	}
	var made int
	var err error
	p.seat.Away(p.ctx, func() { made, err = p.of.Again(ctx, branch, n) })
	return p.came(branch, made, err)
}

// order runs the smallest order in which a search has seen a rule broken.
func (p *labPlayer) order(ctx context.Context, c board.Command) error {
	s := p.state.Search
	if s == nil || s.Going || c.Found < 0 || c.Found >= len(s.Tried.Rules) {
		return phrase.New("no search result has that number")
	}
	var made int
	var err error
	p.seat.Away(p.ctx, func() { made, err = p.of.Open(ctx, s.Tried.Rules[c.Found].Order) })
	return p.came(-1, made, err)
}

func (p *labPlayer) drop(c board.Command) error {
	if err := p.of.Drop(c.Branch); err != nil {
		return err
	}
	state, err := p.of.State()
	if err != nil {
		return err
	}
	return p.renewed(state)
}
