package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// Locker takes locks on one Redis. It is safe for concurrent use; calls for
// one owner and key take turns.
type Locker struct {
	client Redis
	nodes  []Redis // client, and the further ones of Redlock
	o      Options
	p      Protocol
	tells  bool         // client asks on whose behalf a command is sent
	shared sharing      // where owners could be carried to another Locker unseen
	calls  atomic.Int64 // that were numbered

	// Of calls by the system's clock; nil by another.
	windows, swiftWindows *windows
	slow                  slowness

	mu       sync.Mutex
	closed   bool
	opening  chan struct{} // closed when the listening has begun or failed to, nil while nobody is at it
	stop     func()        // ends the listening, nil before it begins
	sessions map[sessionKey]*session
	keyed    map[string]*protocol.Keyed // at most mostKeyed
	watched  map[sessionKey]bool        // the owners that had the one watchdog of a protocol that has one only
}

type sessionKey struct {
	key   string
	owner Owner
}

// New returns a Locker on client, which may be any of go-redis, however it is
// set up: commands are sent once, whatever its MaxRetries, and a call ends with
// its context, whatever its ContextTimeoutEnabled (but without that option each
// call takes a goroutine, and so is slower). New sends nothing. It fails with
// ErrOptions.
func New(client Redis, o Options) (*Locker, error) {
	o, err := o.withDefaults(client)
	if err != nil {
		return nil, err
	}
	l := &Locker{
		client: tamed(client), nodes: []Redis{tamed(client)}, o: o, p: o.Protocol,
		sessions: map[sessionKey]*session{}, keyed: map[string]*protocol.Keyed{}, watched: map[sessionKey]bool{},
	}
	for _, node := range o.Nodes {
		l.nodes = append(l.nodes, tamed(node))
	}
	_, known := l.client.(*goRedis)
	l.tells = !known
	if own, ok := o.Clock.(clock.System); ok {
		l.windows = &windows{clock: own, slack: o.Limit / 16}
		l.swiftWindows = &windows{clock: own, slack: swift / 4}
	}
	if o.Protocol == Reentrant {
		l.shared = sharing{serverOf(client)}
	}
	return l, nil
}

// swift is how long a call of Lock is waited for without a task that can
// abandon it: much longer than Redis takes, and short for whoever cancels.
const swift = 100 * time.Millisecond

// slowness is for how long no call is expected to be swift, after one that was
// not: a second first, and twice as long each time until one is again.
type slowness struct {
	until, span atomic.Int64 // Unix nanoseconds, and nanoseconds; 0 if all were swift
}

const slowest = 5 * time.Minute

func (s *slowness) was() {
	span := min(max(2*time.Duration(s.span.Load()), time.Second), slowest)
	s.span.Store(int64(span))
	s.until.Store(time.Now().Add(span).UnixNano()) //nolint:forbidigo // of the system clock's Lockers only
}

func (s *slowness) wasNot() {
	if s.span.Load() != 0 {
		s.span.Store(0)
		s.until.Store(0)
	}
}

func (s *slowness) is() bool {
	until := s.until.Load()
	return until != 0 && time.Now().UnixNano() < until //nolint:forbidigo // of the system clock's Lockers only
}

// isSwift tells whether calls are waited for without a task: Redis has been
// answering, and the client minds deadlines.
func (l *Locker) isSwift() bool {
	c, ours := l.client.(*goRedis)
	return ours && !c.deaf && l.windows != nil && l.o.Limit > swift && l.p.Nodes == 0 && !l.slow.is()
}

// Lock enters the lock of key for owner: it tries once, and then again up to
// Options.Retries times. An owner that holds the lock enters one level more.
// The key stays locked until [Hold.Unlock], also when ctx ends: only the
// hold's context ends with it.
//
// It fails with ErrNotAcquired: joined with ErrHeld, ErrOwner, ErrKey,
// ErrWrongType, ErrClosed or Redis' error; with the context's error and cause
// as soon as ctx has ended; or, where the outer levels' lease is gone, with
// ErrLost. An owner whose holds were lost and never unlocked hears ErrLost
// once, and then begins anew.
func (l *Locker) Lock(ctx context.Context, key string, owner Owner, options ...LockOption) (*Hold, error) {
	return l.acquire(ctx, key, owner, l.o.Retries, options)
}

// TryLock is Lock with a single attempt.
func (l *Locker) TryLock(ctx context.Context, key string, owner Owner, options ...LockOption) (*Hold, error) {
	return l.acquire(ctx, key, owner, 0, options)
}

type ownerKey struct{ l *Locker }

