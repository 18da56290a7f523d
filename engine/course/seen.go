package course

import (
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// seeing is something that can be seen of a run after its first events: a
// clause in words.
type seeing func(r *Run, count int, at trace.Millis) phrase.Wording

// ofThread are those that name a thread, with whether they must.
var ofThread = map[string]func(thread string) seeing{
	"call":    seeCall,
	"belief":  seeBelief,
	"count":   seeCount,
	"write":   seeWrite,
	"ended":   seeEnded,
	"gets-in": seeGetsIn,
	"token":   seeToken,
}

// ofRun are those that name none.
var ofRun = map[string]seeing{
	"key":      seeKey,
	"belief":   seeBeliefs,
	"inside":   seeInside,
	"left":     seeLeft,
	"value":    seeValue,
	"commands": seeCommands,
	"together": seeTogether,
}

// parseSeeing reads what is asked of runs of sc.
func parseSeeing(text string, sc *scenario.Scenario) (seeing, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 1 && ofRun[words[0]] != nil:
		return ofRun[words[0]], nil
	case len(words) == 2 && ofThread[words[0]] != nil:
		if !slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == words[1] }) {
			return nil, phrase.New("%q: there is no thread %q", text, words[1])
		}
		return ofThread[words[0]](words[1]), nil
	case len(words) == 2 && words[0] == "broken":
		rule, ok := check.Named(words[1])
		if !ok {
			return nil, phrase.New("%q: there is no rule %q", text, words[1])
		}
		return seeBroken(rule), nil
	}
	return nil, phrase.New("%q cannot be asked for", text)
}

// see is what was asked for, as the clauses of one sentence.
// At is the instant at which it is seen.
func see(ask []seeing, r *Run, count int, at trace.Millis) []phrase.Wording {
	out := make([]phrase.Wording, len(ask))
	for i, one := range ask {
		out[i] = one(r, count, at)
	}
	return out
}

// last is the last event before count that pred holds for.
func last(r *Run, count int, pred func(trace.Event) bool) (trace.Event, bool) {
	for i := min(count, len(r.Events)) - 1; i >= 0; i-- {
		if pred(r.Events[i]) {
			return r.Events[i], true
		}
	}
	return trace.Event{}, false
}

// lastCall is the last result of a thread's own calls.
func lastCall(r *Run, count int, thread string) (trace.Event, bool) {
	return last(r, count, func(e trace.Event) bool {
		o, ok := e.Body.(trace.Outcome)
		return ok && e.Thread == thread && o.Call != lock.CallRenew
	})
}

func seeCall(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		e, ok := lastCall(r, count, thread)
		if !ok {
			return phrase.Say("%s has not asked for the lock yet", thread)
		}
		o := e.Body.(trace.Outcome)
		switch {
		case e.Lock == "":
		case o.Result == trace.Acquired:
			return phrase.Say("%[1]s gets %[2]s", thread, e.Lock)
		case o.Result == trace.Refused:
			return phrase.Say("%[1]s is refused %[2]s", thread, e.Lock)
		case o.Result == trace.Released:
			return phrase.Say("%[1]s gives %[2]s back", thread, e.Lock)
		}
		switch o.Result {
		case trace.Acquired:
			return phrase.Say("%s gets in", thread)
		case trace.Reentered:
			return phrase.Say("%s enters level %d", thread, o.Level)
		case trace.Refused:
			return phrase.Say("%s is refused", thread)
		case trace.Exhausted:
			return phrase.Say("%s gives up", thread)
		case trace.Released:
			return phrase.Say("%s gives the lock back", thread)
		case trace.Decremented:
			return phrase.Say("%s leaves level %d and still holds the lock", thread, o.Level)
		case trace.Lost, trace.NotHeld, trace.Cancelled:
			return phrase.Say("%s learns that the lock is no longer its own", thread)
		default:
			return phrase.Say("%s gets an error instead of an answer", thread)
		}
	}
}

