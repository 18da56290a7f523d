package check

import (
	"strconv"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// DoneTwice is the rule that nobody does twice what must happen once.
const DoneTwice = "done-twice"

type doneTwice struct{ reported bool }

func (d *doneTwice) clone() automaton { c := *d; return &c }

func (d *doneTwice) append(b []byte, _ time.Duration, _ naming) []byte {
	return strconv.AppendBool(b, d.reported)
}

func (d *doneTwice) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Resource)
	if ok && b.Effect && b.Op == trace.OpWrite && b.Value == 1 {
		d.reported = false // it was due again
	}
	if !ok || b.Op != trace.OpWrite || b.Refused || !b.Effect || b.Value < 2 || d.reported {
		return Finding{}, false
	}
	d.reported = true
	return found(DoneTwice, []string{e.Thread}, proof(f.Read[e.Thread], f.Written.Seq, e.Seq),
		phrase.Say("%s did it again: it is done %d times", e.Thread, b.Value),
		phrase.Say("%s has done it again: it was due once, and has now been done %d times.", e.Thread, b.Value)), true
}
