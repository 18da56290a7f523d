package film

import (
	"strconv"

	"relock/engine/trace"
	"relock/web/words"
)

// word is a spin lock: a word in the memory of each process.
type word struct{ oneKey }

// card tells of the word, where there is one process.
func (word) card(s *stager, c Card) Card {
	c.Says, c.Key, c.Raw = s.l.Say("The word in memory says"), "", s.l.Say("Redis is not asked")
	if len(s.processes) > 1 {
		return c
	}
	if word := s.words.Of(s.processes[0]); word.Thread != "" {
		c.Gone, c.Owners, c.Held = false, []Owner{s.ownerOf(word.Thread)}, s.l.Say("holds it, ×%s", strconv.Itoa(word.Count))
	}
	return c
}

// cards are the words of several processes.
func (word) cards(s *stager) []NodeCard {
	if len(s.processes) < 2 {
		return nil
	}
	var list []NodeCard
	for _, process := range s.processes {
		n := NodeCard{Name: words.Short(process, mostName), Left: s.l.Say("free")}
		if word := s.words.Of(process); word.Thread != "" {
			n.Owner, n.Left = s.ownerOf(word.Thread), s.l.Say("×%d", word.Count)
		}
		list = append(list, n)
	}
	return list
}

func (word) tie(s *stager, b *Belief, name string, levels int) {
	switch {
	case b.State == Holds && levels > 1:
		b.Cord = Twice
	case b.State == Holds:
		b.Cord = Agrees
	}
	s.waiting(b, name)
}

func (word) strips(l *Lanes) int { return len(l.processes) }

// mostLabel is how many bytes of a process' name fit beside its word.
const mostLabel = 12

// draw draws who is in the word of each process.
func (word) draw(d *drawing) {
	k := &d.p.Key
	k.Name, k.Full = d.lang.Say("word"), d.lang.Say("in memory")
	labels := make([]string, len(d.processes))
	if len(labels) > 1 {
		for i, process := range d.processes {
			labels[i] = words.Short(process, mostLabel)
		}
	}
	d.stack(labels)
	for row, place := range d.shown {
		for i, thread := range d.rows[row].words {
			if thread != "" {
				k.Strips[i].hold(Hold{place, d.ordinal(thread), true})
			}
		}
	}
}

func (word) cell(trace.KeyState) string { return TypeElsewhere }

func (word) outcome(t *Narrator, e trace.Event, b trace.Outcome) string {
	switch b.Result {
	case trace.Acquired:
		return t.say("%s takes the spin lock: the word in its process' memory was free, and its count is now %d.", e.Thread, b.Count)
	case trace.Reentered:
		return t.say("%s is at level %d of its spin lock: the count is %d, and nobody else is asked.", e.Thread, b.Level, b.Count)
	case trace.Refused:
		return t.say("%s is refused: the word in its process' memory is another thread's.", e.Thread)
	case trace.Released:
		return t.say("%s releases its spin lock: its count is 0.", e.Thread)
	case trace.Decremented:
		return t.say("%s has left level %d: its count is %d, and only 0 releases the spin lock.", e.Thread, b.Level, b.Count)
	case trace.NotHeld:
		return t.unheld(e, b)
	default:
		return ""
	}
}

func (word) work(t *Narrator, e trace.Event, b trace.Work) string {
	if b.State == trace.WorkEnd {
		return t.worked(e, b)
	}
	return t.works(e, b,
		"%s works at level %d for %s; a spin lock has no lease that could end.",
		"%s works on at level %d for %s; a spin lock has no lease that could end.")
}
