package stepper

import (
	"cmp"
	"context"
	"slices"
	"time"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/explore"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
)

// Limits of a search on a page.
const (
	searchDelays = 4      // more takes minutes with two threads
	searchFaults = 2      // of several kinds, the same
	searchStates = 50_000 // 300 MB while the search goes on
)

// Errors of the commands about searches.
var (
	errSearchDelays = phrase.New("a page searches with 0 to %d delays", searchDelays)
	errSearchFaults = phrase.New("a page searches with 0 to %d faults", searchFaults)
	errSearchFrom   = phrase.New("a search begins at the start or here; allowed: start, here")
	errNoRule       = phrase.New("the search has found no order that breaks this rule")
	errNoState      = phrase.New("the search has found no such state")
)

// Abandon ends what is searched, without waiting for that: it is of another scenario
// than the class.
func (r *Reader) Abandon() { r.search.abandon() }

// Forget ends the search, if there is one, and all that was found.
func (r *Reader) Forget() {
	r.forgetSpace()
	r.forgetCures()
}

// forgetSpace ends the search for orders, and all that it has found.
func (r *Reader) forgetSpace() {
	r.search.mu.Lock()
	x := r.search.going
	r.search.going, r.search.walked = nil, nil
	r.search.mu.Unlock()
	r.over(x)
}

// forgetCures ends the search for what mends a run.
func (r *Reader) forgetCures() {
	r.search.mu.Lock()
	x := r.search.cures
	r.search.cures = nil
	r.search.mu.Unlock()
	r.over(x)
}

// over gives back what a search holds, and waits for its goroutine.
func (r *Reader) over(x *Exploration) {
	if x == nil {
		return
	}
	x.forget()
	r.Seat.Away(r.Context, func() { <-x.ended })
}

// explore begins a search, in the place of the one before.
func (r *Reader) explore(ctx context.Context, c board.Command) (Answered, error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return Answered{}, err
	}
	b := at.List[0]
	bounds := explore.Bounds{Delays: c.Delays, MaxFaults: c.MostFaults, Kinds: c.Kinds, MaxStates: searchStates}
	switch {
	case c.Delays < 0 || c.Delays > searchDelays:
		return Answered{}, errSearchDelays
	case c.MostFaults < 0 || c.MostFaults > searchFaults:
		return Answered{}, errSearchFaults
	case c.Stood < 0 || c.Stood > len(b.Moves):
		return Answered{}, board.ErrNoMove
	case c.From == "here":
		bounds.From = append([]scenario.Move(nil), b.Moves[:c.Stood]...)
	case c.From != "start":
		return Answered{}, errSearchFrom
	}
	if c.MostFaults == 0 {
		bounds.Kinds = nil
	}
	bounds, err = bounds.Check(at.Scenario)
	if err != nil {
		return Answered{}, err
	}
	if err := r.Sockets.Starts.Allow(r.Address); err != nil {
		return Answered{}, err
	}
	r.Forget()
	searching, x := r.newSearch(at.Scene)
	if len(bounds.From) > 0 {
		x.from = b.Positions[c.Stood].At
	}
	return Answered{}, r.begin(ctx, searching, &r.search.going, x, ofSearch{
		own:    at.Scenario.Lock.Own(),
		begun:  func() error { return r.told(x, page.Begun(r.Language, x.from, len(bounds.From) > 0), "") },
		failed: func(says string) error { return r.told(x, page.Found{Ending: says}, "") },
		search: func(ctx, within context.Context, t *spareTurn) {
			r.searches(ctx, within, t, at.Scenario, bounds, c.Judge)
		},
	})
}

// newSearch is a search that has not begun.
func (r *Reader) newSearch(scene int) (context.Context, *Exploration) {
	ctx, stop := context.WithCancelCause(r.Context)
	return ctx, &Exploration{stop: stop, ended: make(chan struct{}), scene: scene, account: r.Sockets.Searches.spaces.Open(r.Address)}
}

// ofSearch is what differs from one kind of search to another.
type ofSearch struct {
	own    bool                    // it runs own scripts
	begun  func() error            // tells who asked
	failed func(says string) error // and why there is no result
	search func(ctx, within context.Context, t *spareTurn)
}

