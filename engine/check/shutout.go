package check

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// ShutOut is the rule that what is left in Redis keeps nobody out of a lock that nobody
// will release: who comes gets in at once or, after a crash, when the lease ends that the
// dead thread had.
const ShutOut = "shut-out"

// Never is how long somebody is shut out who never gets in.
const Never time.Duration = math.MaxInt64

// GoesOn returns how far the clock goes on, each time, for somebody who does not get in where
// nothing expires any more: a deadline may stand in the data.
func GoesOn() []time.Duration {
	return []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}
}

// older are names that rules had before, in files and links: a key left behind, and threads
// that wait for ever, are somebody who is shut out.
var older = map[string]string{leftBehind: ShutOut, "stuck": ShutOut}

const leftBehind = "orphan"

// Named returns the rule of a name, which may be one that it had before, and whether there is
// such a rule. Of another it returns the name.
func Named(name string) (rule string, ok bool) {
	if now, ok := older[name]; ok {
		return now, true
	}
	return name, slices.Contains(Names(), name)
}

// Older returns the names that rules had before, sorted.
func Older() []string { return slices.Sorted(maps.Keys(older)) }

// ShutOut returns what there is to find where nothing follows any more, at now since the
// run began, and who comes gets in only after so long, which may be Never. Only those in, who may be nobody, get in
// before. Keys are those of the locks as they were left, each with a lease of this length. It is no rule that a
// lease goes on after a crash, or a key that its last release has kept on purpose.
func (c *Checker) ShutOut(now, after, lease time.Duration, in []string, keys ...trace.KeyState) []Finding {
	for _, one := range c.each(keys) {
		one.in = in
		if one.excused(now, after, lease) {
			continue
		}
		return []Finding{one.shutOut(after)}
	}
	return nil
}

// left is a lock where nothing follows any more.
type left struct {
	*Checker

	key  trace.KeyState
	lock string   // of several, else ""
	in   []string // who is not shut out, if that is known
}

// each are the locks whose keys are left or, where nothing else tells why nobody gets in, the
// first of all.
func (c *Checker) each(keys []trace.KeyState) []left {
	if c.locks == nil {
		return []left{{c, keys[0], "", nil}}
	}
	var list []left
	for i, one := range c.locks[:min(len(c.locks), len(keys))] {
		if keys[i].Exists() {
			list = append(list, left{one, keys[i], c.keys[i], nil})
		}
	}
	if list == nil {
		return []left{{c.locks[0], keys[0], c.keys[0], nil}}
	}
	return list
}

// whose are the threads whose key it is.
func (l left) whose() []string { return l.facts.Holders(l.key) }

// excused reports whether what is left is meant to be: a key that its last release kept,
// or a lease of a thread that crashed or hangs, for as long as that was given.
func (l left) excused(now, after, lease time.Duration) bool {
	if after == Never {
		return false
	}
	if l.end.kept && l.key.Exists() {
		return true
	}
	const rounded = time.Millisecond // Redis keeps whole ones
	whose := l.whose()
	for who, at := range l.end.fell {
		if (len(whose) == 0 || slices.Contains(whose, who)) && now+after <= at+lease+rounded {
			return true
		}
	}
	return false
}

func (l left) shutOut(after time.Duration) Finding {
	whose := l.whose()
	says, why := l.says(after, l.cause(whose, after))
	f := found(ShutOut, whose, proof(append(l.facts.Gained.Of(whose...), l.facts.Last.Of(whose...)...)...), says, why)
	f.For = trace.NoExpiry
	if after != Never {
		f.For = trace.MillisOf(max(after, time.Millisecond))
	}
	if l.lock != "" {
		return f.Of(l.lock)
	}
	return f
}

