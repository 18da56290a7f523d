package labs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"relock/engine"
	"relock/engine/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/site/limit"
)

// Limits of one lab.
const (
	MaxBranches = 32
	eventSize   = 6 << 10 // bytes that an event takes with its row, measured as that of a run
)

// Errors of a lab.
var (
	ErrNoBranch = engine.ErrNoBranch
	ErrBranches = phrase.New("a lab has at most %d branches: drop one", MaxBranches)
	ErrClosed   = phrase.New("the lab is closed, or its process has ended: open another one")
	errSearches = phrase.New("a search of every order is running: wait for its end, or stop it")
)

// Branch is one round: its decisions, their results, and the choices at each place. It
// does not change once it was returned.
type Branch struct {
	engine.Branch

	Way    []lab.Decision
	Places []Place // before the first decision, and after each
	Live   bool    // its round is the one that goes on: it can be decided at its end at once
}

// Place is the choices at a place of a branch.
type Place struct {
	Threads []lab.Standing
	Choices []lab.Choice
	Expiry  time.Duration // until a key expires, 0: none does
}

// Lab is a lab with its branches. It is safe for concurrent use.
type Lab struct {
	ID      string
	desk    lab.Desk
	title   string
	owner   string
	address string
	account *limit.Account
	stop    context.CancelFunc
	works   sync.WaitGroup
	kicked  chan struct{}

	acting sync.Mutex // taken first, by who decides

	mu       sync.Mutex
	branches []*Branch
	made     int
	live     int // the branch whose round goes on, -1: none
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
		ID: id, desk: desk, title: title, account: account, kicked: make(chan struct{}, 1),
		live: -1, round: -1, seen: time.Now(), changed: make(chan struct{}),
	}
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
	st := State{Scenario: l.scenario, Branches: slices.Clone(l.branches), Look: l.look}
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
		if l.acting.TryLock() {
			err := l.sync()
			l.acting.Unlock()
			if err != nil { // its process is gone, say
				l.end(err)
				return
			}
		}
		select {
		case <-changed:
		case <-l.kicked: // who acted has ended
		case <-ctx.Done():
			return
		}
	}
}

// end says why there is no lab any more: what can be told, else that it is closed.
func (l *Lab) end(err error) {
	if _, ok := phrase.Of(err); !ok {
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = err
	l.tell()
}

// act takes the turn to decide, and gives it back.
func (l *Lab) act() (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed != nil:
		return nil, l.closed
	case l.search != nil && l.search.Going:
		return nil, errSearches
	}
	l.mu.Unlock()
	l.acting.Lock()
	l.mu.Lock()
	return func() {
		l.acting.Unlock()
		select {
		case l.kicked <- struct{}{}:
		default:
		}
	}, nil
}

// sync takes over how the desk stands: the round that goes on is the live branch's, or
// one more branch's, where clients have begun it by themselves.
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
	if b := l.branch(l.live); look.Rounds != l.round && (b == nil || len(b.Way) > 0) {
		l.add(&Branch{Branch: engine.Branch{Parent: -1}})
	}
	if l.round = look.Rounds; l.live < 0 {
		l.tell()
		return nil
	}
	return l.take(look, track)
}

// take renews the live branch. The caller holds mu.
func (l *Lab) take(look lab.Look, track lab.Track) error {
	defer l.tell()
	at := slices.IndexFunc(l.branches, func(b *Branch) bool { return b.ID == l.live })
	if len(track.After) != len(look.Order)+1 {
		return nil // of another instant: it comes again
	}
	b := *l.branches[at]
	b.Way, b.Header, b.Events, b.Live = slices.Clone(look.Order), track.Header, track.Events, true
	b.Positions = positions(track)
	b.Places = append(slices.Clone(b.Places[:min(len(b.Places), len(b.Way))]), Place{look.Threads, look.Choices, look.Expiry})
	for len(b.Places) <= len(b.Way) { // decided at once, one after the other
		b.Places = append(b.Places, b.Places[len(b.Places)-1])
	}
	l.branches[at] = &b
	if text := string(track.Header.Scenario); text != l.frame {
		sc, err := scenario.Parse(track.Header.Scenario)
		if err != nil {
			return fmt.Errorf("labs: the frame of a lab: %w", err)
		}
		l.scenario, l.frame = sc, text
	}
	events := 0
	for _, one := range l.branches {
		events += len(one.Events)
	}
	return l.account.Hold(engine.OpenSize + events*eventSize)
}

