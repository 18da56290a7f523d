package film

import (
	"strconv"

	"relock/engine/trace"
)

// majority is a lock that whoever has most of several nodes holds.
type majority struct{ oneKey }

// cards are the keys on the nodes.
func (majority) cards(s *stager) []NodeCard {
	var list []NodeCard
	for i, k := range s.event.Nodes {
		n := s.cardOf(s.l.Say("node %d", i+1), k, s.owners.Holders(k))
		if by := s.clocks[i]; by != 0 {
			sign := "+"
			if by < 0 {
				sign, by = "−", -by
			}
			n.Clock = s.l.Say("its clock: %s", sign+s.l.Duration(by.Duration()))
		}
		if s.down.Down(i) {
			n.Odd, n.Down = s.l.Say("down"), true
		} else if answer := s.down.Answers(i); answer != "" {
			n.Odd = s.l.Say("answers %s", answer)
		} else if cut := s.down.CutOff(i); len(cut) > 0 {
			n.Odd = s.l.Say("down for %s", s.l.List(cut))
		}
		list = append(list, n)
	}
	return list
}

// cardOf is the card of a key that is one of several: of a node, or of a lock.
func (s *stager) cardOf(name string, k trace.KeyState, holders []string) NodeCard {
	n := NodeCard{Name: name, Left: s.l.Say("no key")}
	if len(holders) > 0 {
		n.Owner = s.ownerOf(holders[0])
	}
	if k.Exists() {
		n.Left, n.Part = s.l.Say("no expiry"), 1000
	}
	if k.Exists() && k.PTTL >= 0 {
		n.Left, n.Part = s.l.Duration(trace.Millis(k.PTTL).Duration()), part(k.PTTL, s.sc.Lock.Lease)
	}
	return n
}

// tie ties a belief to how many nodes share it.
func (majority) tie(s *stager, b *Belief, name string, _ int) {
	nodes, has := len(s.event.Nodes), 0
	for _, k := range s.event.Nodes {
		if s.owners.Hold(k, name) {
			has++
		}
	}
	tie := s.l.Say("%d of %d", has, nodes)
	switch {
	case b.State == Holds && has >= quorum(s.event.Nodes):
		b.Cord, b.Tie, b.Need = Agrees, tie, s.l.Say("enough")
	case b.State == Holds:
		b.Cord, b.Tie, b.Need, b.Wrong = Parted, tie, s.l.Say("%d are needed", quorum(s.event.Nodes)), true
	case has > 0:
		b.Cord, b.Tie = Loose, tie
	}
	s.waiting(b, name)
}

func (majority) strips(l *Lanes) int {
	most := 0
	for _, r := range l.rows {
		most = max(most, len(r.nodes))
	}
	return most
}

// draw draws who has the key on each node, and which of them do not answer.
func (x majority) draw(d *drawing) {
	nodes := x.strips(d.Lanes)
	if nodes == 0 {
		x.oneKey.draw(d)
		return
	}
	quorum := nodes/2 + 1
	k := &d.p.Key
	k.Name, k.Full = d.lang.Say("nodes"), d.lang.Say("quorum %d of %d", quorum, nodes)
	labels := make([]string, nodes)
	for i := range labels {
		labels[i] = strconv.Itoa(i + 1)
	}
	d.stack(labels)
	for row, place := range d.shown {
		r := d.rows[row]
		has := map[int]int{}
		for _, node := range r.nodes {
			if node.Exists() {
				has[d.holder(node)]++
			}
		}
		for i, node := range r.nodes {
			if node.Exists() {
				owner := d.holder(node)
				k.Strips[i].hold(Hold{place, owner, owner >= 0 && has[owner] >= quorum})
			}
		}
		for _, i := range r.down {
			k.Strips[i].Down = extend(k.Strips[i].Down, place)
		}
	}
}

func (majority) outcome(t *Narrator, e trace.Event, b trace.Outcome) string {
	who, nodes, has := e.Thread, len(e.Nodes), t.has(e.Nodes, e.Thread)
	switch b.Result {
	case trace.Acquired:
		if text, ok := t.valid(e, b); ok {
			return text
		}
		if has >= quorum(e.Nodes) {
			return t.say("%s has the lock: %d of %d nodes have its value, and %d are enough.", who, has, nodes, quorum(e.Nodes))
		}
	case trace.Refused:
		taken := t.before.asked.taken
		if taken >= quorum(e.Nodes) {
			return t.say("%s is refused: %d of %d nodes took its value, but not all answers came in time.", who, taken, nodes)
		}
		return t.say("%s is refused: %d of %d nodes took its value, and %d are needed.", who, taken, nodes, quorum(e.Nodes))
	case trace.Released:
		return t.say("%s has released the lock: %d of %d nodes still have its value.", who, has, nodes)
	}
	return ""
}
