package fault

import (
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// The faults of Redis itself.
const (
	Restart     = "restart"
	FailOver    = "fail-over"
	Evict       = "evict"
	ClockJump   = "clock-jump"
	Down        = "down"
	Up          = "up"
	ScriptFlush = "script-flush"
	TwoMasters  = "two-masters"
)

var ofRedis = []Kind{
	{
		Name: Restart, Target: Redis, Fields: []string{"keep", "lose", "for", "node"}, Optional: []string{"lose", "for"},
		Word: "restart", Label: "restart: Redis restarts", Button: "Redis restarts",
		Row: func(b trace.Fault, several bool) phrase.Wording {
			row := restarts(b, several)
			if b.ForMS > 0 {
				return phrase.Say("%s; that takes %s", row, b.ForMS.Duration())
			}
			return row
		},
		Why: func(s Scene) phrase.Wording {
			switch {
			case s.Nodes > 0:
				return ofNode(s)
			case s.Keep:
				return phrase.Say("Redis restarts and keeps its data.")
			case s.LoseMS > 0 && s.Victim != "":
				return phrase.Say("Redis restarts without the writes of the last %s: %s's key is gone, and nobody is told.", s.LoseMS.Duration(), s.Victim)
			case s.LoseMS > 0:
				return phrase.Say("Redis restarts without the writes of the last %s; everything before is there again.", s.LoseMS.Duration())
			case s.Victim != "":
				return phrase.Say("Redis restarts empty: %s's key is gone, and nobody is told.", s.Victim)
			default:
				return phrase.Say("Redis restarts empty, and there was no key to lose.")
			}
		},
	},
	{
		Name: FailOver, Target: Redis, Fields: []string{"behind", "node", "replica"}, Optional: []string{"replica"}, Behind: 1,
		Word: "fail-over", Label: "fail-over: a replica takes over, the last writes are lost", Button: "a replica takes over",
		Row: func(b trace.Fault, several bool) phrase.Wording {
			switch behind := behind(b); {
			case b.Replica > 0 && behind == 0:
				return phrase.Say("Fault: replica %d takes over, with everything", b.Replica)
			case b.Replica > 0:
				return phrase.Say("Fault: replica %d takes over, which lacks the last writes: %d", b.Replica, behind)
			case several && behind == 0:
				return phrase.Say("Fault: a replica of node %d takes over, with everything", node(b))
			case several:
				return phrase.Say("Fault: a replica of node %d takes over that lacks the last writes: %d", node(b), behind)
			case behind == 0:
				return phrase.Say("Fault: a replica takes over, with everything")
			default:
				return phrase.Say("Fault: a replica takes over that lacks the last writes: %d", behind)
			}
		},
		Why: func(s Scene) phrase.Wording {
			switch behind := behind(s.Fault); {
			case s.Nodes > 0:
				return ofNode(s)
			case behind == 0 && s.Replica > 0:
				return phrase.Say("Redis fails over to replica %d, which has acknowledged every write.", s.Replica)
			case s.Replica > 0 && s.Victim != "":
				return phrase.Say("Redis fails over to replica %d, which WAIT did not wait for: %s's key is gone.", s.Replica, s.Victim)
			case behind == 0:
				return phrase.Say("Redis fails over to a replica that has every write.")
			case s.Victim != "":
				return phrase.Say("Redis fails over to a replica that lacks the last writes (%d): %s's key is gone.", behind, s.Victim)
			default:
				return phrase.Say("Redis fails over to a replica that lacks the last writes (%d).", behind)
			}
		},
	},
	{
		Name: TwoMasters, Target: Redis, Fields: []string{"for", "node"}, For: outlives, Alone: true, One: true,
		Word: "two-masters", Label: "two-masters: a thread goes on with the old master, the others with a new one", Button: "two masters, one of them for a thread alone",
		Row: lasting(func(b trace.Fault, several bool) phrase.Wording {
			if several {
				return phrase.Say("Fault: node %d has two masters, the old one for %s", node(b), b.Thread)
			}
			return phrase.Say("Fault: two masters, the old one for %s", b.Thread)
		}),
		Why: func(s Scene) phrase.Wording {
			return phrase.Say("Redis is split: %s is left with the old master; the new one, a replica until then, has the data from before the split.", s.Thread)
		},
	},
	{
		Name: Evict, Target: Redis, Fields: []string{"node"},
		Word: "evict", Label: "evict: Redis evicts the lock's key", Button: "Redis evicts the key",
		Row: either("Fault: Redis evicts the key", "Fault: node %d evicts the key"),
		Why: func(s Scene) phrase.Wording {
			switch {
			case s.Nodes > 0:
				return ofNode(s)
			case s.Victim != "":
				return phrase.Say("Redis evicts the key: %s's lock is gone, and nobody is told.", s.Victim)
			default:
				return phrase.Say("Redis should evict the key, but there is none.")
			}
		},
	},
	{
		Name: ClockJump, Target: Redis, Fields: []string{"by", "node"}, By: time.Second,
		Word: "clock-jump", Label: "clock-jump: the clock of Redis jumps", Button: "the clock of Redis jumps",
		Row: func(b trace.Fault, several bool) phrase.Wording {
			if several {
				return phrase.Say("Fault: the clock of node %d jumps by %s", node(b), JumpsBy(b))
			}
			return phrase.Say("Fault: the clock of Redis jumps by %s", JumpsBy(b))
		},
		Why: func(s Scene) phrase.Wording {
			if s.Nodes > 0 {
				return phrase.Say("Node %d has its clock jump by %s; the other clocks do not.", node(s.Fault), JumpsBy(s.Fault))
			}
			return phrase.Say("Redis has its clock jump by %s; the clocks of the threads do not.", JumpsBy(s.Fault))
		},
	},
	{
		Name: Down, Target: Redis, Fields: []string{"for", "node"}, Optional: []string{"for"}, Alone: true, Felt: true,
		Word: "down", Label: "down: Redis stops answering", Button: "Redis stops answering",
		Row: lasting(forOne(
			either("Fault: Redis stops answering", "Fault: node %d stops answering"),
			"Fault: Redis stops answering, for %s alone", "Fault: node %d stops answering, for %s alone",
		)),
		Why: func(s Scene) phrase.Wording {
			quorum := s.Nodes/2 + 1
			switch {
			case s.Nodes > 0 && s.Thread != "":
				return phrase.Say("Node %d no longer answers %s: %d of %d nodes are left to it, and %d are needed.", node(s.Fault), s.Thread, s.Up, s.Nodes, quorum)
			case s.Nodes > 0:
				return phrase.Say("Node %d no longer answers: %d of %d nodes are left, and %d are needed.", node(s.Fault), s.Up, s.Nodes, quorum)
			case s.Thread != "" && len(s.Unserved) > 1:
				return phrase.Say("Redis no longer answers %s; it answers the others as it did.", s.Thread)
			case s.Thread != "":
				return phrase.Say("Redis no longer answers %s, but still answers the others.", s.Thread)
			default:
				return phrase.Say("Redis no longer answers: calls fail until it is up again.")
			}
		},
	},
	{
		Name: Up, Target: Redis, Fields: []string{"node"}, Alone: true, Felt: true,
		Word: "up", Label: "up: Redis answers again", Button: "Redis answers again",
		Row: forOne(
			either("Redis answers again", "Node %d answers again"),
			"Redis answers again, for %s alone", "Node %d answers again, for %s alone",
		),
		Why: func(s Scene) phrase.Wording {
			switch silent := len(s.Unserved) > 0 && s.Unserved[0] == ""; {
			case silent && s.Nodes > 0:
				return phrase.Say("Node %d would serve %s again, but still serves nobody.", node(s.Fault), s.Thread)
			case silent:
				return phrase.Say("Redis would serve %s again, but still serves nobody.", s.Thread)
			case s.Nodes > 0 && s.Thread != "":
				return phrase.Say("Node %d serves %s again: %d of %d nodes do.", node(s.Fault), s.Thread, s.Up, s.Nodes)
			case s.Nodes > 0:
				return phrase.Say("Node %d serves again: %d of %d nodes do.", node(s.Fault), s.Up, s.Nodes)
			case s.Thread != "":
				return phrase.Say("Redis serves %s again.", s.Thread)
			case len(s.Unserved) > 0:
				return phrase.Say("Redis serves again, but not %s.", phrase.Names(s.Unserved))
			case s.Ended != "":
				return phrase.Say("Redis serves again: it no longer answers with %s.", s.Ended)
			}
			return phrase.Say("Redis answers again.")
		},
	},
	{
		Name: ScriptFlush, Target: Redis, Fields: []string{"node"},
		Word: "script-flush", Label: "script-flush: Redis forgets its cached scripts", Button: "Redis forgets its scripts",
		Row: either("Fault: Redis forgets its cached scripts", "Fault: node %d forgets its cached scripts"),
		Why: func(s Scene) phrase.Wording {
			if s.Nodes > 0 {
				return ofNode(s)
			}
			return phrase.Say("Redis forgets its scripts: the next call of each must send it in full.")
		},
	},
}

var oneMaster = Kind{
	Name: OneMaster, Target: Redis, Word: "one-master",
	Row: func(b trace.Fault, several bool) phrase.Wording {
		if several {
			return phrase.Say("Node %d has one master again: what %s wrote on the old one is lost", node(b), b.Thread)
		}
		return phrase.Say("One master again: what %s wrote on the old one is lost", b.Thread)
	},
	Why: func(s Scene) phrase.Wording {
		return phrase.Say("Redis is whole again: the old master follows the new one, and what %s wrote on it is lost.", s.Thread)
	},
}

// restarts says how Redis restarts.
func restarts(b trace.Fault, several bool) phrase.Wording {
	switch {
	case several && b.Keep:
		return phrase.Say("Fault: node %d restarts, with its data", node(b))
	case several && b.LoseMS > 0:
		return phrase.Say("Fault: node %d restarts without the writes of the last %s", node(b), b.LoseMS.Duration())
	case several:
		return phrase.Say("Fault: node %d restarts empty", node(b))
	case b.Keep:
		return phrase.Say("Fault: Redis restarts, with its data")
	case b.LoseMS > 0:
		return phrase.Say("Fault: Redis restarts without the writes of the last %s", b.LoseMS.Duration())
	default:
		return phrase.Say("Fault: Redis restarts empty")
	}
}

// lasting adds to a row how long a fault lasts, if that is known.
func lasting(row func(trace.Fault, bool) phrase.Wording) func(trace.Fault, bool) phrase.Wording {
	return func(b trace.Fault, several bool) phrase.Wording {
		if b.ForMS == 0 {
			return row(b, several)
		}
		return phrase.Say("%s, for %s", row(b, several), b.ForMS.Duration())
	}
}

// node returns the node a fault strikes, from 1.
func node(b trace.Fault) int { return max(b.Node, 1) }

// behind returns how many writes a replica lacks.
func behind(b trace.Fault) int {
	if b.Behind == nil {
		return 0
	}
	return *b.Behind
}

// JumpsBy returns how far a clock jumps: a time.Duration, or the trace's own
// text if it is not one.
func JumpsBy(b trace.Fault) any {
	d, err := time.ParseDuration(b.By)
	if err != nil {
		return b.By
	}
	return d
}

// either chooses between two texts: for a single Redis, and for one of several
// nodes.
func either(alone, several phrase.Text) func(trace.Fault, bool) phrase.Wording {
	return func(b trace.Fault, nodes bool) phrase.Wording {
		if nodes {
			return phrase.Say(several, node(b))
		}
		return phrase.Say(alone)
	}
}

// forOne is all unless a fault strikes Redis for a single thread. Then it chooses
// between two texts, as either does.
func forOne(all func(trace.Fault, bool) phrase.Wording, alone, several phrase.Text) func(trace.Fault, bool) phrase.Wording {
	return func(b trace.Fault, nodes bool) phrase.Wording {
		switch {
		case b.Thread == "":
			return all(b, nodes)
		case nodes:
			return phrase.Say(several, node(b), b.Thread)
		default:
			return phrase.Say(alone, b.Thread)
		}
	}
}

// ofNode says what a node has lost.
func ofNode(s Scene) phrase.Wording {
	if s.Victim != "" {
		return phrase.Say("Node %d has lost %s's key (%s): it will grant the lock to the next that asks.", node(s.Fault), s.Victim, phrase.Say(s.word))
	}
	return phrase.Say("Node %d is struck by a fault: %s.", node(s.Fault), phrase.Say(s.word))
}