// positions are where decisions have led.
func positions(track lab.Track) []engine.Position {
	list := make([]engine.Position, len(track.After))
	for i, n := range track.After {
		p := engine.Position{Seq: n}
		if n > 0 {
			e := track.Events[n-1]
			p.Row, p.At = e.Step, e.At.Duration()
		}
		p.Over = track.Over && i == len(track.After)-1
		list[i] = p
	}
	return list
}

// add makes a branch the live one. The caller holds mu.
func (l *Lab) add(b *Branch) {
	l.leave()
	b.ID = l.made
	l.made++
	l.live = b.ID
	l.branches = append(l.branches, b)
}

// leave ends the round of the live branch, if there is one. The caller holds mu.
func (l *Lab) leave() {
	if b := l.branch(l.live); b != nil {
		was := *b
		was.Live = false
		l.branches[slices.Index(l.branches, b)] = &was
	}
	l.live = -1
}

// branch returns a branch, nil if there is none. The caller holds mu.
func (l *Lab) branch(id int) *Branch {
	for _, b := range l.branches {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// Decide decides after the first at decisions of a branch. If that is in the past, or
// the round is over, it runs the round again on a new branch. It returns the branch with
// the decision. It fails like Desk's Decide and Again, and with ErrNoBranch,
// ErrBranches, ErrClosed, or a *limit.Error.
func (l *Lab) Decide(ctx context.Context, branch, at int, d lab.Decision) (int, error) {
	return l.do(ctx, branch, at, &d)
}

// Again runs the first at decisions of a branch again, on a new branch; a branch of -1
// is one without decisions. It fails like Decide.
func (l *Lab) Again(ctx context.Context, branch, at int) (int, error) {
	return l.do(ctx, branch, at, nil)
}

func (l *Lab) do(ctx context.Context, branch, at int, d *lab.Decision) (int, error) {
	done, err := l.act()
	if err != nil {
		return 0, err
	}
	defer done()
	l.mu.Lock()
	var way []lab.Decision
	b := l.branch(branch)
	if b == nil && branch >= 0 || b != nil && (at < 0 || at > len(b.Way)) {
		l.mu.Unlock()
		return 0, ErrNoBranch
	}
	here := d != nil && b != nil && b.ID == l.live && at == len(b.Way)
	if b != nil {
		way = b.Way[:at]
	}
	l.mu.Unlock()
	if here {
		if err := l.desk.Decide(ctx, *d); err != nil {
			return branch, err
		}
		return branch, l.sync()
	}
	made, err := l.run(ctx, &Branch{Branch: engine.Branch{Parent: branch, Fork: at}}, way)
	if err != nil || d == nil {
		return made, err
	}
	if err := l.desk.Decide(ctx, *d); err != nil {
		return made, err
	}
	return made, l.sync()
}

// Open runs an order of a search, on a new branch. It fails like Decide.
func (l *Lab) Open(ctx context.Context, way []lab.Decision) (int, error) {
	done, err := l.act()
	if err != nil {
		return 0, err
	}
	defer done()
	return l.run(ctx, &Branch{Branch: engine.Branch{Parent: -1}}, way)
}

// run runs a round again as a branch. A replay that diverged is on it, too.
func (l *Lab) run(ctx context.Context, b *Branch, way []lab.Decision) (int, error) {
	l.mu.Lock()
	full := len(l.branches) >= MaxBranches
	l.mu.Unlock()
	if full {
		return 0, ErrBranches
	}
	was := l.desk.Look().Rounds
	failed := l.desk.Again(ctx, way)
	look := l.desk.Look()
	if failed != nil && look.Rounds == was {
		return 0, failed
	}
	l.mu.Lock()
	b.Fork = min(b.Fork, len(look.Order))
	l.add(b)
	l.round = look.Rounds
	l.mu.Unlock()
	if err := l.sync(); err != nil {
		return b.ID, err
	}
	return b.ID, failed
}

// Drop forgets a branch. It fails with ErrNoBranch, also for the only branch.
func (l *Lab) Drop(branch int) error {
	done, err := l.act()
	if err != nil {
		return err
	}
	defer done()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.branch(branch)
	if b == nil || len(l.branches) == 1 {
		return ErrNoBranch
	}
	l.branches = slices.DeleteFunc(slices.Clone(l.branches), func(o *Branch) bool { return o == b })
	if l.live == branch {
		l.live = -1 // the next decision runs a round again
	}
	l.tell()
	return nil
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