// begin tells the one who asked that a search begins, and runs it on its own goroutine:
// in turns that nobody else wants, and for as long as a search may take. Its place is
// where halt and forget find it. It fails as searchLine.queue does, and then nothing has
// begun.
func (r *Reader) begin(ctx, searching context.Context, place **Exploration, x *Exploration, of ofSearch) error {
	scripts := ""
	if of.own {
		scripts = r.Address
	}
	waits, err := r.Sockets.Searches.line.queue(r.Address, scripts)
	if err != nil {
		x.forget()
		return err
	}
	r.search.mu.Lock()
	*place = x
	r.search.mu.Unlock()
	var begun error
	r.Seat.Away(ctx, func() { begun = of.begun() })
	go func() {
		defer close(x.ended)
		defer waits.leave()
		if !r.Sockets.Guarded(searching, r.Ends, func() { r.inTurn(searching, x, waits, of) }) {
			_ = of.failed(r.Language.Say("Something went wrong here. It was logged.")) // who has gone does not wait
		}
	}()
	return begun
}

func (r *Reader) inTurn(ctx context.Context, x *Exploration, waits *queued, of ofSearch) {
	done, err := waits.take(ctx)
	if err != nil {
		return // who asked has left, or wants another one
	}
	defer done()
	seat := r.Sockets.Turns.SeatSpare(r.Address)
	defer seat.Done()
	ctx = pause.With(ctx, seat)
	within, cancel := context.WithTimeoutCause(ctx, searchLongest, errSearched)
	defer cancel()
	within, stop := context.WithCancelCause(within)
	defer stop(nil)
	of.search(ctx, within, &spareTurn{
		Exploration: x, stop: stop,
		away: func(tell func() error) { seat.Away(ctx, func() { _ = tell() }) }, // who has gone stops the search
		fail: func(do string, err error) {
			if limit := site.LimitName(err); limit != "" {
				r.Sockets.NoteRefusal(ctx, r.Address, limit)
			}
			says := r.Sockets.Explained(ctx, r.Language, do, err)
			seat.Away(ctx, func() { _ = of.failed(says) })
		},
		over: func() bool { return x.IsForgotten() || r.Context.Err() != nil },
	})
}

