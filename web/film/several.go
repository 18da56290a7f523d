package film

import (
	"slices"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// several are several locks, each a key.
type several struct{ oneKey }

// heldLocks are the locks that each thread believes that it holds, the one that it took
// first before the others.
type heldLocks map[string][]string

// add takes the next event.
func (h heldLocks) add(e trace.Event) {
	for _, one := range e.Locks {
		for thread, levels := range one.Belief {
			if levels > 0 && !slices.Contains(h[thread], one.Lock) {
				h[thread] = append(slices.Clip(h[thread]), one.Lock)
			}
		}
	}
	for thread, keys := range h {
		h[thread] = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
			return !slices.ContainsFunc(e.Locks, func(one trace.LockState) bool { return one.Lock == key && one.Belief[thread] > 0 })
		})
	}
}

// alone is a scenario with one of its several locks.
func alone(sc *scenario.Scenario, key string) *scenario.Scenario {
	one := *sc
	one.Locks, one.Lock.Key = nil, key
	one.Threads = slices.Clone(sc.Threads)
	for i := range one.Threads {
		one.Threads[i].Takes, one.Threads[i].Depth = "", 1
	}
	return &one
}

// ofSeveral explains an event of several locks: as the one does that it is about.
func (t *Narrator) ofSeveral(e trace.Event) string {
	end, ends := e.Body.(trace.End)
	switch {
	case e.Kind() == trace.KindViolation:
		return t.tell(e)
	case ends && e.Thread == "":
		return t.endOfRun(e, end)
	}
	key, said := t.lockOf(e), ""
	for i, one := range t.locks[:min(len(t.locks), len(e.Locks))] {
		if _, ok := e.Of(i); ok && e.Locks[i].Lock == key {
			said = (&Narrator{Now: one, l: t.l}).ofOne()
		}
	}
	_, works := e.Body.(trace.Work)
	wait, waits := e.Body.(trace.Wait)
	switch last := t.thread(e.Thread).heardOf; {
	case ends && end.Result == trace.Exhausted && t.spec(e.Thread).Retry.GiveBack:
		return t.say("%s ends without %s: it has started over as often as it may.", e.Thread, last)
	case ends && end.Result == trace.Exhausted:
		return t.say("%s ends without %s: it was refused as often as it asks.", e.Thread, last)
	case waits && !t.framed && e.Belief[e.Thread] == 0 && t.spec(e.Thread).Takes.Level(last) > 1:
		return t.say("%s was refused %s and has given back what it had. It waits %s, and starts over.", e.Thread, last, t.millis(wait.For))
	case said != "" && (e.Lock != "" || works && !t.framed): // whose lock a mark is of nobody knows
		return t.say("%s %s", said, t.say("The lock is %s.", key))
	default:
		return said
	}
}

// lockOf is which of several locks an event is about: of what a thread does under its locks
// the one that it took last.
func (t *Narrator) lockOf(e trace.Event) string {
	if e.Lock != "" {
		return e.Lock
	}
	if taken := t.taken[e.Thread]; t.framed && len(taken) > 0 { // nobody knows what its program takes
		return taken[len(taken)-1]
	} else if t.framed && len(e.Locks) > 0 {
		return e.Locks[0].Lock
	}
	takes := t.spec(e.Thread).Takes
	if b, ok := e.Body.(trace.Work); ok {
		return takes.Key(b.Level)
	}
	return takes.Key(max(e.Belief[e.Thread], 1))
}

// Lock is one of several locks' keys after a row.
type Lock struct {
	Name string `json:"name"`
	Key  Key    `json:"key"`
}

// keys are those of several locks.
func (t *Timeline) keys(states []trace.LockState) []Lock {
	var list []Lock
	for i, one := range states {
		list = append(list, Lock{one.Lock, t.keyCellOf(one.Key, t.holdingOf(i))})
	}
	return list
}

// keyOf is the key that an event is about: with several locks, its own lock's.
func keyOf(e trace.Event) trace.KeyState {
	for _, one := range e.Locks {
		if one.Lock == e.Lock {
			return one.Key
		}
	}
	return e.Key
}

// parted reports whether a thread believes that it holds a lock, one of several, that is
// not its own in Redis.
func (n *Now) parted(e trace.Event, thread string) bool {
	if len(e.Locks) == 0 {
		return e.Belief[thread] > 0 && !slices.Contains(n.holding().Holders(e.Key), thread)
	}
	for i, one := range e.Locks {
		if one.Belief[thread] > 0 && !n.holdingOf(i).Hold(one.Key, thread) {
			return true
		}
	}
	return false
}

