// Package fault is what can go wrong in a run: in a thread, on its way to
// Redis, and in Redis itself. Everything about a fault but what it does to a
// run is its [Kind]: scenarios, dialogs, buttons, labels and sentences are made
// from it. What it does is in package run.
package fault

import (
	"slices"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// Places in a thread's business call.
const (
	AtStart  = "start"  // before the first call
	AtLock   = "lock"   // as the lock of a level is asked for
	AtWork   = "work"   // as the work of a level begins
	AtUnlock = "unlock" // as a level is left
	AtRenew  = "renew"  // as the watchdog renews
)

// Calls are the places at which a thread talks to Redis.
func Calls() []string { return []string{AtLock, AtUnlock, AtRenew} }

// Anywhere are all places.
func Anywhere() []string { return []string{AtStart, AtLock, AtWork, AtUnlock, AtRenew} }

// What a pause stops.
const (
	ScopeAll  = "all"  // the whole thread, its watchdog too
	ScopeWork = "work" // the watchdog goes on
)

// Target is what a fault happens to.
type Target int

// The targets.
const (
	Thread   Target = iota // a thread as a whole
	Code                   // the business code
	OnTheWay               // a request or its reply
	Message                // a message to a thread that waits
	Redis                  // Redis itself, or one of its nodes
)

// Kind is a fault.
type Kind struct {
	Name   string   // as scenarios and traces name it
	Target Target   //
	Places []string // where in a thread it can strike; none: it happens to Redis, at a time
	Fields []string // its own keys in a scenario, besides do and its place
	Waits  string   // the place that it waits for when it is struck by hand; "" is none, or one of Places to choose
	Alone  bool     // it can happen to Redis for one thread alone

	// How it is struck by hand unless a person says otherwise.
	For    time.Duration
	By     time.Duration
	Behind int

	Word   phrase.Text // its name, within a sentence
	Label  phrase.Text // what it is, to choose it in a form
	Button phrase.Text // what it does now, struck by hand
	// Row says that it has happened; several tells whether there are nodes.
	Row func(b trace.Fault, several bool) phrase.Wording
	// Why says what it means where it struck, in a sentence of at most 140
	// characters.
	Why func(s Scene) phrase.Wording
}

// Resume is told when a thread that was paused by hand goes on. No scenario
// has it.
const Resume = "resume"

// Scene is where a fault strikes.
type Scene struct {
	trace.Fault

	Who      string        // the thread
	Level    int           // at which it believes to be
	Held     bool          // the key is its own
	Left     time.Duration // of the key's lease, negative where it has none
	Count    int           // its hold count, 0 where the lock counts nothing
	InRedis  bool          // the lock is a key
	Watchdog time.Duration // renews the lease so often, 0 where nothing does

	Victim string // whose key is lost to it, or ""
	Nodes  int    // 0 where there is one Redis
	Up     int    // nodes that still answer, or do again

	word phrase.Text // the fault's
}

// Kinds lists the faults in the order in which they are explained.
func Kinds() []Kind { return slices.Concat(ofThreads, ofRedis) }

// Named returns a kind by its name.
func Named(name string) (Kind, bool) {
	for _, list := range [][]Kind{ofThreads, ofRedis, {resume}} {
		for _, k := range list {
			if k.Name == name {
				return k, true
			}
		}
	}
	return Kind{}, false
}

// Word is a fault's name within a sentence.
func Word(name string) phrase.Wording {
	k, ok := Named(name)
	if !ok {
		return phrase.Plain(name)
	}
	return phrase.Say(k.Word)
}

// Names are the names of all faults, in the order in which they are explained.
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// AwaitsCall tells whether a fault of the kind that is struck by hand waits
// for its thread's next call of a kind.
func (k Kind) AwaitsCall() bool { return slices.Equal(k.Places, Calls()) }

// ByHand are the keys of its own when it is struck by hand: it is the whole
// thread that is paused.
func (k Kind) ByHand() []string {
	return slices.DeleteFunc(slices.Clone(k.Fields), func(name string) bool { return name == "scope" })
}

// Row says that a fault has happened; several tells whether there are nodes.
func Row(b trace.Fault, several bool) phrase.Wording {
	k, ok := Named(b.Do)
	if !ok { // of a trace from elsewhere
		return phrase.Say("fault: %s", b.Do)
	}
	return k.Row(b, several)
}

// Why says what a fault means where it struck.
func Why(s Scene) phrase.Wording {
	k, ok := Named(s.Do)
	switch {
	case ok:
		s.word = k.Word
		return k.Why(s)
	case s.Who != "":
		return phrase.Say("%s is struck by a fault: %s.", s.Who, s.Do)
	default:
		return phrase.Say("Redis is struck by a fault: %s.", s.Do)
	}
}

func says(text phrase.Text) func(trace.Fault, bool) phrase.Wording {
	return func(trace.Fault, bool) phrase.Wording { return phrase.Say(text) }
}
