package lab

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"relock/engine/check"
	"relock/engine/explore/pct"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/phrase"
	"relock/engine/verdict"
)

// failures counts, by the name of a command or a script, how often it was run in a
// round, and how it failed. The zero value has seen none.
type failures map[string]*failing

type failing struct {
	script            bool
	runs, failed, own int    // own: that failed for a reason of the lab's
	answer, ownAnswer string // the first of each
}

// lacking says why a command failed that a Redis elsewhere may run.
var lacking = regexp.MustCompile(`^ERR the lab|nknown Redis command called from script|unknown command|Relock's Redis has no|ERR (line \d+: )?the script('s patterns take| takes)`)

// see counts a command that was answered.
func (f failures) see(args []string, embedded bool, raw []byte) {
	_, failed := resp.Value(raw)
	name := infer.Verb(args)
	script := false
	switch name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		if len(args) < 2 || strings.HasPrefix(failed, "NOSCRIPT") {
			return
		}
		sha := strings.ToLower(args[1])
		if !strings.HasPrefix(name, "EVALSHA") {
			sha = infer.Digest(args[1])
		}
		name, script = infer.ScriptOf(sha), true
	}
	if failed == "" && !script {
		return
	}
	one := f[name]
	if one == nil {
		one = &failing{script: script}
		f[name] = one
	}
	one.runs++
	if failed == "" {
		return
	}
	if one.failed++; one.answer == "" {
		one.answer = failed
	}
	if lacking.MatchString(failed) && (embedded || strings.HasPrefix(failed, "ERR the lab")) {
		if one.own++; one.ownAnswer == "" {
			one.ownAnswer = failed
		}
	}
}

// add adds the counts of another one.
func (f failures) add(o failures) {
	for name, b := range o {
		a := f[name]
		if a == nil {
			a = &failing{script: b.script}
			f[name] = a
		}
		a.runs, a.failed, a.own = a.runs+b.runs, a.failed+b.failed, a.own+b.own
		if a.answer == "" {
			a.answer = b.answer
		}
		if a.ownAnswer == "" {
			a.ownAnswer = b.ownAnswer
		}
	}
}

// list is those that matter, in the order of their names.
func (f failures) list() []verdict.Failure {
	var list []verdict.Failure
	for _, name := range slices.Sorted(maps.Keys(f)) {
		switch one := f[name]; {
		case one.own > 0:
			list = append(list, verdict.Failure{Command: name, Answer: shown(one.ownAnswer), Times: one.own, All: one.runs == one.failed, Ours: true})
		case one.script && one.runs == one.failed:
			list = append(list, verdict.Failure{Command: name, Answer: shown(one.answer), Times: one.failed, All: true})
		}
	}
	return list
}

// shown is an answer as a sentence quotes it.
func shown(answer string) string {
	answer, _, _ = strings.Cut(answer, "stack traceback")
	return strings.TrimRight(infer.Short(strings.Join(strings.Fields(answer), " "), 160), ".")
}

// evidence is what no order yet has shown, where these faults are asked for.
func (o Options) evidence() verdict.Evidence {
	enter, leave := infer.MarkLines(o.Command)
	e := verdict.Evidence{Shared: o.Kind.Shared(), Advice: verdict.Advice{
		NoKey:    verdict.Help{Says: phrase.Say("Name the lock's key."), Set: verdict.TheLock},
		Nobody:   verdict.Help{Says: phrase.Say("Let the worker say when it is inside (%[1]s, %[2]s), give it more retries, or look at its last answers.", enter, leave)},
		One:      verdict.Help{Says: phrase.Say("Give the worker more retries, or let it say when it is inside (%[1]s, %[2]s).", enter, leave)},
		Unstruck: verdict.Help{Says: phrase.Say("Ask for another fault."), Set: verdict.Faults},
		Diverged: verdict.Help{Says: phrase.Say("Let the worker read no clock, and draw nothing at random, while it is searched.")},
		Cut:      verdict.Help{Says: phrase.Say("Try more."), Set: verdict.MaxOrders},
	}}
	if o.Key != "" {
		e.Advice.NoKey.Says = phrase.Say("It is not %s. Name another key, or let the worker take the lock.", o.Key)
	}
	if o.External == nil {
		e.Advice.Failed = verdict.Help{Says: phrase.Say("Put a real Redis behind the gate."), Set: verdict.RealRedis}
	}
	if o.Threads == 1 {
		e.Advice.One.Says = phrase.Say("Add a second thread.")
	}
	if o.MaxFaults > 0 {
		for _, name := range o.Faults {
			e.Unstruck = append(e.Unstruck, verdict.Unstruck{Fault: name})
		}
	}
	return e
}

// shows adds what an order has shown, which was read.
func (s *search) shows(o *Order, j infer.Fold) {
	w := *j.Witness()
	w.Struck = o.struck
	s.evidence.Add(&w)
	s.failed.add(o.failed)
	s.leased = s.leased || o.leased()
	s.everInside.Join(&w)
	if says, _ := j.Kind(); !says.IsZero() && s.evidence.Kind.IsZero() {
		s.evidence.Kind, s.evidence.Kinds.Says = says, verdict.Marks(infer.MarkLines(s.o.Command))
	}
	s.evidence.Untried = s.evidence.Untried || j.Untried()
	for _, r := range o.records {
		uses := func(args []string) bool { return len(args) > 0 && infer.Touches(args).Names(s.o.Resource) }
		if uses(r.Args) || slices.ContainsFunc(r.Tx, uses) {
			s.users[r.Thread] = true
		}
		if r.Thread != "" && r.Args != nil && r.Mark == "" {
			s.lastSaid[r.Thread] = r
		}
	}
}

