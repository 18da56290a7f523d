// Package check finds broken rules in a run's events. Each rule is a small
// automaton that looks at one event after the other and knows nothing of how
// they came about.
package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
)

// The rules, as scenarios and traces name them.
const (
	MutualExclusion = "mutual-exclusion" // two threads in their critical sections at once
	ForeignRelease  = "foreign-release"  // a lock was deleted by one that did not own it
	ForeignRenewal  = "foreign-renewal"  // a lease was renewed by one that did not own the lock
	CountMismatch   = "count-mismatch"   // the hold count is not the number of levels entered
	Orphan          = "orphan"           // every thread ended, the key stands beyond a lease
	SelfDeadlock    = "self-deadlock"    // a thread is refused a lock that it holds itself
	Stuck           = "stuck"            // nothing can move any more
	LostUpdate      = "lost-update"      // a write was overwritten by one that had not seen it
	Oversold        = "oversold"         // more was taken than there was
	TokenRegression = "token-regression" // a fencing token is not larger than one before it
)

// Checker looks at the events of one run in order. It is not safe for
// concurrent use.
type Checker struct {
	owners map[string]string // thread to owner id
	before trace.KeyState    // the key before the event at hand
	nodes  []trace.KeyState  // and on each node, where there are several

	believed   map[string]int    // levels after the event before
	depth      map[string]int    // of the threads inside their critical sections: how deep
	together   []string          // threads found in the critical section together
	mismatched map[string]string // thread to the counts already reported
	refused    map[string]bool   // threads that were reported to be refused by themselves

	// What keeps a hold count from being judged, by thread.
	arrives   map[string]time.Duration // since the run began: when its last request that was held up reaches Redis
	unsettled map[string]bool          // it gave back what it may have acquired, and heard no answer

	// Where the proofs are: seq by thread.
	entered map[string]int // it began to be inside
	gained  map[string]int // its field came into the key
	lost    map[string]int // its field left the key
	counted map[string]int // its hold count changed
	last    map[string]int // its last event
	readAt  map[string]int // its last read of the resource

	written   trace.Event // the last write that was taken
	sold      bool        // oversold was reported
	limit     overLimit
	token     int64  // the largest so far
	tokenSeen int    // and its event
	tokenOf   string // and its thread
}

// New returns a checker for a run in which owners, by id, are threads.
func New(owners map[string]string) *Checker {
	c := &Checker{
		owners: map[string]string{}, before: trace.Absent(), depth: map[string]int{}, mismatched: map[string]string{}, refused: map[string]bool{},
		arrives: map[string]time.Duration{}, unsettled: map[string]bool{},
		entered: map[string]int{}, gained: map[string]int{}, lost: map[string]int{}, counted: map[string]int{}, last: map[string]int{},
		readAt: map[string]int{},
	}
	for id, thread := range owners {
		c.owners[thread] = id
	}
	return c
}

// Observe looks at the next event and returns the rules that it breaks. A
// state that stays broken is reported once.
func (c *Checker) Observe(e trace.Event) []trace.Violation {
	c.follow(e)
	var found []trace.Violation
	add := func(v trace.Violation, ok bool) {
		if ok {
			found = append(found, v)
		}
	}
	add(c.mutualExclusion(e))
	switch b := e.Body.(type) {
	case trace.Command:
		add(c.foreignRelease(e, b))
		add(c.foreignRenewal(e, b))
		add(c.fallenCount(e, b))
	case trace.Outcome:
		add(c.countMismatch(e, b))
		add(c.selfDeadlock(e, b))
		add(c.tokenRegression(e, b))
	case trace.Fault:
		c.followFault(e, b)
	case trace.Resource:
		add(c.lostUpdate(e, b))
		add(c.oversold(e, b))
		add(c.limit.observe(e, c.readAt[e.Thread]))
		c.followResource(e, b)
	}
	c.before, c.nodes = e.Key, e.Nodes
	return found
}

// follow notes which events a proof may need.
func (c *Checker) follow(e trace.Event) {
	c.followInside(e)
	had, has := c.holders(c.before), c.holders(e.Key)
	for thread, id := range c.owners {
		before, after := slices.Contains(had, thread), slices.Contains(has, thread)
		switch {
		case after && !before:
			c.gained[thread] = e.Seq
		case before && !after:
			c.lost[thread] = e.Seq
		}
		if c.before.Fields[id] != e.Key.Fields[id] {
			c.counted[thread] = e.Seq
		}
	}
	c.last[e.Thread] = e.Seq
}