// Do runs f under the lock of key, and leaves the lock when f has returned or
// panicked. F is given the hold's context, and should end with it. A Do within
// f, with a context that descends from f's, re-enters the lock; f must not hand
// that context to several goroutines that call Do.
//
// It fails like Lock, and then f was not called; with f's error; and with
// Unlock's, joined with it: ErrLost means that f was not alone to its end.
func (l *Locker) Do(ctx context.Context, key string, f func(ctx context.Context) error, options ...LockOption) (err error) {
	owner, within := ctx.Value(ownerKey{l}).(Owner)
	if !within {
		owner = NewOwner()
	}
	hold, err := l.Lock(ctx, key, owner, options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
	return f(hold.Context())
}

func (l *Locker) acquire(ctx context.Context, key string, owner Owner, retries int, options []LockOption) (*Hold, error) {
	mine, err := l.o.leaseOf(options)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotAcquired, err)
	case !owner.valid():
		return nil, fmt.Errorf("%w: %w: it must not be empty, begin with # or have white space or control characters, given %q", ErrNotAcquired, ErrOwner, owner)
	}
	if err := l.checkKey(key); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	l.listen(ctx)
	s, err := l.enter(ctx, sessionKey{key, owner})
	if err != nil {
		return nil, notAcquired(ctx, err)
	}
	s.begin(mine)
	if !l.shared.take(s) {
		s.leave()
		return nil, fmt.Errorf("%w: %w: the same owner, through another Locker", ErrNotAcquired, ErrHeld)
	}
	w := l.newWaiting(retries)
	c := Call{Name: protocol.CallLock, Level: s.level() + 1, Number: l.number()}
	var a acquisition
	defer func() { // also where a simulated process dies in here
		if !a.abandoned { // else whoever waits for the reply leaves
			s.leave()
		}
	}()
	for c.Attempt = 1; ; c.Attempt++ {
		s.waitsUntil(w.end())
		a = s.attempt(ctx, c)
		over := w.over(a)
		switch {
		case a.abandoned:
			return nil, notAcquired(ctx, nil)
		case a.hold != nil:
			return a.hold, nil
		case a.final || (over && !errors.Is(a.err, ErrHeld)):
			if !a.unknown {
				return nil, a.err
			}
			left := a
			a.abandoned = true
			return nil, s.part(ctx, a.err, func() {
				s.leaveLine(ctx, c)
				s.settle(ctx, c, left)
			})
		case over:
			err := fmt.Errorf("%w in %d attempts: %w", ErrNotAcquired, c.Attempt, ErrHeld)
			if retries > 0 && l.p.Leave != nil {
				a.abandoned = true
				err = s.part(ctx, err, func() { s.leaveLine(ctx, c) })
			}
			if retries > 0 && l.p.Hasty && s.wait(ctx, a, &w) != nil {
				return nil, notAcquired(ctx, nil)
			}
			s.observe(ctx, Attempt{Call: c, Result: Exhausted, Err: ErrNotAcquired})
			return nil, err
		}
		if err := s.wait(ctx, a, &w); err != nil {
			if !errors.Is(err, ErrClosed) {
				err = nil // ctx says it
			}
			if l.p.Leave == nil && !a.unknown {
				return nil, notAcquired(ctx, err)
			}
			left := a
			a.abandoned = true // the caller need not wait for what is still to be said
			l.o.Clock.AfterFunc(0, "settlement", func() {
				defer s.leave()
				s.leaveLine(ctx, c)
				s.settle(ctx, c, left)
			})
			return nil, notAcquired(ctx, err)
		}
		next := c
		next.Attempt++
		if a.hold = s.accept(ctx, next); a.hold != nil {
			return a.hold, nil
		}
	}
}

// mostKeyed is for how many keys what is sent for them is kept.
const mostKeyed = 256

// keyedFor is what all calls for a key send, made once for a key that is used
// again and again.
func (l *Locker) keyedFor(key string) *protocol.Keyed {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keyed[key]
	if k == nil {
		if len(l.keyed) >= mostKeyed {
			clear(l.keyed)
		}
		k = l.p.Keyed(key)
		l.keyed[key] = k
	}
	return k
}

// part says to Redis what is still to be said after a call that failed with
// err, and ends its turn. The caller waits for that while ctx goes on.
func (s *session) part(ctx context.Context, err error, say func()) error {
	if ctx.Done() == nil {
		defer s.leave()
		say()
		return err
	}
	said := s.l.o.Clock.AfterFunc(0, "settlement", func() {
		defer s.leave()
		say()
	})
	if said.Wait(ctx) != nil {
		return notAcquired(ctx, err)
	}
	return err
}

// checkKey refuses a key whose companions would be in another slot of a
// cluster than it is.
func (l *Locker) checkKey(key string) error {
	if key == "" || l.p.Companions != nil && !protocol.HasCompanions(key) {
		return fmt.Errorf("%w: it must not be empty, nor have a } without a {tag} before it, given %q", ErrKey, key)
	}
	return nil
}

// number is that of a new call, or 0 where calls have none.
func (l *Locker) number() int64 {
	if !l.p.Numbered {
		return 0
	}
	return l.calls.Add(1)
}

