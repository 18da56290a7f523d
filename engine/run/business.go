package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// main makes the business call as often as the scenario says.
func (t *thread) main() {
	defer t.r.machine.hasAsked(t)
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
		end.Result, end.Cause = trace.Failed, CauseOf(err)
	}
	t.result.Store(end.Result)
	t.tell(end)
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
	if d := t.spec.Drift; d != 0 {
		t.tell(trace.Fault{Do: fault.Drift, At: fault.AtStart, By: d.String()})
	}
	t.strike(fault.AtStart, 0)
	for round := 1; round <= t.spec.Repeat; round++ {
		t.round.Store(int64(round))
		call := func() error { return t.business(context.Background(), 1, false) }
		if t.spec.Retry.GiveBack {
			call = func() error { return t.giveBack(context.Background()) }
		}
		if t.r.sc.Kind == scenario.KindHeartbeat {
			call = func() error { return t.heartbeat(round) }
		}
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// business is the article's method: lock, work, call the next level, work on,
// unlock. Ctx is what its lock is asked for with; more tells whether those that
// have called it have work left to do when it returns.
func (t *thread) business(ctx context.Context, level int, more bool) (err error) {
	t.next.Store(lock.Call{Name: lock.CallLock, Level: level, Attempt: 1})
	t.r.machine.awaitGate(t)
	hold, err := t.enter(ctx, level)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			t.tell(trace.Outcome{Call: lock.CallLock, Result: trace.Cancelled, Level: level, Attempt: t.coming().Attempt, Error: err.Error()})
		}
		return err
	}
	if t.spec.Retry.GiveBack && level == t.spec.Depth {
		for _, one := range t.r.threads {
			one.begun = 0
		}
	}
	var after time.Duration
	if level < t.spec.Depth && t.spec.After.Max > 0 {
		after = drawn(t.after, t.spec.After)
	}
	panicking := true
	defer func() {
		t.more = more && err == nil && !panicking
		if t.take(fault.AtUnlock, level, fault.SkipUnlock) {
			if level == 1 {
				t.believes(beliefs.isOut)
			}
			return
		}
		t.next.Store(lock.Call{Name: lock.CallUnlock, Level: level, Attempt: 1})
		u := unlock{level: t.levelOf(lock.Call{Level: hold.Level()}, t.keyOf(level)).Level, last: level == 1, leaves: !t.more, stops: t.stops()}
		t.believes(func(b beliefs, thread string) { b.calls(thread, u) })
		t.r.machine.awaitGate(t)
		if uerr := hold.Unlock(context.Background()); err == nil {
			err = uerr
		}
		t.believes(beliefs.returns)
		if t.take(fault.AtUnlock, level, fault.ExtraUnlock) {
			_ = hold.Unlock(context.Background()) // its refusal is an outcome in the trace
		}
	}()
	err = t.work(hold, trace.Work{Level: level}, drawn(t.random, t.spec.Work))
	if err == nil && level < t.spec.Depth {
		err = t.business(t.lasting(hold), level+1, more || after > 0)
	}
	if err == nil && after > 0 {
		err = t.work(hold, trace.Work{Level: level, After: true}, after)
	}
	panicking = false
	return err
}

// enter asks for the lock of a level. A thread that gives back asks once for another than
// its first.
func (t *thread) enter(ctx context.Context, level int) (hold, error) {
	t.asked = level
	ask := t.locker.lock
	if t.spec.Retry.GiveBack && level > 1 {
		ask = t.locker.try
	}
	return ask(ctx, t.keyOf(level), t.owner)
}

