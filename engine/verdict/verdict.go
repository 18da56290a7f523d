// Package verdict decides what we can say about a lock once some of its orders have been
// played: that it is broken, that it is not, or that nobody can judge, and why. The
// packages that play orders (a run, a search, a lab, the reading of a log) say what they
// have shown; only this package concludes.
package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/phrase"
)

// Verdict is what we can say about a lock.
type Verdict string

// The verdicts.
const (
	Broken   Verdict = "broken"   // a rule that applies to this kind of lock is broken in an order that was played
	Unbroken Verdict = "unbroken" // no rule is broken, and nothing that a judgement needs is missing
	Unjudged Verdict = "unjudged" // no rule is broken, and something is missing
)

// Reason says what is missing.
type Reason string

// The reasons, in the order of the sentences: those that explain others first.
const (
	CommandsFailed   Reason = "commands-failed"    // Redis or the gate refused a command that a real Redis has, or every call of a script failed
	Arguments        Reason = "arguments"          // a script of one's own works with other arguments than it gets, or returns what nobody reads
	NoKey            Reason = "no-key"             // no command made a key that looks like a lock
	KindUnknown      Reason = "kind-unknown"       // the key holds what may not be an exclusive lock
	NobodyInside     Reason = "nobody-inside"      // in no order
	OneInside        Reason = "one-inside"         // in no order a second one, at its own time
	ReleaseUnreached Reason = "release-unreached"  // a line of an unlock script that releases the lock, in no order
	FaultNeverStruck Reason = "fault-never-struck" // one that was asked for, in no order
	Untouched        Reason = "resource-untouched" // what the lock protects, by two threads
	Diverged         Reason = "diverged"           // more than a tenth of the replays went another way
	Cut              Reason = "cut"                // not all orders were tried
)

// Setting is a setting of the place where orders are played. Each place has its own name for
// it: a flag, a field of a form, an option.
type Setting string

// The settings that advice names.
const (
	TheLock   Setting = "lock"       // its key
	Faults    Setting = "faults"     // that may strike
	MaxOrders Setting = "max-orders" // how many are tried
	RealRedis Setting = "redis"      // in place of the built-in one
	AllNodes  Setting = "nodes"      // how many servers there are
)

// Lack is something that a judgement needs and that is missing. It is immutable.
type Lack struct {
	Reason Reason
	Says   phrase.Wording // what is missing, a sentence
	Helps  phrase.Wording // what a person can do about it, a sentence; "" if nothing is known to help
	Set    Setting        // what to set for that; "" if nothing, or something else, is to be done
	Fault  string         // of FaultNeverStruck: the fault's name
}

// MarshalJSON writes the reason, and the sentences in English.
func (l Lack) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(struct {
		Reason Reason `json:"reason"`
		Fault  string `json:"fault,omitempty"`
		Says   string `json:"says"`
		Helps  string `json:"helps,omitempty"`
		Set    string `json:"set,omitempty"`
	}{l.Reason, l.Fault, l.Says.String(), l.Helps.String(), string(l.Set)})
	if err != nil {
		return nil, fmt.Errorf("verdict: %w", err)
	}
	return data, nil
}

// Judgement is a verdict with what is missing. A Broken one has lacks, too, if
// there are any: they say what else is not known. It is immutable.
type Judgement struct {
	Verdict  Verdict `json:"verdict"`
	Unjudged []Lack  `json:"unjudged,omitempty"`
}

// Unknown is the lack of a lock whose kind is not known, and what helps.
func Unknown(says, helps phrase.Wording) Lack {
	return Lack{Reason: KindUnknown, Says: says, Helps: helps}
}

// Lacks returns what is missing as JSON, for the header of a trace.
func (j Judgement) Lacks() []json.RawMessage {
	var list []json.RawMessage
	for _, l := range j.Unjudged {
		if data, err := l.MarshalJSON(); err == nil { // it has texts alone
			list = append(list, data)
		}
	}
	return list
}

// Unstruck is a fault that was asked for and that struck in no order.
type Unstruck struct {
	Fault  string         // its name
	Thread string         // that it was to strike, or "": any
	Why    phrase.Wording // why it cannot strike, a sentence; "" if that is not known

	at time.Duration // its last instant, where it has one
}

// Release is a line of an own lock's unlock script that releases it.
type Release struct {
	Line

	Source string
}

// Failure is commands that failed for a reason that is not the lock's.
type Failure struct {
	Command string // the command or script, as Shown to a person
	Answer  string // its answer
	Times   int    // in all orders
	All     bool   // each call of it failed
	Ours    bool   // for a reason that is Relock's: the embedded Redis lacks something, or the gate refuses it
}

