package check

import (
	"strconv"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Oversold is the rule that nobody takes more than there was.
const Oversold = "oversold"

type oversold struct{ reported bool }

func (o *oversold) clone() automaton { c := *o; return &c }

func (o *oversold) append(b []byte, _ time.Duration, _ naming) []byte {
	return strconv.AppendBool(b, o.reported)
}

func (o *oversold) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Resource)
	if !ok || b.Op != trace.OpWrite || b.Refused || !b.Stock || b.Value >= 0 || o.reported {
		return Finding{}, false
	}
	o.reported = true
	return found(Oversold, []string{e.Thread}, proof(f.Read[e.Thread], f.Written.Seq, e.Seq),
		phrase.Say("%s took one that did not exist: the stock is at %d", e.Thread, b.Value),
		phrase.Say("%s has taken one that did not exist: the stock is at %d.", e.Thread, b.Value)), true
}
