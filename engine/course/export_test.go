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

// Parts is where the logs of another run part from an incident's; nil if they never do.
func Parts(i *Item, run *Run) *Parting {
	d := i.task.(*Diagnosis)
	end, _ := instant(i.until, i.made.Run.Events)
	return parting(d.Logs, d.seen(run, end))
}

// Meets reports whether a run comes to an item's goal.
func Meets(i *Item, run *Run) bool {
	_, comes := i.goal.find(run.Events)
	return comes
}

// Source is what an item's text says before an answer, in a language, with its functions.
func Source(i *Item, l Language) string {
	of := i.Chapter.in(l).items[i.ID]
	text := ""
	for _, part := range []string{"", "goal"} {
		if p := of.parts[part]; p != nil {
			text += p.source + "\n"
		}
	}
	return text
}
