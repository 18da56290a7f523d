package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// CountMismatch is the rule that the hold count equals the number of levels
// entered.
const CountMismatch = "count-mismatch"

type countMismatch struct {
	reported map[string]string        // thread to the count reported last
	arrives  map[string]time.Duration // since the run began: when a thread's last delayed request reaches Redis
	unsure   map[string]bool          // threads that gave back a possible grant and got no answer
}

func newCountMismatch() *countMismatch {
	return &countMismatch{reported: map[string]string{}, arrives: map[string]time.Duration{}, unsure: map[string]bool{}}
}

func (c *countMismatch) clone() automaton {
	return &countMismatch{maps.Clone(c.reported), maps.Clone(c.arrives), maps.Clone(c.unsure)}
}

func (c *countMismatch) append(b []byte, now time.Duration, as naming) []byte {
	reported, arrives := named(c.reported, as), named(c.arrives, as)
	for _, thread := range slices.Sorted(maps.Keys(reported)) {
		b = fmt.Appendf(b, "%s=%s ", thread, reported[thread])
	}
	for _, thread := range slices.Sorted(maps.Keys(arrives)) {
		if at := arrives[thread]; at > now {
			b = fmt.Appendf(b, "%s@%d ", thread, at)
		}
	}
	return appendSet(b, c.unsure, as)
}

func (c *countMismatch) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	switch b := e.Body.(type) {
	case trace.Command:
		return c.fallen(f, e, b)
	case trace.Outcome:
		return c.compared(f, e, b)
	case trace.Fault:
		if (b.Do == fault.Delay || b.Do == fault.LateCopy) && (b.At == lock.CallLock || b.At == lock.CallUnlock) {
			c.arrives[e.Thread] = max(c.arrives[e.Thread], e.At.Duration()+b.ForMS.Duration())
		}
	}
	return Finding{}, false
}

// compared compares a thread's hold count with the levels it believes it holds,
// as it learns the outcome of a call. It does so only when the two must be
// equal: none of the thread's requests can still be in flight.
func (c *countMismatch) compared(f *facts.Facts, e trace.Event, b trace.Outcome) (Finding, bool) {
	if b.Call != lock.CallLock && b.Call != lock.CallUnlock || f.Aside(e.Thread) {
		return Finding{}, false
	}
	switch b.Result {
	case trace.Failed: // the thread cannot know the outcome yet
		c.unsure[e.Thread] = c.unsure[e.Thread] || b.GivesBack
		return Finding{}, false
	case trace.Refused, trace.Exhausted, trace.Cancelled: // nothing was entered or left; the count has changed since, or is not known
		return Finding{}, false
	case trace.Acquired, trace.Reentered, trace.Released, trace.Decremented:
		delete(c.unsure, e.Thread)
	}
	if c.unsure[e.Thread] || e.At.Duration() < c.arrives[e.Thread] {
		return Finding{}, false
	}
	count := f.Count(e.Key, e.Thread)
	if count == "" || count == strconv.Itoa(e.Belief[e.Thread]) {
		delete(c.reported, e.Thread)
		return Finding{}, false
	}
	if c.reported[e.Thread] == count {
		return Finding{}, false
	}
	return c.mismatch(f, e, count), true
}

// fallen finds a hold count that a late copy took below the levels entered. At
// 0 the script deletes the key and nobody sees that count; a count above the
// levels may belong to a call in flight.
func (c *countMismatch) fallen(f *facts.Facts, e trace.Event, b trace.Command) (Finding, bool) {
	text := f.Count(e.Key, e.Thread)
	count, err := strconv.Atoi(text)
	if !b.Late || err != nil || count < 1 || count >= e.Belief[e.Thread] || f.Count(f.Before, e.Thread) == text {
		return Finding{}, false
	}
	return c.mismatch(f, e, text), true
}

// mismatch reports a thread's hold count, once.
func (c *countMismatch) mismatch(f *facts.Facts, e trace.Event, count string) Finding {
	who, levels := e.Thread, e.Belief[e.Thread]
	c.reported[who] = count
	n, _ := strconv.Atoi(count)
	why := phrase.Say("%s is at level %d, and its hold count is %d: the two must be equal.", who, levels, n)
	if levels == 0 {
		why = phrase.Say("%s is at no level, and its hold count is %d: it must be 0.", who, n)
	}
	return found(CountMismatch, []string{who}, proof(f.Counted[who], e.Seq),
		phrase.Say("levels that %s acts as if it held: %d; its hold count: %s", who, levels, count), why)
}
