package exhibit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// Habits are what the clients of some articles do in their own way.
type Habits struct {
	Hasty    bool // it pauses after each retry instead of before: the first comes at once, the last pause is pointless
	Sleeps   bool // its watchdog sleeps after each answer, so a slow renewal delays the next; others keep their beat
	Outlives bool // its watchdog is not stopped by the unlock, and ends with its process
	OneWatch bool // an owner's watchdog runs only for its first hold
}

// HabitsOf returns how a [Locker] uses a protocol. It is false
// for those that a [lock.Locker] uses. It is safe for concurrent use.
func HabitsOf(p *protocol.Protocol) (Habits, bool) {
	h, ok := habits[cmp.Or(p.Base, p).Name]
	return h, ok
}

var habits = map[string]Habits{
	ReentrantNaive.Name:     {OneWatch: true},
	MutexBlind.Name:         {Hasty: true, Sleeps: true},
	MutexTakeBack.Name:      {},
	MutexStrayWatchdog.Name: {Outlives: true},
	MutexGetDel.Name:        {}, MutexUnsafe.Name: {}, Value.Name: {}, SetnxHash.Name: {}, Spin.Name: {}, None.Name: {},
}

// Locker takes locks as articles write it: once granted, it never doubts that
// it holds the lock. It is safe for concurrent use, but the calls of one owner
// for one key must come one after the other.
type Locker struct {
	client  lock.Redis
	o       lock.Options
	habits  Habits
	retries int
	caller  *protocol.Caller

	mu       sync.Mutex // guards the stacks, too
	stacks   map[holder]*stack
	hadWatch map[holder]bool // of OneWatch
}

type holder struct {
	key   string
	owner lock.Owner
}

// stack is the levels that an owner has entered.
type stack struct {
	holder

	l      *Locker
	words  protocol.Words
	holds  []*Hold         // outermost first
	parent context.Context // of the outermost
	began  time.Time       // when the outermost was entered

	watchdog clock.Timer        // the next renewal, or nil
	cancel   context.CancelFunc // of the renewal under way, or nil
	stopped  bool               // nothing is renewed any more
}

// Hold is one level of a lock that its owner entered and believes in. Its
// accessors are safe for concurrent use.
type Hold struct {
	s     *stack
	level int
	ctx   context.Context
	end   context.CancelCauseFunc
}

// Level returns 1 for the first acquisition, 2 for a re-entry, and so on.
func (h *Hold) Level() int { return h.level }

// Token returns 0: these locks have no fencing tokens.
func (h *Hold) Token() int64 { return 0 }

// Context returns a context derived from the one given to Lock. It ends with
// cause [lock.ErrReleased] at Unlock, and whatever happens to the lock, not
// before.
func (h *Hold) Context() context.Context { return h.ctx }

// New returns a Locker on client. Of o it uses Protocol, Lease, Renew, MaxAge, Retries,
// Interval, JitterMin, JitterMax, Limit, Clock, Random and Observer, with the
// defaults of package lock, but for jitter and MaxAge: there is none unless it is
// given.
// It fails with [lock.ErrOptions] if o has no lease of whole milliseconds, or a
// Protocol that HabitsOf does not know.
func New(client lock.Redis, o lock.Options) (*Locker, error) {
	if o.Protocol == nil {
		return nil, fmt.Errorf("%w: an exhibit's Protocol must be given", lock.ErrOptions)
	}
	own, ok := HabitsOf(o.Protocol)
	if !ok {
		return nil, fmt.Errorf("%w: Protocol must be an exhibit's, given %s", lock.ErrOptions, o.Protocol.Name)
	}
	o.Lease = cmp.Or(o.Lease, lock.DefaultLease)
	if o.Lease < time.Millisecond || o.Lease%time.Millisecond != 0 {
		return nil, fmt.Errorf("%w: a lease must be whole milliseconds, at least 1ms, given %v", lock.ErrOptions, o.Lease)
	}
	o.Renew = cmp.Or(o.Renew, o.Lease/3)
	if !o.Protocol.HasWatchdog() {
		o.Renew = lock.NoWatchdog
	}
	o.Interval, o.Limit = cmp.Or(o.Interval, lock.DefaultInterval), cmp.Or(o.Limit, o.Lease)
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Random == nil {
		o.Random = rand.Int64N
	}
	l := &Locker{
		client: client, o: o, habits: own, retries: max(o.Retries, 0), caller: protocol.NewCaller(o.ID, o.Lease),
		stacks: map[holder]*stack{}, hadWatch: map[holder]bool{},
	}
	if o.Retries == 0 {
		l.retries = math.MaxInt
	}
	return l, nil
}

