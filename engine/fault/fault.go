// Package fault describes what can go wrong in a run: in a thread, on its way
// to Redis, and in Redis itself. A fault's [Kind] has everything about it
// except its effect on a run, which is in package run: scenarios, dialogs,
// buttons, labels and sentences come from it.
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
	AtLock   = "lock"   // when a level is requested
	AtWork   = "work"   // when a level's work begins
	AtUnlock = "unlock" // when a level is left
	AtRenew  = "renew"  // when the watchdog renews
)

// Calls returns the places where a thread talks to Redis.
func Calls() []string { return []string{AtLock, AtUnlock, AtRenew} }

// Anywhere returns all places.
func Anywhere() []string { return []string{AtStart, AtLock, AtWork, AtUnlock, AtRenew} }

// The scope of a pause: what it stops.
const (
	ScopeAll  = "all"  // the whole thread, including its watchdog
	ScopeWork = "work" // the work only; the watchdog keeps running
)

// Target is what a fault affects.
type Target int

// The targets.
const (
	Thread   Target = iota // a thread as a whole
	Code                   // the business code
	OnTheWay               // a request or its reply
	Message                // a message to a waiting thread
	Redis                  // Redis itself, or one of its nodes
)

// Kind describes a kind of fault.
type Kind struct {
	Name     string   // as scenarios and traces name it
	Target   Target   //
	Places   []string // where in a thread it can strike; none: it strikes Redis, at a time
	Fields   []string // its own keys in a scenario, besides do and the place
	Optional []string // of Fields, those that may be left out though they have no default
	Waits    string   // the place it waits for when struck by hand; "": none, or any one of Places
	Alone    bool     // it can affect Redis for a single thread
	One      bool     // of Redis: it is between it and one thread, which must be named
	Felt     bool     // of Redis: clients feel it, and Redis does not, so any Redis can have it
	Wide     *Kind    // the same to Redis as a whole, where it has no place; nil: it needs one

	// Defaults when it is struck by hand.
	For    time.Duration
	By     time.Duration
	Behind int
	Error  string // the code of an ErrorReply

	Word   phrase.Text // its name, within a sentence
	Label  phrase.Text // what it is, as a choice in a form
	Button phrase.Text // what striking it does now
	// Row reports the fault in a timeline's row; several says whether there are
	// several nodes.
	Row func(b trace.Fault, several bool) phrase.Wording
	// Why explains what it means where it struck, in a sentence of at most 140
	// characters.
	Why func(s Scene) phrase.Wording
}

// Resume is reported when a thread that was paused by hand continues. Scenarios
// cannot have it.
const Resume = "resume"

// Drift is reported when a thread begins whose clock runs faster or slower than
// the others. It is a setting of the thread, and scenarios have it there.
const Drift = "drift"

// OneMaster is reported when the old master of a split has become a replica of the
// new one. Scenarios cannot have it.
const OneMaster = "one-master"

// Scene is the situation a fault strikes in.
type Scene struct {
	trace.Fault

	Who      string        // the thread
	Level    int           // the level it believes it is at
	Held     bool          // it holds the key
	Left     time.Duration // of the key's lease, negative if it never expires
	Count    int           // its hold count, 0 if the lock does not count
	InRedis  bool          // the lock is a key
	Watchdog time.Duration // the watchdog's interval, 0 without one
	MaxHold  time.Duration // how long it renews a hold at most, 0: for ever

	Victim string // who loses the key, or ""
	Nodes  int    // 0 with a single Redis
	Up     int    // nodes that serve whom the fault is about

	Unserved []string // whom the fault's node does not serve right after it, by name; "" is anyone
	Ended    string   // of an outage that ends: the error that was answered, or ""

	word phrase.Text // the fault's
}

// Kinds returns the kinds of fault in the order in which they are explained.
func Kinds() []Kind { return slices.Concat(ofThreads, ofRedis) }

// Named returns the kind with a name.
func Named(name string) (Kind, bool) {
	for _, list := range [][]Kind{ofThreads, ofRedis, {resume, drift, oneMaster}} {
		for _, k := range list {
			if k.Name == name {
				return k, true
			}
		}
	}
	return Kind{}, false
}

// Struck returns the kind of a fault with a name that struck at a place, or at none:
// at none, some kinds are of Redis as a whole.
func Struck(name, at string) (Kind, bool) {
	k, ok := Named(name)
	if k.Wide != nil && at == "" {
		k = *k.Wide
	}
	return k, ok
}

// Word returns a fault's name within a sentence.
func Word(name string) phrase.Wording {
	k, ok := Named(name)
	if !ok {
		return phrase.Plain(name)
	}
	return phrase.Say(k.Word)
}

// Names returns the names of all faults, in the order in which they are
// explained.
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Withholds reports whether a fault keeps the command that it strikes from Redis, for good or
// for a while.
func Withholds(name string) bool {
	return slices.Contains([]string{LoseRequest, LateCopy, Crash, Pause}, name)
}

// AwaitsCall reports whether the fault, struck by hand, waits for its thread's
// next call.
func (k Kind) AwaitsCall() bool { return slices.Equal(k.Places, Calls()) }

// ByHand returns the fault's own keys when struck by hand. A pause by hand
// always stops the whole thread.
func (k Kind) ByHand() []string {
	return slices.DeleteFunc(slices.Clone(k.Fields), func(name string) bool { return name == "scope" })
}

// Row reports a fault in a timeline's row; several says whether there are
// several nodes.
func Row(b trace.Fault, several bool) phrase.Wording {
	k, ok := Struck(b.Do, b.At)
	if !ok { // from a foreign trace
		return phrase.Say("fault: %s", b.Do)
	}
	return k.Row(b, several)
}

// Why explains what a fault means where it struck.
func Why(s Scene) phrase.Wording {
	k, ok := Struck(s.Do, s.At)
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
