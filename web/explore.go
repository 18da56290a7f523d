package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/page"
	"relock/web/site"
	"relock/web/site/limit"
	"relock/web/templates"
	"relock/web/words"
)

// Limits of a search on a page.
const (
	searchDelays = 4      // more takes minutes with two threads
	searchFaults = 2      // of several kinds, the same
	searchStates = 50_000 // 300 MB while the search goes on

	searchLongest   = time.Minute // a person waits no longer
	searchesAtOnce  = 2           // in all, since each holds its memory while another one works; one of an address
	stateGoingBytes = 6 << 10     // that a state takes while its search goes on, as measured with three threads
	stateBytes      = 2 << 10     // and afterwards

	// What searches may hold, apart from what sessions do: who searches keeps
	// nobody from stepping.
	searchBytesOfAddress = 384 << 20
	searchBytesOfAll     = 768 << 20
)

// Errors of the commands about searches.
var (
	errSearchDelays = phrase.New("a page searches with 0 to %d delays", searchDelays)
	errSearchFaults = phrase.New("a page searches with 0 to %d faults", searchFaults)
	errSearchFrom   = phrase.New("a search begins at the start or here; allowed: start, here")
	errSearched     = phrase.New("a page searches for %d seconds at most", int(searchLongest/time.Second))
	errNotSearched  = phrase.New("nothing has been searched here yet: the command explore does that")
	errNoRule       = phrase.New("the search has found no order that breaks this rule")
	errNoState      = phrase.New("the search has found no such state")
)

// stood is what the commands have that are about where a page stands, and act
// nowhere.
type stood struct {
	onBranch

	Moves int `json:"moves"` // after so many
}

type exploreArgs struct {
	stood

	From   string   `json:"from"` // "start", "here"
	Delays int      `json:"delays"`
	Faults int      `json:"faults"`
	Kinds  []string `json:"kinds"`
}

type outlookArgs struct {
	stood

	Names map[int]string `json:"names"` // what the page calls the branches
}

type exampleArgs struct {
	command

	Rule string `json:"rule"`
}

type walkArgs struct {
	command

	State int `json:"state"`
}

// exploredJSON is how far a search has come.
type exploredJSON struct {
	Going   bool   `json:"going"`
	Found   string `json:"found"`             // HTML
	Picture string `json:"picture,omitempty"` // HTML, once it has ended
}

// wentJSON is where the page is to stand.
type wentJSON struct {
	Branch int `json:"branch"`
	At     int `json:"at"`
}

// standsJSON is where a branch stands in the space.
type standsJSON struct {
	Branch   int                `json:"branch"`
	At       int                `json:"at"`
	Dot      int                `json:"dot"`  // -1: nowhere
	Way      []int              `json:"way"`  // the dots on the way there
	Lost     int                `json:"lost"` // after so many moves every order breaks a rule; -1: never
	Outlooks []page.MoveOutlook `json:"outlooks"`
	Says     string             `json:"says"` // HTML
}

// exploration is a page's search, on a goroutine of its own.
type exploration struct {
	stop  context.CancelCauseFunc
	ended chan struct{} // closed when the goroutine ends
	from  time.Duration // since the run began

	account *limit.Account // belongs to the goroutine until it has ended

	mu      sync.Mutex
	space   *explore.Space // nil until it has ended
	picture *page.SpacePicture
}

// result is what was found, nil while the search goes on.
func (x *exploration) result() (*explore.Space, *page.SpacePicture) {
	if x == nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.space, x.picture
}

// forget ends the search of the page, if there is one, and all that was found.
func (p *player) forget() {
	if p.exploration == nil {
		return
	}
	p.exploration.stop(errForgotten)
	p.seat.Away(p.ctx, func() { <-p.exploration.ended })
	p.exploration.account.Close()
	p.exploration = nil
	p.walked = nil
}

