package lock

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/lock/protocol"
)

// outage is what all calls of a Locker know of a Redis that no connection can be made to:
// one of them tries for all, a share of an outage after the last try. The zero value is a
// Redis that can be reached. It is safe for concurrent use.
type outage struct{ now atomic.Pointer[unreachable] }

type unreachable struct {
	why         *net.OpError
	since, next time.Time // the first try that failed, and when another may follow
}

// refuses returns why a call need not be sent, or nil: the caller tries.
func (o *outage) refuses(now time.Time) error {
	u := o.now.Load()
	if u == nil {
		return nil
	}
	if now.Before(u.next) || !o.now.CompareAndSwap(u, &unreachable{u.why, u.since, now.Add(shareOfOutage)}) {
		return u.why
	}
	return nil
}

// refuses is why Redis need not be asked now, as far as the Locker's calls know it together.
func (l *Locker) refuses() error {
	if !l.one {
		return nil
	}
	return l.outage.refuses(l.o.Clock.Now())
}

// send has a call sent, unless Redis is known not to be reached now.
func (l *Locker) send(ctx context.Context, call protocol.Step, r protocol.Request) (protocol.Reply, error) {
	if why := l.refuses(); why != nil {
		return protocol.Reply{}, why
	}
	reply, err := call(ctx, r)
	l.met(err)
	return reply, err
}

// met notes the outcome of a call. After an outage all that waits is called to ask at once.
func (l *Locker) met(err error) {
	if !l.one {
		return
	}
	o, now := &l.outage, l.o.Clock.Now()
	if why := protocol.Undialled(err); why != nil {
		next := &unreachable{why, now, now.Add(shareOfOutage)}
		if u := o.now.Load(); u != nil {
			next.since = u.since
		}
		o.now.Store(next)
		return
	}
	if o.now.Load() == nil || err != nil && !protocol.Answered(err) {
		return
	}
	if u := o.now.Swap(nil); u == nil || now.Sub(u.since) < longestPause { // some connections are good, and others cannot be made
		return
	}
	for _, s := range l.everySession() {
		s.wake()
	}
}

// crowded is a pause for one of a Locker's owners that all wait for the same: a thousand try
// some 330 times a second.
func (l *Locker) crowded(d time.Duration) time.Duration {
	most := max(d, time.Duration(l.owners())*shareOfOutage)
	if l.windows != nil { // a run's clock has no crowds
		most = most/2 + time.Duration(l.o.Random(int64(most/2)+1))
	}
	return max(d, most)
}

// crew does for a Locker what is left to do when its callers have gone: by a few
// goroutines, which end when nothing is left, in the order in which it came. It is safe for
// concurrent use.
type crew struct {
	mu      sync.Mutex
	working int
	jobs    []job
}

// job is something to do. Late, it is only put away.
type job struct {
	until time.Time
	do    func(late bool)
}

// crewAtMost is how many goroutines a crew has.
const crewAtMost = 16

// settle has the crew do something within Options.Limit.
func (l *Locker) settle(do func(late bool)) {
	if l.windows == nil { // a run shows its tasks
		l.o.Clock.AfterFunc(0, settlement, func() { do(false) })
		return
	}
	l.crew.mu.Lock()
	defer l.crew.mu.Unlock()
	l.crew.jobs = append(l.crew.jobs, job{l.o.Clock.Now().Add(l.o.Limit), do})
	l.staff()
}

// staff adds a goroutine if there is work for one. The caller holds crew.mu.
func (l *Locker) staff() {
	if l.crew.working < min(crewAtMost, len(l.crew.jobs)) {
		l.crew.working++
		l.o.Clock.AfterFunc(0, settlement, l.work)
	}
}

func (l *Locker) work() {
	c := &l.crew
	defer func() { // even if an Observer ends the goroutine
		c.mu.Lock()
		defer c.mu.Unlock()
		c.working--
		l.staff()
	}()
	for {
		c.mu.Lock()
		if len(c.jobs) == 0 {
			c.mu.Unlock()
			return
		}
		next := c.jobs[0]
		c.jobs = c.jobs[1:]
		c.mu.Unlock()
		next.do(l.o.Clock.Now().After(next.until))
	}
}
