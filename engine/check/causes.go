package check

import (
	"cmp"
	"slices"
	"strings"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// MostCauses is the most causes that a broken rule lists: nobody keeps more in mind.
const MostCauses = 5

// Causes returns how a rule came to be broken, as the numbers of at most MostCauses
// events in their order: grants, what ended a lease or took a key away, and the faults
// because of which that came too soon or an unlock too late. Events are those of a run
// from its beginning, and the last is the violation, which is the last cause, too. If an
// event of its step broke the rule, that event stands in for the violation. Owners maps
// owner ids to threads. Without a chain in the trace the list is shorter.
func Causes(events []trace.Event, owners map[string]string) []int {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1]
	v, ok := last.Body.(trace.Violation)
	if !ok {
		return nil
	}
	c := newChain(events[:len(events)-1], owners, map[int]int{})
	c.of(v)
	breaks := last.Seq
	for _, seq := range v.Events {
		if e, ok := c.at(seq); ok && e.Step == last.Step {
			breaks = c.told(e).Seq
		}
	}
	var list []int
	for seq := range c.weights {
		if e, ok := c.at(seq); ok && e.Step != last.Step { // else it is in the violation's row, which is told once
			list = append(list, seq)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(c.weights[b]-c.weights[a], b-a) })
	list = append(list[:min(len(list), MostCauses-1)], breaks)
	slices.Sort(list)
	return list
}

// How much an event says about why a rule was broken.
const (
	weighsGrant = iota + 1
	weighsProof
	weighsFault
	weighsLoss
)

// chain collects what led to a violation.
type chain struct {
	events  []trace.Event // before it
	owners  map[string]string
	facts   *facts.Facts // of the events
	weights map[int]int  // by seq
}

func newChain(events []trace.Event, owners map[string]string, weights map[int]int) *chain {
	c := &chain{events: events, owners: owners, facts: facts.New(owners), weights: weights}
	for _, e := range events {
		c.facts.Add(e)
	}
	return c
}

// at returns an event by its number.
func (c *chain) at(seq int) (trace.Event, bool) {
	i, ok := slices.BinarySearchFunc(c.events, seq, func(e trace.Event, seq int) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return trace.Event{}, false
	}
	return c.events[i], true
}

func (c *chain) add(seq, weight int) {
	if _, ok := c.at(seq); ok {
		c.weights[seq] = max(c.weights[seq], weight)
	}
}

// of adds what led to a violation: its proof, how each of its threads came to hold the
// lock, how it lost that, and what befell it.
func (c *chain) of(v trace.Violation) {
	threads := slices.Clone(v.Threads)
	until := map[string]int{} // what each did that is part of the proof, the last
	for _, seq := range v.Events {
		e, ok := c.at(seq)
		if !ok {
			continue
		}
		if e.Thread != "" && !slices.Contains(threads, e.Thread) {
			threads = append(threads, e.Thread)
		}
		e = c.told(e)
		until[e.Thread] = e.Seq
		if b, ok := e.Body.(trace.End); ok && b.Result == trace.Crashed {
			continue // the crash has told it
		}
		if b, ok := e.Body.(trace.Command); ok && b.Late && !c.counts(e) {
			continue // another command of the same request has
		}
		c.add(e.Seq, weighsProof)
	}
	lost := false
	holds := map[string]int{}
	for _, thread := range threads {
		if _, ok := until[thread]; !ok {
			until[thread] = len(c.events) + 1
		}
		holds[thread] = c.grant(thread, until[thread])
		lost = c.loses(thread, holds[thread], v) || lost
	}
	if !lost && v.Rule != MutualExclusion {
		for _, thread := range threads {
			c.befell(thread, holds[thread], len(c.events), true)
		}
	}
	if Harms(v.Rule) {
		c.together(threads, holds)
	}
}

// told returns the event that tells what came of the call of one that is a command: a
// lock call's grant, or what its thread heard in the same step.
func (c *chain) told(e trace.Event) trace.Event {
	b, ok := e.Body.(trace.Command)
	if !ok || b.Late {
		return e
	}
	for _, next := range c.after(e.Seq) {
		o, ok := next.Body.(trace.Outcome)
		switch {
		case !ok || next.Thread != e.Thread || o.Call != b.Call:
		case next.Step == e.Step || o.Result == trace.Acquired:
			return next
		default:
			return e
		}
	}
	return e
}

// after returns the events after one.
func (c *chain) after(seq int) []trace.Event {
	i, found := slices.BinarySearchFunc(c.events, seq, func(e trace.Event, seq int) int { return e.Seq - seq })
	if found {
		i++
	}
	return c.events[i:]
}