// followInside notes who is inside its critical section. What a thread believes
// is another matter: one that has called its outermost unlock, or has forgotten
// it, has left its critical section, also while it acts as if it held the lock.
func (c *Checker) followInside(e trace.Event) {
	struck, _ := e.Body.(trace.Fault)
	outcome, _ := e.Body.(trace.Outcome)
	for thread := range c.owners {
		before := c.depth[thread]
		depth := before + e.Belief[thread] - c.believed[thread]
		switch {
		case e.Belief[thread] == 0 || slices.Contains(e.Leaving, thread):
			depth = 0
		case thread != e.Thread:
		case struck.Do == fault.SkipUnlock:
			depth--
		case outcome.Result == trace.Acquired: // also where it had forgotten one that it has lost since
			depth = 1
		}
		c.depth[thread] = max(depth, 0)
		if before == 0 && depth > 0 {
			c.entered[thread] = e.Seq
		}
	}
	c.believed = e.Belief
}

// proof puts events in order; 0 is none.
func proof(seqs ...int) []int {
	slices.Sort(seqs)
	return slices.DeleteFunc(slices.Compact(seqs), func(seq int) bool { return seq == 0 })
}

// of picks the events of threads.
func of(where map[string]int, threads []string) []int {
	var seqs []int
	for _, thread := range threads {
		seqs = append(seqs, where[thread])
	}
	return seqs
}

// Finish looks at the key one lease after every thread has ended, or later.
func (c *Checker) Finish(key trace.KeyState) []trace.Violation {
	if !key.Exists() {
		return nil
	}
	detail := "every thread ended a lease ago or more, and the key stands without an expiry"
	if key.PTTL >= 0 {
		detail = fmt.Sprintf("every thread ended a lease ago or more, and the key stands for another %d ms", key.PTTL)
	}
	holders := c.holders(key)
	return []trace.Violation{{
		Rule: Orphan, Threads: holders, Detail: detail,
		Events: proof(append(of(c.gained, holders), of(c.last, holders)...)...),
	}}
}

// Stuck is the violation of threads that wait for what never comes.
func (c *Checker) Stuck(threads []string) trace.Violation {
	return trace.Violation{
		Rule: Stuck, Threads: threads, Events: proof(of(c.last, threads)...),
		Detail: strings.Join(threads, " and ") + map[bool]string{true: " waits", false: " wait"}[len(threads) == 1] + " for something that cannot happen any more",
	}
}

// InVain is the Stuck violation of threads of which some ask again and again
// for a lock that nobody will give back; the others hang.
func (c *Checker) InVain(threads, asking []string) trace.Violation {
	holders := c.holders(c.before)
	detail := strings.Join(asking, " and ") + " will never get in: nobody is left who would give the lock back"
	if len(holders) > 0 {
		detail = fmt.Sprintf("%s will never get in: the key is %s's, it has no expiry, and nobody is left who would delete it",
			strings.Join(asking, " and "), strings.Join(holders, "'s and "))
	}
	return trace.Violation{
		Rule: Stuck, Threads: threads, Detail: detail,
		Events: proof(append(of(c.gained, holders), of(c.last, threads)...)...),
	}
}

func (c *Checker) holders(key trace.KeyState) []string {
	threads := []string{}
	for thread, id := range c.owners {
		if _, ok := key.Fields[id]; ok || (key.Value != nil && *key.Value == id) {
			threads = append(threads, thread)
		}
	}
	slices.Sort(threads)
	return threads
}

func (c *Checker) mutualExclusion(e trace.Event) (trace.Violation, bool) {
	var inside []string
	for thread, depth := range c.depth {
		if depth > 0 {
			inside = append(inside, thread)
		}
	}
	slices.Sort(inside)
	if len(inside) < 2 {
		c.together = nil
		return trace.Violation{}, false
	}
	news := slices.ContainsFunc(inside, func(t string) bool { return !slices.Contains(c.together, t) })
	c.together = inside
	if !news {
		return trace.Violation{}, false
	}
	events := append(of(c.entered, inside), e.Seq)
	for _, thread := range inside {
		if c.lost[thread] > c.entered[thread] {
			events = append(events, c.lost[thread])
		}
	}
	holders := "nobody holds the key in Redis"
	if h := c.holders(e.Key); len(h) > 0 {
		holders = "in Redis the lock is " + strings.Join(h, "'s and ") + "'s"
	}
	return trace.Violation{
		Rule: MutualExclusion, Threads: inside, Events: proof(events...),
		Detail: strings.Join(inside, " and ") + " are in their critical sections at once; " + holders,
	}, true
}

