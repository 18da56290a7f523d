package verdict

import (
	"encoding/json"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// OfTrace returns what we know about the lock in a trace before its first event: in a
// log's, a lab's, or one of our own runs'.
func OfTrace(h trace.Header, sc *scenario.Scenario) *Evidence {
	if !h.Framed() {
		return Of(sc, nil)
	}
	e := &Evidence{Shared: sc.Lock.Kind.Shared(), Each: sc.Locks != nil, Advice: Advice{
		NoKey:  Help{phrase.Say("Name the lock's key."), TheLock},
		Nobody: Help{Says: phrase.Say("Take a longer log, or one with marks (ECHO relock:enter, ECHO relock:leave).")},
		One:    Help{Says: phrase.Say("Take a longer log, in which two threads hold the lock.")},
		Failed: Help{Says: phrase.Say("Let the lab play the client.")},
	}}
	e.Kind, e.Kinds.Says = kindIn(h)
	if h.Log == nil {
		return e
	}
	for _, n := range h.Log.Notes {
		switch {
		case n.What == trace.NoteEven && e.Kind.IsZero():
			e.Kind, e.Kinds = n.Says(), Help{phrase.Say("Add the logs of the others, or say that these %d are all.", n.Count), AllNodes}
		case n.What == trace.NoteAbsent:
			e.Kind, e.Kinds = n.Says(), Help{Says: phrase.Say("Add the log of each server.")}
		case n.What == trace.NoteSameValue:
			e.Kind, e.Kinds = n.Says(), Help{Says: Marks("ECHO relock:enter", "ECHO relock:leave")}
		}
		if n.Unplayed() {
			e.Unplayed = append(e.Unplayed, n.Says())
		}
	}
	return e
}

// kindIn reads from a header why the kind of lock is not known; "" if it is. A header
// made by hand cannot put words into it.
func kindIn(h trace.Header) (says, helps phrase.Wording) {
	for _, raw := range h.Unjudged {
		var lack struct {
			Reason Reason
			Says   string
		}
		if json.Unmarshal(raw, &lack) == nil && lack.Reason == KindUnknown {
			return kindSaid(lack.Says)
		}
	}
	return phrase.Wording{}, phrase.Wording{}
}

// Judged returns the judgement on a whole trace, and its header with it.
func Judged(h trace.Header, sc *scenario.Scenario, events []trace.Event) (trace.Header, Judgement) {
	w := Watching(OfTrace(h, sc))
	for i := range events {
		w.See(events[i])
	}
	j := w.Judge()
	h.Verdict, h.Unjudged = string(j.Verdict), j.Lacks()
	return h, j
}
