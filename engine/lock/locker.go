package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Locker takes locks on one Redis. It is safe for concurrent use; calls for
// one owner and key take turns.
type Locker struct {
	client Redis
	nodes  []Redis // client, and the further ones of Redlock
	o      Options
	p      protocol

	mu       sync.Mutex
	opening  chan struct{} // closed when the listening has begun or failed to, nil while nobody is at it
	stop     func()        // ends the listening, nil before it begins
	sessions map[sessionKey]*session
	watched  map[sessionKey]bool // a naive protocol's owners that had their watchdog
}

type sessionKey struct {
	key   string
	owner Owner
}

// New returns a Locker on client. It fails with ErrOptions.
func New(client Redis, o Options) (*Locker, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Locker{
		client: client, nodes: append([]Redis{client}, o.Nodes...), o: o, p: protocols()[o.Protocol],
		sessions: map[sessionKey]*session{}, watched: map[sessionKey]bool{},
	}, nil
}

// Lock enters the lock of key for owner: it tries once, and then again up to
// Options.Retries times. An owner that holds the lock enters one level more.
//
// It fails with ErrNotAcquired (joined with ErrHeld, ErrOwner, Redis' error, or
// with the context's error and cause as soon as ctx has ended) or, where the
// outer levels' lease is gone, with ErrLost.
func (l *Locker) Lock(ctx context.Context, key string, owner Owner) (*Hold, error) {
	return l.acquire(ctx, key, owner, l.o.Retries)
}

// TryLock is Lock with a single attempt.
func (l *Locker) TryLock(ctx context.Context, key string, owner Owner) (*Hold, error) {
	return l.acquire(ctx, key, owner, 0)
}

func (l *Locker) acquire(ctx context.Context, key string, owner Owner, retries int) (*Hold, error) {
	if !word(string(owner)) {
		return nil, fmt.Errorf("%w: %w: it must not be empty and have no white space and no control characters, given %q", ErrNotAcquired, ErrOwner, owner)
	}
	l.listen(ctx)
	s, err := l.enter(ctx, sessionKey{key, owner})
	if err != nil {
		return nil, notAcquired(ctx, err)
	}
	w := l.newWaiting(retries)
	c := Call{Name: CallLock, Level: s.level() + 1}
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
			if a.unknown {
				s.leaveLine(ctx, c)
			}
			s.settle(ctx, c, a)
			return nil, a.err
		case over:
			if retries > 0 {
				s.leaveLine(ctx, c)
			}
			l.observe(Attempt{Call: c, Result: Exhausted, Err: ErrNotAcquired})
			return nil, fmt.Errorf("%w in %d attempts: %w", ErrNotAcquired, c.Attempt, ErrHeld)
		}
		if err := s.wait(ctx, a, &w); err != nil {
			if l.p.leave == nil && !a.unknown {
				return nil, notAcquired(ctx, nil)
			}
			left := a
			a.abandoned = true // the caller need not wait for what is still to be said
			l.o.Clock.AfterFunc(0, "settlement", func() {
				defer s.leave()
				s.leaveLine(ctx, c)
				s.settle(ctx, c, left)
			})
			return nil, notAcquired(ctx, nil)
		}
		next := c
		next.Attempt++
		if a.hold = s.accept(ctx, next); a.hold != nil {
			return a.hold, nil
		}
	}
}

// waiting is how long a call of Lock goes on.
type waiting struct {
	l     *Locker
	polls int       // attempts that are left to make, the first one and those after a message not counted
	until time.Time // the fair lock's waiters keep their place by time
	due   time.Time // of the next poll
	woken bool      // by a message, before that
}

func (l *Locker) newWaiting(retries int) waiting {
	return waiting{l: l, polls: retries, until: l.o.Clock.Now().Add(times(retries, l.o.Interval))}
}

// times is n × d, or a century where that is more.
func times(n int, d time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if d > 0 && time.Duration(n) > century/d {
		return century
	}
	return time.Duration(n) * d
}

// end is until when the call may go on, as far as it can be told.
func (w *waiting) end() time.Time {
	if w.l.p.fair {
		return w.until
	}
	return w.l.o.Clock.Now().Add(times(w.polls, w.l.o.Interval+w.l.o.JitterMax))
}

// over tells whether an attempt that came to a was the last.
func (w *waiting) over(a acquisition) bool {
	if w.l.p.fair {
		return !w.l.o.Clock.Now().Before(w.until) && (a.held || w.polls <= 0)
	}
	return w.polls <= 0
}

// next is how long to sleep after an attempt that came to a.
func (w *waiting) next(a acquisition) time.Duration {
	o := w.l.o
	now := o.Clock.Now()
	if w.l.p.fair && a.held && a.pttl > 0 {
		// Only a message can come before the lease ends. But in its place there
		// may soon be a grant that nobody has heard of, which is shorter: this
		// finds it while it lasts, and then sleeps no longer than it does.
		d := min(time.Duration(a.pttl+1)*time.Millisecond, o.Lease/4, w.until.Sub(now))
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

// wait sleeps until the next attempt, or until the waiter is told something.
func (s *session) wait(ctx context.Context, a acquisition, w *waiting) error {
	l := s.l
	d := w.next(a)
	if l.o.Observer != nil {
		l.o.Observer.Waiting(d)
	}
	var err error
	if l.p.leave == nil {
		err = l.o.Clock.Sleep(ctx, d)
	} else {
		w.woken, err = l.o.Clock.Await(ctx, d, s.signal)
	}
	if !w.woken {
		w.polls--
	}
	return err
}

func (l *Locker) observe(a Attempt) {
	if l.o.Observer != nil {
		l.o.Observer.Attempted(a)
	}
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

// enter takes the session of one owner and key for one call. Leave ends it.
func (l *Locker) enter(ctx context.Context, k sessionKey) (*session, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.mu.Lock()
	s := l.sessions[k]
	if s == nil {
		s = &session{l: l, sessionKey: k, busy: make(chan struct{}, 1), signal: l.o.Clock.NewSignal()}
		l.sessions[k] = s
	}
	s.users++
	l.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
		return s, nil
	default:
	}
	select {
	case s.busy <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		s.drop()
		return nil, ctx.Err()
	}
}
