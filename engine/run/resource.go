package run

import (
	"sync"
	"time"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// resource is what the lock protects: a store that knows nothing of the lock.
// Read and write tell what was done before anybody else can do anything, so
// that the trace has it in the order in which it happened.
type resource struct {
	scenario.Resource

	now func() time.Duration // since the run began

	mu      sync.Mutex
	value   int            // of a counter or a stock; of an effect, how often it was done since first
	first   time.Duration  // of an effect that is due again: when it was first done, since the run began
	bought  map[string]int // by user, since the run began
	version int            // writes taken so far
	token   int64          // the newest that it has seen
}

func newResource(r *scenario.Resource) *resource {
	if r == nil {
		return nil
	}
	return &resource{Resource: *r, value: r.Size, bought: map[string]int{}, now: func() time.Duration { return 0 }}
}

// times has the resource take the time from a run.
func (r *resource) times(now func() time.Duration) {
	if r != nil {
		r.now = now
	}
}

// shown is the resource as user sees it now. The caller holds mu.
func (r *resource) shown(user string) trace.Resource {
	s := trace.Resource{Stock: r.Kind == scenario.KindStock, Effect: r.Kind == scenario.KindEffect, Value: r.value, Version: r.version}
	if r.Kind == scenario.KindPurchases {
		s.User, s.Limit, s.Value = user, r.Limit, r.Size+r.bought[user]
	}
	return s
}

// unseen is what one goes by that does not look.
func (r *resource) unseen() trace.Resource {
	return trace.Resource{Effect: r.Kind == scenario.KindEffect}
}

// read is what a thread that works for user sees as its work begins.
func (r *resource) read(user string, tell func(trace.Body)) trace.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due()
	seen := r.shown(user)
	seen.Op = trace.OpRead
	tell(seen)
	return seen
}

// write is what a thread does as its work ends, with what it has read: it
// writes one more, takes one, buys, or does it.
func (r *resource) write(seen trace.Resource, token int64, tell func(trace.Body)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due()
	refused, check := r.refuses(seen, token)
	if !refused {
		r.token = max(r.token, token)
		r.version++
		switch r.Kind {
		case scenario.KindStock:
			r.value-- // the row is counted down where it is
		case scenario.KindPurchases:
			r.bought[seen.User]++ // a row of its own
		case scenario.KindEffect:
			if r.value == 0 {
				r.first = r.now()
			}
			r.value++ // nobody can tell who does it from who did it before
		default:
			r.value = seen.Value + 1
		}
	}
	w := r.shown(seen.User)
	w.Op, w.Based, w.Token, w.Refused = trace.OpWrite, seen.Version, token, refused
	w.Check = check
	tell(w)
}

// due makes an effect due again once its time is over. The caller holds mu.
func (r *resource) due() {
	if r.OncePer > 0 && r.now()-r.first >= r.OncePer {
		r.value = 0
	}
}

// refuses tells whether a write is rejected and, unless it is by its token, by which
// check.
func (r *resource) refuses(seen trace.Resource, token int64) (refused bool, check string) {
	switch r.Checks {
	case scenario.ChecksToken:
		return token < r.token, ""
	case scenario.ChecksVersion:
		if seen.Version != r.version {
			return true, r.Checks
		}
	case scenario.ChecksKey:
		if r.value > 0 {
			return true, r.Checks
		}
	}
	return false, ""
}

// grants tells whether one that has seen this may go on to write: that is the
// check before the act.
func (r *resource) grants(seen trace.Resource) bool {
	switch r.Kind {
	case scenario.KindStock:
		return seen.Value > 0
	case scenario.KindPurchases:
		return seen.Value < r.Limit
	case scenario.KindEffect:
		return seen.Value == 0
	default:
		return true
	}
}
