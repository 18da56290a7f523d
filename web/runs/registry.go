package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"relock/engine"
	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/web/site/limit"
	"relock/web/site/turn"
)

// Registry keeps sessions. It is safe for concurrent use.
type Registry struct {
	limits Limits
	held   *limit.Ledger // bytes, by runs
	onHeld func(address string)
	turns  *turn.Turns // unlimited until TakeTurns
	ctx    context.Context
	stop   context.CancelCauseFunc
	runs   sync.WaitGroup

	// Panicked is called with every panic that has ended a run or its viewers'
	// frames. It must be set before the first Start, and may be nil.
	Panicked func(*panics.Error)

	mu       sync.Mutex
	closed   bool
	sessions map[string]*Live
	starts   map[string]*rate.Limiter
	stepping map[string]int // by address
}

// NewRegistry returns an empty registry. Close ends it.
func NewRegistry(limits Limits) *Registry {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &Registry{
		limits: limits, ctx: ctx, stop: stop, turns: turn.New(math.MaxInt, math.MaxInt),
		held:     limit.NewLedger(limits.KeptBytes/3*2, limits.KeptBytes),
		sessions: map[string]*Live{}, starts: map[string]*rate.Limiter{}, stepping: map[string]int{},
	}
	r.runs.Go(func() { r.forget(ctx.Done()) })
	return r
}

// RunOwn lets b run the locks that visitors write; without one they are refused. It
// must be called before the first Start.
func (r *Registry) RunOwn(b *box.Pool) { r.ctx = ownlock.WithBox(r.ctx, b) }

// Visitor starts a run. Limits count its address; its name is a secret, and ""
// means that it may not steer.
type Visitor struct{ Address, Name string }

// Start runs sc for a visitor. It fails with one of the package's errors, or if
// the scenario cannot be run.
func (r *Registry) Start(v Visitor, sc *scenario.Scenario, o engine.Options, encoder Encoder) (*Live, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(v.Address); err != nil {
		return nil, err
	}
	steered := make(chan struct{}, 1)
	o.Steered = func() {
		select {
		case steered <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.limits.Longest, &engine.TooLongError{Limit: r.limits.Longest})
	ctx, stop := context.WithCancelCause(ctx)
	work := r.turns.SeatLater(v.Address)
	ctx = pause.With(ctx, work)
	o.Turn = func(ctx context.Context) (func(), error) {
		err := r.turns.TakeLater(ctx, v.Address)
		return func() { r.turns.Done(v.Address) }, err
	}
	run, err := engine.Start(ctx, sc, o)
	if err != nil {
		stop(nil)
		cancel()
		return nil, fmt.Errorf("runs: %w", err)
	}
	s := &Live{
		Run: run, Scenario: sc, Slow: max(o.Slow, 1), visitor: v.Name, address: v.Address, encoder: encoder, panicked: r.Panicked,
		audiences: map[Form]*audience{}, seen: time.Now(),
	}
	s.account, s.stop = r.held.Open(v.Address), stop
	s.grown = func() { r.weigh(s) }
	r.sessions[run.ID()] = s
	ended := make(chan struct{})
	r.runs.Go(func() {
		defer close(ended)
		defer cancel()
		defer stop(nil)
		s.guarded(func() { s.pump(r.ctx, r.turns.SeatLater(v.Address)) })
		s.report(s.Run.Wait())
	})
	r.runs.Go(func() {
		_ = run.Wait() // its log says how it ended
		work.Done()
	})
	r.runs.Go(func() {
		for {
			select {
			case <-steered:
				s.guarded(s.announce)
			case <-ended:
				return
			}
		}
	})
	return s, nil
}

// TakeTurns makes runs, and the making of their frames, take turns by their
// visitors' addresses; otherwise they work at once. It must be called before
// Start.
func (r *Registry) TakeTurns(turns *turn.Turns) { r.turns = turns }

// OnHeld sets a function to call with the visitor's address when a run is
// stopped because runs hold too much memory. It must be called before Start; f
// must not block.
func (r *Registry) OnHeld(f func(address string)) { r.onHeld = f }

// admit checks the limits and makes room. The caller holds mu.
func (r *Registry) admit(address string) error {
	if r.closed {
		return ErrClosed
	}
	running, own := 0, 0
	var over []*Live
	for _, s := range r.sessions {
		if ended, _ := s.state(); ended {
			over = append(over, s)
			continue
		}
		running++
		if s.address == address {
			own++
		}
	}
	switch {
	case running >= r.limits.Running:
		return ErrTooMany.Met(r.limits.Running)
	case running >= r.limits.Kept:
		return ErrTooManyKept.Met(r.limits.Kept)
	case own >= r.limits.RunningPerAddress:
		return ErrTooManyOwn.Met(r.limits.RunningPerAddress)
	}
	if !r.allow(address) {
		return ErrTooFast.Met(r.limits.StartsPerMinute)
	}
	r.makeRoom(over)
	return nil
}

// allow counts a start from address. The caller holds mu.
func (r *Registry) allow(address string) bool {
	l := r.starts[address]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.limits.StartsPerMinute)/60, r.limits.StartsPerMinute)
		r.starts[address] = l
	}
	return l.Allow()
}