// says tells for how long somebody is shut out, as a clause and as a sentence.
func (l left) says(after time.Duration, cause phrase.Wording) (says, why phrase.Wording) {
	hangs := l.facts.Believed() || slices.ContainsFunc(l.whose(), func(who string) bool { return l.end.befell[who] == fault.Stall })
	switch permits := l.kind.Permits; {
	case permits > 0 && after == Never:
		return phrase.Say("nobody is inside, and never again can all %[1]d permits be had: %[2]s", permits, cause),
			phrase.Say("Never again can all %[1]d permits be had, though nobody is inside: %[2]s.", permits, cause)
	case permits > 0:
		return phrase.Say("nobody is inside, and not all %[1]d permits can be had for %[2]s: %[3]s", permits, after, cause),
			phrase.Say("Not all %[1]d permits can be had for %[2]s, though nobody is inside: %[3]s.", permits, after, cause)
	case len(l.in) > 0 && after == Never:
		return phrase.Say("nobody is inside, and only %[1]s can ever get in: %[2]s", phrase.Names(l.in), cause),
			phrase.Say("Only %[1]s can ever get in, though nobody is inside: %[2]s.", phrase.Names(l.in), cause)
	case len(l.in) > 0:
		return phrase.Say("nobody is inside, and for %[1]s only %[2]s can get in: %[3]s", after, phrase.Names(l.in), cause),
			phrase.Say("For %[1]s only %[2]s can get in, though nobody is inside: %[3]s.", after, phrase.Names(l.in), cause)
	case hangs && after == Never:
		return phrase.Say("nobody else ever gets in: %s", cause), phrase.Say("Nobody else ever gets in: %s.", cause)
	case hangs:
		return phrase.Say("nobody else gets in for %[1]s: %[2]s", after, cause), phrase.Say("Nobody else gets in for %[1]s: %[2]s.", after, cause)
	case after == Never:
		return phrase.Say("nobody is inside, and nobody ever gets in: %s", cause),
			phrase.Say("Whoever comes is refused for ever, though nobody is inside: %s.", cause)
	default:
		return phrase.Say("nobody is inside, and nobody gets in for %[1]s: %[2]s", after, cause),
			phrase.Say("Whoever comes is refused for %[1]s, though nobody is inside: %[2]s.", after, cause)
	}
}

// cause says, as a clause, why others are shut out for so long by a lock of these threads:
// its key is the reason if it lives as long, or is renewed.
func (l left) cause(whose []string, after time.Duration) phrase.Wording {
	who := ""
	if len(whose) > 0 {
		who = whose[0]
	}
	befell := l.end.befell[who]
	stays := l.key.PTTL == trace.NoExpiry || after.Milliseconds() <= l.key.PTTL+1 || befell == fault.Stall || befell == fault.SkipUnlock
	if who == "" || !stays {
		return phrase.Say("what is left in Redis keeps others out")
	}
	switch befell {
	case fault.Crash:
		return phrase.Say("%s crashed, and its key stays", who)
	case fault.Stall:
		return phrase.Say("%s hangs, and its key stays", who)
	case fault.SkipUnlock:
		return phrase.Say("%s never unlocked, and its key stays", who)
	case fault.LoseRequest:
		return phrase.Say("%s's request was lost, and its key stays", who)
	case fault.LoseReply:
		return phrase.Say("the answer to %s was lost, and its key stays", who)
	case fault.Delay, fault.LateCopy:
		return phrase.Say("%s's request came late, and its key stays", who)
	}
	return phrase.Say("%s's key stays", who)
}

// crashed reports whether all whose key it is have crashed: they can make its lease no longer.
func (l left) crashed() bool {
	whose := l.whose()
	return len(whose) > 0 && !slices.ContainsFunc(whose, func(who string) bool { return l.end.befell[who] != fault.Crash })
}

// Finish returns what there is to find where nothing follows any more and nobody can try
// to get in: that a key stays that nobody believes to hold. One whose value is a
// deadline shuts nobody out for longer.
func (c *Checker) Finish(keys ...trace.KeyState) []Finding {
	var found []Finding
	for _, one := range c.each(keys) {
		after := Never
		if one.key.PTTL >= 0 {
			after = time.Duration(one.key.PTTL) * time.Millisecond
		}
		switch {
		case !one.key.Exists(), after != Never && (one.end.kept || one.crashed()),
			one.end.deadline != "" && after == Never && one.key.Value != nil && *one.key.Value == one.end.deadline:
		default:
			found = append(found, one.shutOut(after))
		}
	}
	return found
}

// Stuck returns the finding for threads that wait for something that never
// comes. Asking are those among them that keep asking for a lock nobody will
// release; the others hang.
func (c *Checker) Stuck(threads, asking []string) Finding {
	if len(asking) > 0 {
		return c.inVain(threads, asking)
	}
	says := phrase.Say("%s wait for something that can no longer happen", phrase.Names(threads))
	why := phrase.Say("%s waits for something that can no longer happen, and so do others, %d in all.", threads[0], len(threads))
	if len(threads) == 1 {
		says = phrase.Say("%s waits for something that can no longer happen", threads[0])
		why = phrase.Say("%s waits for something that can no longer happen: no other thread can move.", threads[0])
	}
	return found(ShutOut, threads, proof(c.facts.Last.Of(threads...)...), says, why)
}

