package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// thread is a virtual thread: a client process with one business call.
type thread struct {
	r       *Run
	spec    scenario.Thread
	owner   lock.Owner
	random  *rand.Rand
	process clock.Process
	redis   *wire
	locker  *lock.Locker
	ended   atomic.Bool

	round  atomic.Int64
	struck []atomic.Bool // by the scenario's faults
	stalls atomic.Bool   // its business code hangs for ever
	dead   atomic.Bool   // crashed, or the run is over

	delayed atomic.Int64 // requests that are on their way, and arrive unless it dies

	// On the virtual clock, for whoever chooses.
	next    lock.Call        // what it asks of Redis next
	working bool             // it is at work, or stands still in it
	handed  atomic.Bool      // it was sent the lock, and has not asked since
	result  atomic.Value     // the trace.Result, once it has ended
	armed   []scenario.Fault // struck by hand, and still to come

	// On the wall clock, for whoever steers.
	steering sync.Mutex
	control  Control

	asked chan struct{} // on the wall clock: closed when it has had its first answer
	first sync.Once
}

// main makes the business call as often as the scenario says.
func (t *thread) main() {
	defer t.hasAsked()
	err := t.rounds()
	if t.ended.Swap(true) {
		return // crashed by hand meanwhile
	}
	end := trace.End{Result: trace.Done}
	if err != nil {
		end.Error = err.Error()
	}
	switch {
	case err == nil:
	case errors.Is(err, lock.ErrLost):
		end.Result = trace.Lost
	case errors.Is(err, lock.ErrHeld):
		end.Result = trace.Exhausted
	default:
		end.Result = trace.Failed
	}
	t.result.Store(end.Result)
	t.tell(end)
}

// tell notes what happened in the thread. What still runs in a dead one (its
// deferred functions) happened to nobody.
func (t *thread) tell(body trace.Body) {
	if !t.dead.Load() {
		t.r.rec.local(t.spec.Name, body)
	}
}

// unlocks notes that the thread has called an unlock, before anything can hold
// up the call. What a dead thread's deferred functions call, nobody does.
func (t *thread) unlocks(u unlock) (returned func()) {
	if t.dead.Load() {
		return func() {}
	}
	return t.r.rec.unlocks(t.spec.Name, u)
}

// rounds makes the business calls. A panic of the business code has passed
// its deferred unlocks when it arrives here, and is an error to the outside.
func (t *thread) rounds() (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != errPanic { //nolint:errorlint // the very value
				panic(p)
			}
			err = errPanic
		}
	}()
	t.round.Store(1)
	t.strike(fault.AtStart, 0)
	for round := 1; round <= t.spec.Repeat; round++ {
		t.round.Store(int64(round))
		call := func() error { return t.business(1) }
		if t.r.sc.Kind == scenario.KindHeartbeat {
			call = func() error { return t.heartbeat(round) }
		}
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// hasAsked lets the thread go on that starts at the same moment.
func (t *thread) hasAsked() { t.first.Do(func() { close(t.asked) }) }

// business is the article's method: lock, work, call the next level, unlock.
func (t *thread) business(level int) (err error) {
	ctx := context.Background()
	t.next = lock.Call{Name: lock.CallLock, Level: level, Attempt: 1}
	t.awaitGate()
	hold, err := t.locker.Lock(ctx, t.r.key, t.owner)
	if err != nil {
		return err
	}
	defer func() {
		if t.take(fault.AtUnlock, level, fault.SkipUnlock) {
			return
		}
		t.next = lock.Call{Name: lock.CallUnlock, Level: level, Attempt: 1}
		returned := t.unlocks(unlock{level: hold.Level(), last: level == 1})
		t.awaitGate()
		if uerr := hold.Unlock(ctx); err == nil {
			err = uerr
		}
		returned()
		if t.take(fault.AtUnlock, level, fault.ExtraUnlock) {
			_ = hold.Unlock(ctx) // its refusal is an outcome in the trace
		}
	}()
	if err := t.work(hold, level); err != nil {
		return err
	}
	if level < t.spec.Depth {
		return t.business(level + 1)
	}
	return nil
}

// work is the business done at a level, during which faults strike.
func (t *thread) work(hold *lock.Hold, level int) error {
	d := t.draw(t.spec.Work)
	work := trace.Work{State: trace.WorkBegin, Level: level, For: trace.MillisOf(d)}
	t.next = lock.Call{Name: lock.CallUnlock, Level: level, Attempt: 1}
	if level < t.spec.Depth {
		t.next = lock.Call{Name: lock.CallLock, Level: level + 1, Attempt: 1}
	}
	t.working = true
	defer func() { t.working = false }()
	t.tell(work)
	seen, writes := t.begin()
	t.strike(fault.AtWork, level)
	ctx := context.Background()
	if t.spec.OnLost == scenario.OnLostStop {
		ctx = hold.Context()
	}
	err := t.process.Work(ctx, d)
	t.strikeArmed()
	if writes && err == nil {
		t.finish(seen, hold.Token())
	}
	work.State = trace.WorkEnd
	t.tell(work)
	return err
}

// draw takes a length of time from a range, in whole milliseconds where its
// bounds are, else in microseconds.
func (t *thread) draw(r scenario.Range) time.Duration {
	unit := time.Millisecond
	if r.Min%unit != 0 || r.Max%unit != 0 {
		unit = time.Microsecond
	}
	return r.Min + time.Duration(t.random.Int64N(int64((r.Max-r.Min)/unit)+1))*unit
}

// attempted notes what an attempt came to.
func (t *thread) attempted(_ context.Context, a lock.Attempt) {
	defer t.hasAsked() // also of a lock that asks no Redis
	t.redis.answered(a.Call)
	if a.Name != lock.CallRenew {
		t.next = a.Call
		t.next.Attempt++
		t.handed.Store(false)
	}
	o := trace.Outcome{
		Call: a.Name, Result: trace.Result(a.Result), Count: a.Count, Level: a.Level, Attempt: a.Attempt, Token: a.Token,
		GivesBack: a.GivesBack,
	}
	if a.Err != nil {
		o.Error = a.Err.Error()
	}
	if !a.Until.IsZero() && t.r.protocol().Nodes > 0 {
		o.Until = trace.MillisOf(t.r.rec.since(a.Until))
	}
	t.tell(o)
}

// waiting notes a pause between two attempts.
func (t *thread) waiting(_ context.Context, w lock.Wait) {
	t.awaitGate() // a retry is held before its pause, outside of the call's limits
	why := trace.WaitRetry
	if t.spec.Retry.Wait == scenario.WaitNotify {
		why = trace.WaitNotify
	}
	t.tell(trace.Wait{For: trace.MillisOf(w.For), Why: why})
}

// tap is a thread's way to Redis: it passes the gate of its process, and
// notes what the scripts tell.
type tap struct {
	t       *thread
	node    int // from 0
	journal *journal.Client
}

// wire is all of a thread's ways to Redis, one for each node.
type wire struct {
	taps []*tap

	mu   sync.Mutex
	sent map[string]count // by name of call
}

// count is how many commands of a call were sent, to each node.
type count struct {
	call lock.Call
	to   map[int]int
}

// next is the place of a command to a node in its call, from 1. Where all nodes
// are asked at once, the nth is the one to node n, whichever goes first: the
// next round begins after the last node.
func (w *wire) next(call lock.Call, node int, parallel bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.sent[call.Name]
	if c.call != call {
		c = count{call, map[int]int{}}
		w.sent[call.Name] = c
	}
	c.to[node]++
	if parallel {
		return (c.to[node]-1)*len(w.taps) + node + 1
	}
	all := 0
	for _, n := range c.to {
		all += n
	}
	return all
}

// answered lets the commands of the next call be counted from its beginning,
// also where it is the same: in another round, or the next renewal.
func (w *wire) answered(call lock.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sent, call.Name)
	if call.Name == lock.CallLock && call.Level == 1 {
		clear(w.sent) // a renewal that was cut off is of the hold before
	}
}