// Allow counts something that should happen as rarely as starting a run. It
// fails with ErrTooFast or ErrClosed.
func (r *Registry) Allow(address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case !r.allow(address):
		return ErrTooFast.Met(r.limits.StartsPerMinute)
	default:
		return nil
	}
}

// Enter admits a visitor who steps through a scenario, until leave is called.
// The context ends with the registry, and Close waits for leave. It fails with
// ErrTooFast, ErrStepping, ErrSteppingOwn or ErrClosed.
func (r *Registry) Enter(address string) (ctx context.Context, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, n := range r.stepping {
		all += n
	}
	switch {
	case r.closed:
		return nil, nil, ErrClosed
	case all >= r.limits.Stepping:
		return nil, nil, ErrStepping.Met(r.limits.Stepping)
	case r.stepping[address] >= r.limits.SteppingAddress:
		return nil, nil, ErrSteppingOwn.Met(r.limits.SteppingAddress)
	case !r.allow(address):
		return nil, nil, ErrTooFast.Met(r.limits.StartsPerMinute)
	}
	r.stepping[address]++
	r.runs.Add(1)
	return r.ctx, sync.OnceFunc(func() {
		defer r.runs.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stepping[address]--; r.stepping[address] == 0 {
			delete(r.stepping, address)
		}
	}), nil
}

// Count is how much of each limit is in use.
type Count struct {
	Running  int // runs going on
	Kept     int // runs going on or ended
	Stepping int // scenarios stepped through
}

// Count returns how much is in use.
func (r *Registry) Count() Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Count{Kept: len(r.sessions)}
	for _, s := range r.sessions {
		if ended, _ := s.state(); !ended {
			c.Running++
		}
	}
	for _, n := range r.stepping {
		c.Stepping += n
	}
	return c
}

// Viewers returns how many pages get the frames of runs. It waits for frames that are
// being made; nobody else waits for it.
func (r *Registry) Viewers() int {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.sessions))
	r.mu.Unlock()
	n := 0
	for _, s := range all {
		n += s.Viewers()
	}
	return n
}

// Closed reports whether Close was called: nothing is admitted any more.
func (r *Registry) Closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// makeRoom drops ended runs while there are too many. The caller holds mu.
func (r *Registry) makeRoom(over []*Live) {
	for len(over) > 0 && len(r.sessions) >= r.limits.Kept {
		i := leastMissed(over)
		r.drop(over[i])
		over = slices.Delete(over, i, i+1)
	}
}

// leastMissed returns the index of the run to drop: at the address with the most
// ended runs, the one that nobody has looked at for longest. So a flood from one
// address costs nobody else a run.
func leastMissed(over []*Live) int {
	runs := map[string]int{}
	for _, s := range over {
		runs[s.address]++
	}
	at := 0
	for i, s := range over {
		_, seen := s.state()
		_, longest := over[at].state()
		if c := cmp.Compare(runs[s.address], runs[over[at].address]); c > 0 || c == 0 && seen.Before(longest) {
			at = i
		}
	}
	return at
}

// drop removes a run. The caller holds mu.
func (r *Registry) drop(s *Live) {
	delete(r.sessions, s.Run.ID())
	s.account.Close()
}

// weigh notes how many bytes a run holds now. If that is too much, it drops ended runs,
// first of the run's own address if that holds too much. If that does not help, it stops
// the run.
func (r *Registry) weigh(s *Live) {
	size := s.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.Run.ID()] != s {
		return // dropped meanwhile
	}
	for {
		err := s.account.Hold(size)
		if err == nil {
			return
		}
		var over []*Live
		for _, one := range r.sessions {
			if ended, _ := one.state(); ended && one != s && (one.address == s.address || !errors.Is(err, limit.ErrFullAddress)) {
				over = append(over, one)
			}
		}
		if len(over) == 0 {
			s.stop(engine.ErrHeld)
			if r.onHeld != nil {
				r.onHeld(s.address)
			}
			return
		}
		r.drop(over[leastMissed(over)])
	}
}

// Get returns the session of a run and notes that somebody looked at it.
func (r *Registry) Get(id string) (*Live, bool) {
	r.mu.Lock()
	s, ok := r.sessions[id]
	r.mu.Unlock()
	if ok {
		s.touch()
	}
	return s, ok
}

// Close stops all runs, closes all viewers with 1001, and returns when
// everything that the registry started has ended.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	for _, s := range r.sessions {
		s.close(websocket.CloseGoingAway)
	}
	r.mu.Unlock()
	r.stop(ErrClosed)
	r.runs.Wait()
}

// forget drops the runs that nobody looks at any more.
func (r *Registry) forget(over <-chan struct{}) {
	t := time.NewTicker(max(r.limits.Idle/10, time.Second))
	defer t.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-t.C:
			r.forgetBefore(now.Add(-r.limits.Idle))
		}
	}
}

func (r *Registry) forgetBefore(then time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		over, seen := s.state() // viewers of a run that is over have been closed
		if over && seen.Before(then) {
			r.drop(s)
		}
	}
	for address, l := range r.starts {
		if l.Tokens() >= float64(l.Burst()) {
			delete(r.starts, address)
		}
	}
}