// Evidence is what the orders that were played have shown: all on which a verdict
// depends. The zero value is that of no order. It is not safe for concurrent use.
type Evidence struct {
	Broken    []string       // rules that were broken, and that apply to this kind of lock
	Key       bool           // the lock's key was there
	Shared    bool           // somebody has said that several may be inside at once
	Each      bool           // of several locks: two threads have to be inside each of them
	Inside    int            // most threads that were inside in one order, each at a time when no other was, unless they may be inside at once
	Named     map[string]int // of each lock that marks name: most threads that were inside it in one order
	Kind      phrase.Wording // why the kind of lock is not known, a sentence; "" if it is known
	Kinds     Help           // what helps where it is not
	Alone     phrase.Wording // what we know about the one thread, or all, that did not get in: a sentence, or ""
	Failures  []Failure
	Unplayed  []phrase.Wording // lines of a log that were not played: how many and why, a sentence each
	Misused   phrase.Wording   // that scripts of one's own work when they are called otherwise, a sentence: nothing was played; "" where they do not
	Unlike    []phrase.Wording // scripts that a real Redis has answered otherwise, a sentence each
	Unstruck  []Unstruck
	Untouched phrase.Wording // who of two threads has read or written what the lock protects, a sentence; "" if both, or if nobody asks
	Replays   int            // that were made
	Diverged  int            // of them, those that went another way
	First     phrase.Wording // where the first of them did, a sentence; "" if that is not known
	Cut       phrase.Wording // why not all orders were tried, a clause; "" if all were
	Untried   bool           // whether an order's end shuts somebody out cannot be told by the key, and was not tried
	Unended   bool           // no order was played to the end: we know nothing about the key, who was inside, or faults
	Unreached []Release      // in no order

	Advice `json:"advice"` // what helps, where the orders were played
}

// Help is what a person can do about something that is missing.
type Help struct {
	Says phrase.Wording // a sentence; zero if nothing is known to help
	Set  Setting        // what to set for that; "" if something else is to be done
}

// Advice says what helps, for each reason.
type Advice struct{ Misused, NoKey, Nobody, One, Failed, Unreached, Unstruck, Diverged, Cut Help }

// Judge concludes.
func (e *Evidence) Judge() Judgement {
	j := Judgement{Verdict: Unbroken, Unjudged: e.lacks()}
	switch {
	case !e.Misused.IsZero():
		j.Verdict = Unjudged
	case len(e.Broken) > 0:
		j.Verdict = Broken
	case len(j.Unjudged) > 0:
		j.Verdict = Unjudged
	}
	return j
}

// endless are rules that are broken by threads that would never get in, however often they try.
var endless = []string{check.ShutOut, check.Deadlock, check.SelfDeadlock}

func (e *Evidence) lacks() []Lack {
	nobody, one := e.Advice.Nobody, e.Advice.One
	if slices.ContainsFunc(e.Broken, func(rule string) bool { return slices.Contains(endless, rule) }) {
		nobody, one = Help{}, Help{}
	}
	var list []Lack
	lack := func(r Reason, says phrase.Wording, helps Help) {
		list = append(list, Lack{Reason: r, Says: says, Helps: helps.Says, Set: helps.Set})
	}
	if !e.Misused.IsZero() {
		lack(Arguments, e.Misused, e.Advice.Misused)
		return list
	}
	for _, f := range e.Failures {
		if f.Ours || f.All {
			lack(CommandsFailed, f.says(), e.Advice.Failed)
		}
	}
	for _, says := range e.Unplayed {
		lack(CommandsFailed, says, e.Advice.Failed)
	}
	for _, says := range e.Unlike {
		lack(CommandsFailed, says, Help{})
	}
	switch {
	case e.Unended:
	case !e.Key:
		lack(NoKey, phrase.Say("No command made a key that looks like a lock."), e.Advice.NoKey)
	case !e.Kind.IsZero():
		lack(KindUnknown, e.Kind, e.Kinds)
	case e.Inside == 0:
		lack(NobodyInside, phrase.Say("Nobody was ever inside.").And(e.Alone), nobody)
	case e.Inside == 1:
		lack(OneInside, phrase.Say("Only one thread ever had the critical section to itself.").And(e.Alone), one)
	default:
		for _, name := range slices.Sorted(maps.Keys(e.Named)) {
			if e.Named[name] == 1 {
				lack(OneInside, phrase.Say("Only one thread was ever inside %s.", name), one)
			}
		}
	}
	if e.Untried && !e.Unended && e.Key && e.Kind.IsZero() {
		lack(KindUnknown, phrase.Say("Such a key does not say whether what is left at an order's end shuts anybody out, and that was not tried."), Help{Says: phrase.Say("Look at what is left in Redis when all have gone.")})
	}
	for _, r := range e.Unreached {
		if e.Unended || e.Inside == 0 { // which says why
			break
		}
		lack(ReleaseUnreached, phrase.Say("No order reached line %[1]d of the script %[2]s, which releases: %[3]s.", r.Number, r.Script, r.Source), e.Advice.Unreached)
	}
	for _, u := range e.Unstruck {
		if e.Unended {
			break
		}
		lack(FaultNeverStruck, u.says().And(u.Why), e.Advice.Unstruck)
		list[len(list)-1].Fault = u.Fault
	}
	if !e.Untouched.IsZero() && !e.Unended {
		lack(Untouched, e.Untouched, Help{})
	}
	if 10*e.Diverged > e.Replays {
		lack(Diverged, phrase.Say("Of %[1]d replays %[2]d went another way.", e.Replays, e.Diverged).And(e.First), e.Advice.Diverged)
	}
	if !e.Cut.IsZero() {
		lack(Cut, phrase.Say("Not all orders were tried: %s.", e.Cut), e.Advice.Cut)
	}
	return list
}

func (u Unstruck) says() phrase.Wording {
	if u.Thread != "" {
		return phrase.Say("The fault %[1]s of %[2]s never struck.", u.Fault, u.Thread)
	}
	return phrase.Say("The fault %s never struck.", u.Fault)
}

func (f Failure) says() phrase.Wording {
	if f.All && !f.Ours {
		return phrase.Say("%[1]s failed each time (%[2]d): %[3]s.", f.Command, f.Times, f.Answer)
	}
	return phrase.Say("%[1]s was refused here, and a real Redis may know it (%[2]d times): %[3]s.", f.Command, f.Times, f.Answer)
}