// waiting is how long a call of Lock goes on.
type waiting struct {
	l     *Locker
	polls int       // attempts that are left to make, the first one and those after a message not counted
	until time.Time // the fair lock's waiters keep their place by time
	due   time.Time // of the next poll
	woken bool      // by a message, before that
	hasty bool      // the next retry comes at once
}

func (l *Locker) newWaiting(retries int) waiting {
	w := waiting{l: l, polls: retries, hasty: l.p.Hasty}
	if l.p.Granting {
		w.until = l.o.Clock.Now().Add(times(retries, l.o.Interval))
	}
	return w
}

// times is n × d, or a century where that is more.
func times(n int, d time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if d > 0 && time.Duration(n) > century/d {
		return century
	}
	return time.Duration(n) * d
}

// end is until when the call may go on, as far as it can be told. Only told
// waiters need it.
func (w *waiting) end() time.Time {
	switch {
	case w.l.p.Granting:
		return w.until
	case w.l.p.Leave != nil:
		return w.l.o.Clock.Now().Add(times(w.polls, w.l.o.Interval+w.l.o.JitterMax))
	default:
		return time.Time{}
	}
}

// over tells whether an attempt that came to a was the last.
func (w *waiting) over(a acquisition) bool {
	if w.l.p.Granting {
		return !w.l.o.Clock.Now().Before(w.until) && (a.held || w.polls <= 0)
	}
	return w.polls <= 0
}

// next is how long to sleep after an attempt that came to a.
func (w *waiting) next(a acquisition, lease time.Duration) time.Duration {
	o := &w.l.o
	if w.hasty {
		w.hasty = false
		return 0
	}
	now := o.Clock.Now()
	if w.l.p.Granting && a.held && a.pttl > 0 {
		// Only a message can come before the lease ends. But in its place there
		// may soon be a grant that nobody has heard of, which is shorter: this
		// finds it while it lasts, and then sleeps no longer than it does.
		d := min(a.pttl+time.Millisecond, lease/4, w.until.Sub(now))
		return max(d, time.Millisecond)
	}
	if w.woken {
		return max(w.due.Sub(now), 0) // the poll is still to come
	}
	d := o.Interval + o.JitterMin
	if span := o.JitterMax - o.JitterMin; span > 0 {
		d += time.Duration(o.Random(int64(span/time.Microsecond)+1)) * time.Microsecond
	}
	w.due = now.Add(d)
	return d
}

// wait sleeps until the next attempt, or until the waiter is told something. It
// fails with ErrClosed, and when ctx has ended.
func (s *session) wait(ctx context.Context, a acquisition, w *waiting) error {
	l := s.l
	d := w.next(a, s.lease.length)
	if d > 0 || !l.p.Hasty {
		s.tellWait(ctx, d)
	}
	signal := s.wakeUp()
	if l.isClosed() { // and wakes nobody any more
		return ErrClosed
	}
	told, err := l.o.Clock.Await(ctx, d, signal)
	if err == nil && l.isClosed() {
		err = ErrClosed
	}
	w.woken = told && l.p.Leave != nil
	if !w.woken {
		w.polls--
	}
	return err
}

// notAcquired joins everything that ended an acquisition.
func notAcquired(ctx context.Context, err error) error {
	errs := []error{ErrNotAcquired}
	for _, e := range []error{err, ctx.Err(), context.Cause(ctx)} {
		if e != nil && !slices.ContainsFunc(errs, func(had error) bool { return errors.Is(had, e) }) {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// enter takes the session of one owner and key for one call. Leave ends it. It
// fails with ctx's error, and with ErrClosed.
func (l *Locker) enter(ctx context.Context, k sessionKey) (*session, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	s := l.sessions[k]
	if s == nil {
		s = &session{l: l, sessionKey: k, busy: make(chan struct{}, 1)}
		s.holds = s.room[:0]
		if l.p.Nodes > 0 {
			s.lanes = &protocol.Lanes{Enter: s.stay, Leave: s.drop}
		}
		l.sessions[k] = s
	}
	s.users++
	l.mu.Unlock()
	return s, s.turn(ctx)
}

// turn waits until no other call of the session goes on.
func (s *session) turn(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		s.drop()
		return ctx.Err()
	}
}

func (l *Locker) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close ends the Locker: whoever waits for a lock, and whoever asks from now
// on, gets ErrClosed. Locks that are held stay, are renewed, and are left by
// Unlock as before. It waits for a listening that is about to begin. Closing
// twice is harmless.
func (l *Locker) Close() {
	l.mu.Lock()
	l.closed = true
	for l.opening != nil {
		opening := l.opening
		l.mu.Unlock()
		<-opening
		l.mu.Lock()
	}
	stop := l.stop
	l.stop = nil
	waiting := make([]*session, 0, len(l.sessions))
	for _, s := range l.sessions {
		waiting = append(waiting, s)
	}
	l.mu.Unlock()
	for _, s := range waiting {
		s.wake()
	}
	if stop != nil {
		stop()
	}
}
