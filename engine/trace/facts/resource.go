package facts

import (
	"slices"

	"relock/engine/trace"
)

// MostUsers is how many users of a resource are listed.
const MostUsers = 64

// Resource folds a trace into what the lock protects. The zero value has not
// been touched yet. It is not safe for concurrent use.
type Resource struct {
	Touched bool
	Stock   bool           // it is a stock: work takes one; else work adds one
	Effect  bool           // it must happen once: the value is how often it did
	Limit   int            // purchases that each user is allowed, or 0
	Values  map[string]int // by user; under "" where it has none
	Text    string         // what is there, if it is no number, in quotes
	Users   []string       // of Values, the first MostUsers by name
	Seen    map[string]int // what each thread has read and not written yet
	Writes  int            // accepted
	Refused int            // writes rejected
	Token   int64          // the newest seen, or 0
}

// Add takes the next event and reports whether it is about the resource.
func (r *Resource) Add(e trace.Event) bool {
	b, ok := e.Body.(trace.Resource)
	if !ok {
		if _, over := e.Body.(trace.End); over {
			r.forget(e.Thread)
		}
		return false
	}
	r.Touched, r.Stock, r.Effect, r.Limit = true, b.Stock, b.Effect, b.Limit
	switch {
	case b.Op == trace.OpRead:
		if r.Seen == nil {
			r.Seen = map[string]int{}
		}
		if r.Seen[e.Thread] = b.Value; b.Text != "" {
			r.forget(e.Thread) // it has read no number
		}
	case b.Refused:
		r.Refused++
		r.forget(e.Thread)
	default:
		r.Writes = b.Version
		r.Token = max(r.Token, b.Token)
		r.forget(e.Thread)
	}
	if r.Values == nil {
		r.Values = map[string]int{}
	}
	if _, known := r.Values[b.User]; !known {
		r.user(b.User)
	}
	r.Values[b.User], r.Text = b.Value, b.Text
	return true
}

func (r *Resource) forget(thread string) {
	delete(r.Seen, thread)
}

// user puts a user among the first.
func (r *Resource) user(name string) {
	i, _ := slices.BinarySearch(r.Users, name)
	r.Users = slices.Insert(r.Users, i, name)
	r.Users = r.Users[:min(len(r.Users), MostUsers)]
}
