package run

import (
	"context"
	"errors"
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
		end.Result = trace.Failed
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

// business is the article's method: lock, work, call the next level, unlock.
func (t *thread) business(level int) (err error) {
	ctx := context.Background()
	t.next = lock.Call{Name: lock.CallLock, Level: level, Attempt: 1}
	t.r.machine.awaitGate(t)
	hold, err := t.locker.lock(ctx, t.r.key, t.owner)
	if err != nil {
		return err
	}
	defer func() {
		if t.take(fault.AtUnlock, level, fault.SkipUnlock) {
			return
		}
		t.next = lock.Call{Name: lock.CallUnlock, Level: level, Attempt: 1}
		returned := t.unlocks(unlock{level: hold.Level(), last: level == 1})
		t.r.machine.awaitGate(t)
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
func (t *thread) work(hold hold, level int) error {
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

// begin reads the run's resource, if there is one.
func (t *thread) begin() (seen trace.Resource, any bool) {
	if t.r.resource == nil {
		return seen, false
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
// device that sets its key anew, the others look whether the key is there.
// Source: the article on a device list whose keys live for 300 s.
func (t *thread) heartbeat(round int) error {
	c := lock.Call{Name: trace.CallLook, Level: 1, Attempt: round}
	args := []any{"EXISTS", t.r.key}
	if t == t.r.threads[0] {
		c.Name = trace.CallBeat
		args = []any{"SET", t.r.key, string(t.owner), "PX", t.r.sc.Lock.Lease.Milliseconds()}
	}
	t.next = c
	answer, err := t.redis.taps[0].Do(protocol.WithCall(context.Background(), c), args...).Result()
	o := trace.Outcome{Call: c.Name, Level: c.Level, Attempt: round, Result: trace.Renewed}
	switch {
	case err != nil:
		o.Result, o.Error = trace.Failed, err.Error()
	case c.Name == trace.CallLook && answer == int64(1):
		o.Result = trace.Online
	case c.Name == trace.CallLook:
		o.Result = trace.Offline
	}
	t.tell(o)
	t.next.Attempt++
	d := t.draw(t.spec.Work)
	t.tell(trace.Wait{For: trace.MillisOf(d), Why: trace.WaitBeat})
	return t.process.Sleep(context.Background(), d)
}

// attempted notes what an attempt came to.
func (t *thread) attempted(_ context.Context, a lock.Attempt) {
	defer t.r.machine.hasAsked(t) // also of a lock that asks no Redis
	t.redis.answered(a.Call)
	t.told(toldOutcome, a.Name, string(a.Result), a.Count, a.Level, a.Attempt, a.Token)
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
	t.r.machine.awaitGate(t) // a retry is held before its pause, outside of the call's limits
	why := trace.WaitRetry
	if t.spec.Retry.Wait == scenario.WaitNotify {
		why = trace.WaitNotify
	}
	t.tell(trace.Wait{For: trace.MillisOf(w.For), Why: why})
}
