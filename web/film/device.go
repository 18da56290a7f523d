package film

import (
	"relock/engine/trace"
	"relock/web/words"
)

// device is a device that says it is there, and who looks for its key.
type device struct{ majority }

func (device) card(s *stager, c Card) Card {
	c.Held, c.Left = s.l.Say("no key: offline"), "–"
	if s.event.Key.Exists() {
		c.Gone, c.Held, c.Part, c.Left = false, s.l.Say("the key is there: online"), s.shown.Fraction, s.leaseLeft()
	}
	return c
}

func (device) tie(s *stager, b *Belief, name string, _ int) {
	t := s.thread(name)
	if t.ended != "" {
		return
	}
	b.State, b.Says, b.Does = Outside, s.l.Say("Outside"), ""
	switch {
	case b.Paused:
		b.Does = s.paused(name)
	case t.timed && t.until > s.event.At:
		b.Does = s.l.Say("next at %s", s.length(t.until))
	}
	switch {
	case t.looked == trace.Online:
		b.State, b.Says = Holds, s.l.Say("The device is online")
	case t.looked == trace.Offline:
		b.State, b.Says = Holds, s.l.Say("The device is offline")
	case t.renewed >= 0:
		b.State, b.Says = Holds, s.l.Say("I am here")
		if b.Cord = Open; s.holds(s.event.Key, name) {
			b.Cord = Agrees
		} else {
			b.Tie, b.Wrong = s.l.Say("not in Redis"), true
		}
	}
}

func (x device) draw(d *drawing) {
	d.p.Key.Name = d.lang.Say("expiry")
	x.majority.draw(d)
}

func (device) title(l words.Language, b trace.Outcome) (string, Tone) {
	if b.Result == trace.Renewed {
		return l.Say("%s: its key is set", b.Call), Good
	}
	return Outcome(l, b)
}

func (device) outcome(*Narrator, trace.Event, trace.Outcome) string { return "" }
