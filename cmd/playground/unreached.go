package main

import (
	"fmt"
	"strings"

	"relock/engine/explore"
)

// unreached writes the lines of the lock's scripts by which no schedule came, or
// nothing where there are none.
func (t table) unreached(space *explore.Space) {
	const margin = "  "
	list := space.Unreached()
	if len(list) == 0 || space.Schedules().Sign() == 0 {
		return
	}
	fmt.Fprintln(t.w)
	head := t.l.Say("Lines of the scripts that no order reaches:")
	if space.Ending() != explore.Exhausted {
		head = t.l.Say("Lines of the scripts that no order tried has reached:")
	}
	for _, part := range wrap(head, t.width) {
		t.line(part, bold)
	}
	for _, u := range list {
		for _, l := range u.Lines {
			for i, part := range wrap(fmt.Sprintf("%s:%d  %s", u.Script, l.Number, l.Source), t.width-2*len(margin)) {
				t.line(margin+strings.Repeat(margin, min(i, 1))+part, faint)
			}
		}
	}
}