func (c *Checker) foreignRelease(e trace.Event, b trace.Command) (trace.Violation, bool) {
	if len(b.Args) == 0 || !strings.EqualFold(b.Args[0], "DEL") || b.Reply != int64(1) {
		return trace.Violation{}, false
	}
	before, after := c.before, e.Key
	if b.Node > 0 && b.Node <= len(c.nodes) {
		before = c.nodes[b.Node-1]
	}
	if b.Node > 0 && b.Node <= len(e.Nodes) {
		after = e.Nodes[b.Node-1]
	}
	holders := c.holders(before)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) || slices.Equal(holders, c.holders(after)) { // the last: it was another key
		return trace.Violation{}, false
	}
	return trace.Violation{
		Rule: ForeignRelease, Threads: append([]string{e.Thread}, holders...), Events: proof(append(of(c.gained, holders), e.Seq)...),
		Detail: fmt.Sprintf("%s deleted the lock of %s", e.Thread, strings.Join(holders, " and ")),
	}, true
}

func (c *Checker) foreignRenewal(e trace.Event, b trace.Command) (trace.Violation, bool) {
	if b.Call != lock.CallRenew || len(b.Args) == 0 || !strings.EqualFold(b.Args[0], "PEXPIRE") || b.Reply != int64(1) {
		return trace.Violation{}, false
	}
	after := e.Key
	if b.Node > 0 && b.Node <= len(e.Nodes) {
		after = e.Nodes[b.Node-1]
	}
	holders := c.holders(after)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) {
		return trace.Violation{}, false
	}
	return trace.Violation{
		Rule: ForeignRenewal, Threads: append([]string{e.Thread}, holders...), Events: proof(append(of(c.gained, holders), e.Seq)...),
		Detail: fmt.Sprintf("the watchdog of %s renewed the lease of %s", e.Thread, strings.Join(holders, " and ")),
	}, true
}

// selfDeadlock finds a thread that is refused a lock which in Redis is its
// own, and which it believes that it holds.
func (c *Checker) selfDeadlock(e trace.Event, b trace.Outcome) (trace.Violation, bool) {
	if b.Call != lock.CallLock {
		return trace.Violation{}, false
	}
	own := slices.Contains(c.holders(e.Key), e.Thread) && e.Belief[e.Thread] > 0
	if b.Result != trace.Refused || !own {
		delete(c.refused, e.Thread)
		return trace.Violation{}, false
	}
	if c.refused[e.Thread] {
		return trace.Violation{}, false
	}
	c.refused[e.Thread] = true
	return trace.Violation{
		Rule: SelfDeadlock, Threads: []string{e.Thread}, Events: proof(c.gained[e.Thread], e.Seq),
		Detail: e.Thread + " is refused a lock that it holds itself",
	}, true
}

// followResource notes who read and who wrote.
func (c *Checker) followResource(e trace.Event, b trace.Resource) {
	switch {
	case b.Op == trace.OpRead:
		c.readAt[e.Thread] = e.Seq
	case !b.Refused:
		c.written = e
	}
}

// lostUpdate finds a write whose thread had not seen the one before it. A
// stock is counted down where it is, and a purchase is a row of its own: they
// lose none.
func (c *Checker) lostUpdate(e trace.Event, b trace.Resource) (trace.Violation, bool) {
	if b.Op != trace.OpWrite || b.Refused || b.Based == b.Version-1 || b.Stock || b.Limit > 0 {
		return trace.Violation{}, false
	}
	return trace.Violation{
		Rule: LostUpdate, Threads: []string{e.Thread, c.written.Thread}, Events: proof(c.readAt[e.Thread], c.written.Seq, e.Seq),
		Detail: fmt.Sprintf("%s wrote %d over what %s had written since %s read", e.Thread, b.Value, c.written.Thread, e.Thread),
	}, true
}