// explore begins a search, in the place of the one before.
func (p *player) explore(_ context.Context, b *engine.Branch, c exploreArgs) error {
	bounds := explore.Bounds{Delays: c.Delays, MaxFaults: c.Faults, Kinds: c.Kinds, MaxStates: searchStates}
	at := c.Moves
	switch {
	case c.Delays < 0 || c.Delays > searchDelays:
		return errSearchDelays
	case c.Faults < 0 || c.Faults > searchFaults:
		return errSearchFaults
	case at < 0 || at > len(b.Moves):
		return engine.ErrNoMove
	case c.From == "here":
		bounds.From = append([]scenario.Move(nil), b.Moves[:at]...)
	case c.From != "start":
		return errSearchFrom
	}
	if c.Faults == 0 {
		bounds.Kinds = nil
	}
	sc := p.session.Scenario()
	bounds, err := bounds.Check(sc)
	if err != nil {
		return err
	}
	if err := p.s.sessions.Allow(p.account.Address()); err != nil {
		return err
	}
	p.forget()
	ctx, stop := context.WithCancelCause(p.ctx)
	x := &exploration{stop: stop, ended: make(chan struct{}), account: p.s.spaces.Open(p.account.Address())}
	if len(bounds.From) > 0 {
		x.from = b.Positions[at].At
	}
	p.exploration = x
	if err := p.tell(page.Begun(p.l, x.from, len(bounds.From) > 0), ""); err != nil {
		return err
	}
	go func() {
		defer close(x.ended)
		if !p.s.Guarded(ctx, site.OfPlay, func() { p.search(ctx, x, sc, bounds) }) {
			_ = p.tellFailed() // who has gone does not wait
		}
	}()
	return nil
}

// search does a search in turns that nobody else wants, and tells the page.
func (p *player) search(ctx context.Context, x *exploration, sc *scenario.Scenario, b explore.Bounds) {
	address := p.account.Address()
	if p.s.searches.Take(ctx, address) != nil {
		return // the page has left, or wants another one
	}
	defer p.s.searches.Done(address)
	seat := p.s.Turns.SeatSpare()
	defer seat.Done()
	ctx = pause.With(ctx, seat.Pause)
	within, cancel := context.WithTimeoutCause(ctx, searchLongest, errSearched)
	defer cancel()
	within, full := context.WithCancelCause(within)
	defer full(nil)
	told := time.Now()
	found, err := engine.Explore(within, sc, b, explore.Options{Workers: 1, Progress: func(s *explore.Space) {
		if err := x.account.Hold(s.States() * stateGoingBytes); err != nil {
			full(err)
		}
		if s.Ending() == "" && time.Since(told) >= showEvery {
			seat.Away(ctx, func() { _ = p.tell(page.NewFound(p.l, s, x.from), "") }) // who has gone stops the search
			told = time.Now()
		}
	}})
	cause := context.Cause(within)
	switch {
	case errors.Is(cause, errForgotten) || p.ctx.Err() != nil:
		return
	case err != nil:
		p.s.wentWrong(ctx, "explore", err)
		seat.Away(ctx, func() { _ = p.tellFailed() })
		return
	}
	_ = x.account.Hold(found.States() * stateBytes)
	picture := page.NewSpacePicture(p.l, found.Graph())
	html, err := templates.Text(p.l, templates.Space(picture))
	if err != nil {
		p.s.wentWrong(ctx, "explore", err)
		seat.Away(ctx, func() { _ = p.tellFailed() })
		return
	}
	x.mu.Lock()
	x.space, x.picture = found, picture
	x.mu.Unlock()
	last := page.NewFound(p.l, found, x.from)
	if limit := site.LimitName(cause); found.Ending() == explore.Stopped && limit != "" {
		p.s.NoteRefusal(ctx, address, limit)
	}
	seat.Away(ctx, func() { _ = p.tell(last, html) })
}

