// Package engine is the only entrance to start runs, to answer what moves come to, and to compare.
// It must not know HTTP.
//
// The words that describe a run have no second name here: scenario, fault,
// trace and its facts, check, phrase and the locks' descriptors are a
// vocabulary that packages showing runs import directly. Aliases here would be
// a second place for each noun. A linter keeps everything else behind this
// package: the machines, the store, the clocks.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"relock/engine/panics"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// Options say where and how a scenario is run.
type Options struct {
	// ID names the run; "" for a random name that cannot be guessed.
	ID string
	// Wall runs on the wall clock instead of the virtual one.
	Wall bool
	// External is the Redis to run on, always on the wall clock. With nil the run has its
	// own embedded one.
	External *store.External
	// Slow multiplies every duration of the scenario on the wall clock: 1 to
	// scenario.MaxSlow; 0 means 1.
	Slow int
	// Turn is run.Options.Turn. On the virtual clock package pause lets others
	// go first instead.
	Turn func(context.Context) (done func(), err error)
	// Steered is called when what Controls returns has changed. It must not
	// block, and may be nil.
	Steered func()
}

// ErrFault is returned by Start for a fault that is impossible on the store or
// the clock.
var ErrFault = run.ErrFault

// ErrDiverged is returned when a schedule does not fit its scenario.
var ErrDiverged = run.ErrDiverged

// ErrRedis ends a run whose Redis no longer serves it.
var ErrRedis = run.ErrRedis

// Run is a scenario being run. It is safe for concurrent use.
type Run struct {
	id   string
	run  *run.Run
	stop context.CancelCauseFunc
	done chan struct{}
	err  error // set before done is closed
}

// Start runs sc until its end, until ctx has ended, or until Stop. It fails
// with ErrFault or scenario.ErrSlow, and when the scenario cannot be written
// down.
func Start(ctx context.Context, sc *scenario.Scenario, o Options) (*Run, error) {
	id := cmp.Or(o.ID, rand.Text())
	if o.Slow > 1 && !o.Wall && o.External == nil {
		return nil, fmt.Errorf("engine: %w: the virtual clock needs no slow motion", scenario.ErrSlow)
	}
	sc, err := sc.Slowed(max(o.Slow, 1))
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	prepared, err := run.New(sc, run.Options{Wall: o.Wall, External: o.External, Steered: o.Steered, Turn: o.Turn, ID: id})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r := &Run{id: id, run: prepared, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer stop(nil)
		r.err = prepared.Execute(ctx)
		if r.err != nil && ctx.Err() != nil && !errors.As(r.err, new(*panics.Error)) {
			r.err = context.Cause(ctx) // also if it never began
		}
	}()
	return r, nil
}

// ID returns its name: the one from Options, or a random one that nobody can guess.
func (r *Run) ID() string { return r.id }

// Header returns the first line of the trace.
func (r *Run) Header() trace.Header { return r.run.Header() }

// Scenario returns what is run, slow motion included. The caller must not
// change it.
func (r *Run) Scenario() *scenario.Scenario { return r.run.Scenario() }

// Log returns where the events arrive. It is closed when the run has ended.
func (r *Run) Log() *trace.Log { return r.run.Log() }

// Steer acts on a thread while the run goes on, on the wall clock. It fails
// with a *run.Refusal.
func (r *Run) Steer(thread string, a run.Action) error {
	return r.run.Steer(thread, a)
}

// Controls returns how each thread is steered.
func (r *Run) Controls() []run.Control { return r.run.Controls() }

// Wait returns when the run has ended, with the error that ended it early: a
// *panics.Error if this program panicked in it.
func (r *Run) Wait() error {
	<-r.done
	return r.err
}

// Stop ends the run, and returns once it has ended.
func (r *Run) Stop() {
	r.stop(context.Canceled)
	<-r.done
}
