package run

import (
	"context"
	"errors"
	"time"

	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// ErrMistake ends the trace of a run in which this program panicked.
var ErrMistake = phrase.New("a bug in this program ended the run")

// seeEnded adds the run's end to its log where something kept it from being
// written.
func (r *Run) seeEnded(err error) {
	events, closed := r.log.Since(r.log.Len() - 1)
	last := trace.Event{Key: trace.Absent()}
	if len(events) > 0 {
		last = events[0]
	}
	if _, ok := last.Body.(trace.End); closed || ok && last.Thread == "" {
		return
	}
	last.Step++
	last.Thread, last.Body = "", ended(err)
	r.log.Append(last)
}

// because is err or, if ctx has ended, its cause: a client with a deadline calls that its
// own timeout, and may do so a moment before the context knows.
func because(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(*panics.Error)) {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ended is the run's last event for what stopped it.
func ended(err error) trace.End {
	switch {
	case err == nil:
		return trace.End{Result: trace.Done}
	case errors.As(err, new(*panics.Error)):
		return trace.End{Result: trace.Failed, Error: ErrMistake.Error(), Cause: trace.Cause{Kind: trace.OwnMistake}}
	case errors.Is(err, context.Canceled):
		return trace.End{Result: trace.Failed, Error: trace.Stopped, Cause: trace.Cause{Kind: trace.StoppedByHand}}
	default:
		return trace.End{Result: trace.Failed, Error: err.Error(), Cause: CauseOf(err)}
	}
}
