package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/pause"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

// Ends remembers, of ends of a scenario's runs, when a fresh thread would get in. It is not
// safe for concurrent use.
type Ends map[string]time.Duration

// fresh asks what is left in Redis: would a thread get in that comes now?
type fresh struct {
	r      *Run
	memory *recall.Memory
	left   []leftover    // on each node
	at     time.Duration // since the run began
}

// leftover is what a run has left on a node.
type leftover struct {
	redis *recall.Redis
	ahead time.Duration // of its clock before the clients'
}

// opens returns after how long a fresh thread gets in, 0 being at once, or check.Never. Each
// kind of thread is asked for, and the last one counts. It fails with Redis' error.
func (f *fresh) opens(ctx context.Context) (time.Duration, error) {
	if f.r.sc.Kind != scenario.KindLock || f.r.protocol().Guard == protocol.InProcess { // nothing is left in Redis
		return 0, nil
	}
	latest := time.Duration(0)
	for _, spec := range f.kinds() {
		after, err := f.opensFor(ctx, spec)
		if err != nil {
			return 0, err
		}
		latest = max(latest, after)
	}
	return latest, nil
}

// kinds are threads of which each takes other locks.
func (f *fresh) kinds() []scenario.Thread {
	var list []scenario.Thread
	for _, t := range f.r.threads {
		if !slices.ContainsFunc(list, func(o scenario.Thread) bool { return o.Takes == t.spec.Takes }) {
			list = append(list, t.spec)
		}
	}
	return list
}

// opensFor is opens for one kind of thread. The clock stands; as long as nobody gets in, it
// goes to the next expiry of any key, and on where nothing expires.
func (f *fresh) opensFor(ctx context.Context, spec scenario.Thread) (time.Duration, error) {
	shut, at := f.at, f.at // nobody gets in at shut
	for further := check.GoesOn(); ; {
		in, err := f.admits(ctx, spec, at)
		switch {
		case err != nil:
			return 0, err
		case in && at == f.at:
			return 0, nil
		case in:
			return f.between(ctx, spec, shut, at)
		}
		shut = at
		switch next, some := f.expiry(at); {
		case some:
			at = next
		case len(further) == 0:
			return f.never(ctx, spec)
		default:
			at, further = at+further[0], further[1:]
		}
	}
}

// never is check.Never, unless nobody would get in where nothing was left either: then it is
// not this that shuts anybody out.
func (f *fresh) never(ctx context.Context, spec scenario.Thread) (time.Duration, error) {
	empty := *f
	empty.left = slices.Clone(f.left)
	for i, l := range empty.left {
		empty.left[i].redis = f.memory.NewRedis(clock.Epoch.Add(f.at + l.ahead))
	}
	if in, err := empty.admits(ctx, spec, f.at); err != nil || !in {
		return 0, err
	}
	return check.Never, nil
}

// between returns how long it takes, to the millisecond, where nobody gets in at shut and
// somebody does at open.
func (f *fresh) between(ctx context.Context, spec scenario.Thread, shut, open time.Duration) (time.Duration, error) {
	for open-shut > time.Millisecond {
		middle := shut + (open-shut)/2
		in, err := f.admits(ctx, spec, middle)
		switch {
		case err != nil:
			return 0, err
		case in:
			open = middle
		default:
			shut = middle
		}
	}
	return (open - f.at).Round(time.Millisecond), nil
}

// copies are the nodes as they are at an instant if nobody comes.
func (f *fresh) copies(at time.Duration) []*node {
	list := make([]*node, len(f.left))
	for i, l := range f.left {
		c := l.redis.Copy()
		list[i] = &node{server: c, ahead: l.ahead, outages: outages{}, wrote: map[string]int{}}
		c.SetTime(list[i].timeAt(at))
	}
	return list
}

// expiry is the next instant at which a key expires on a node.
func (f *fresh) expiry(at time.Duration) (next time.Duration, some bool) {
	for _, n := range f.copies(at) {
		if left, ok := n.server.(*recall.Redis).NextExpiry(); ok && (!some || at+left < next) {
			next, some = at+left, true
		}
	}
	return next, some
}

