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
	"relock/web/board"
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
	errNotSearched  = phrase.New("there is no search here yet: send the command explore first")
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
	Judge  bool     `json:"judge"` // tell at the end how often a rule is broken and which lines were reached, with links instead of commands
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

	Judged *judgedJSON `json:"judged,omitempty"` // of a lock of one's own, once it has ended
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

// searching is a reader's search, if there is one, and what it looks for a cure
// with. One of the two is under way at most; what the other has found stays. It is
// safe for concurrent use.
type searching struct {
	mu     sync.Mutex
	going  *exploration
	cures  *exploration
	walked []scenario.Move // those of the branch that a walk has made, which the next walk takes the place of
}

// exploration is a search, on a goroutine of its own.
type exploration struct {
	stop  context.CancelCauseFunc
	ended chan struct{} // closed when the goroutine ends
	from  time.Duration // since the run began
	scene int           // see branches

	mu        sync.Mutex
	account   *limit.Account
	space     *explore.Space // nil until it has ended
	picture   *page.SpacePicture
	forgotten bool // nobody asks for it any more
}

// forget ends the search, and gives back what it holds, without waiting for its
// goroutine.
func (x *exploration) forget() {
	x.stop(errForgotten)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgotten, x.space, x.picture = true, nil, nil
	x.account.Close()
}

// isForgotten reports whether nobody asks for the search any more.
func (x *exploration) isForgotten() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.forgotten
}

// hold accounts for what the search takes. It fails with a *limit.Error if that
// is too much.
func (x *exploration) hold(bytes int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.forgotten {
		return nil
	}
	return x.account.Hold(bytes)
}

// has notes what was found.
func (x *exploration) has(space *explore.Space, picture *page.SpacePicture) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.forgotten {
		x.space, x.picture = space, picture
	}
}

// found is what a search has found in a scenario of the class; it fails with
// errNotSearched while the search goes on, and if there is none.
func (s *searching) found(scene int) (*explore.Space, *page.SpacePicture, error) {
	s.mu.Lock()
	x := s.going
	s.mu.Unlock()
	if x == nil || x.scene != scene {
		return nil, nil, errNotSearched
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.space == nil {
		return nil, nil, errNotSearched
	}
	return x.space, x.picture, nil
}

// abandon ends the searches, if there are any, without waiting for that.
func (s *searching) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walked = nil
	for _, x := range []*exploration{s.going, s.cures} {
		if x != nil {
			x.forget()
		}
	}
}

// abandon ends what is searched, without waiting for that: it is of another scenario
// than the class.
func (r *reader) abandon() { r.search.abandon() }

// forget ends the search, if there is one, and all that was found.
func (r *reader) forget() {
	r.forgetSpace()
	r.forgetCures()
}

// forgetSpace ends the search for orders, and all that it has found.
func (r *reader) forgetSpace() {
	r.search.mu.Lock()
	x := r.search.going
	r.search.going, r.search.walked = nil, nil
	r.search.mu.Unlock()
	r.over(x)
}

// forgetCures ends the search for what mends a run.
func (r *reader) forgetCures() {
	r.search.mu.Lock()
	x := r.search.cures
	r.search.cures = nil
	r.search.mu.Unlock()
	r.over(x)
}

// over gives back what a search holds, and waits for its goroutine.
func (r *reader) over(x *exploration) {
	if x == nil {
		return
	}
	x.forget()
	r.seat.Away(r.ctx, func() { <-x.ended })
}

