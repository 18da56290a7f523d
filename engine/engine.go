// Package engine is the door to the engine for whoever shows runs: it starts
// a scenario and hands out its trace.
package engine

import (
	"context"
	"crypto/rand"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// Options say where and how a scenario is run.
type Options struct {
	// Wall runs on the wall clock instead of the virtual one.
	Wall bool
	// External is the Redis to run on, always on the wall clock; nil is an
	// embedded one of the run's own.
	External *store.External
}

// ErrFault is returned by Start for a fault that the store or the clock
// cannot have.
var ErrFault = run.ErrFault

// ErrDiverged is returned where a schedule does not fit its scenario.
var ErrDiverged = run.ErrDiverged

// Run is a scenario being run. It is safe for concurrent use.
type Run struct {
	id   string
	run  *run.Run
	stop context.CancelCauseFunc
	done chan struct{}
	err  error // set before done is closed
}

// Start runs sc until its end, until ctx has ended, or until Stop. It fails
// with ErrFault, and when the scenario cannot be written down.
func Start(ctx context.Context, sc *scenario.Scenario, o Options) (*Run, error) {
	id := rand.Text()
	prepared, err := run.New(sc, run.Options{Wall: o.Wall, External: o.External, ID: id})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r := &Run{id: id, run: prepared, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer stop(nil)
		r.err = prepared.Execute(ctx)
	}()
	return r, nil
}

// ID is a random name that cannot be guessed.
func (r *Run) ID() string { return r.id }

// Header is the first line of the trace.
func (r *Run) Header() trace.Header { return r.run.Header() }

// Log is where the events arrive; it is closed when the run has ended.
func (r *Run) Log() *trace.Log { return r.run.Log() }

// Wait returns when the run has ended, with the error that ended it early.
func (r *Run) Wait() error {
	<-r.done
	return r.err
}

// Stop ends the run and returns when it has.
func (r *Run) Stop() {
	r.stop(context.Canceled)
	<-r.done
}