// admits reports whether threads of this kind get in that come at an instant: one, or as
// many as the lock has permits.
func (f *fresh) admits(ctx context.Context, spec scenario.Thread, at time.Duration) (bool, error) {
	if err := pause.Here(ctx); err != nil {
		return false, err
	}
	s, err := f.visit(ctx, spec, at)
	if err != nil {
		return false, err
	}
	defer func() {
		s.r.killAll()
		s.clock.Stop()
	}()
	in := 0
	for _, t := range s.r.threads {
		t.process.Go(0, func() {
			if t.getsIn() {
				in++
			}
		})
	}
	for {
		ready := s.clock.Ready()
		switch {
		case s.failed != nil:
			return false, s.failed
		case len(ready) == 0:
			return in == len(s.r.threads), nil
		}
		s.clock.Step(ready[0])
	}
}

// visit is a run in which threads come to what is left.
func (f *fresh) visit(ctx context.Context, spec scenario.Thread, at time.Duration) (*Stepper, error) {
	sc := *f.r.sc
	sc.Threads, sc.Faults, sc.Schedule, sc.Resource = nil, nil, nil, nil
	for i := range f.r.sc.Lock.Kind.Most() {
		t := spec
		t.Name = fmt.Sprintf("~%d", i+1) // a name that no thread of a scenario can have
		t.Retry, t.ClientRetries, t.Drift = scenario.Retry{}, 0, 0
		sc.Threads = append(sc.Threads, t)
	}
	r, err := New(&sc, Options{Memory: f.memory, Twins: f.r.o.Twins})
	if err != nil {
		return nil, err
	}
	r.key = f.r.key
	s := &Stepper{checked: r.newChecked(), r: r, clock: clock.NewVirtual(), idle: forever, end: forever, nodes: f.copies(at)}
	s.muted = true
	s.clock.Advance(at)
	s.mail = &mailbox{subscribe: recalled{s.nodes[0].server.(*recall.Redis)}.subscribe, boxes: map[string]box{}}
	r.rec = s
	client := func(_ string, node int) journal.Scripter { return s.nodes[node].server.(*recall.Redis) }
	return s, r.wireUp(ctx, client, s.mail, s.clock.Process)
}

// getsIn takes all that the thread takes, each once, and reports whether it got it.
func (t *thread) getsIn() bool {
	levels := 1
	if t.r.sc.Locks != nil {
		levels = t.spec.Depth
	}
	for level := 1; level <= levels; level++ {
		t.next.Store(lock.Call{Name: lock.CallLock, Level: level, Attempt: 1})
		if _, err := t.enter(context.Background(), level); err != nil {
			return false
		}
	}
	return true
}

// opens is when a fresh thread gets in where nothing follows any more.
func (s *Stepper) opens(ctx context.Context) (time.Duration, error) {
	f := &fresh{r: s.r, memory: cmp.Or(s.r.o.Memory, s.memory), at: s.clock.Now()}
	if f.memory == nil {
		f.memory = recall.NewMemory()
		defer func() { _ = f.memory.Close() }() // there is nothing to lose
	}
	known := strconv.AppendInt(nil, int64(f.at), 10)
	for _, n := range s.nodes {
		redis, err := n.recalled(f.memory, n.timeAt(f.at))
		if err != nil {
			return 0, fmt.Errorf("run: what is left: %w", err)
		}
		f.left = append(f.left, leftover{redis, n.ahead})
		known = strconv.AppendInt(redis.AppendState(known, false, nil), int64(n.ahead), 10)
	}
	if after, ok := s.r.o.Ends[string(known)]; ok {
		return after, nil
	}
	after, err := f.opens(ctx)
	if err == nil && s.r.o.Ends != nil {
		s.r.o.Ends[string(known)] = after
	}
	return after, err
}

// recalled is a node's Redis as a memory answers for it.
func (n *node) recalled(m *recall.Memory, now time.Time) (*recall.Redis, error) {
	if r, ok := n.server.(*recall.Redis); ok {
		return r, nil
	}
	items, err := n.server.(*store.Embedded).Contents()
	if err != nil {
		return nil, err
	}
	return m.Holding(now, items), nil
}