// explore begins a search, in the place of the one before.
func (r *reader) explore(ctx context.Context, c exploreArgs) (answered, error) {
	at, err := r.look(ctx, c.Branch)
	if err != nil {
		return answered{}, err
	}
	b := at.list[0]
	bounds := explore.Bounds{Delays: c.Delays, MaxFaults: c.Faults, Kinds: c.Kinds, MaxStates: searchStates}
	switch {
	case c.Delays < 0 || c.Delays > searchDelays:
		return answered{}, errSearchDelays
	case c.Faults < 0 || c.Faults > searchFaults:
		return answered{}, errSearchFaults
	case c.Moves < 0 || c.Moves > len(b.Moves):
		return answered{}, engine.ErrNoMove
	case c.From == "here":
		bounds.From = append([]scenario.Move(nil), b.Moves[:c.Moves]...)
	case c.From != "start":
		return answered{}, errSearchFrom
	}
	if c.Faults == 0 {
		bounds.Kinds = nil
	}
	bounds, err = bounds.Check(at.scenario)
	if err != nil {
		return answered{}, err
	}
	if err := r.s.Starts.Allow(r.address); err != nil {
		return answered{}, err
	}
	r.forget()
	searching, x := r.newSearch(at.scene)
	if len(bounds.From) > 0 {
		x.from = b.Positions[c.Moves].At
	}
	return answered{}, r.begin(ctx, searching, &r.search.going, x, ofSearch{
		own:    at.scenario.Lock.Own(),
		begun:  func() error { return r.told(x, page.Begun(r.l, x.from, len(bounds.From) > 0), "") },
		failed: func(says string) error { return r.told(x, page.Found{Ending: says}, "") },
		search: func(ctx, within context.Context, t *spareTurn) {
			r.searches(ctx, within, t, at.scenario, bounds, c.Judge)
		},
	})
}

// newSearch is a search that has not begun.
func (r *reader) newSearch(scene int) (context.Context, *exploration) {
	ctx, stop := context.WithCancelCause(r.ctx)
	return ctx, &exploration{stop: stop, ended: make(chan struct{}), scene: scene, account: r.s.searches.spaces.Open(r.address)}
}

// ofSearch is what differs from one kind of search to another.
type ofSearch struct {
	own    bool                    // it runs own scripts
	begun  func() error            // tells who asked
	failed func(says string) error // and why there is no result
	search func(ctx, within context.Context, t *spareTurn)
}

// begin tells who asked that a search begins, and does it on a goroutine of its own:
// in turns that nobody else wants, and for as long as a search may take. Its place is
// where halt and forget find it. It fails as searchLine.queue does, and then nothing
// has begun.
func (r *reader) begin(ctx, searching context.Context, place **exploration, x *exploration, of ofSearch) error {
	scripts := ""
	if of.own {
		scripts = r.address
	}
	waits, err := r.s.searches.line.queue(r.address, scripts)
	if err != nil {
		x.forget()
		return err
	}
	r.search.mu.Lock()
	*place = x
	r.search.mu.Unlock()
	var begun error
	r.seat.Away(ctx, func() { begun = of.begun() })
	go func() {
		defer close(x.ended)
		defer waits.leave()
		if !r.s.Guarded(searching, r.of, func() { r.inTurn(searching, x, waits, of) }) {
			_ = of.failed(r.l.Say("Something went wrong here. It was logged.")) // who has gone does not wait
		}
	}()
	return begun
}

func (r *reader) inTurn(ctx context.Context, x *exploration, waits *queued, of ofSearch) {
	done, err := waits.take(ctx)
	if err != nil {
		return // who asked has left, or wants another one
	}
	defer done()
	seat := r.s.Turns.SeatSpare(r.address)
	defer seat.Done()
	ctx = pause.With(ctx, seat)
	within, cancel := context.WithTimeoutCause(ctx, searchLongest, errSearched)
	defer cancel()
	within, stop := context.WithCancelCause(within)
	defer stop(nil)
	of.search(ctx, within, &spareTurn{
		exploration: x, stop: stop,
		away: func(tell func() error) { seat.Away(ctx, func() { _ = tell() }) }, // who has gone stops the search
		fail: func(do string, err error) {
			if limit := site.LimitName(err); limit != "" {
				r.s.NoteRefusal(ctx, r.address, limit)
			}
			says := r.s.explained(ctx, r.l, do, err)
			seat.Away(ctx, func() { _ = of.failed(says) })
		},
		over: func() bool { return x.isForgotten() || r.ctx.Err() != nil },
	})
}