// grant is the index of a thread's last grant up to an event, -1 where it has none.
func (c *chain) grant(thread string, until int) int {
	for i, e := range slices.Backward(c.events) {
		if o, ok := e.Body.(trace.Outcome); ok && e.Seq <= until && e.Thread == thread && o.Call == lock.CallLock && o.Result == trace.Acquired {
			return i
		}
	}
	return -1
}

// from is the index of the first event since a thread was done with the lock before a
// grant: of the call that was granted, and of its earlier tries.
func (c *chain) from(thread string, grant int) int {
	for i := grant; i >= 0; i-- {
		e := c.events[i]
		if o, ok := e.Body.(trace.Outcome); ok && e.Thread == thread && o.Call == lock.CallUnlock && o.Result == trace.Released {
			return i + 1
		}
	}
	return 0
}

// loses adds how a thread came to hold the lock and, if it then lost its key while it
// went on, how, and reports that.
func (c *chain) loses(thread string, grant int, v trace.Violation) bool {
	if grant < 0 {
		return c.late(thread, 0)
	}
	c.add(c.events[grant].Seq, weighsGrant)
	late := c.late(thread, c.events[grant].Seq)
	c.masters(thread)
	seq := c.facts.Lost[thread]
	if seq <= c.events[grant].Seq {
		return late
	}
	e, ok := c.at(seq)
	b, is := e.Body.(trace.Command)
	own := is && e.Thread == thread && !b.Late
	if !ok || own && !slices.Contains(v.Events, seq) {
		return late // it gave it back
	}
	c.add(c.told(e).Seq, weighsLoss)
	i := slices.IndexFunc(c.events, func(e trace.Event) bool { return e.Seq == seq })
	told := c.faults()
	c.befell(thread, grant, i, v.Rule != MutualExclusion || own)
	c.outages(thread, grant, i)
	if _, ends := e.Body.(trace.Expired); ends && c.faults() == told && !c.facts.Aside(thread) {
		c.work(thread, grant, i)
	}
	return true
}

// faults is how many faults have been added.
func (c *chain) faults() int {
	n := 0
	for _, weight := range c.weights {
		if weight == weighsFault {
			n++
		}
	}
	return n
}

// counts reports whether an event changes who holds the key, or how often.
func (c *chain) counts(e trace.Event) bool {
	before := trace.Absent()
	if was, ok := c.at(e.Seq - 1); ok {
		before = was.Key
	}
	return counted(before) != counted(e.Key)
}

// late adds what a late copy of a thread's request did to the key after an event, and
// why it was late.
func (c *chain) late(thread string, since int) bool {
	found := false
	for i, e := range slices.Backward(c.events) {
		b, ok := e.Body.(trace.Command)
		if e.Seq <= since {
			break
		}
		if !ok || !b.Late || e.Thread != thread || !c.counts(e) {
			continue
		}
		if !found {
			c.add(e.Seq, weighsLoss)
		}
		found = true
		for _, f := range slices.Backward(c.events[:i]) {
			if s, ok := f.Body.(trace.Fault); ok && f.Thread == thread && s.At == b.Call && (s.Do == fault.Delay || s.Do == fault.LateCopy) {
				c.add(f.Seq, weighsFault)
				return true
			}
		}
	}
	return found
}

// counted is what a key says of who holds it, and how often.
func counted(key trace.KeyState) string {
	text := key.Type
	if key.Value != nil {
		text += " " + *key.Value
	}
	var fields []string
	for field, count := range key.Fields {
		if !trace.IsNumber(field) {
			fields = append(fields, field+" "+count)
		}
	}
	slices.Sort(fields)
	return text + " " + strings.Join(fields, " ")
}

// masters adds the split because of which a thread goes with the old master.
func (c *chain) masters(thread string) {
	if !c.facts.Aside(thread) {
		return
	}
	for _, e := range slices.Backward(c.events) {
		if b, ok := e.Body.(trace.Fault); ok && b.Do == fault.TwoMasters && b.Thread == thread {
			c.add(e.Seq, weighsFault)
			return
		}
	}
}