// tellFailed tells the page that its search has ended without a result.
func (p *player) tellFailed() error {
	return p.tell(page.Found{Ending: p.l.Say("Something went wrong here. It has been written down.")}, "")
}

// tell shows the page how far its search has come.
func (p *player) tell(found page.Found, picture string) error {
	html, err := templates.Text(p.l, templates.Found(found))
	if err != nil {
		return err
	}
	return p.send(answer{V: 1, Explored: &exploredJSON{Going: found.Going, Found: html, Picture: picture}})
}

// Why a search was ended.
var (
	errHalted    = errors.New("a person has stopped it")
	errForgotten = errors.New("nobody asks for it any more")
)

// halt ends the search of the page; what was found stays.
func (p *player) halt(context.Context, command) error {
	if p.exploration == nil {
		return errNotSearched
	}
	p.exploration.stop(errHalted)
	return nil
}

// example opens the smallest order that breaks a rule as a branch.
func (p *player) example(ctx context.Context, c exampleArgs) error {
	found, _ := p.exploration.result()
	if found == nil {
		return errNotSearched
	}
	for _, r := range found.Rules() {
		if r.Name != c.Rule {
			continue
		}
		at := len(r.Schedule)
		if r.Lost > 0 {
			at = r.Lost
		}
		_, err := p.stand(ctx, r.Schedule, at)
		return err
	}
	return errNoRule
}

// walk goes to a state, on a branch that the next walk takes the place of.
func (p *player) walk(ctx context.Context, c walkArgs) error {
	found, _ := p.exploration.result()
	if found == nil {
		return errNotSearched
	}
	moves := found.Way(c.State)
	if moves == nil {
		return errNoState
	}
	if w := p.walked; w != nil && len(w.branch.Moves) == w.moves && len(p.session.Branches()) > 1 && begins(w.branch.Moves, moves) < len(moves) {
		p.walked = nil
		if b, err := p.session.Branch(w.branch.ID); err == nil && b == w.branch && !p.hasChildren(b) {
			if err := p.drop(ctx, b, onBranch{}); err != nil {
				return err
			}
		}
	}
	before := len(p.session.Branches())
	b, err := p.stand(ctx, moves, len(moves))
	if err == nil && len(p.session.Branches()) > before {
		p.walked = &walked{b, len(b.Moves)}
	}
	return err
}

// walked is the branch that a walk has made, with so many moves.
type walked struct {
	branch *engine.Branch
	moves  int
}

func (p *player) hasChildren(b *engine.Branch) bool {
	for _, o := range p.session.Branches() {
		if o.Parent == b.ID {
			return true
		}
	}
	return false
}

// stand has the page stand after the first at of these moves: on a branch that
// makes them, or on a new one.
func (p *player) stand(ctx context.Context, moves []scenario.Move, at int) (*engine.Branch, error) {
	if err := p.hold(); err != nil {
		return nil, err
	}
	var on *engine.Branch
	common := -1
	for _, b := range p.session.Branches() {
		if n := begins(b.Moves, moves); n > common {
			on, common = b, n
		}
	}
	if common < len(moves) {
		var err error
		if on, err = p.session.Add(ctx, on.ID, common, moves); err != nil {
			return nil, err
		}
		if err := p.show(on); err != nil {
			return nil, err
		}
	}
	return on, p.write(answer{Went: &wentJSON{on.ID, at}})
}

// begins is how many moves two lists have in common at their start.
func begins(a, b []scenario.Move) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].Equal(b[n]) {
		n++
	}
	return n
}

