package film

import (
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/web/words"
)

// shape is what a lock is, as far as that decides what there is to see of it: a key, one on
// several nodes, several keys, a word in memory, nothing, or a device's sign of life. Each
// is a file, and what it does not say for itself is as of one key.
type shape interface {
	// card is a stage's card with what it says of the lock.
	card(s *stager, c Card) Card
	// cards take the card's place; nil: it stands alone.
	cards(s *stager) []NodeCard
	// claim says what a thread believes that is inside at so many levels.
	claim(s *stager, name string, levels int) string
	// tie ties what a thread believes to what is so.
	tie(s *stager, b *Belief, name string, levels int)

	// strips is how many the lock's lane is made of; 0: it is the lease.
	strips(l *Lanes) int
	// draw draws the lane.
	draw(d *drawing)

	// cell is what type of key a row shows.
	cell(k trace.KeyState) string
	// title words what a call has come to, in a row.
	title(l words.Language, b trace.Outcome) (string, Tone)
	// outcome is the sentence about it, "" where it is that of one key.
	outcome(t *Narrator, e trace.Event, b trace.Outcome) string
	// work is the sentence about work that begins or is done, "" as above.
	work(t *Narrator, e trace.Event, b trace.Work) string
}

// shape is the lock's.
func (n *Now) shape() shape {
	switch {
	case n.heartbeat():
		return device{}
	case n.protocol.Guard == protocol.Nothing:
		return nothing{}
	case n.protocol.Guard == protocol.InProcess:
		return word{}
	case n.sc.Locks != nil:
		return several{}
	case len(n.event.Nodes) > 0:
		return majority{}
	default:
		return oneKey{}
	}
}
