package check

import (
	"fmt"

	"relock/engine/trace"
)

// OverLimit is the rule of a limit per user: a user bought more often than is
// allowed.
const OverLimit = "over-limit"

// overLimit finds each user's first purchase beyond the limit.
type overLimit struct {
	over  map[string]bool // users that were reported
	wrote map[string]int  // user to the seq of the purchase before
}

// observe looks at the next event; read is the seq of its thread's last read.
func (o *overLimit) observe(e trace.Event, read int) (trace.Violation, bool) {
	b, ok := e.Body.(trace.Resource)
	if !ok || b.Op != trace.OpWrite || b.Refused || b.Limit == 0 {
		return trace.Violation{}, false
	}
	if o.over == nil {
		o.over, o.wrote = map[string]bool{}, map[string]int{}
	}
	before := o.wrote[b.User]
	o.wrote[b.User] = e.Seq
	if b.Value <= b.Limit || o.over[b.User] {
		return trace.Violation{}, false
	}
	o.over[b.User] = true
	return trace.Violation{
		Rule: OverLimit, Threads: []string{e.Thread}, Events: proof(read, before, e.Seq),
		Detail: fmt.Sprintf("user %s bought %d times, %d are allowed", b.User, b.Value, b.Limit),
	}, true
}
