package run

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"relock/engine/lock"
	"relock/engine/panics"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// New prepares a run. Nothing moves before Execute. It fails with
// ErrFault. Nobody may change the scenario from here on.
func New(sc *scenario.Scenario, o Options) (*Run, error) {
	if err := possible(sc, o); err != nil {
		return nil, err
	}
	r := &Run{sc: sc, o: o, how: sc.Lock.Implementation(), log: &trace.Log{}, key: sc.Lock.Key, resource: newResource(sc.Resource), finished: make(chan struct{})}
	r.header = trace.Header{
		Relock: trace.Version, Seed: sc.Seed,
		Store: trace.StoreEmbedded, Clock: trace.ClockVirtual, Owners: map[string]string{},
	}
	if o.Wall || o.External != nil {
		r.header.Clock = trace.ClockWall
	}
	if o.External != nil {
		r.header.Store = trace.StoreExternal
		r.key = "relock:{" + o.ID + "}:" + sc.Lock.Key
	}
	r.written = sync.OnceValue(func() json.RawMessage {
		text, err := json.Marshal(sc)
		if err != nil {
			panic(err) // each of its values has a text
		}
		return text
	})
	for _, spec := range sc.Threads {
		t := &thread{r: r, spec: spec, random: source(sc.Seed, spec.Name, "work"), after: source(sc.Seed, spec.Name, "after"), pauses: source(sc.Seed, spec.Name, "give-back")}
		t.struck = make([]atomic.Bool, len(sc.Faults))
		t.next.Store(lock.Call{Name: lock.CallLock, Level: 1, Attempt: 1})
		t.owner = r.newOwner(spec.Name)
		r.header.Owners[string(t.owner)] = spec.Name
		r.threads = append(r.threads, t)
	}
	if r.machine = machine(stepping{r}); r.header.Clock == trace.ClockWall {
		r.machine = newWall(r)
	}
	return r, nil
}

// newOwner is random, except in a virtual run, which must repeat.
func (r *Run) newOwner(name string) lock.Owner {
	if r.header.Clock == trace.ClockWall {
		return lock.NewOwner()
	}
	var id [16]byte
	_, _ = rand.NewChaCha8(digest(r.sc.Seed, name, "owner")).Read(id[:]) // never fails
	return lock.Owner(hex.EncodeToString(id[:]))
}

// Controls tells how every thread is steered. It is safe for concurrent use.
func (r *Run) Controls() []Control { return r.machine.controls() }

// Steer does something to a thread while the run goes on, on the wall clock;
// of a run that has not begun, it waits for that.
// It is safe for concurrent use, and fails with a *Refusal.
func (r *Run) Steer(thread string, a Action) error {
	return r.machine.steer(thread, r.thread(thread), a)
}

// Execute plays the scenario to the end, or until ctx has ended; the log's last event is
// the run's own end either way. It fails with ErrLimit, with ErrDiverged, with ctx's
// cause, or with Redis' error. A panic in any of the run's goroutines ends it too: then
// it fails with a *panics.Error.
func (r *Run) Execute(ctx context.Context) error {
	defer close(r.finished)
	defer r.log.Close()
	err := panics.Catch(func() error { return r.machine.execute(ctx) })
	r.seeEnded(err)
	return err
}
