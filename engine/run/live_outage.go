package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrRedis ends a run whose Redis was there when the program connected and no longer
// serves it, from the run's start or in the middle. Nobody can say what comes after: the
// key may be there or not.
var ErrRedis = errors.New("no Redis serves the run any more")

// pingLimit is how long a Redis that left a call unanswered has to answer at
// all.
const pingLimit = time.Second

// refusals are the answers with which Redis refuses whatever a run asks.
func refusals() []string {
	return []string{"NOAUTH", "WRONGPASS", "NOPERM", "READONLY", "OOM", "MISCONF", "LOADING", "MASTERDOWN", "CLUSTERDOWN"}
}

// unserved is the error of a command that the run itself, not one of its threads, sent to
// its Redis in vain.
func (w *wall) unserved(err error) error {
	if err == nil || w.r.o.External == nil || errors.Is(err, ErrRedis) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRedis, err)
}

// doubt notes that a call on a real Redis failed, and not by a fault of the
// scenario's.
func (w *wall) doubt(err error) {
	var answered redis.Error
	var broken net.Error
	switch {
	case err == nil, w.r.o.External == nil, errors.Is(err, context.Canceled):
		return
	case errors.As(err, &answered):
		code, _, _ := strings.Cut(answered.Error(), " ")
		if !slices.Contains(refusals(), code) {
			return
		}
	case !errors.As(err, &broken) && !errors.Is(err, context.DeadlineExceeded):
		// a connection that ended in the midst of an answer
	}
	select {
	case w.doubts <- err:
	default: // there is one to look into already
	}
}

// watchRedis looks into doubts until nobody is left to have any, and ends the
// run where one is right. It looks into the last one, too: threads that Redis
// refuses may all be done before it does.
func (w *wall) watchRedis(ctx context.Context, done <-chan struct{}, end context.CancelCauseFunc) {
	for {
		var doubt error
		select {
		case <-ctx.Done():
			return
		case doubt = <-w.doubts:
		case <-done:
			select {
			case doubt = <-w.doubts:
			default:
				return
			}
		}
		if err := w.lookInto(ctx, doubt); err != nil {
			w.locked(w.order.Lose)
			end(err)
			return
		}
	}
}

// lookInto fails if Redis no longer serves the run.
func (w *wall) lookInto(ctx context.Context, doubt error) error {
	if errors.As(doubt, new(redis.Error)) {
		return fmt.Errorf("%w: %w", ErrRedis, doubt)
	}
	ping, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	err := w.client.Ping(ping).Err()
	if err == nil || ctx.Err() != nil { // a connection of many, or it has ended for another reason
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRedis, because(ctx, err))
}
