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

	listening sync.Mutex
	stop      func() // ends the listening, nil before it begins

	mu       sync.Mutex
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
// It fails with ErrNotAcquired (joined with ErrHeld, with Redis' error, or
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
	l.listen(ctx)
	s, err := l.enter(ctx, sessionKey{key, owner})
	if err != nil {
		return nil, notAcquired(ctx, err)
	}
	until := l.o.Clock.Now().Add(time.Duration(retries) * l.o.Interval)
	s.mu.Lock()
	s.until = until
	s.mu.Unlock()
	c := Call{Name: CallLock, Level: s.level() + 1}
	var a acquisition
	defer func() { // also where a simulated process dies in here
		if !a.abandoned { // else whoever waits for the reply leaves
			s.leave()
		}
	}()
	for c.Attempt = 1; ; c.Attempt++ {
		a = s.attempt(ctx, c)
		over := c.Attempt > retries
		if l.p.fair && a.held { // the place in line is kept by time, and not by asking
			over = !l.o.Clock.Now().Before(until)
		}
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
		if err := s.wait(ctx, a, until); err != nil {
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

// wait sleeps until the next attempt, or until the waiter is told something.
func (s *session) wait(ctx context.Context, a acquisition, until time.Time) error {
	l := s.l
	d := l.o.Interval + l.o.JitterMin
	if span := l.o.JitterMax - l.o.JitterMin; span > 0 {
		d += time.Duration(l.o.Random(int64(span/time.Microsecond)+1)) * time.Microsecond
	}
	if l.p.fair && a.held && a.pttl > 0 { // then nothing can come before the lease ends but a message
		d = time.Duration(a.pttl+1) * time.Millisecond
		d = max(min(d, until.Sub(l.o.Clock.Now())), time.Millisecond)
	}
	if l.o.Observer != nil {
		l.o.Observer.Waiting(d)
	}
	if l.p.leave == nil {
		return l.o.Clock.Sleep(ctx, d)
	}
	_, err := l.o.Clock.Await(ctx, d, s.signal)
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