// Lock enters the lock of key for owner. It tries once, then up to
// Options.Retries times more while another holds the lock or Redis does not
// answer; the end of ctx ends that. If the last attempt went unanswered, it gives back
// the level that Redis may have granted. It forgets earlier ones.
//
// It fails with [lock.ErrNotAcquired], joined with lock.ErrHeld,
// lock.ErrUnknown if Redis did not answer, what Redis said, or ctx's cause.
func (l *Locker) Lock(ctx context.Context, key string, owner lock.Owner) (*Hold, error) {
	s := l.stackOf(holder{key, owner})
	c := lock.Call{Name: lock.CallLock, Level: s.level() + 1}
	for c.Attempt = 1; ; c.Attempt++ {
		h, err := s.ask(ctx, c)
		if err == nil {
			return h, nil
		}
		held, unknown := errors.Is(err, lock.ErrHeld), errors.Is(err, lock.ErrUnknown)
		over := c.Attempt > l.retries
		var ended error
		if (held || unknown) && !over {
			ended = s.pause(ctx, c.Attempt)
			if ended == nil {
				continue
			}
		}
		if unknown {
			s.giveBack(ctx, c.Level)
		}
		if over && held && l.retries > 0 && l.habits.Hasty {
			ended = s.pause(ctx, c.Attempt)
		}
		switch {
		case ended != nil:
			return nil, fmt.Errorf("%w: %w: %w", lock.ErrNotAcquired, err, ended)
		case !held:
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		s.observe(ctx, lock.Attempt{Call: c, Result: lock.Exhausted, Err: lock.ErrNotAcquired})
		return nil, fmt.Errorf("%w in %d attempts: %w", lock.ErrNotAcquired, c.Attempt, err)
	}
}

// ask sends the acquisition once. It fails with lock.ErrHeld, lock.ErrUnknown,
// or Redis' answer.
func (s *stack) ask(ctx context.Context, c lock.Call) (*Hold, error) {
	o := &s.l.o
	sent := o.Clock.Now()
	limited, cancel := o.Clock.WithDeadline(ctx, sent.Add(o.Limit))
	defer cancel()
	r, err := o.Protocol.Lock(protocol.WithCall(limited, c), s.request(c.Level))
	at := lock.Attempt{Call: c, Began: sent, Count: r.Count, Err: err}
	var h *Hold
	switch {
	case err != nil:
		at.Result = lock.Failed
		if !protocol.Answered(err) {
			err = fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		}
	case r.Code != protocol.Granted:
		at.Result, err = lock.Refused, lock.ErrHeld
	default:
		at.Result = lock.Acquired
		if c.Level > 1 {
			at.Result = lock.Reentered
		}
		h = s.push(ctx, c.Level)
	}
	s.observe(ctx, at)
	return h, err
}

// pause sleeps after an attempt that failed, which was the nth of its call.
func (s *stack) pause(ctx context.Context, n int) error {
	o := &s.l.o
	if s.l.habits.Hasty && n == 1 {
		return nil // the next one comes at once
	}
	d := o.Interval + o.JitterMin
	if span := o.JitterMax - o.JitterMin; span > 0 {
		d += time.Duration(o.Random(int64(span/time.Microsecond)+1)) * time.Microsecond
	}
	s.tellWait(ctx, d)
	return o.Clock.Sleep(ctx, d)
}

// giveBack leaves a level, entered or not. The answer does not matter: the
// lease cleans up what this cannot.
func (s *stack) giveBack(ctx context.Context, level int) {
	_, _ = s.release(ctx, lock.Call{Name: lock.CallUnlock, Level: level, GivesBack: true})
}

// mostReleases is how often an unanswered release is sent again when Lock would
// retry until its context ends: the caller is waiting.
const mostReleases = 5

// release sends the release until Redis answers, with as many retries as Lock
// has, within Options.Limit. Of ctx only the values count.
func (s *stack) release(ctx context.Context, c lock.Call) (protocol.Reply, error) {
	o := &s.l.o
	limited, cancel := o.Clock.WithDeadline(context.WithoutCancel(ctx), o.Clock.Now().Add(o.Limit))
	defer cancel()
	retries := s.l.retries
	if retries == math.MaxInt {
		retries = mostReleases
	}
	for c.Attempt = 1; ; c.Attempt++ {
		began := o.Clock.Now()
		r, err := o.Protocol.Unlock(protocol.WithCall(limited, c), s.request(c.Level))
		at := lock.Attempt{Call: c, Began: began, Count: r.Count, Result: lock.Failed, Err: err}
		switch {
		case err != nil:
		case r.Code != protocol.Granted:
			at.Result, at.Err = lock.NotHeld, lock.ErrNotHeld
		case r.Count > 0:
			at.Result = lock.Decremented
		default:
			at.Result = lock.Released
		}
		s.observe(ctx, at)
		if err == nil || protocol.Answered(err) {
			return r, err
		}
		unknown := fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		if c.Attempt > retries || limited.Err() != nil {
			return r, unknown
		}
		s.tellWait(ctx, o.Interval)
		if o.Clock.Sleep(limited, o.Interval) != nil || limited.Err() != nil {
			return r, unknown
		}
	}
}

// Unlock leaves the level. Of ctx only the values count. It fails with
// [lock.ErrNotHeld] if Redis says so or h was unlocked before, with
// lock.ErrInnerHeld while an inner level is held, with lock.ErrUnknown if Redis
// did not answer, and with what Redis said. But for ErrInnerHeld, the level has
// been left all the same.
func (h *Hold) Unlock(ctx context.Context) error {
	s, c := h.s, lock.Call{Name: lock.CallUnlock, Level: h.level, Attempt: 1}
	switch left := s.level(); {
	case left < h.level || s.holds[h.level-1] != h:
		s.observe(ctx, lock.Attempt{Call: c, Result: lock.NotHeld, Err: lock.ErrNotHeld})
		return fmt.Errorf("%w: level %d of %q was left before", lock.ErrNotHeld, h.level, s.key)
	case left > h.level:
		s.observe(ctx, lock.Attempt{Call: c, Result: lock.Failed, Err: lock.ErrInnerHeld})
		return fmt.Errorf("%w: level %d of %q cannot be left", lock.ErrInnerHeld, h.level, s.key)
	}
	r, err := s.release(ctx, c)
	if h.level == 1 && !s.l.habits.Outlives {
		s.disarm(ctx) // too late: the lock may be another's already
	}
	if err == nil && r.Code != protocol.Granted {
		err = fmt.Errorf("%w: unlock of level %d of %q", lock.ErrNotHeld, h.level, s.key)
	}
	s.pop()
	h.end(lock.ErrReleased)
	return err
}

// stackOf returns the levels of an owner, a new stack if it has none.
func (l *Locker) stackOf(who holder) *stack {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stacks[who]; s != nil {
		return s
	}
	return &stack{holder: who, l: l, words: l.caller.Words(l.o.Protocol.Keyed(who.key), string(who.owner), l.o.Lease)}
}

func (s *stack) level() int {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	return len(s.holds)
}

// push enters a level, and starts the watchdog with a renewal at once.
func (s *stack) push(ctx context.Context, level int) *Hold {
	l := s.l
	h := &Hold{s: s, level: level}
	h.ctx, h.end = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.holds = append(s.holds, h)
	if level == 1 {
		s.began, s.parent = l.o.Clock.Now(), h.ctx
	}
	l.stacks[s.holder] = s
	if l.o.Renew != lock.NoWatchdog && !l.hadWatch[s.holder] {
		l.hadWatch[s.holder] = l.habits.OneWatch
		s.next(l.o.Clock.Now())
	}
	return h
}

// pop leaves the innermost level.
func (s *stack) pop() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.holds = s.holds[:len(s.holds)-1]
	if len(s.holds) == 0 {
		delete(s.l.stacks, s.holder)
	}
}