type recordsKey struct{}

func (p *tap) note(ctx context.Context, rec journal.Record) {
	records, ok := ctx.Value(recordsKey{}).(*[]sent)
	if !ok {
		panic("run: a script that no thread sent")
	}
	call, _ := protocol.CallOf(ctx)
	*records = append(*records, sent{call: call, rec: rec, node: p.node})
}

// EvalSha passes the gate, where the call's faults strike; Eval is only its
// fall-back and part of the same decision.
func (p *tap) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.strike(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.EvalSha(ctx, sha, keys, args...) })
}

// Do passes the gate like EvalSha.
func (p *tap) Do(ctx context.Context, args ...any) *redis.Cmd {
	return p.strike(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.Do(ctx, args...) })
}

// Eval sends a script in full.
func (p *tap) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.send(ctx, false, func(ctx context.Context) *redis.Cmd { return p.journal.Eval(ctx, script, keys, args...) })
}

// send has Redis run a script; late is set where its caller has given it up.
func (p *tap) send(ctx context.Context, late bool, send func(context.Context) *redis.Cmd) *redis.Cmd {
	if p.t.r.rec.down(p.t, p.node) {
		return broken(ctx, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	}
	var records []sent
	answered := p.t.r.rec.sending()
	cmd := send(context.WithValue(ctx, recordsKey{}, &records))
	for i := range records {
		records[i].late = late
	}
	answered(p.t, records)
	p.t.r.rec.doubt(cmd.Err())
	p.t.hasAsked()
	return cmd
}

// nodeNumber is a node's number in the trace, 0 where there is only one.
func (r *Run) nodeNumber(node int) int {
	if r.sc.Lock.Nodes == 1 {
		return 0
	}
	return node + 1
}

// commands are the events of a script's record. Names of keys are given as
// the scenario has them.
func (r *Run) commands(s sent) []trace.Event {
	events := make([]trace.Event, 0, len(s.rec.Entries))
	for _, e := range s.rec.Entries {
		args := slices.Clone(e.Args)
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, r.key, r.sc.Lock.Key)
		}
		events = append(events, trace.Event{Key: e.Key, Body: trace.Command{
			Call: s.call.Name, Attempt: s.call.Attempt, Level: s.call.Level,
			Script: s.rec.Script, Line: e.Line, Args: args, Reply: e.Reply, Error: e.Err, Node: r.nodeNumber(s.node),
			GivesBack: s.call.GivesBack, Late: s.late, Number: s.call.Number,
		}})
	}
	return events
}