func believers(r *Run, count int) phrase.Names {
	var names phrase.Names
	if count > 0 {
		for _, t := range r.Scenario.Threads {
			if r.Events[count-1].Belief[t.Name] > 0 {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

func seeBeliefs(r *Run, count int, _ trace.Millis) phrase.Wording {
	switch who := believers(r, count); len(who) {
	case 0:
		return phrase.Say("nobody believes that the lock is theirs")
	case 1:
		return phrase.Say("only %s believes that the lock is its own", who[0])
	default:
		return phrase.Say("%s each believe that the lock is their own", who)
	}
}

func seeBelief(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		if slices.Contains(believers(r, count), thread) {
			return phrase.Say("%s goes on, and believes that the lock is its own", thread)
		}
		return phrase.Say("%s does not believe that the lock is its own", thread)
	}
}

func seeKey(r *Run, count int, _ trace.Millis) phrase.Wording {
	key, holding := trace.Absent(), facts.NewHolding(r.Header.Owners)
	for _, e := range r.Events[:count] {
		key = e.Key
		holding.Add(e)
	}
	return sayKey(key, facts.Owners(r.Header.Owners), holding.Holders(key))
}

// A question has at most one of these wordings, or no two that are nearly the
// same.
const (
	heldOnce    phrase.Text = "in Redis the lock is held by %s"
	heldForEver phrase.Text = "in Redis the lock is held by %s, and has no expiry"
	heldTimes   phrase.Text = "in Redis the lock is held by %s, with a count of %d"
	leftOf      phrase.Text = "%s of the lease are left"
)

func sayKey(key trace.KeyState, owners facts.Owners, threads []string) phrase.Wording {
	if !key.Exists() {
		return phrase.Say("Redis has no key: nobody holds the lock")
	}
	holders := phrase.Names(threads)
	if len(holders) == 0 {
		return phrase.Say("in Redis the lock has an owner whom nobody knows")
	}
	if key.PTTL == trace.NoExpiry {
		return phrase.Say(heldForEver, holders)
	}
	if key.Type == trace.TypeHash {
		return phrase.Say(heldTimes, holders, countOf(key, owners, holders[0]))
	}
	return phrase.Say(heldOnce, holders)
}

// countOf is a thread's hold count in a key, 0 without one.
func countOf(key trace.KeyState, owners facts.Owners, thread string) int {
	n, err := strconv.Atoi(facts.New(owners).Count(key, thread))
	if err != nil {
		return 0
	}
	return n
}

// holdCount is a thread's hold count in the key of a run.
func holdCount(r *Run, key trace.KeyState, thread string) int {
	return countOf(key, facts.Owners(r.Header.Owners), thread)
}

func seeCount(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		n := 0
		if count > 0 {
			n = holdCount(r, r.Events[count-1].Key, thread)
		}
		if n == 0 {
			return phrase.Say("%s has no hold count any more", thread)
		}
		return phrase.Say("the hold count of %s is %d", thread, n)
	}
}

func seeInside(r *Run, count int, _ trace.Millis) phrase.Wording {
	f := facts.New(r.Header.Owners)
	for _, e := range r.Events[:count] {
		f.Add(e)
	}
	switch who := phrase.Names(f.Inside()); len(who) {
	case 0:
		return phrase.Say("nobody is inside")
	case 1:
		return phrase.Say("only %s is inside", who[0])
	default:
		return phrase.Say("%s are inside at once", who)
	}
}

func seeLeft(r *Run, count int, at trace.Millis) phrase.Wording {
	key := trace.Absent()
	if count > 0 {
		key = r.Events[count-1].Key
	}
	switch {
	case !key.Exists():
		return phrase.Say("there is no key, and so no lease")
	case key.PTTL == trace.NoExpiry:
		return phrase.Say("the key has no expiry: it would stay for ever")
	default:
		since := at - r.Events[count-1].At // nothing happened meanwhile, but time passed
		return phrase.Say(leftOf, (trace.Millis(key.PTTL) - since).Duration())
	}
}

// value is the resource after the first events, its initial value before any
// write.
func value(r *Run, count int) int {
	e, ok := last(r, count, func(e trace.Event) bool {
		b, ok := e.Body.(trace.Resource)
		return ok && (b.Op == trace.OpRead || !b.Refused)
	})
	if !ok {
		if r.Scenario.Resource == nil {
			return 0
		}
		return r.Scenario.Resource.Size
	}
	return e.Body.(trace.Resource).Value
}

func seeValue(r *Run, count int, _ trace.Millis) phrase.Wording {
	n := value(r, count)
	if r.Scenario.Resource != nil && r.Scenario.Resource.Kind == scenario.KindStock {
		if n < 0 {
			return phrase.Say("the stock is %d: more was sold than there was", n)
		}
		return phrase.Say("the stock is %d", n)
	}
	if r.Scenario.Resource != nil && r.Scenario.Resource.Kind == scenario.KindPurchases {
		if n == 1 {
			return phrase.Say("one has been bought")
		}
		return phrase.Say("%d have been bought", n)
	}
	if r.Scenario.Resource != nil && r.Scenario.Resource.Kind == scenario.KindEffect {
		switch n {
		case 0:
			return phrase.Say("it is not done yet")
		case 1:
			return phrase.Say("it is done once")
		default:
			return phrase.Say("it is done %d times", n)
		}
	}
	return phrase.Say("the counter is %d", n)
}

func seeWrite(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		e, ok := last(r, count, func(e trace.Event) bool {
			b, ok := e.Body.(trace.Resource)
			return ok && e.Thread == thread && b.Op == trace.OpWrite
		})
		switch {
		case !ok:
			return phrase.Say("%s has written nothing", thread)
		case e.Body.(trace.Resource).Refused:
			return phrase.Say("%s's write is refused", thread)
		default:
			return phrase.Say("%s has written", thread)
		}
	}
}

func seeEnded(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		e, ok := last(r, count, func(e trace.Event) bool { return e.Thread == thread && e.Kind() == trace.KindEnd })
		if !ok {
			return phrase.Say("%s has not ended", thread)
		}
		switch e.Body.(trace.End).Result {
		case trace.Done:
			return phrase.Say("%s has done its work", thread)
		case trace.Exhausted:
			return phrase.Say("%s gives up", thread)
		case trace.Crashed:
			return phrase.Say("%s has crashed", thread)
		case trace.Lost:
			return phrase.Say("%s learns at the end that its lock was lost", thread)
		default:
			return phrase.Say("%s ends with an error", thread)
		}
	}
}