// next schedules a renewal. The caller holds the mutex.
func (s *stack) next(at time.Time) {
	clk := s.l.o.Clock
	s.watchdog = clk.AfterFunc(at.Sub(clk.Now()), lock.Watchdog, s.renew)
}

// renew runs one beat of the watchdog, which ignores the answer.
func (s *stack) renew() {
	o := &s.l.o
	sent := o.Clock.Now()
	s.l.mu.Lock()
	if s.stopped {
		s.l.mu.Unlock()
		return
	}
	c := lock.Call{Name: lock.CallRenew, Level: max(len(s.holds), 1), Attempt: 1} // one that outlives its hold renews for level 1
	if o.MaxAge > 0 && sent.Sub(s.began) >= o.MaxAge {
		caller := s.parent
		s.stopped = true
		s.l.mu.Unlock()
		s.observe(caller, lock.Attempt{Call: c, Result: lock.Aged, Err: lock.ErrMaxAge})
		return
	}
	ctx, cancel := o.Clock.WithDeadline(context.Background(), sent.Add(o.Limit))
	s.cancel = cancel
	caller := s.parent
	s.l.mu.Unlock()
	defer cancel()

	r, err := o.Protocol.Renew(protocol.WithCall(ctx, c), s.request(c.Level))
	at := lock.Attempt{Call: c, Began: sent, Err: err}
	switch {
	case err != nil:
		at.Result = lock.Failed
	case r.Code == protocol.Granted:
		at.Result, at.Count = lock.Renewed, c.Level
	default:
		at.Result = lock.NotHeld
	}
	s.l.mu.Lock()
	s.cancel = nil
	stopped := s.stopped
	if !stopped {
		beat := sent
		if s.l.habits.Sleeps {
			beat = o.Clock.Now()
		}
		s.next(beat.Add(o.Renew))
	}
	s.l.mu.Unlock()
	if err != nil && ctx.Err() != nil && stopped {
		return // stopped before it was sent, so not an attempt
	}
	s.observe(caller, at)
}

