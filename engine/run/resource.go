package run

import (
	"sync"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// resource is what the lock protects: a store that knows nothing of the lock.
type resource struct {
	scenario.Resource

	mu      sync.Mutex
	value   int
	version int   // writes taken so far
	token   int64 // the newest that it has seen
}

func newResource(r *scenario.Resource) *resource {
	if r == nil {
		return nil
	}
	return &resource{Resource: *r, value: r.Size}
}

// read is what a thread sees as its work begins.
func (r *resource) read() trace.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return trace.Resource{Op: trace.OpRead, Stock: r.Kind == scenario.KindStock, Value: r.value, Version: r.version}
}

// write is what a thread does as its work ends, with what it has read: it
// writes one more, or takes one.
func (r *resource) write(seen trace.Resource, token int64) trace.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := trace.Resource{Op: trace.OpWrite, Stock: r.Kind == scenario.KindStock, Based: seen.Version, Token: token}
	if r.Checks == scenario.ChecksToken && token < r.token {
		w.Refused = true
	} else {
		r.token = max(r.token, token)
		r.version++
		if r.Kind == scenario.KindStock {
			r.value-- // the row is counted down where it is
		} else {
			r.value = seen.Value + 1
		}
	}
	w.Value, w.Version = r.value, r.version
	return w
}

// begin reads the run's resource, if there is one.
func (t *thread) begin() (seen trace.Resource, any bool) {
	if t.r.resource == nil {
		return seen, false
	}
	seen = t.r.resource.read()
	t.tell(seen)
	return seen, t.r.resource.Kind != scenario.KindStock || seen.Value > 0
}

// finish writes what the work came to.
func (t *thread) finish(seen trace.Resource, token int64) {
	if !t.dead.Load() {
		t.tell(t.r.resource.write(seen, token))
	}
}
