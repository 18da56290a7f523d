package labs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"relock/engine"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/site/limit"
)

// Limits of one lab.
const (
	MaxBranches = 32
	eventSize   = 6 << 10 // bytes that an event takes with its row, measured as a run's is
)

// Errors of a lab.
var (
	ErrBranches = phrase.New("a lab has at most %d branches: drop one", MaxBranches)
	ErrClosed   = phrase.New("the lab is closed, or its process has ended: open another one")
	errSearches = phrase.New("a search of every order is running: wait for its end, or stop it")
)

// Branch is one round: its decisions, their results, and the choices at each place. It
// does not change once it was returned.
type Branch struct {
	board.Track

	Way     []lab.Decision
	Places  []Place // before the first decision, and after each
	Live    bool    // its round is the one that goes on: it can be decided at its end at once
	Telling int     // of the same one it has all that it had, and perhaps more
}

// Whole returns the branch with its decisions in its header.
func (b *Branch) Whole() (*board.Track, error) {
	one, path := b.Track, *b.Path
	var err error
	path.Header, err = lab.Ordered(b.Header, b.Way)
	one.Path = &path
	return &one, err
}

// Place is the choices at a place of a branch.
type Place struct {
	Threads []lab.Standing
	Choices []lab.Choice
	Expiry  time.Duration // until a key expires, 0: none does
}

// First returns what goes on by default: the first command that waits.
func (p Place) First() (lab.Decision, bool) {
	for _, c := range p.Choices {
		if c.Do == "" && !c.Late {
			return lab.Decision{Thread: c.Thread, Node: c.Node, Nth: c.Nth}, true
		}
	}
	return lab.Decision{}, false
}

// Step returns what lets the nth command of a thread through, of those that wait; of one
// that does not wait, it is none that can be decided.
func (p Place) Step(thread string, nth int) lab.Decision {
	n := 0
	for _, c := range p.Choices {
		if c.Thread != thread || c.Do != "" {
			continue
		}
		if n == nth {
			return lab.Decision{Thread: thread, Node: c.Node, Nth: c.Nth}
		}
		n++
	}
	return lab.Decision{Thread: thread, Nth: nth}
}

// struck returns a fault as a decision: of a thread, the first command that it can strike.
func (p Place) struck(f board.LabFault) lab.Decision {
	d := lab.Decision{Thread: f.Thread, Node: f.Node, Do: f.Do}
	at := slices.IndexFunc(p.Choices, func(c lab.Choice) bool {
		return c.Thread == f.Thread && c.Do == f.Do && (f.Node == 0 || c.Node == f.Node) && (f.Thread != "" || c.Nth == f.Nth)
	})
	if at >= 0 {
		d.Node, d.Nth = p.Choices[at].Node, p.Choices[at].Nth
	}
	return d
}

// Lab is the machine of a board that its pages share: a branch is a round of its clients.
// It is safe for concurrent use.
type Lab struct {
	ID      string
	desk    lab.Desk
	title   string
	owner   string
	address string
	account *limit.Account
	stop    context.CancelFunc
	works   sync.WaitGroup

	acting sync.Mutex // taken first, by who decides; the board is theirs
	board  *board.Alone

	mu       sync.Mutex
	rounds   map[int]*Branch // what came of the board's branches
	live     int             // the branch whose round goes on, -1: none
	round    int
	look     lab.Look
	scenario *scenario.Scenario
	frame    string // its text
	search   *Search
	halt     context.CancelFunc
	viewers  int
	seen     time.Time
	closed   error // why it is, nil while it is not
	changed  chan struct{}
}

// Search is a search over all orders, and its result.
type Search struct {
	Bounds                  lab.Bounds
	Orders, Waiting, Broken int // so far
	Going                   bool
	Tried                   lab.Tried
	Err                     error
}

// open begins a lab on a desk. The caller closes it.
func open(ctx context.Context, id, title string, desk lab.Desk, account *limit.Account) (*Lab, error) {
	l := &Lab{
		ID: id, desk: desk, title: title, account: account,
		rounds: map[int]*Branch{}, live: -1, round: -1, seen: time.Now(), changed: make(chan struct{}),
	}
	l.board = board.OpenOn(l)
	if err := l.sync(); err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	l.works.Go(func() { l.follow(ctx) })
	return l, nil
}

// close ends the lab and its desk.
func (l *Lab) close() {
	l.stop()
	l.mu.Lock()
	l.closed = ErrClosed
	if l.halt != nil {
		l.halt()
	}
	l.tell()
	l.mu.Unlock()
	l.desk.Close()
	l.works.Wait()
	l.account.Close()
}

// Owned reports whether a visitor has opened the lab.
func (l *Lab) Owned(visitor string) bool { return l.owner == "" || visitor == l.owner }

// Enter counts a viewer, until leave is called.
func (l *Lab) Enter() (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.viewers--
		l.seen = time.Now()
	})
}

// idle returns for how long nobody has looked.
func (l *Lab) idle(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.viewers > 0 {
		return 0
	}
	return now.Sub(l.seen)
}

