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

// Errors of a session.
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

// Session is a lab with its branches. It is safe for concurrent use.
type Session struct {
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
	Space                   lab.Space
	Orders, Waiting, Broken int // so far
	Going                   bool
	Tried                   lab.Tried
	Err                     error
}

// open begins a session on a desk. The caller closes it.
func open(ctx context.Context, id, title string, desk lab.Desk, account *limit.Account) (*Session, error) {
	s := &Session{
		ID: id, desk: desk, title: title, account: account, kicked: make(chan struct{}, 1),
		live: -1, round: -1, seen: time.Now(), changed: make(chan struct{}),
	}
	if err := s.sync(); err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.works.Go(func() { s.follow(ctx) })
	return s, nil
}

// close ends the session and its desk.
func (s *Session) close() {
	s.stop()
	s.mu.Lock()
	s.closed = ErrClosed
	if s.halt != nil {
		s.halt()
	}
	s.tell()
	s.mu.Unlock()
	s.desk.Close()
	s.works.Wait()
	s.account.Close()
}

// Owned reports whether a visitor has opened the lab.
func (s *Session) Owned(visitor string) bool { return s.owner == "" || visitor == s.owner }

// Enter counts a viewer, until leave is called.
func (s *Session) Enter() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.viewers--
		s.seen = time.Now()
	})
}

// idle returns for how long nobody has looked.
func (s *Session) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers > 0 {
		return 0
	}
	return now.Sub(s.seen)
}

// Changed is closed when the state has changed.
func (s *Session) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// tell wakes who looks. The caller holds mu.
func (s *Session) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// State is the state of a lab.
type State struct {
	Scenario *scenario.Scenario // the frame: threads, key, the longest lease
	Branches []*Branch          // the oldest first
	Look     lab.Look
	Search   *Search // the newest, nil without one
}

// State returns the lab's state. If the lab is closed, it fails and says why.
func (s *Session) State() (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Scenario: s.scenario, Branches: slices.Clone(s.branches), Look: s.look}
	if s.search != nil {
		one := *s.search
		st.Search = &one
	}
	return st, s.closed
}

// follow sees what the clients do, until ctx ends.
func (s *Session) follow(ctx context.Context) {
	for {
		changed := s.desk.Changed()
		if s.acting.TryLock() {
			err := s.sync()
			s.acting.Unlock()
			if err != nil { // its process is gone, say
				s.end(err)
				return
			}
		}
		select {
		case <-changed:
		case <-s.kicked: // who acted has ended
		case <-ctx.Done():
			return
		}
	}
}

// end says why there is no lab any more: what can be told, else that it is closed.
func (s *Session) end(err error) {
	if _, ok := phrase.Of(err); !ok {
		err = ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
	s.tell()
}

// act takes the turn to decide, and gives it back.
func (s *Session) act() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed != nil:
		return nil, s.closed
	case s.search != nil && s.search.Going:
		return nil, errSearches
	}
	s.mu.Unlock()
	s.acting.Lock()
	s.mu.Lock()
	return func() {
		s.acting.Unlock()
		select {
		case s.kicked <- struct{}{}:
		default:
		}
	}, nil
}

