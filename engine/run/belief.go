package run

import (
	"maps"
	"strings"

	"relock/engine/lock"
	"relock/engine/trace"
)

// beliefs is how many levels each thread acts as if it held. A thread enters
// a level when it is told so, and has left it when Redis runs its unlock or
// when it hears what became of that.
type beliefs map[string]int

// after returns what is believed after e, as a map of its own.
func (b beliefs) after(thread string, body trace.Body) map[string]int {
	switch v := body.(type) {
	case trace.Command:
		if v.Late {
			break // it tells its thread nothing, and is of a call that is over for it
		}
		name := strings.ToUpper(v.Args[0])
		if v.Call == lock.CallUnlock && (name == "HINCRBY" || name == "DEL") {
			b.atMost(thread, v.Level-1)
		}
	case trace.Outcome:
		switch {
		case v.Result == trace.Acquired || v.Result == trace.Reentered:
			b[thread] = v.Level
		case v.Call == lock.CallUnlock:
			b.atMost(thread, v.Level-1)
		}
	case trace.End:
		b.atMost(thread, 0)
	}
	return maps.Clone(map[string]int(b))
}

func (b beliefs) atMost(thread string, levels int) {
	if levels <= 0 {
		delete(b, thread)
		return
	}
	if b[thread] > levels {
		b[thread] = levels
	}
}