// Changed is closed when the state has changed.
func (l *Lab) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// tell wakes all waiters. The caller holds mu.
func (l *Lab) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// State is the state of a lab.
type State struct {
	Scenario *scenario.Scenario // the frame: threads, key, the longest lease
	Branches []*Branch          // the oldest first
	Look     lab.Look
	Search   *Search // the newest, nil without one
}

// State returns the lab's state. If the lab is closed, it fails and says why.
func (l *Lab) State() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := State{Scenario: l.scenario, Look: l.look}
	st.Branches = slices.SortedFunc(maps.Values(l.rounds), func(a, b *Branch) int { return a.ID - b.ID })
	if l.search != nil {
		one := *l.search
		st.Search = &one
	}
	return st, l.closed
}

// follow sees what the clients do, until ctx ends.
func (l *Lab) follow(ctx context.Context) {
	for {
		changed := l.desk.Changed()
		l.acting.Lock()
		err := l.sync()
		l.acting.Unlock()
		if err != nil { // its process is gone, say
			l.end(err)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// end says why there is no lab any more: the reason, if visitors may read it, else that
// it is closed.
func (l *Lab) end(err error) {
	if _, ok := phrase.Of(err); !ok {
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = err
	l.tell()
}

// act takes the turn to decide; done gives it back.
func (l *Lab) act() (done func(), err error) {
	st, err := l.State()
	switch {
	case err != nil:
		return nil, err
	case st.Search != nil && st.Search.Going:
		return nil, errSearches
	}
	l.acting.Lock()
	return l.acting.Unlock, nil
}

// sync takes over the state of the desk: the current round belongs to the live branch, or
// to a new one, if clients have begun it by themselves.
func (l *Lab) sync() error {
	look := l.desk.Look()
	track, err := l.desk.Track(l.title)
	if err != nil {
		return fmt.Errorf("labs: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = look
	if look.Busy {
		l.tell()
		return nil
	}
	if b := l.rounds[l.live]; look.Rounds != l.round && (b == nil || len(b.Way) > 0) {
		l.begin(board.NoBranch, 0)
	}
	if l.round = look.Rounds; l.live < 0 {
		l.tell()
		return nil
	}
	return l.take(look, track)
}

// take renews the live branch, on the board too. The caller holds mu.
func (l *Lab) take(look lab.Look, track lab.Track) error {
	defer l.tell()
	if len(track.After) != len(look.Order)+1 {
		return nil // of another instant: it comes again
	}
	if err := l.noted(look.Order); err != nil {
		return err
	}
	b := *l.rounds[l.live]
	b.Path = &engine.Path{Header: track.Header, Events: track.Events, Positions: positions(&b, track)}
	b.Way, b.Live, b.Telling = look.Order, true, track.Telling
	b.Places = append(slices.Clone(b.Places[:min(len(b.Places), len(b.Way))]), Place{look.Threads, look.Choices, look.Expiry})
	for len(b.Places) <= len(b.Way) { // decided at once, one after the other
		b.Places = append(b.Places, b.Places[len(b.Places)-1])
	}
	l.rounds[l.live] = &b
	if text := string(track.Header.Scenario); text != l.frame {
		sc, err := scenario.Parse(track.Header.Scenario)
		if err != nil {
			return fmt.Errorf("labs: the frame of a lab: %w", err)
		}
		l.scenario, l.frame = sc, text
	}
	events := 0
	for _, one := range l.rounds {
		events += len(one.Events)
	}
	return l.account.Hold(engine.OpenSize + events*eventSize)
}

// noted has the board follow the order of the live branch. The caller holds mu.
func (l *Lab) noted(order []lab.Decision) error {
	at := slices.IndexFunc(l.board.Branches(), func(b board.Branch) bool { return b.ID == l.live })
	var moves []json.RawMessage
	for _, d := range order[min(len(l.board.Branches()[at].Moves), len(order)):] {
		text, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("labs: %w", err)
		}
		moves = append(moves, text)
	}
	if moves != nil {
		l.board.Follow(l.live, moves)
	}
	return nil
}

// positions are where decisions have led. Only the last of those that a branch has can
// have changed.
func positions(b *Branch, track lab.Track) []engine.Position {
	list := make([]engine.Position, 0, len(track.After))
	if b.Telling == track.Telling {
		list = append(list, b.Positions[:max(len(b.Positions)-1, 0)]...)
	}
	for i := len(list); i < len(track.After); i++ {
		p := engine.Position{Seq: track.After[i]}
		if n := p.Seq; n > 0 {
			e := track.Events[n-1]
			p.Row, p.At = e.Step, e.At.Duration()
		}
		p.Over = track.Over && i == len(track.After)-1
		list = append(list, p)
	}
	return list
}

// begin begins a branch for the round that goes on now. The caller holds mu.
func (l *Lab) begin(parent, fork int) {
	l.leave()
	l.live = l.board.Begin(parent, fork)
	l.rounds[l.live] = &Branch{Track: board.Track{Path: &engine.Path{}, ID: l.live, Parent: parent, Fork: fork}}
}

// leave ends the round of the live branch, if there is one. The caller holds mu.
func (l *Lab) leave() {
	if b := l.rounds[l.live]; b != nil {
		was := *b
		was.Live = false
		l.rounds[l.live] = &was
	}
	l.live = -1
}

// Do carries out a command that steps, and returns the branch on which something has come
// of it: what is decided in the past, or after the end of a round, is one more branch, on
// which the round is run again. It fails as the board does, like Desk's Decide and Again,
// and with ErrBranches, ErrClosed, or a *limit.Error.
func (l *Lab) Do(ctx context.Context, c board.Command) (on int, err error) {
	done, err := l.act()
	if err != nil {
		return 0, err
	}
	defer done()
	if c.Do == "again" || c.Do == "order" {
		c.Branch = board.NoBranch
	}
	e, err := l.board.Do(ctx, c)
	if e.Dropped != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.rounds, c.Branch)
		if l.live == c.Branch {
			l.live = -1 // the next decision runs a round again
		}
		l.tell()
		return c.Branch, nil
	}
	if e.Stand == nil {
		return c.Branch, err
	}
	return e.Stand.Branch, err
}

// Make implements board.Machine.
func (l *Lab) Make(ctx context.Context, branch, at int, c board.Command) (on int, err error) {
	l.mu.Lock()
	b, here := l.rounds[branch], branch == l.live
	l.mu.Unlock()
	if b == nil {
		b = &Branch{}
	}
	way, d, err := l.wanted(b, at, c)
	if err != nil {
		return branch, err
	}
	if d == nil || !here || at < len(b.Way) {
		if branch, err = l.again(ctx, branch, at, way); err != nil || d == nil {
			return branch, err
		}
	}
	if err := l.desk.Decide(ctx, *d); err != nil {
		return branch, err
	}
	return branch, l.sync()
}

// wanted is what a command wants after the first at decisions of a branch: one more, nil
// for none. Way is the decisions before it.
func (l *Lab) wanted(b *Branch, at int, c board.Command) (way []lab.Decision, d *lab.Decision, err error) {
	way = b.Way[:at]
	var here Place
	if at < len(b.Places) {
		here = b.Places[at]
	}
	one := here.Step(c.Thread, c.Nth)
	d = &one
	switch c.Do {
	case "step":
		if c.Thread == "" {
			first, ok := here.First()
			if !ok {
				return nil, nil, lab.ErrNoChoice
			}
			d = &first
		}
	case "time":
		if c.To != "expiry" {
			return nil, nil, phrase.New("a lab's clock only moves to the end of a lease: time with to: expiry")
		}
		d = &lab.Decision{Do: lab.LeaseEnds}
	case "strike":
		if !slices.Contains(lab.Faults(), c.LabFault.Do) {
			return nil, nil, phrase.New("there is no fault %.40q; allowed: %s", c.LabFault.Do, phrase.Names(lab.Faults()))
		}
		one = here.struck(c.LabFault)
	case "order":
		st, _ := l.State()
		if s := st.Search; s == nil || s.Going || c.Found < 0 || c.Found >= len(s.Tried.Rules) {
			return nil, nil, phrase.New("no search result has that number")
		}
		return st.Search.Tried.Rules[c.Found].Order, nil, nil
	default: // cut, again
		d = nil
	}
	return way, d, nil
}

// again has the clients run their round again, as a branch. A replay that diverged is on
// it, too.
func (l *Lab) again(ctx context.Context, parent, fork int, way []lab.Decision) (on int, err error) {
	if len(l.board.Branches()) >= MaxBranches {
		return parent, ErrBranches
	}
	was := l.desk.Look().Rounds
	failed := l.desk.Again(ctx, way)
	look := l.desk.Look()
	if failed != nil && look.Rounds == was {
		return parent, failed
	}
	l.mu.Lock()
	l.begin(parent, min(fork, len(look.Order)))
	on, l.round = l.live, look.Rounds
	l.mu.Unlock()
	if err := l.sync(); err != nil {
		return on, err
	}
	return on, failed
}

// Search begins to try every order; Halt ends it early. It fails with ErrClosed, or
// if a search is already running.
func (l *Lab) Search(ctx context.Context, in lab.Bounds) error {
	done, err := l.act()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.mu.Lock()
	l.search, l.halt = &Search{Bounds: in, Going: true}, cancel
	l.tell()
	l.mu.Unlock()
	l.works.Go(func() {
		defer done()
		defer cancel()
		tried, err := l.desk.Search(ctx, in, func(orders, waiting, broken int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.search.Orders, l.search.Waiting, l.search.Broken = orders, waiting, broken
			l.tell()
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.search.Going, l.search.Tried, l.search.Err = false, tried, err
		if err == nil { // the round that went on is over
			l.leave()
			l.round = l.desk.Look().Rounds
		}
		l.tell()
	})
	return nil
}

// Halt ends the running search, if there is one.
func (l *Lab) Halt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.halt != nil {
		l.halt()
	}
}
