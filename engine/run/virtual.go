package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/scenario"
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
	newSlice bool          // the next event begins a row of its own
	ahead    time.Duration // of Redis' clock before the clients'
	isDown   bool          // Redis does not answer
}

func (r *Run) executeVirtual(ctx context.Context) error {
	r.embedded = store.NewEmbedded(clock.Epoch)
	defer func() { _ = r.embedded.Close() }()
	v := &virtual{checked: r.newChecked(), r: r, clock: clock.NewVirtual()}
	r.rec = v
	client := func() journal.Scripter { return r.embedded.Client() }
	if err := r.outfit(ctx, client, v.clock.Process); err != nil {
		return err
	}
	for _, t := range r.threads {
		t.process.Go(t.spec.Start, t.main)
	}
	err := v.drive(ctx)
	r.killAll()
	v.clock.Stop()
	v.newSlice = true
	v.emit("", ended(err))
	return err
}

// killAll ends what is left of the threads when the run is over.
func (r *Run) killAll() {
	for _, t := range r.threads {
		t.die()
		t.hasAsked() // one that died before it asked holds up nobody
	}
}

func (r *Run) policy() sched.Policy {
	var p sched.Policy = sched.InOrder{}
	if r.sc.Policy == "random" {
		p = sched.Random(r.sc.Seed)
	}
	return sched.Replay(r.sc.Schedule, p)
}

// drive lets the threads move until none of them will any more, and then
// gives a key that outlived them one lease to go.
func (v *virtual) drive(ctx context.Context) error {
	policy := v.r.policy()
	faults := v.r.timedFaults()
	end := forever
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if v.atLimit {
			return ErrLimit
		}
		for end == forever && len(faults) > 0 && faults[0].Time <= v.clock.Now() {
			if err := v.strike(ctx, faults[0]); err != nil {
				return err
			}
			faults = faults[1:]
		}
		v.newSlice = true
		ready := v.clock.Ready()
		switch {
		case end != forever:
		case v.r.stuck():
			v.newSlice = true
			v.emit("", check.StuckThreads(v.r.alive()))
			return nil
		case len(v.r.alive()) == 0:
			end = v.clock.Now() + v.r.sc.Lock.Lease
		}
		if key := v.key(); end != forever && (!key.Exists() || v.clock.Now() >= end) {
			for _, violation := range v.checker.Finish(key) {
				v.newSlice = true
				v.emit("", violation)
			}
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
			next = end
		}
		if len(faults) > 0 && end == forever {
			next = min(next, faults[0].Time)
		}
		v.advance(min(next, end))
	}
}

// timedFaults are the faults of Redis itself, in the order of their times.
func (r *Run) timedFaults() []scenario.Fault {
	var timed []scenario.Fault
	for _, f := range r.sc.Faults {
		if f.Timed {
			timed = append(timed, f)
		}
	}
	slices.SortStableFunc(timed, func(a, b scenario.Fault) int { return cmp.Compare(a.Time, b.Time) })
	return timed
}

// strike does to Redis what the fault says, and tells of it.
func (v *virtual) strike(ctx context.Context, f scenario.Fault) error {
	e := v.r.embedded
	var err error
	before := v.key()
	switch f.Do {
	case scenario.FaultEvict:
		e.Evict(v.r.key)
	case scenario.FaultRestart:
		err = e.Restart(ctx, f.Keep)
	case scenario.FaultFailOver:
		err = e.FailOver(ctx, f.Behind)
	case scenario.FaultScriptFlush:
		err = e.FlushScripts(ctx)
	case scenario.FaultDown, scenario.FaultUp:
		v.isDown = f.Do == scenario.FaultDown
	case scenario.FaultClockJump:
		v.ahead += f.By
		e.Jump(v.redisTime(v.clock.Now()))
	}
	if err != nil {
		return fmt.Errorf("run: %s: %w", f.Do, err)
	}
	v.newSlice = true
	v.emit("", described(f))
	if f.Do == scenario.FaultClockJump && before.Exists() && !v.key().Exists() {
		before.PTTL = 0
		v.emit("", trace.Expired{Was: before})
	}
	return nil
}

// redisTime is what Redis' clock shows when the clients' shows at.
func (v *virtual) redisTime(at time.Duration) time.Time { return clock.Epoch.Add(at + v.ahead) }

func (v *virtual) key() trace.KeyState { return v.r.embedded.Key(v.r.key) }

func (v *virtual) down() bool { return v.isDown }

func (v *virtual) stalled() {}

// stuck tells whether threads are left and all of them hang for ever.
func (r *Run) stuck() bool {
	left := 0
	for _, t := range r.threads {
		if t.alive() && !t.stalls.Load() {
			return false
		}
		if t.alive() {
			left++
		}
	}
	return left > 0
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
	before := v.key()
	if before.PTTL > 0 {
		ms := time.Duration(before.PTTL) * time.Millisecond
		at = min(at, v.clock.Now().Truncate(time.Millisecond)+ms)
	}
	v.clock.Advance(at)
	v.r.embedded.SetTime(v.redisTime(at))
	if before.Exists() && !v.key().Exists() {
		before.PTTL = 0
		v.newSlice = true
		v.emit("", trace.Expired{Was: before})
	}
}

func (v *virtual) emit(thread string, body trace.Body) {
	v.put(trace.Event{Thread: thread, Body: body, Key: v.key()})
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
			v.r.embedded.Wrote(writes(s))
			for _, e := range v.r.commands(s) {
				e.Thread = t.spec.Name
				v.put(e)
			}
		}
	}
}

// writes are the commands of a record that changed something.
func writes(s sent) [][]string {
	var out [][]string
	for _, e := range s.rec.Entries {
		switch strings.ToUpper(e.Args[0]) {
		case "EXISTS", "HEXISTS", "HGET", "HGETALL", "GET", "PTTL", "TTL", "TIME":
		default:
			if e.Err == "" {
				out = append(out, e.Args)
			}
		}
	}
	return out
}
