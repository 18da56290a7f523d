package run

import (
	"context"
	"maps"
	"net"
	"slices"
	"syscall"
	"time"

	"relock/engine/fault"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// errUnreachable is the error of a node that does not answer.
var errUnreachable error = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// outage is why a node does not serve somebody, and until when.
type outage struct {
	answer fault.ErrorReply // what it answers; the zero ErrorReply: nothing
	until  time.Duration    // since the run began, or forever: until it is up
}

// outages are a node's outages, by the only thread that it does not serve; "" means
// everybody.
type outages map[string]outage

// strike begins or ends an outage.
func (o outages) strike(f scenario.Fault, now time.Duration) {
	whom := cutOff(f)
	if f.Do == fault.Up {
		delete(o, whom)
		return
	}
	out := outage{until: forever}
	if a, ok := answerOf(f); ok {
		out.answer = a
	}
	if f.For > 0 {
		out.until = now + f.For
	}
	o[whom] = out
}

// of is why the node does not serve a thread, or nil.
func (o outages) of(t *thread) error {
	out, is := o[t.spec.Name]
	if all, everybody := o[""]; everybody {
		out, is = all, true
	}
	switch {
	case !is:
		return nil
	case out.answer == fault.ErrorReply{}:
		return errUnreachable
	default:
		return out.answer
	}
}

// backAt is when the next outage ends by itself, or forever.
func (o outages) backAt() time.Duration {
	at := forever
	for _, out := range o {
		at = min(at, out.until)
	}
	return at
}

// back ends the outages whose time has come, and returns whose they were.
func (o outages) back(now time.Duration) []string {
	var list []string
	for _, whom := range slices.Sorted(maps.Keys(o)) {
		if o[whom].until <= now {
			delete(o, whom)
			list = append(list, whom)
		}
	}
	return list
}

// answerOf is the error with which a fault has Redis answer, if it does.
func answerOf(f scenario.Fault) (fault.ErrorReply, bool) {
	if f.Do != fault.AnswerError {
		return fault.ErrorReply{}, false
	}
	return fault.ErrorReplyOf(f.Error)
}

func (w *wall) refuses(t *thread, _ int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outages.of(t)
}

func (w *wall) goesOn(f scenario.Fault, _ int) {
	w.locked(func() { w.outages.strike(f, w.now()) })
	select {
	case w.outage <- struct{}{}:
	default:
	}
}

// strikeTimed has the scenario's faults of Redis strike when their time comes: on the
// wall clock those that only the clients feel.
func (w *wall) strikeTimed(ctx context.Context) {
	left := w.r.timedFaults()
	for {
		next := forever
		w.locked(func() { next = w.outages.backAt() })
		if len(left) > 0 {
			next = min(next, left[0].Time)
		}
		timer := time.NewTimer(next - w.now())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.outage:
			timer.Stop()
			continue
		case <-timer.C:
			w.due(w.start.Add(next))
		}
		var back []string
		w.locked(func() { back = w.outages.back(w.now()) })
		for _, whom := range back {
			w.local("", "", trace.Fault{Do: fault.Up, Thread: whom})
		}
		for len(left) > 0 && left[0].Time <= w.now() {
			w.locked(func() { w.outages.strike(left[0], w.now()) })
			w.local("", "", described(left[0]))
			left = left[1:]
		}
	}
}