// oversold finds the first that was taken from an empty stock.
func (c *Checker) oversold(e trace.Event, b trace.Resource) (trace.Violation, bool) {
	if b.Op != trace.OpWrite || b.Refused || !b.Stock || b.Value >= 0 || c.sold {
		return trace.Violation{}, false
	}
	c.sold = true
	return trace.Violation{
		Rule: Oversold, Threads: []string{e.Thread}, Events: proof(c.readAt[e.Thread], c.written.Seq, e.Seq),
		Detail: fmt.Sprintf("%s took one that was not there: the stock is at %d", e.Thread, b.Value),
	}, true
}

// tokenRegression finds a grant whose token is not larger than all before it.
func (c *Checker) tokenRegression(e trace.Event, b trace.Outcome) (trace.Violation, bool) {
	if b.Result != trace.Acquired || b.Token == 0 {
		return trace.Violation{}, false
	}
	before, seen, of := c.token, c.tokenSeen, c.tokenOf
	if b.Token > before {
		c.token, c.tokenSeen, c.tokenOf = b.Token, e.Seq, e.Thread
		return trace.Violation{}, false
	}
	return trace.Violation{
		Rule: TokenRegression, Threads: []string{e.Thread, of}, Events: proof(seen, e.Seq),
		Detail: fmt.Sprintf("%s was given token %d, and %s had %d before", e.Thread, b.Token, of, before),
	}, true
}

// countMismatch compares a thread's hold count with the levels that it acts as
// if it held, as it hears what a call came to. It does so only where the two
// must be equal: nothing of the thread's own is still on its way or may be.
func (c *Checker) countMismatch(e trace.Event, b trace.Outcome) (trace.Violation, bool) {
	if b.Call != lock.CallLock && b.Call != lock.CallUnlock {
		return trace.Violation{}, false
	}
	switch b.Result {
	case trace.Failed: // it has a fate that its thread cannot know yet
		c.unsettled[e.Thread] = c.unsettled[e.Thread] || b.GivesBack
		return trace.Violation{}, false
	case trace.Refused, trace.Exhausted: // nothing was entered or left; what is there has come since
		return trace.Violation{}, false
	case trace.Acquired, trace.Reentered, trace.Released, trace.Decremented:
		delete(c.unsettled, e.Thread)
	}
	if c.unsettled[e.Thread] || e.At.Duration() < c.arrives[e.Thread] {
		return trace.Violation{}, false
	}
	text, held := e.Key.Fields[c.owners[e.Thread]]
	if !held {
		delete(c.mismatched, e.Thread)
		return trace.Violation{}, false
	}
	levels := e.Belief[e.Thread]
	if text == strconv.Itoa(levels) {
		delete(c.mismatched, e.Thread)
		return trace.Violation{}, false
	}
	if c.mismatched[e.Thread] == text {
		return trace.Violation{}, false
	}
	return c.mismatch(e, levels, text), true
}

// fallenCount finds a hold count that a late copy took below the levels
// entered. At 0 the script goes on to delete the key, and nobody sees that
// count; a count above the levels may be of a call that is on its way.
func (c *Checker) fallenCount(e trace.Event, b trace.Command) (trace.Violation, bool) {
	id, levels := c.owners[e.Thread], e.Belief[e.Thread]
	text := e.Key.Fields[id]
	count, err := strconv.Atoi(text)
	if !b.Late || err != nil || count < 1 || count >= levels || c.before.Fields[id] == text {
		return trace.Violation{}, false
	}
	return c.mismatch(e, levels, text), true
}

// mismatch reports a thread's hold count, so that it is reported once.
func (c *Checker) mismatch(e trace.Event, levels int, text string) trace.Violation {
	c.mismatched[e.Thread] = text
	return trace.Violation{
		Rule: CountMismatch, Threads: []string{e.Thread}, Events: proof(c.counted[e.Thread], e.Seq),
		Detail: fmt.Sprintf("levels that %s acts as if it held: %d; its hold count: %s", e.Thread, levels, text),
	}
}

// followFault notes what is held up on its way.
func (c *Checker) followFault(e trace.Event, b trace.Fault) {
	if (b.Do == fault.Delay || b.Do == fault.LateCopy) && (b.At == lock.CallLock || b.At == lock.CallUnlock) {
		c.arrives[e.Thread] = max(c.arrives[e.Thread], e.At.Duration()+b.ForMS.Duration())
	}
}