func seeGetsIn(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		for _, e := range r.Events[:count] {
			if o, ok := e.Body.(trace.Outcome); ok && e.Thread == thread && o.Result == trace.Acquired {
				return phrase.Say("%s gets in at %s", thread, e.At.Duration())
			}
		}
		return phrase.Say("%s never gets in", thread)
	}
}

func seeCommands(r *Run, count int, _ trace.Millis) phrase.Wording {
	n := 0
	for _, e := range r.Events[:count] {
		if e.Kind() == trace.KindCommand {
			n++
		}
	}
	return phrase.Say("Redis has run %d commands", n)
}

func seeToken(thread string) seeing {
	return func(r *Run, count int, _ trace.Millis) phrase.Wording {
		e, ok := last(r, count, func(e trace.Event) bool {
			o, ok := e.Body.(trace.Outcome)
			return ok && e.Thread == thread && o.Token > 0
		})
		if !ok {
			return phrase.Say("%s has no token", thread)
		}
		return phrase.Say("%s has the token %d", thread, e.Body.(trace.Outcome).Token)
	}
}

// asked are how many threads heard at each instant what came of asking for the
// lock, in order: those that asked in step count at one.
func asked(r *Run, count int) []int {
	var list []int
	last := trace.Millis(-1)
	for _, e := range r.Events[:count] {
		o, ok := e.Body.(trace.Outcome)
		if !ok || o.Call != lock.CallLock || o.Result == trace.Exhausted {
			continue
		}
		if e.At != last {
			list, last = append(list, 0), e.At
		}
		list[len(list)-1]++
	}
	return list
}

func seeTogether(r *Run, count int, _ trace.Millis) phrase.Wording {
	list := asked(r, count)
	return phrase.Say("%d of %d requests meet another one at the same instant", together(list), sum(list))
}

// sum is how many asked in all.
func sum(list []int) int {
	all := 0
	for _, n := range list {
		all += n
	}
	return all
}

// together leaves out those that asked alone.
func together(list []int) int {
	return sum(slices.DeleteFunc(slices.Clone(list), func(n int) bool { return n == 1 }))
}