// ofLock puts the lock of an event before a text about it, where there are several.
func (t *Timeline) ofLock(e trace.Event, text string) string {
	if e.Lock == "" {
		return text
	}
	return t.l.Say("%[1]s, %[2]s", e.Lock, text)
}

// tie tells what a thread believes of the locks, and how that is tied to Redis.
func (several) tie(s *stager, b *Belief, name string, _ int) {
	var holds, gone []string
	for _, key := range s.sc.Threads[s.ordinals[name]].Takes.Keys() {
		for i, one := range s.event.Locks {
			switch {
			case one.Lock != key || one.Belief[name] == 0:
				continue
			case !s.holdingOf(i).Hold(one.Key, name):
				gone = append(gone, key)
			}
			if one.Lock == key {
				holds = append(holds, key)
			}
		}
	}
	if in := s.owned(name); len(in) > 0 && b.State != Holds {
		if b.Cord = Agrees; b.State != Leaves {
			b.Cord, b.Tie = Loose, s.loose(b.State)
		}
		return
	}
	if b.State == Holds && len(holds) > 0 {
		b.Says = s.l.Say("I hold %s", s.l.List(holds))
		b.Cord = Agrees
		if len(holds) > 1 {
			b.Cord = Twice
		}
	}
	asks, waits := s.wants(name)
	t := s.thread(name)
	switch {
	case b.State == Waits && !s.framed && s.sc.Threads[s.ordinals[name]].Takes.Level(waits) > 1: // it has given back what it had
		b.Does, b.Cord = s.l.Say("has given back what it had"), NoCord
		if t.timed && t.until > s.event.At {
			b.Does = s.l.Say("has given back what it had, begins again at %s", s.length(t.until))
		}
	case len(gone) > 0 && b.State == Holds:
		b.Cord, b.Tie, b.Wrong = Parted, s.l.Say("%s: not in Redis", s.l.List(gone)), true
		b.Odd = s.l.Say("nobody has told it")
	case waits != "" && (b.State == Holds || b.State == Waits):
		b.Does = s.l.Say("waits for %s: %s", waits, s.waits(name))
		b.Tie = s.l.Say("waits for %s", waits)
		if b.State == Waits {
			b.Cord = Kept
		}
	case asks != "" && (b.State == Holds || b.State == Asks):
		b.Does = s.l.Say("asks for %s", asks)
		b.Tie = s.l.Say("asks for %s", asks)
		if b.State == Asks {
			b.Cord = Asking
		}
	}
	if b.Paused {
		b.Does = s.paused(name)
	}
}

// owned are the locks that, in Redis, belong to a thread.
func (s *stager) owned(name string) []string {
	var list []string
	for i, one := range s.event.Locks {
		if s.holdingOf(i).Hold(one.Key, name) {
			list = append(list, one.Lock)
		}
	}
	return list
}

// wants is the lock that a thread asks for, and the one that it waits for after it was
// refused, of several; "" for none.
func (s *stager) wants(name string) (asks, waits string) {
	t := s.thread(name)
	switch {
	case t.ended != "":
		return "", ""
	case t.asking:
		return t.wants, ""
	case t.refusals > 0:
		return "", t.wants
	default:
		return "", ""
	}
}

// cards are the cards of the locks.
func (several) cards(s *stager) []NodeCard {
	var list []NodeCard
	for i, key := range s.sc.Locks {
		name := words.Short(key, mostName)
		if i >= len(s.event.Locks) { // of a foreign trace
			list = append(list, s.cardOf(name, trace.Absent(), nil))
			continue
		}
		k := s.event.Locks[i].Key
		n := s.cardOf(name, k, s.holdingOf(i).Holders(k))
		n.Clock = s.waitFor(key)
		list = append(list, n)
	}
	return list
}

// waitFor says who waits for one of several locks.
func (s *stager) waitFor(key string) string {
	var names []string
	for _, t := range s.sc.Threads {
		if _, waits := s.wants(t.Name); waits == key && s.event.Belief[t.Name] > 0 {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return s.l.Say("waited for by %s", s.l.List(names))
}

func (several) strips(l *Lanes) int { return len(l.sc.Locks) }

// draw draws who has each of the locks.
func (several) draw(d *drawing) {
	k := &d.p.Key
	k.Name, k.Full = d.lang.Say("locks"), ""
	labels := make([]string, len(d.sc.Locks))
	for i, key := range d.sc.Locks {
		labels[i] = words.Short(key, mostLabel)
	}
	d.stack(labels)
	for row, place := range d.shown {
		for i, one := range d.rows[row].locks[:min(len(d.rows[row].locks), len(d.sc.Locks))] {
			if one.Key.Exists() {
				k.Strips[i].hold(Hold{place, d.rows[row].holders[i], true})
			}
		}
	}
}