// outlook says what becomes of where a page stands, if the space knows it.
func (p *player) outlook(_ context.Context, b *engine.Branch, c outlookArgs) error {
	found, picture := p.exploration.result()
	if found == nil {
		return errNotSearched
	}
	at := c.Moves
	if at < 0 || at > len(b.Moves) {
		return engine.ErrNoMove
	}
	ids := found.Follow(b.Moves, b.Stands())
	s := standsJSON{Branch: b.ID, At: at, Dot: picture.DotOf(ids[at]), Way: []int{}, Lost: -1, Outlooks: []page.MoveOutlook{}}
	for _, id := range ids[:at+1] {
		if dot := picture.DotOf(id); dot >= 0 && (len(s.Way) == 0 || s.Way[len(s.Way)-1] != dot) {
			s.Way = append(s.Way, dot)
		}
	}
	over := b.Positions[at].Over
	if over && at > 0 && ids[at-1] != explore.None {
		s.Dot = picture.End(broke(b, at))
		s.Way = append(s.Way, s.Dot)
	}
	for i, id := range ids {
		place := found.Place(id)
		if place != nil && place.Every() || broke(b, i) {
			s.Lost = i
			break
		}
	}
	says := page.Outlook{}
	if place := found.Place(ids[at]); place != nil {
		s.Outlooks = page.Outlooks(p.l, place, slices.ContainsFunc(b.Positions[at].Options, func(o run.Option) bool { return o.Choice >= 0 }))
		var tone page.Tone
		says.Here, tone = page.Here(p.l, place)
		says.Tone = string(tone)
	}
	switch {
	case over && broke(b, at):
		says.Here, says.Tone = p.l.Say("The run has ended, and a rule was broken."), string(page.All)
	case over:
		says.Here, says.Tone = p.l.Say("The run has ended, and no rule was broken."), string(page.None)
	case broke(b, at):
		says.Lost = p.l.Say("A rule is broken already.")
	case s.Lost > at:
		says.Lost = p.l.Say("From %s on, every order of this branch breaks a rule.", p.l.Duration(b.Positions[s.Lost].At))
	}
	says.Parting = p.parting(found, b, ids, c.Names)
	var err error
	if s.Says, err = templates.Text(p.l, templates.Outlook(says)); err != nil {
		return err
	}
	return p.write(answer{Stands: &s})
}

// parting is the decision that makes the difference between a branch and the
// first other one that came to another end, or nil.
func (p *player) parting(found *explore.Space, b *engine.Branch, ids []int, names map[int]string) *page.Parting {
	for _, o := range p.session.Branches() {
		if o == b || broke(o, len(o.Moves)) == broke(b, len(b.Moves)) {
			continue
		}
		bad, good, ofBad, ofGood := b, o, ids, found.Follow(o.Moves, o.Stands())
		if broke(o, len(o.Moves)) {
			bad, good, ofBad, ofGood = o, b, ofGood, ids
		}
		i, j, ok := page.PartingAt(ofBad, ofGood)
		if !ok {
			continue
		}
		badly, well := found.Named(bad.Moves, bad.Stands()), found.Named(good.Moves, good.Stands())
		one := page.NewParting(p.l, found.Place(ofBad[i]), badly[i], well[j])
		one.Bad, one.Good = cmp.Or(names[bad.ID], page.BranchName(p.l, bad.ID)), cmp.Or(names[good.ID], page.BranchName(p.l, good.ID))
		one.BadDid, one.GoodDid = page.Decision(p.l, bad.Positions[i].Options, bad.Moves[i]), page.Decision(p.l, good.Positions[j].Options, good.Moves[j])
		return &one
	}
	return nil
}

// broke reports whether a rule was broken on a branch by its first at moves.
func broke(b *engine.Branch, at int) bool {
	return slices.ContainsFunc(b.Events, func(e trace.Event) bool {
		return e.Kind() == trace.KindViolation && e.Seq <= b.Positions[at].Seq
	})
}

// kindsOf are the kinds of faults that a search may have strike.
func kindsOf(l words.Language, sc *scenario.Scenario) (string, error) {
	var list []page.Kind
	for _, name := range sc.StrikeKinds() {
		list = append(list, page.Kind{Name: name, Label: l.Clause(fault.Word(name))})
	}
	return templates.Text(l, templates.ExploreKinds(list))
}
