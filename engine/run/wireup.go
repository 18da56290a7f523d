package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
)

// errLoad is the error of a store that takes no scripts.
var errLoad = errors.New("run: load scripts")

// wireUp gives every thread its process, its way to Redis and its locker.
func (r *Run) wireUp(ctx context.Context, client func(thread string, node int) journal.Scripter, messenger lock.Messenger, process func(name string) clock.Process) error {
	scripts := make([]journal.Script, 0, 3)
	for _, s := range r.protocol().Scripts {
		scripts = append(scripts, journal.Script{Name: s.Name, Source: s.Source, SHA: s.SHA})
	}
	r.network.r, r.network.process = r, process(networkName)
	memories := map[string]*exhibit.Memory{}
	for i, t := range r.threads {
		if memories[t.spec.Process] == nil {
			memories[t.spec.Process] = &exhibit.Memory{}
		}
		t.process = clock.NewDrifting(process(t.spec.Name), int(t.spec.Drift))
		t.redis = &wire{sent: map[string]count{}}
		for n := range r.sc.Lock.Nodes {
			p := &tap{t: t, node: n}
			p.journal = journal.New(func() journal.Scripter { return client(t.spec.Name, n) }, scripts, p.note)
			t.redis.taps = append(t.redis.taps, p)
			if i > 0 {
				continue
			}
			if err := p.journal.Load(ctx); err != nil {
				return fmt.Errorf("%w: %w", errLoad, err)
			}
		}
		o := lock.Options{
			Messenger: losing{messenger, t}, Inbox: r.key + ":inbox:" + t.spec.Name,
			Protocol: r.protocolOf(t, memories), ID: t.spec.Name,
			Lease: r.sc.Lock.Lease, Renew: r.sc.Lock.Watchdog,
			MaxAge: r.sc.Lock.MaxHold, Retries: retries(t.spec.Retry), Interval: t.spec.Retry.Interval,
			JitterMin: t.spec.Retry.Jitter.Min, JitterMax: t.spec.Retry.Jitter.Max,
			Clock: t.process, Random: source(r.sc.Seed, t.spec.Name, "jitter").Int64N,
			Observer: lock.Observer{Attempted: t.attempted, Waiting: t.waiting, Lost: t.lost},
		}
		if r.o.Twins != nil { // unlike a name, it can be nothing else
			o.ID, o.Inbox = string(t.owner), r.key+":inbox:"+string(t.owner)
		}
		if o.Renew == 0 {
			o.Renew = lock.NoWatchdog
		}
		for _, p := range t.redis.taps[1:] {
			o.Nodes = append(o.Nodes, p)
		}
		var err error
		if t.locker, err = newLocker(t.redis.taps[0], o); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	return nil
}

// locker is how a thread takes and closes its lock: package lock's, or an exhibit's.
type locker struct {
	lock  func(ctx context.Context, key string, owner lock.Owner) (hold, error)
	try   func(ctx context.Context, key string, owner lock.Owner) (hold, error) // without a retry; nil of an exhibit
	close func()
}

// hold is a level that a thread has entered.
type hold interface {
	Level() int
	Token() int64
	Context() context.Context
	Unlock(ctx context.Context) error
}

func newLocker(client lock.Redis, o lock.Options) (locker, error) {
	if _, ok := exhibit.HabitsOf(o.Protocol); ok {
		l, err := exhibit.New(client, o)
		if err != nil {
			return locker{}, fmt.Errorf("make an exhibit's locker: %w", err)
		}
		return locker{
			lock:  func(ctx context.Context, key string, owner lock.Owner) (hold, error) { return l.Lock(ctx, key, owner) },
			close: func() {}, // what it waits for ends with its process
		}, nil
	}
	l, err := lock.New(client, o)
	if err != nil {
		return locker{}, fmt.Errorf("make a locker: %w", err)
	}
	return locker{
		lock: func(ctx context.Context, key string, owner lock.Owner) (hold, error) { return l.Lock(ctx, key, owner) },
		try: func(ctx context.Context, key string, owner lock.Owner) (hold, error) {
			return l.TryLock(ctx, key, owner)
		},
		close: l.Close,
	}, nil
}

// protocolOf is what the locker of t runs: a lock in memory is its process'.
func (r *Run) protocolOf(t *thread, memories map[string]*exhibit.Memory) lock.Protocol {
	if r.protocol().Guard == protocol.InProcess {
		return exhibit.SpinIn(memories[t.spec.Process])
	}
	return r.protocol()
}

// retries is what the lock engine calls a thread's retries.
func retries(r scenario.Retry) int {
	switch r.Times {
	case 0:
		return lock.NoRetry
	case scenario.Unlimited:
		return 0 // until it has the lock
	default:
		return r.Times
	}
}

// losing is a Messenger whose messages to t can be lost.
type losing struct {
	lock.Messenger

	t *thread
}

// Listen implements lock.Messenger.
func (l losing) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	heard := func(message string) {
		l.t.told(toldMessage, message)
		if !l.t.take(fault.AtLock, 1, fault.LoseMessage) {
			l.t.handed.Store(strings.HasPrefix(message, "grant "))
			receive(message)
		}
	}
	return l.Messenger.Listen(ctx, channel, func(message string) { l.t.r.rec.guard(func() { heard(message) }) })
}
