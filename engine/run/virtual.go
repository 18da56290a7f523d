package run

import (
	"context"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/sched"
	"relock/engine/store"
	"relock/engine/trace"
)

// virtual is a run on the virtual clock: one goroutine moves at a time, and
// the whole run is a function of scenario, seed and schedule.
type virtual struct {
	checked

	r        *Run
	clock    *clock.Virtual
	step     int
	newSlice bool // the next event begins a row of its own
}

func (r *Run) executeVirtual(ctx context.Context) error {
	r.embedded = store.NewEmbedded(clock.Epoch)
	defer func() { _ = r.embedded.Close() }()
	v := &virtual{checked: r.newChecked(), r: r, clock: clock.NewVirtual()}
	defer v.clock.Stop()
	r.rec = v
	if err := r.outfit(ctx, r.embedded.Client(), v.clock.Process); err != nil {
		return err
	}
	for _, t := range r.threads {
		t.process.Go(t.spec.Start, t.main)
	}
	err := v.drive(ctx)
	if err == nil {
		v.awaitLease()
	}
	v.newSlice = true
	v.emit("", ended(err))
	return err
}

func (r *Run) policy() sched.Policy {
	var p sched.Policy = sched.InOrder{}
	if r.sc.Policy == "random" {
		p = sched.Random(r.sc.Seed)
	}
	return sched.Replay(r.sc.Schedule, p)
}

// drive lets the threads move until none of them will any more.
func (v *virtual) drive(ctx context.Context) error {
	policy := v.r.policy()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if v.atLimit {
			return ErrLimit
		}
		v.newSlice = true
		ready := v.clock.Ready()
		if !slices.ContainsFunc(v.r.threads, (*thread).alive) {
			return nil
		}
		if len(ready) > 0 {
			i, err := policy.Choose(len(ready))
			if err != nil {
				return err
			}
			v.newSlice = true
			v.clock.Step(ready[i])
			continue
		}
		next, ok := v.clock.Next()
		if !ok {
			v.newSlice = true
			v.violation(check.StuckThreads(v.r.alive()))
			return nil
		}
		v.advance(next)
	}
}

func (t *thread) alive() bool { return !t.ended.Load() }

func (r *Run) alive() []string {
	names := []string{}
	for _, t := range r.threads {
		if t.alive() {
			names = append(names, t.spec.Name)
		}
	}
	return names
}

// advance moves the clock to at, or to the expiry of the key if that is
// earlier.
func (v *virtual) advance(at time.Duration) {
	before := v.r.embedded.Key(v.r.key)
	if before.PTTL > 0 {
		ms := time.Duration(before.PTTL) * time.Millisecond
		at = min(at, v.clock.Now().Truncate(time.Millisecond)+ms)
	}
	v.clock.Advance(at)
	v.r.embedded.SetTime(clock.Epoch.Add(at))
	if before.Exists() && !v.r.embedded.Key(v.r.key).Exists() {
		before.PTTL = 0
		v.newSlice = true
		v.emit("", trace.Expired{Was: before})
	}
}

// awaitLease gives a key that outlived its threads one lease to go.
func (v *virtual) awaitLease() {
	end := v.clock.Now() + v.r.sc.Lock.Lease
	for v.r.embedded.Key(v.r.key).Exists() && v.clock.Now() < end {
		v.advance(end)
	}
	for _, violation := range v.checker.Finish(v.r.embedded.Key(v.r.key)) {
		v.newSlice = true
		v.violation(violation)
	}
}

func (v *virtual) violation(b trace.Violation) { v.emit("", b) }

func (v *virtual) emit(thread string, body trace.Body) {
	v.put(trace.Event{Thread: thread, Body: body, Key: v.r.embedded.Key(v.r.key)})
}

func (v *virtual) put(e trace.Event) {
	if v.newSlice {
		v.step++
		v.newSlice = false
	}
	e.Step, e.At = v.step, trace.MillisOf(v.clock.Now())
	v.append(e)
}

func (v *virtual) local(thread string, body trace.Body) { v.emit(thread, body) }

func (v *virtual) sending() func(*thread, []sent) {
	return func(t *thread, records []sent) {
		for _, s := range records {
			for _, e := range v.r.commands(s) {
				e.Thread = t.spec.Name
				v.put(e)
			}
		}
	}
}