// spareTurn is what a search has while it runs.
type spareTurn struct {
	*exploration

	stop context.CancelCauseFunc
	away func(tell func() error)
	fail func(do string, err error) // tells who asked why a search has no result, or logs it
	over func() bool                // nobody asks for it any more
	told time.Time                  // when who asked heard of it last
}

// takes accounts for the states of a search that goes on, and stops it where they
// are too many.
func (t *spareTurn) takes(s *explore.Space) {
	if err := t.hold(s.States() * stateGoingBytes); err != nil {
		t.stop(err)
	}
}

// due reports whether it is time to tell who asked how far the search has come, and
// if so takes it for done.
func (t *spareTurn) due() bool {
	due := time.Since(t.told) >= showEvery
	if due {
		t.told = time.Now()
	}
	return due
}

// searches searches the orders of a scenario, and tells who asked; of one that is to
// be judged, what judging says.
func (r *reader) searches(ctx, within context.Context, t *spareTurn, sc *scenario.Scenario, b explore.Bounds, judge bool) {
	x := t.exploration
	t.told = time.Now()
	found, err := engine.Explore(within, sc, b, explore.Options{Workers: 1, Progress: func(s *explore.Space) {
		t.takes(s)
		if s.Ending() == "" && t.due() {
			t.away(func() error { return r.told(x, page.NewFound(r.l, s, x.from), "") })
		}
	}})
	cause := context.Cause(within)
	switch {
	case t.over():
		return
	case mistaken(err) != nil:
		t.away(func() error { return r.toldMistake(x, mistaken(err)) })
		return
	case err != nil:
		t.fail(board.DoExplore, err)
		return
	}
	_ = t.hold(found.States() * stateBytes)
	picture := page.NewSpacePicture(r.l, found.Graph())
	html, err := templates.Text(r.l, templates.Space(picture))
	if err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	t.has(found, picture)
	last := page.NewFound(r.l, found, x.from)
	if limit := site.LimitName(cause); found.Ending() == explore.Stopped && limit != "" {
		r.s.NoteRefusal(ctx, r.address, limit)
	}
	if !judge {
		t.away(func() error { return r.told(x, last, html) })
		return
	}
	if err := withLinks(&last, sc, found.Rules()); err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	last.Notes = page.NotesOn(r.l, found)
	if html, err = templates.Text(r.l, templates.Found(last)); err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	t.away(func() error {
		return r.tell(x, toldBySearch{Explored: &exploredJSON{Found: html, Judged: newJudged(sc, found)}})
	})
}

// told tells who asked how far the search has come.
func (r *reader) told(x *exploration, f page.Found, picture string) error {
	html, err := templates.Text(r.l, templates.Found(f))
	if err != nil {
		return err
	}
	return r.tell(x, toldBySearch{Explored: &exploredJSON{Going: f.Going, Found: html, Picture: picture}})
}

// Why a search was ended.
var (
	errHalted    = errors.New("a person has stopped it")
	errForgotten = errors.New("nobody asks for it any more")
)

// halt ends the search; what was found stays.
func (r *reader) halt(context.Context, command) (answered, error) {
	r.search.mu.Lock()
	defer r.search.mu.Unlock()
	if r.search.going == nil && r.search.cures == nil {
		return answered{}, errNotSearched
	}
	for _, x := range []*exploration{r.search.going, r.search.cures} {
		if x != nil {
			x.stop(errHalted)
		}
	}
	return answered{}, nil
}