// befell adds what befell a thread from the call of a grant on until before another
// event: what stopped it, as far as that had not passed by then; what it left out or did
// twice; and what of its requests was lost, of its lock and unlock calls if it is about
// what Redis and the thread know of them.
func (c *chain) befell(thread string, grant, until int, calls bool) {
	var pauses []int
	for _, e := range c.events[c.from(thread, grant):until] {
		if o, ok := e.Body.(trace.Outcome); ok && e.Thread == thread && o.Result == trace.Aged {
			c.add(e.Seq, weighsFault)
		}
		b, ok := e.Body.(trace.Fault)
		if !ok || e.Thread != thread {
			continue
		}
		switch b.Do {
		case fault.Pause:
			if b.ForMS == 0 || until == len(c.events) || e.At+b.ForMS > c.events[until].At {
				pauses = append(pauses, e.Seq)
			}
		case fault.Resume:
			pauses = nil
		case fault.Stall, fault.Crash, fault.Panic, fault.SkipUnlock, fault.ExtraUnlock, fault.LoseMessage:
			c.add(e.Seq, weighsFault)
		case fault.LoseRequest, fault.LoseReply:
			if b.At != fault.AtRenew && calls || b.At == fault.AtRenew && c.unrenewed(e, b, until) {
				c.add(e.Seq, weighsFault)
			}
		case fault.Drift:
			if grant >= 0 && c.events[grant].Body.(trace.Outcome).Until > 0 {
				c.add(e.Seq, weighsFault)
			}
		case fault.ClientClockJump:
			if c.names(thread, e.Seq) {
				c.add(e.Seq, weighsFault)
			}
		}
	}
	for _, seq := range pauses {
		c.add(seq, weighsFault)
	}
}

// unrenewed reports whether a renewal's request was lost, and none arrived after that
// before another event.
func (c *chain) unrenewed(e trace.Event, b trace.Fault, until int) bool {
	renewed := func(next trace.Event) bool {
		o, ok := next.Body.(trace.Outcome)
		return ok && next.Seq > e.Seq && next.Thread == e.Thread && o.Result == trace.Renewed
	}
	return b.Do == fault.LoseRequest && !slices.ContainsFunc(c.events[:until], renewed)
}

// names reports whether a thread's lock call after an event named an instant of its own
// clock.
func (c *chain) names(thread string, since int) bool {
	return slices.ContainsFunc(c.after(since), func(e trace.Event) bool {
		b, ok := e.Body.(trace.Command)
		return ok && e.Thread == thread && b.Call == lock.CallLock && slices.ContainsFunc(b.Args, func(arg string) bool {
			return slices.Contains([]string{"PXAT", "EXAT", "PEXPIREAT", "EXPIREAT"}, strings.ToUpper(arg))
		})
	})
}

// outages adds those because of which a thread held few nodes, or did not renew: in
// force at its grant where there are several nodes, or answering its renewals until it
// lost its key.
func (c *chain) outages(thread string, grant, until int) {
	out := facts.Outages{}
	since := map[int]int{} // by node: when its outage began, as an index
	for i, e := range c.events[:until] {
		b, ok := e.Body.(trace.Fault)
		if !ok {
			if o, ok := e.Body.(trace.Outcome); ok && e.Thread == thread && o.Call == lock.CallRenew && o.Result == trace.Failed && i > grant {
				for _, at := range since {
					if at > grant {
						c.add(c.events[at].Seq, weighsFault)
					}
				}
			}
			continue
		}
		node := max(b.Node-1, 0)
		was := len(out.Unserved(node)) > 0
		out.Strike(b)
		switch is := len(out.Unserved(node)) > 0; {
		case is && !was && (b.Thread == "" || b.Thread == thread):
			since[node] = i
		case !is:
			if at, ok := since[node]; ok && at < grant && i > grant && len(e.Nodes) > 0 {
				c.add(c.events[at].Seq, weighsFault)
			}
			delete(since, node)
		}
	}
	for _, at := range since {
		if at < grant && len(c.events[at].Nodes) > 0 {
			c.add(c.events[at].Seq, weighsFault)
		}
	}
}

// work adds the work that took longer than the lease had left when it began.
func (c *chain) work(thread string, grant, until int) {
	for _, e := range slices.Backward(c.events[grant:until]) {
		b, ok := e.Body.(trace.Work)
		if !ok || e.Thread != thread {
			continue
		}
		if b.State == trace.WorkBegin && e.Key.PTTL >= 0 && b.For > trace.Millis(e.Key.PTTL) {
			c.add(e.Seq, weighsGrant)
		}
		return
	}
}

// together adds what led to threads being inside at once, if they were in the holds in
// which they did what breaks a rule.
func (c *chain) together(threads []string, holds map[string]int) {
	for i, e := range slices.Backward(c.events) {
		v, ok := e.Body.(trace.Violation)
		if !ok || v.Rule != MutualExclusion {
			continue
		}
		for _, thread := range threads {
			if grant := holds[thread]; grant < 0 || !slices.Contains(v.Events, c.events[grant].Seq) {
				return
			}
		}
		before := newChain(c.events[:i], c.owners, c.weights)
		v.Threads = threads
		v.Events = slices.DeleteFunc(slices.Clone(v.Events), func(seq int) bool {
			e, ok := c.at(seq)
			loses := func(thread string) bool { return before.facts.Lost[thread] == seq }
			return !ok || !slices.Contains(threads, e.Thread) && !slices.ContainsFunc(threads, loses)
		})
		before.of(v)
		return
	}
}