// giveBack makes the business call, of several locks, again after each time that it was
// refused another lock than its first, and has given back those that it had.
func (t *thread) giveBack(ctx context.Context) error {
	retry := t.spec.Retry
	for again := 0; ; again++ {
		err := t.business(ctx, 1, false)
		if !errors.Is(err, lock.ErrHeld) || t.asked == 1 || again == retry.Times {
			return err
		}
		t.begun++
		d := drawn(t.pauses, retry.Pause())
		t.next.Store(lock.Call{Name: lock.CallLock, Level: 1, Attempt: 1})
		t.tell(trace.Wait{For: trace.MillisOf(d), Why: trace.WaitRetry})
		if err := t.process.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// stops tells whether the thread looks at its holds' contexts.
func (t *thread) stops() bool { return t.spec.OnLost == scenario.OnLostStop }

// lasting is a context for what a thread does under a hold: it ends with the
// hold's own if the thread looks at that.
func (t *thread) lasting(hold hold) context.Context {
	if t.stops() {
		return hold.Context()
	}
	return context.Background()
}

// lost hears that what the thread held cannot be relied on any more.
func (t *thread) lost(_ context.Context, l lock.Loss) {
	t.relies.Delete(l.Key)
	t.believes(beliefs.loses)
}

// work is the business done at a level, during which faults strike.
func (t *thread) work(hold hold, work trace.Work, d time.Duration) error {
	work.State, work.For = trace.WorkBegin, trace.MillisOf(d)
	t.next.Store(lock.Call{Name: lock.CallUnlock, Level: work.Level, Attempt: 1})
	if work.Level < t.spec.Depth && !work.After {
		t.next.Store(lock.Call{Name: lock.CallLock, Level: work.Level + 1, Attempt: 1})
	}
	t.working = true
	defer func() { t.working = false }()
	t.tell(work)
	seen, writes := t.begin()
	t.strike(fault.AtWork, work.Level)
	err := t.process.Work(t.lasting(hold), d)
	t.strikeArmed()
	if writes && err == nil {
		t.finish(seen, hold.Token())
	}
	work.State, work.Cancelled = trace.WorkEnd, err != nil
	t.tell(work)
	return err
}

// drawn is a length of time from a range, in whole milliseconds where its bounds
// are, else in microseconds.
func drawn(from *rand.Rand, r scenario.Range) time.Duration {
	unit := time.Millisecond
	if r.Min%unit != 0 || r.Max%unit != 0 {
		unit = time.Microsecond
	}
	return r.Min + time.Duration(from.Int64N(int64((r.Max-r.Min)/unit)+1))*unit
}

// begin reads the run's resource, if there is one.
func (t *thread) begin() (seen trace.Resource, any bool) {
	if t.r.resource == nil {
		return seen, false
	}
	if t.r.resource.Blind {
		return t.r.resource.unseen(), true
	}
	seen = t.r.resource.read(t.spec.BuysFor(), t.tell)
	t.told(toldRead, seen.Value, seen.Version)
	return seen, t.r.resource.grants(seen)
}

// finish writes what the work came to.
func (t *thread) finish(seen trace.Resource, token int64) {
	if !t.dead.Load() {
		t.r.resource.write(seen, token, t.tell)
	}
}

// heartbeat is a round of a thread that takes no lock: the first thread is a
// device that sets its key again, the others look whether the key is there.
// Source: the article on a device list whose keys live for 300 s.
func (t *thread) heartbeat(round int) error {
	c := lock.Call{Name: trace.CallLook, Level: 1, Attempt: round}
	args := []any{"EXISTS", t.r.key}
	if t == t.r.threads[0] {
		c.Name = trace.CallBeat
		args = []any{"SET", t.r.key, string(t.owner), "PX", t.r.sc.Lock.Lease.Milliseconds()}
	}
	t.next.Store(c)
	answer, err := t.redis.taps[0].Do(protocol.WithCall(context.Background(), c), args...).Result()
	o := trace.Outcome{Call: c.Name, Level: c.Level, Attempt: round, Result: trace.Renewed}
	switch {
	case err != nil:
		o.Result, o.Error, o.Cause = trace.Failed, err.Error(), CauseOf(err)
	case c.Name == trace.CallLook && answer == int64(1):
		o.Result = trace.Online
	case c.Name == trace.CallLook:
		o.Result = trace.Offline
	}
	t.tell(o)
	c.Attempt++
	t.next.Store(c)
	d := drawn(t.random, t.spec.Work)
	t.tell(trace.Wait{For: trace.MillisOf(d), Why: trace.WaitBeat})
	return t.process.Sleep(context.Background(), d)
}

// attempted notes what an attempt came to.
func (t *thread) attempted(_ context.Context, a lock.Attempt) {
	defer t.r.machine.hasAsked(t) // also of a lock that asks no Redis
	a.Call = t.levelOf(a.Call, a.Key)
	t.redis.answered(a.Call)
	t.told(toldOutcome, a.Name, string(a.Result), a.Count, a.Level, a.Attempt, a.Token)
	if a.Name != lock.CallRenew {
		next := a.Call
		next.Attempt++
		t.next.Store(next)
		t.handed.Store(false)
	}
	if a.Result == lock.Exhausted && t.spec.Retry.GiveBack && a.Level > 1 {
		return // all it heard is that it was refused: it gives back, and does not give up
	}
	o := trace.Outcome{
		Call: a.Name, Result: trace.Result(a.Result), Count: a.Count, Level: a.Level, Attempt: a.Attempt, Token: a.Token,
		GivesBack: a.GivesBack,
	}
	if a.Err != nil {
		o.Error = a.Err.Error()
	}
	if o.Result == trace.Failed {
		o.Cause = CauseOf(a.Err)
	}
	if !a.Until.IsZero() {
		until := t.r.rec.since(t.process.Elsewhere(a.Until))
		t.relies.Store(a.Key, until)
		if t.r.protocol().Nodes > 0 {
			o.Until = trace.MillisOf(until)
		}
	}
	t.tell(o)
}

// waiting notes a pause between two attempts.
func (t *thread) waiting(_ context.Context, w lock.Wait) {
	t.r.machine.awaitGate(t) // a retry is held before its pause, outside of the call's limits
	why := trace.WaitRetry
	if t.spec.Retry.Wait == scenario.WaitNotify {
		why = trace.WaitNotify
	}
	t.tell(trace.Wait{For: trace.MillisOf(w.For), Why: why})
}