// spareTurn is what a search has while it runs.
type spareTurn struct {
	*Exploration

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

// searches searches the orders of a scenario, and tells the one who asked; if it is to be
// judged, it tells the judgement.
func (r *Reader) searches(ctx, within context.Context, t *spareTurn, sc *scenario.Scenario, b explore.Bounds, judge bool) {
	x := t.Exploration
	t.told = time.Now()
	found, err := engine.Explore(within, sc, b, explore.Options{Workers: 1, Progress: func(s *explore.Space) {
		t.takes(s)
		if s.Ending() == "" && t.due() {
			t.away(func() error { return r.told(x, page.NewFound(r.Language, s, x.from), "") })
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
	picture := page.NewSpacePicture(r.Language, found.Graph())
	html, err := templates.Text(r.Language, templates.Space(picture))
	if err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	t.has(found, picture)
	last := page.NewFound(r.Language, found, x.from)
	if limit := site.LimitName(cause); found.Ending() == explore.Stopped && limit != "" {
		r.Sockets.NoteRefusal(ctx, r.Address, limit)
	}
	if !judge {
		t.away(func() error { return r.told(x, last, html) })
		return
	}
	if err := withLinks(&last, sc, found.Rules()); err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	last.Notes = page.NotesOn(r.Language, found)
	if html, err = templates.Text(r.Language, templates.Found(last)); err != nil {
		t.fail(board.DoExplore, err)
		return
	}
	t.away(func() error {
		return r.Tell(x, Told{Explored: &exploredJSON{Found: html, Judged: newJudged(sc, found)}})
	})
}

// told tells who asked how far the search has come.
func (r *Reader) told(x *Exploration, f page.Found, picture string) error {
	html, err := templates.Text(r.Language, templates.Found(f))
	if err != nil {
		return err
	}
	return r.Tell(x, Told{Explored: &exploredJSON{Going: f.Going, Found: html, Picture: picture}})
}

// halt ends the search; what was found stays.
func (r *Reader) halt(context.Context, board.Command) (Answered, error) {
	r.search.mu.Lock()
	defer r.search.mu.Unlock()
	if r.search.going == nil && r.search.cures == nil {
		return Answered{}, errNotSearched
	}
	for _, x := range []*Exploration{r.search.going, r.search.cures} {
		if x != nil {
			x.stop(errHalted)
		}
	}
	return Answered{}, nil
}

// Way returns the command that leads to what a search has found: to the smallest
// order that breaks a rule, or to a state. It fails where nothing leads there.
func (r *Reader) Way(ctx context.Context, c board.Command) (board.Command, error) {
	if err := r.Allows(c.Do); err != nil {
		return board.Command{}, err
	}
	at, err := r.Look(ctx)
	if err != nil {
		return board.Command{}, err
	}
	space, _, err := r.search.found(at.Scene)
	if err != nil {
		return board.Command{}, err
	}
	if c.Do == board.DoExample {
		name, _ := check.Named(c.Rule) // an older link
		for _, rule := range space.Rules() {
			if rule.Name == name {
				return board.AddCommand(c.ID, rule.Schedule, cmp.Or(max(rule.Lost, 0), len(rule.Schedule)), nil)
			}
		}
		return board.Command{}, errNoRule
	}
	moves := space.Way(c.State)
	if moves == nil {
		return board.Command{}, errNoState
	}
	return board.AddCommand(c.ID, moves, len(moves), r.search.instead(at.List, moves))
}

// instead is the branch that moves are to take the place of: the one that the
// last walk has made, if nothing else came of that. It notes the walk.
func (s *searching) instead(list []*board.Track, moves []scenario.Move) (id *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := false // a branch that begins with the moves
	for _, b := range list {
		there = there || begins(b.Moves, moves) == len(moves)
		walked := len(s.walked) > 0 && len(b.Moves) == len(s.walked) && begins(b.Moves, s.walked) == len(s.walked)
		if walked && len(list) > 1 && begins(s.walked, moves) < len(moves) && !slices.ContainsFunc(list, func(o *board.Track) bool { return o.Parent == b.ID }) {
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

// outlook says what can become of a page's place, if the space knows it.
func (r *Reader) outlook(ctx context.Context, c board.Command) (f Answered, err error) {
	all, err := r.Look(ctx)
	if err != nil {
		return f, err
	}
	is := slices.IndexFunc(all.List, func(b *board.Track) bool { return b.ID == c.Branch })
	if is < 0 {
		return f, board.ErrNoBranch
	}
	b, at := all.List[is], c.Stood
	found, picture, err := r.search.found(all.Scene)
	switch {
	case err != nil:
		return f, err
	case at < 0 || at > len(b.Moves):
		return f, board.ErrNoMove
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
		s.Outlooks = page.Outlooks(r.Language, place, slices.ContainsFunc(b.Positions[at].Options, func(o run.Option) bool { return o.Choice >= 0 }))
		var tone page.Tone
		says.Here, tone = page.Here(r.Language, place)
		says.Tone = string(tone)
	}
	switch {
	case over && broke(b, at):
		says.Here, says.Tone = r.Language.Say("The run has ended, and a rule was broken."), string(page.All)
	case over:
		says.Here, says.Tone = r.Language.Say("The run has ended, and no rule was broken."), string(page.None)
		if lacks := film.Unjudged(r.Language, verdict.OfRun(found.Scenario(), b.Events)); len(lacks) > 0 {
			says.Here, says.Tone = r.Language.Say("%[1]s %[2]s", says.Here, film.Sentences(r.Language, lacks)), string(page.Unknown)
		}
	case broke(b, at) && says.Tone == string(page.None):
		says.Here, says.Tone = r.Language.Say("A rule is broken already. From here on no other is, whatever happens within the bounds."), string(page.All)
		for i := range s.Outlooks {
			s.Outlooks[i].Tone = page.Unknown // to break no other is no merit
		}
	case broke(b, at):
		says.Lost = r.Language.Say("A rule is broken already.")
	case s.Lost > at:
		says.Lost = r.Language.Say("From %s on, every order of this branch breaks a rule.", r.Language.Duration(b.Positions[s.Lost].At))
	}
	says.Parting = r.parting(found, all.List, b, ids, c.Names)
	s.Says, err = templates.Text(r.Language, templates.Outlook(says))
	f.Stands = &s
	return f, err
}

// parting is the decision that makes the difference between a branch and the
// first other one that came to another end, or nil.
func (r *Reader) parting(found *explore.Space, list []*board.Track, b *board.Track, ids []int, names map[int]string) *page.Parting {
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
		one := page.NewParting(r.Language, found.Place(ofBad[i]), badly[i], well[j])
		one.Bad, one.Good = cmp.Or(names[bad.ID], page.BranchName(r.Language, bad.ID)), cmp.Or(names[good.ID], page.BranchName(r.Language, good.ID))
		one.BadDid, one.GoodDid = page.Decision(r.Language, bad.Positions[i].Options, bad.Moves[i]), page.Decision(r.Language, good.Positions[j].Options, good.Moves[j])
		return &one
	}
	return nil
}

// broke reports whether a rule was broken on a branch by its first at moves.
func broke(b *board.Track, at int) bool {
	return slices.ContainsFunc(b.Events, func(e trace.Event) bool {
		return e.Kind() == trace.KindViolation && e.Seq <= b.Positions[at].Seq
	})
}