// way returns the command that leads to what a search has found: to the smallest
// order that breaks a rule, or to a state. It fails for a command that leads
// nowhere.
func (r *reader) way(ctx context.Context, name string, frame []byte) (board.Command, error) {
	at, err := r.look(ctx)
	if err != nil {
		return board.Command{}, err
	}
	space, _, notFound := r.search.found(at.scene)
	if name == board.DoExample {
		c, err := argsOf[exampleArgs](frame)
		if err = cmp.Or(err, notFound); err != nil {
			return board.Command{}, err
		}
		for _, rule := range space.Rules() {
			if rule.Name == c.Rule {
				return board.AddCommand(int64(c.ID), rule.Schedule, cmp.Or(max(rule.Lost, 0), len(rule.Schedule)), nil)
			}
		}
		return board.Command{}, errNoRule
	}
	c, err := argsOf[walkArgs](frame)
	if err = cmp.Or(err, notFound); err != nil {
		return board.Command{}, err
	}
	moves := space.Way(c.State)
	if moves == nil {
		return board.Command{}, errNoState
	}
	return board.AddCommand(int64(c.ID), moves, len(moves), r.search.instead(at.list, moves))
}

// instead is the branch that moves are to take the place of: the one that the
// last walk has made, if nothing else came of that. It notes the walk.
func (s *searching) instead(list []*engine.Branch, moves []scenario.Move) (id *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := false // a branch that begins with the moves
	for _, b := range list {
		there = there || begins(b.Moves, moves) == len(moves)
		walked := len(s.walked) > 0 && len(b.Moves) == len(s.walked) && begins(b.Moves, s.walked) == len(s.walked)
		if walked && len(list) > 1 && begins(s.walked, moves) < len(moves) && !slices.ContainsFunc(list, func(o *engine.Branch) bool { return o.Parent == b.ID }) {
			id = &b.ID
		}
	}
	if there {
		return nil
	}
	s.walked = moves
	return id
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
func (r *reader) outlook(ctx context.Context, c outlookArgs) (f answered, err error) {
	all, err := r.look(ctx)
	if err != nil {
		return f, err
	}
	is := slices.IndexFunc(all.list, func(b *engine.Branch) bool { return b.ID == c.Branch })
	if is < 0 {
		return f, engine.ErrNoBranch
	}
	b, at := all.list[is], c.Moves
	found, picture, err := r.search.found(all.scene)
	switch {
	case err != nil:
		return f, err
	case at < 0 || at > len(b.Moves):
		return f, engine.ErrNoMove
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
		s.Outlooks = page.Outlooks(r.l, place, slices.ContainsFunc(b.Positions[at].Options, func(o run.Option) bool { return o.Choice >= 0 }))
		var tone page.Tone
		says.Here, tone = page.Here(r.l, place)
		says.Tone = string(tone)
	}
	switch {
	case over && broke(b, at):
		says.Here, says.Tone = r.l.Say("The run has ended, and a rule was broken."), string(page.All)
	case over:
		says.Here, says.Tone = r.l.Say("The run has ended, and no rule was broken."), string(page.None)
	case broke(b, at):
		says.Lost = r.l.Say("A rule is broken already.")
	case s.Lost > at:
		says.Lost = r.l.Say("From %s on, every order of this branch breaks a rule.", r.l.Duration(b.Positions[s.Lost].At))
	}
	says.Parting = r.parting(found, all.list, b, ids, c.Names)
	s.Says, err = templates.Text(r.l, templates.Outlook(says))
	f.Stands = &s
	return f, err
}

// parting is the decision that makes the difference between a branch and the
// first other one that came to another end, or nil.
func (r *reader) parting(found *explore.Space, list []*engine.Branch, b *engine.Branch, ids []int, names map[int]string) *page.Parting {
	for _, o := range list {
		if o.ID == b.ID || broke(o, len(o.Moves)) == broke(b, len(b.Moves)) {
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
		one := page.NewParting(r.l, found.Place(ofBad[i]), badly[i], well[j])
		one.Bad, one.Good = cmp.Or(names[bad.ID], page.BranchName(r.l, bad.ID)), cmp.Or(names[good.ID], page.BranchName(r.l, good.ID))
		one.BadDid, one.GoodDid = page.Decision(r.l, bad.Positions[i].Options, bad.Moves[i]), page.Decision(r.l, good.Positions[j].Options, good.Moves[j])
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
