package check

import (
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// LostUpdate is the rule that no write overwrites one it has not seen. A stock
// is decremented in place, a purchase is a row of its own, and what was done
// stays done, so they lose none.
const LostUpdate = "lost-update"

type lostUpdate struct{ stateless }

func (r lostUpdate) clone() automaton { return r }

func (lostUpdate) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Resource)
	if !ok || b.Op != trace.OpWrite || b.Refused || b.Based == b.Version-1 || b.Stock || b.Effect || b.Limit > 0 {
		return Finding{}, false
	}
	other, wrote := f.Written.Thread, any(b.Value)
	if b.Text != "" {
		wrote = b.Text
	}
	return found(LostUpdate, []string{e.Thread, other}, proof(f.Read[e.Thread], f.Written.Seq, e.Seq),
		phrase.Say("%[1]s wrote %[2]v over what %[3]s had written since %[1]s read", e.Thread, wrote, other),
		phrase.Say("%s has written %v over a write of %s that it had never seen: an update is lost.", e.Thread, wrote, other)), true
}
