package lab

import (
	"maps"
	"slices"

	"relock/engine/outside/infer"
	"relock/engine/trace"
)

// effect is what a choice came to where there are several nodes. On one node, footprints say
// what commutes. Of a lock of a majority more is shared: who has how many nodes, and who
// believes that it holds the lock.
type effect struct {
	done     bool
	values   []string // of the lock's key on its node: those that it put there, took away, or gave another lease
	unknown  bool     // the key holds something else than a value
	believes bool     // it changed who believes that it holds the lock, where no marks say that
	changes  bool     // it changed a key, or its expiry
	silent   bool     // its thread has sent nothing since, and waits for other nodes
}

// sight watches one round for what its choices come to.
type sight struct {
	o        *Order
	majority *infer.Majority // of the records so far; nil where marks say who is inside
	records  int             // that it has read
	belief   map[string]int
	did      *effect // of the last choice, nil if nobody asks
	lane     *lane
	queued   int // commands of its thread that wait beside it
}

// sights begins to watch a round, where there are several nodes.
func (s *search) sights(o *Order) {
	s.seen = sight{}
	if len(s.g.nodes) == 1 {
		return
	}
	s.seen.o = o
	if !s.marks {
		s.seen.majority = infer.NewMajority(len(s.g.nodes), s.names, infer.Lock{Key: s.g.key}, s.o.Resource, false, maps.Clone(s.roles))
		s.seen.majority.SetStart(o.began)
		s.seen.majority.Forget()
	}
}

// before takes the choice that is next. The caller holds the gate.
func (w *sight) before(c choice) {
	if w.o == nil {
		return
	}
	w.read()
	if w.did, w.lane = c.did, c.lane; c.lane != nil {
		w.queued = c.lane.queued()
		if slices.Contains(c.lane.late, c.it) {
			w.queued++
		}
	}
}

// read reads the records that are new.
func (w *sight) read() {
	if w.majority == nil {
		return
	}
	for _, r := range w.o.records[w.records:] {
		w.majority.See(r)
	}
	w.records, w.belief = len(w.o.records), maps.Clone(w.majority.Believes())
}

// settled takes what came of the last choice, as everybody is silent again. The caller
// holds the gate.
func (w *sight) settled() {
	if w.o == nil || w.did == nil || w.did.done {
		return
	}
	did, from, was := w.did, w.records, w.belief
	if w.majority == nil {
		from = max(len(w.o.records)-1, 0)
	}
	for _, r := range w.o.records[from:] {
		did.sees(r)
	}
	w.read()
	did.done = true
	did.believes = w.majority != nil && !maps.Equal(was, w.belief)
	did.silent = w.lane != nil && w.lane.queued() == w.queued-1
	w.did = nil
}

// sees takes what a record has changed of the lock's key.
func (d *effect) sees(r infer.Record) {
	d.changes = d.changes || len(r.Keys) > 0 || r.Prolongs() || r.Do != ""
	if infer.Equal(r.Before, r.After) {
		return
	}
	for _, k := range []trace.KeyState{r.Before, r.After} {
		switch {
		case k.Value != nil:
			d.values = append(d.values, *k.Value)
		case k.Exists():
			d.unknown = true
		}
	}
}

// awake is what still sleeps after a choice: what is independent of it.
func (s *search) awake(asleep []sleeper, c *choice) []sleeper {
	var list []sleeper
	for _, z := range asleep {
		if !z.f.Conflicts(c.f) && s.commute(z, c) {
			list = append(list, z)
		}
	}
	return list
}

// commute reports whether two choices may change places whose footprints do not meet.
func (s *search) commute(z sleeper, c *choice) bool {
	apart := z.f.Node != c.f.Node && z.f.Node > 0 && c.f.Node > 0
	switch {
	case z.d.Thread == c.d.Thread && z.d.Thread != "":
		// A thread that sends nothing between two answers does not know in which order they came.
		return apart && known(z.did, c.did) && z.did.silent && c.did.silent
	case z.d.Thread == c.d.Thread:
		return false
	case isMark(z.f) != isMark(c.f): // what its thread entered with is there, or not, and others may let it be
		did := z.did
		if isMark(z.f) {
			did = c.did
		}
		return did != nil && did.done && !did.changes
	case !apart || !s.ofLock(z.f) || !s.ofLock(c.f):
		return true
	case !known(z.did, c.did) || z.did.unknown || c.did.unknown || z.did.believes && c.did.believes:
		return false
	}
	return !slices.ContainsFunc(z.did.values, func(v string) bool { return slices.Contains(c.did.values, v) })
}

// isMark reports whether a footprint is a mark's.
func isMark(f infer.Footprint) bool { return f.Names(infer.Channel(infer.MarkEnter)) }

// known reports whether we know the outcomes of both.
func known(a, b *effect) bool { return a != nil && b != nil && a.done && b.done }

// ofLock reports whether a command may read or change the lock's key.
func (s *search) ofLock(f infer.Footprint) bool { return f.All || f.Names(s.g.key) }