// disarm stops the watchdog and waits until no renewal can reach Redis any
// more.
func (s *stack) disarm(ctx context.Context) {
	s.l.mu.Lock()
	s.stopped = true
	if s.cancel != nil {
		s.cancel()
	}
	w := s.watchdog
	s.watchdog = nil
	s.l.mu.Unlock()
	if w != nil && !w.Stop() {
		_ = w.Wait(context.WithoutCancel(ctx)) // Options.Limit bounds it
	}
}

func (s *stack) request(level int) protocol.Request {
	return protocol.Request{
		Words: s.words, Client: s.l.client, Key: s.key, Owner: string(s.owner), Level: level, Lease: s.l.o.Lease, Clock: s.l.o.Clock,
	}
}

// observe reports an attempt to the Observer.
func (s *stack) observe(ctx context.Context, a lock.Attempt) {
	if s.l.o.Observer.Attempted == nil {
		return
	}
	now := s.l.o.Clock.Now()
	a.Key, a.Owner = s.key, s.owner
	if a.Began.IsZero() {
		a.Began = now
	}
	a.Took = now.Sub(a.Began)
	s.l.o.Observer.Attempted(ctx, a)
}

func (s *stack) tellWait(ctx context.Context, d time.Duration) {
	if s.l.o.Observer.Waiting != nil {
		s.l.o.Observer.Waiting(ctx, lock.Wait{Key: s.key, Owner: s.owner, For: d})
	}
}