func (c *Checker) inVain(threads, asking []string) Finding {
	holders := c.facts.Held()
	events := append(c.facts.Gained.Of(holders...), c.facts.Last.Of(threads...)...)
	says := phrase.Say("%s will never get in: no thread is left to release the lock", phrase.Names(asking))
	why := phrase.Say("%s will never get in: no thread is left to release the lock.", few(asking))
	if len(holders) > 0 {
		says = phrase.Say("%s will never get in: the key is %s's, it has no expiry, and no thread is left to delete it", phrase.Names(asking), phrase.Names(holders))
		why = phrase.Say("%s will never get in: the key is %s's, has no expiry, and no thread is left to delete it.", few(asking), holders[0])
	}
	return found(ShutOut, threads, proof(events...), says, why)
}

// few returns the names, or their number if there are many.
func few(names []string) any {
	if len(names) > 2 {
		return phrase.Say("%s and %d others", names[0], len(names)-1)
	}
	return phrase.Names(names)
}

// end is what matters where nothing follows any more.
type end struct {
	befell   map[string]string        // the last fault of each thread
	fell     map[string]time.Duration // since the run began: what Redis heard last of a thread that crashed or hangs, or when it did
	asked    map[string]int64         // Redis' time in microseconds, by the thread whose script has asked for it
	deadline string                   // the key's value, if that is one
	kept     bool                     // its last release has left the key, and nobody was granted the lock since
}

// append writes all on which a later finding depends: what a thread has asked for is in its
// own history.
func (d *end) append(b []byte, as naming) []byte {
	b = append(strconv.AppendBool(append(append(b, d.deadline...), ';'), d.kept), ';')
	fell := named(d.fell, as)
	for _, thread := range slices.Sorted(maps.Keys(fell)) {
		b = append(strconv.AppendInt(append(b, thread...), int64(fell[thread]), 10), ' ')
	}
	return b
}

// clone returns one in the same state that goes its own way.
func (d *end) clone() end {
	c := *d
	c.asked, c.befell, c.fell = maps.Clone(d.asked), maps.Clone(d.befell), maps.Clone(d.fell)
	return c
}

// see takes the next event.
func (d *end) see(e trace.Event) {
	d.kept = d.kept && e.Key.Exists()
	if e.Thread == "" {
		return
	}
	switch b := e.Body.(type) {
	case trace.Fault:
		d.struck(e.Thread, b.Do, e.At.Duration())
	case trace.End:
		if b.Result == trace.Crashed {
			d.struck(e.Thread, fault.Crash, e.At.Duration())
		}
	case trace.Outcome:
		delete(d.asked, e.Thread)
		d.kept = d.kept && b.Result != trace.Acquired
	case trace.Command:
		if _, ok := d.fell[e.Thread]; ok {
			d.fell[e.Thread] = e.At.Duration()
		}
		d.kept = d.kept || facts.Keeps(b)
		if strings.EqualFold(b.Arg(0), "TIME") {
			if list, _ := b.Reply.([]any); len(list) == 2 {
				if d.asked == nil {
					d.asked = map[string]int64{}
				}
				d.asked[e.Thread] = facts.Number(list[0])*1_000_000 + facts.Number(list[1])
			}
			break
		}
		if now, ok := d.asked[e.Thread]; ok && e.Key.Value != nil && isDeadline(*e.Key.Value, now) && b.Arg(2) == *e.Key.Value {
			d.deadline = *e.Key.Value
		}
	}
}

// struck notes a thread's fault.
func (d *end) struck(thread, do string, at time.Duration) {
	if d.befell == nil {
		d.befell, d.fell = map[string]string{}, map[string]time.Duration{}
	}
	d.befell[thread] = do
	if do == fault.Crash || do == fault.Stall {
		d.fell[thread] = at
	}
}

// isDeadline reports whether a value is a time that comes within a day of now, in
// microseconds: in seconds, milliseconds or microseconds.
func isDeadline(value string, now int64) bool {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return false
	}
	const day = 24 * 60 * 60 * 1e6
	for _, unit := range []float64{1, 1e3, 1e6} {
		if ahead := v*unit - float64(now); ahead > 0 && ahead <= day {
			return true
		}
	}
	return false
}
