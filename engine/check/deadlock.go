package check

import (
	"maps"
	"slices"
	"strings"

	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Deadlock is the rule that no threads wait for one another's keys in a circle.
const Deadlock = "deadlock"

// Waits is a thread that has one key and waits for another.
type Waits struct{ Thread, Has, For string }

// Deadlock returns the finding for threads that wait in a circle, at least two: each for
// a key that the next one has, and the last for one of the first.
func (c *Checker) Deadlock(circle []Waits) Finding {
	return InCircle(circle, c.facts.Last.Of(Waiters(circle)...))
}

// InCircle is Deadlock with the events that prove it, by their seqs.
func InCircle(circle []Waits, events []int) Finding {
	var threads phrase.Names
	var says phrase.Wording
	for i, w := range circle {
		threads = append(threads, w.Thread)
		one := phrase.Say("%[1]s has %[2]s and waits for %[3]s", w.Thread, w.Has, w.For)
		if i == 0 {
			says = one
			continue
		}
		says = phrase.Say("%[1]s; %[2]s", says, one)
	}
	return found(Deadlock, threads, proof(events...), says,
		phrase.Say("%s wait for one another: each keeps a key that another of them wants.", threads))
}

// Deadlocked reports whether each of some threads waits for a lock of several that one of
// them has: then only the end of a lease lets any of them go on.
func (c *Checker) Deadlocked(threads []string) bool {
	return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
		key, waits := c.waiting.wants[thread]
		holder := c.holder(key)
		return !waits || holder == thread || !slices.Contains(threads, holder)
	})
}

// Circle follows who waits for whom, from a thread back to itself; nil if that does not lead
// there. Wants has the key for which a thread waits, and holder says who has a key, ""
// for nobody.
func Circle(thread string, wants map[string]string, holder func(key string) string) []Waits {
	var list []Waits
	for at := thread; ; {
		key, waits := wants[at]
		next := holder(key)
		if !waits || next == "" || next == at || slices.ContainsFunc(list, func(one Waits) bool { return one.Thread == at }) {
			return nil
		}
		list = append(list, Waits{Thread: at, For: key})
		if at = next; at == thread {
			break
		}
	}
	for i := range list { // each has what the one before it waits for
		list[i].Has = list[(i+len(list)-1)%len(list)].For
	}
	return list
}

// Waiters returns the threads of a circle, by name: the same wherever it begins.
func Waiters(circle []Waits) []string {
	threads := make([]string, len(circle))
	for i, one := range circle {
		threads[i] = one.Thread
	}
	slices.Sort(threads)
	return threads
}

// waiting is which lock each thread waits for, of several: it was refused it, and asks
// again after a while. A thread that gives back what it has waits for nothing meanwhile.
// The zero value knows of none.
type waiting struct {
	wants map[string]string // by thread
	told  []string          // the threads of the circle that was reported, as long as it lasts
}

func (w *waiting) clone() waiting { return waiting{maps.Clone(w.wants), w.told} } // told is never changed in place

// append writes all on which later findings depend.
func (w *waiting) append(b []byte, as naming) []byte {
	wants := named(w.wants, as)
	for _, thread := range slices.Sorted(maps.Keys(wants)) {
		b = append(append(append(append(b, thread...), ' '), wants[thread]...), ',')
	}
	told := make([]string, len(w.told))
	for i, thread := range w.told {
		told[i] = as(thread)
	}
	slices.Sort(told)
	return append(append(b, strings.Join(told, " ")...), ';')
}

// observe takes the next event, with who has each lock after it, and returns the threads
// that wait in a circle since then, once; nil where there are none.
func (w *waiting) observe(e trace.Event, holder func(lock string) string) []Waits {
	switch b := e.Body.(type) {
	case trace.Wait:
		if (b.Why == trace.WaitRetry || b.Why == trace.WaitNotify) && e.Lock != "" {
			if w.wants == nil {
				w.wants = map[string]string{}
			}
			w.wants[e.Thread] = e.Lock
		}
	case trace.Outcome:
		if b.Call != lock.CallRenew && b.Result != trace.Refused {
			delete(w.wants, e.Thread)
		}
	case trace.End:
		delete(w.wants, e.Thread)
	}
	for _, thread := range slices.Sorted(maps.Keys(w.wants)) {
		circle := Circle(thread, w.wants, holder)
		if circle == nil {
			continue
		}
		threads := Waiters(circle)
		if slices.Equal(threads, w.told) {
			return nil
		}
		w.told = threads
		return circle
	}
	w.told = nil
	return nil
}