// leased reports whether the lock's key ever had an expiry.
func (o *Order) leased() bool {
	return slices.ContainsFunc(o.records, func(r infer.Record) bool {
		return r.After.PTTL > 0 || r.Before.PTTL > 0 || slices.ContainsFunc(r.Also, func(c infer.Change) bool { return c.After.PTTL > 0 || c.Before.PTTL > 0 })
	})
}

// tally counts orders by what of their rules counts, where not all do.
type tally struct {
	harmed int // what the lock protects has come to harm
	apart  int // a rule is broken that does not ask whom the lock lets in together
}

func (t *tally) add(rules []string) {
	if slices.ContainsFunc(rules, check.Harms) {
		t.harmed++
	}
	if slices.ContainsFunc(rules, apart) {
		t.apart++
	}
}

// apart reports whether a rule holds for every lock, whomever it lets in together.
func apart(rule string) bool { return rule != check.MutualExclusion }

// only leaves out rules that do not count, where so many orders break one that does.
func (s *search) only(counts func(rule string) bool, tried, drawn int) {
	f := s.found
	f.Broken = tried
	f.Rules = slices.DeleteFunc(f.Rules, func(r Rule) bool { return !counts(r.Name) })
	for _, r := range f.Rules {
		r.Order.Rules = slices.DeleteFunc(r.Order.Rules, func(name string) bool { return !counts(name) })
	}
	if d := f.Drawn; d != nil {
		d.Broken = drawn
		d.Rules = slices.DeleteFunc(d.Rules, func(name string) bool { return !counts(name) })
		d.Low, d.High = pct.Wilson(float64(d.Broken)/float64(max(d.Orders, 1)), float64(d.Orders))
	}
}

// conclude completes the evidence at the end of a search or a replay.
func (s *search) conclude() {
	e := &s.evidence
	switch {
	case !e.Kind.IsZero():
		s.only(check.Harms, s.tried.harmed, s.drawn.harmed)
	case !e.Key && s.o.Key == "":
		s.only(apart, s.tried.apart, s.drawn.apart)
	}
	e.Broken = nil
	for _, r := range s.found.Rules {
		e.Broken = append(e.Broken, r.Name)
	}
	e.Replays, e.Diverged = s.replays, s.found.Diverged
	if d := s.found.First; d != nil {
		e.First = phrase.Say("The first: at decision %[1]d, which expected %[2]s and got %[3]s.", d.At, d.Want.String(), d.Have)
	}
	if s.found.Ending == Worker {
		s.g.mu.Lock()
		s.failed.add(s.g.failed) // of the round that was not played to its end
		s.g.mu.Unlock()
		e.Unended = s.found.Orders == 0 && s.found.Drawn == nil
	}
	e.Failures = s.failed.list()
	if s.o.Second != nil {
		s.found.Checked = s.o.Second.Says(s.g.named())
	}
	if differs := s.found.Checked.Differs; !differs.IsZero() {
		e.Unlike = []phrase.Wording{differs}
	}
	switch s.found.Ending {
	case Bound:
		e.Cut = phrase.Say("there are more than %d", s.o.MaxOrders)
	case Stopped:
		e.Cut = phrase.Say("the search was stopped")
	case Worker:
		e.Cut, e.Advice.Cut = phrase.Say("a worker failed"), verdict.Help{Says: phrase.Say("Make it run first: its error says what went wrong.")}
	}
	for i, u := range e.Unstruck {
		e.Unstruck[i].Why = s.whyUnstruck(u.Fault)
	}
	if n := len(s.users); s.o.Resource != "" && n < min(2, s.o.Threads) {
		e.Untouched = phrase.Say("Of the threads %[1]d have read or written %[2]s.", n, s.o.Resource)
	}
	if e.Inside < 2 {
		e.Alone = s.outside()
	}
	s.found.Evidence = *e
}

// whyUnstruck says why a fault could not strike, a sentence, or "".
func (s *search) whyUnstruck(name string) phrase.Wording {
	switch {
	case name == LeaseEnds && s.evidence.Key && !s.leased:
		return phrase.Say("The lock's key has no expiry.")
	case name == LoseMessage:
		return phrase.Say("No message was sent to a thread that listens.")
	case name == Evict && !s.evidence.Key:
		return phrase.Say("There was no key to evict.")
	}
	return phrase.Wording{}
}

// outside says what those were last answered that never were inside alone, or "".
func (s *search) outside() phrase.Wording {
	var says phrase.Wording
	for _, name := range s.names {
		r, sent := s.lastSaid[name]
		if s.everInside.Alone[name] || s.evidence.Shared && s.everInside.Inside[name] || !sent {
			continue
		}
		says = says.And(phrase.Say("The last command of %[1]s was %[2]s; the answer: %[3]s.", name, outline(r.Args), toldOf(r)))
	}
	return says
}

// toldOf is an answer in few words.
func toldOf(r infer.Record) string {
	switch {
	case r.Err != "":
		return shown(r.Err)
	case r.Do == LoseReply || r.Do == LoseRequest || r.Do == LateCopy:
		return "none"
	case r.Reply == nil:
		return "nil"
	}
	return infer.Short(strings.Join(strings.Fields(strings.ToValidUTF8(fmt.Sprint(r.Reply), "?")), " "), 60)
}
