package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
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
	redis   *tap
	locker  *lock.Locker
	ended   atomic.Bool

	asked chan struct{} // on the wall clock: closed when it has had its first answer
	first sync.Once
}

// main makes the business call as often as the scenario says.
func (t *thread) main() {
	defer func() {
		t.ended.Store(true)
		t.hasAsked()
	}()
	var err error
	for round := 1; round <= t.spec.Repeat && err == nil; round++ {
		err = t.business(round, 1)
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
	t.r.rec.local(t.spec.Name, end)
}

// hasAsked lets the thread go on that starts at the same moment.
func (t *thread) hasAsked() { t.first.Do(func() { close(t.asked) }) }

// business is the article's method: lock, work, call the next level, unlock.
func (t *thread) business(round, level int) (err error) {
	ctx := context.Background()
	hold, err := t.locker.Lock(ctx, t.r.key, t.owner)
	if err != nil {
		return err
	}
	defer func() {
		if uerr := hold.Unlock(ctx); err == nil {
			err = uerr
		}
	}()
	if err := t.work(hold, round, level); err != nil {
		return err
	}
	if level < t.spec.Depth {
		return t.business(round, level+1)
	}
	return nil
}

// work is the business done at a level, during which faults strike.
func (t *thread) work(hold *lock.Hold, round, level int) error {
	d := t.draw(t.spec.Work)
	work := trace.Work{State: trace.WorkBegin, Level: level, For: trace.MillisOf(d)}
	t.r.rec.local(t.spec.Name, work)
	t.strike(round, level)
	ctx := context.Background()
	if t.spec.OnLost == scenario.OnLostStop {
		ctx = hold.Context()
	}
	err := t.process.Work(ctx, d)
	work.State = trace.WorkEnd
	t.r.rec.local(t.spec.Name, work)
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

// strike lets the scenario's faults for this moment happen.
func (t *thread) strike(round, level int) {
	for _, f := range t.r.sc.Faults {
		if f.Thread != t.spec.Name || f.At != scenario.AtWork || f.Level != level || f.Round != round {
			continue
		}
		struck := trace.Fault{
			Do: f.Do, At: f.At, Level: f.Level, Round: f.Round, ForMS: trace.MillisOf(f.For), Scope: f.Scope,
		}
		if f.For > 0 {
			struck.For = scenario.Duration(f.For)
		}
		t.r.rec.local(t.spec.Name, struck)
		switch f.Do {
		case scenario.FaultPause:
			if f.Scope == scenario.ScopeWork {
				_ = t.process.Sleep(context.Background(), f.For)
			} else {
				t.process.Pause(f.For)
			}
		case scenario.FaultCrash:
			t.r.rec.local(t.spec.Name, trace.End{Result: trace.Crashed})
			t.process.Kill()
			runtime.Goexit()
		}
	}
}

// Attempted implements lock.Observer.
func (t *thread) Attempted(a lock.Attempt) {
	o := trace.Outcome{
		Call: a.Name, Result: trace.Result(a.Result), Count: a.Count, Level: a.Level, Attempt: a.Attempt,
	}
	if a.Err != nil {
		o.Error = a.Err.Error()
	}
	t.r.rec.local(t.spec.Name, o)
}

// Waiting implements lock.Observer.
func (t *thread) Waiting(d time.Duration) {
	t.r.rec.local(t.spec.Name, trace.Wait{For: trace.MillisOf(d), Why: trace.WaitRetry})
}

// tap is a thread's way to Redis: it passes the gate of its process, and
// notes what the scripts tell.
type tap struct {
	t       *thread
	journal *journal.Client
}

type recordsKey struct{}

func (p *tap) note(ctx context.Context, rec journal.Record) {
	records, ok := ctx.Value(recordsKey{}).(*[]sent)
	if !ok {
		panic("run: a script that no thread sent")
	}
	call, _ := lock.CallOf(ctx)
	*records = append(*records, sent{call, rec})
}

// EvalSha passes the gate; Eval is only its fall-back and part of the same
// decision.
func (p *tap) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	call, _ := lock.CallOf(ctx)
	if err := p.t.process.Gate(ctx, call.String()); err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	return p.send(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.EvalSha(ctx, sha, keys, args...) })
}

// Eval sends a script in full.
func (p *tap) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.send(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.Eval(ctx, script, keys, args...) })
}

func (p *tap) send(ctx context.Context, send func(context.Context) *redis.Cmd) *redis.Cmd {
	var records []sent
	answered := p.t.r.rec.sending()
	cmd := send(context.WithValue(ctx, recordsKey{}, &records))
	answered(p.t, records)
	p.t.hasAsked()
	return cmd
}

// commands are the events of a script's record. Names of keys are given as
// the scenario has them.
func (r *Run) commands(s sent) []trace.Event {
	events := make([]trace.Event, 0, len(s.rec.Entries))
	for _, e := range s.rec.Entries {
		args := slices.Clone(e.Args)
		for i, a := range args {
			if a == r.key {
				args[i] = r.sc.Lock.Key
			}
		}
		events = append(events, trace.Event{Key: e.Key, Body: trace.Command{
			Call: s.call.Name, Attempt: s.call.Attempt, Level: s.call.Level,
			Script: s.rec.Script, Line: e.Line, Args: args, Reply: e.Reply, Error: e.Err,
		}})
	}
	return events
}
