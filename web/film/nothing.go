package film

import (
	"relock/engine/trace"
	"relock/web/words"
)

// nothing is a run without a lock.
type nothing struct{ oneKey }

func (nothing) card(s *stager, c Card) Card {
	c.Says, c.Key, c.Held = s.l.Say("There is no lock"), "", s.l.Say("nobody is kept out")
	return c
}

func (nothing) claim(s *stager, _ string, levels int) string {
	if levels == 1 {
		return s.l.Say("I am inside")
	}
	return s.l.Say("I am inside, %d times", levels)
}

func (nothing) tie(_ *stager, b *Belief, _ string, _ int) {
	if b.State == Holds {
		b.Cord = Agrees
	}
}

func (nothing) strips(*Lanes) int { return 1 } // there is nothing to be seen

func (nothing) draw(d *drawing) { d.p.Key.Name, d.p.Key.Full = d.lang.Say("no key"), "" }

func (nothing) cell(trace.KeyState) string { return TypeNoLock }

func (nothing) title(l words.Language, b trace.Outcome) (string, Tone) {
	switch b.Result {
	case trace.Acquired, trace.Reentered:
		return l.Say("enters level %d, no lock", b.Level), Plain
	case trace.Released, trace.Decremented:
		return l.Say("leaves level %d", b.Level), Plain
	default:
		return Outcome(l, b)
	}
}

func (nothing) outcome(t *Narrator, e trace.Event, b trace.Outcome) string {
	switch b.Result {
	case trace.Acquired:
		return t.say("%s enters without a lock: nobody is asked, and nobody is kept out.", e.Thread)
	case trace.Reentered:
		return t.say("%s is at level %d, and no lock keeps anybody out.", e.Thread, b.Level)
	case trace.Released:
		return t.say("%s leaves, and there is no lock to give back.", e.Thread)
	case trace.Decremented:
		return t.say("%s leaves level %d: there is no lock, and nothing was counted.", e.Thread, b.Level)
	case trace.NotHeld:
		return t.unheld(e, b)
	default:
		return ""
	}
}

func (nothing) work(t *Narrator, e trace.Event, b trace.Work) string {
	if b.State == trace.WorkEnd {
		return t.worked(e, b)
	}
	return t.works(e, b,
		"%s works at level %d for %s, and nothing keeps the others out.",
		"%s works on at level %d for %s, and nothing keeps the others out.")
}