// sync takes over how the desk stands: the round that goes on is the live branch's, or
// one more branch's, where clients have begun it by themselves.
func (s *Session) sync() error {
	look := s.desk.Look()
	track, err := s.desk.Track(s.title)
	if err != nil {
		return fmt.Errorf("labs: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = look
	if look.Busy {
		s.tell()
		return nil
	}
	if b := s.branch(s.live); look.Rounds != s.round && (b == nil || len(b.Way) > 0) {
		s.add(&Branch{Branch: engine.Branch{Parent: -1}})
	}
	if s.round = look.Rounds; s.live < 0 {
		s.tell()
		return nil
	}
	return s.take(look, track)
}

// take renews the live branch. The caller holds mu.
func (s *Session) take(look lab.Look, track lab.Track) error {
	defer s.tell()
	at := slices.IndexFunc(s.branches, func(b *Branch) bool { return b.ID == s.live })
	if len(track.After) != len(look.Order)+1 {
		return nil // of another instant: it comes again
	}
	b := *s.branches[at]
	b.Way, b.Header, b.Events, b.Live = slices.Clone(look.Order), track.Header, track.Events, true
	b.Positions = positions(track)
	b.Places = append(slices.Clone(b.Places[:min(len(b.Places), len(b.Way))]), Place{look.Threads, look.Choices, look.Expiry})
	for len(b.Places) <= len(b.Way) { // decided at once, one after the other
		b.Places = append(b.Places, b.Places[len(b.Places)-1])
	}
	s.branches[at] = &b
	if text := string(track.Header.Scenario); text != s.frame {
		sc, err := scenario.Parse(track.Header.Scenario)
		if err != nil {
			return fmt.Errorf("labs: the frame of a lab: %w", err)
		}
		s.scenario, s.frame = sc, text
	}
	events := 0
	for _, one := range s.branches {
		events += len(one.Events)
	}
	return s.account.Hold(engine.OpenSize + events*eventSize)
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
func (s *Session) add(b *Branch) {
	s.leave()
	b.ID = s.made
	s.made++
	s.live = b.ID
	s.branches = append(s.branches, b)
}

// leave ends the round of the live branch, if there is one. The caller holds mu.
func (s *Session) leave() {
	if b := s.branch(s.live); b != nil {
		was := *b
		was.Live = false
		s.branches[slices.Index(s.branches, b)] = &was
	}
	s.live = -1
}

// branch returns a branch, nil if there is none. The caller holds mu.
func (s *Session) branch(id int) *Branch {
	for _, b := range s.branches {
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
func (s *Session) Decide(ctx context.Context, branch, at int, d lab.Decision) (int, error) {
	return s.do(ctx, branch, at, &d)
}

// Again runs the first at decisions of a branch again, on a new branch; a branch of -1
// is one without decisions. It fails like Decide.
func (s *Session) Again(ctx context.Context, branch, at int) (int, error) {
	return s.do(ctx, branch, at, nil)
}

func (s *Session) do(ctx context.Context, branch, at int, d *lab.Decision) (int, error) {
	done, err := s.act()
	if err != nil {
		return 0, err
	}
	defer done()
	s.mu.Lock()
	var way []lab.Decision
	b := s.branch(branch)
	if b == nil && branch >= 0 || b != nil && (at < 0 || at > len(b.Way)) {
		s.mu.Unlock()
		return 0, ErrNoBranch
	}
	here := d != nil && b != nil && b.ID == s.live && at == len(b.Way)
	if b != nil {
		way = b.Way[:at]
	}
	s.mu.Unlock()
	if here {
		if err := s.desk.Decide(ctx, *d); err != nil {
			return branch, err
		}
		return branch, s.sync()
	}
	made, err := s.run(ctx, &Branch{Branch: engine.Branch{Parent: branch, Fork: at}}, way)
	if err != nil || d == nil {
		return made, err
	}
	if err := s.desk.Decide(ctx, *d); err != nil {
		return made, err
	}
	return made, s.sync()
}

// Open runs an order of a search, on a new branch. It fails like Decide.
func (s *Session) Open(ctx context.Context, way []lab.Decision) (int, error) {
	done, err := s.act()
	if err != nil {
		return 0, err
	}
	defer done()
	return s.run(ctx, &Branch{Branch: engine.Branch{Parent: -1}}, way)
}

// run runs a round again as a branch. What went another way is on it, too.
func (s *Session) run(ctx context.Context, b *Branch, way []lab.Decision) (int, error) {
	s.mu.Lock()
	full := len(s.branches) >= MaxBranches
	s.mu.Unlock()
	if full {
		return 0, ErrBranches
	}
	was := s.desk.Look().Rounds
	failed := s.desk.Again(ctx, way)
	look := s.desk.Look()
	if failed != nil && look.Rounds == was {
		return 0, failed
	}
	s.mu.Lock()
	b.Fork = min(b.Fork, len(look.Order))
	s.add(b)
	s.round = look.Rounds
	s.mu.Unlock()
	if err := s.sync(); err != nil {
		return b.ID, err
	}
	return b.ID, failed
}

// Drop forgets a branch. It fails with ErrNoBranch, also for the only branch.
func (s *Session) Drop(branch int) error {
	done, err := s.act()
	if err != nil {
		return err
	}
	defer done()
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.branch(branch)
	if b == nil || len(s.branches) == 1 {
		return ErrNoBranch
	}
	s.branches = slices.DeleteFunc(slices.Clone(s.branches), func(o *Branch) bool { return o == b })
	if s.live == branch {
		s.live = -1 // the next decision runs a round again
	}
	s.tell()
	return nil
}

// Search begins to try every order; Halt ends it early. It fails with ErrClosed, or
// if a search is already running.
func (s *Session) Search(ctx context.Context, in lab.Space) error {
	done, err := s.act()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.search, s.halt = &Search{Space: in, Going: true}, cancel
	s.tell()
	s.mu.Unlock()
	s.works.Go(func() {
		defer done()
		defer cancel()
		tried, err := s.desk.Search(ctx, in, func(orders, waiting, broken int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.search.Orders, s.search.Waiting, s.search.Broken = orders, waiting, broken
			s.tell()
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.search.Going, s.search.Tried, s.search.Err = false, tried, err
		if err == nil { // the round that went on is over
			s.leave()
			s.round = s.desk.Look().Rounds
		}
		s.tell()
	})
	return nil
}

// Halt ends the running search, if there is one.
func (s *Session) Halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halt != nil {
		s.halt()
	}
}
