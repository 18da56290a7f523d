package course

import "relock/engine/trace"

// Answers is what a query answers by a run's first events.
func Answers(r *Run, name string, events int, at trace.Millis, node int) (answer any, known bool) {
	q, known := queries[name]
	if !known || events == 0 {
		return nil, false
	}
	return q.ask(r, r.Events[:events], at, node), true
}
