package scenario

import (
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/exhibit"
)

// A fault that can never strike would be a promise that is not kept: the run
// goes on as if it had not been asked for. Only what the lock, its watchdog's
// setting and the kind of scenario rule out for certain counts here.

// asksRedis tells whether anybody sends anything to Redis.
func (s *Scenario) asksRedis() bool { return s.Kind == KindHeartbeat || s.commands(fault.AtLock) > 0 }

// commands is the most commands that an attempt of the call at a place sends.
func (s *Scenario) commands(place string) int {
	return exhibit.Named(s.Lock.Protocol).Commands(place, s.Lock.Nodes)
}

// renews tells whether a protocol has a watchdog.
func renews(protocol string) bool { return exhibit.Named(protocol).HasWatchdog() }

// reach is where in a thread a fault of a kind can strike.
func (s *Scenario) reach(k faultKind) []string {
	return slices.DeleteFunc(slices.Clone(k.places), func(place string) bool { return !s.strikesAt(k.do, place) })
}

func (s *Scenario) strikesAt(do, place string) bool {
	switch {
	case place == fault.AtStart:
		return true
	case s.Kind == KindHeartbeat: // it takes no lock
		return false
	case do == fault.LoseMessage:
		return waitOf(s.Lock.Protocol) == WaitNotify
	case place == fault.AtWork, do == fault.SkipUnlock, do == fault.ExtraUnlock:
		return true
	case place == fault.AtRenew && s.Lock.Watchdog == 0:
		return false
	default:
		return s.commands(place) > 0
	}
}

// canHave tells whether a fault of a kind can strike at all.
func (s *Scenario) canHave(k faultKind) bool {
	if k.places == nil {
		return s.asksRedis()
	}
	return len(s.reach(k)) > 0
}

// canStrike tells whether a fault can.
func (s *Scenario) canStrike(f Fault) bool {
	k, ok := kindOf(f.Do)
	switch {
	case !ok:
		return false
	case f.At == "":
		return s.canHave(k) && f.Node <= s.Lock.Nodes
	default:
		return s.strikesAt(f.Do, f.At) && f.Command <= max(s.commands(f.At), 1)
	}
}

// reason is the setting that keeps a fault from striking at a place.
func (s *Scenario) reason(place string) string {
	switch {
	case s.Kind == KindHeartbeat:
		return "kind: " + KindHeartbeat
	case place == fault.AtRenew && s.Lock.Watchdog == 0 && renews(s.Lock.Protocol):
		return "watchdog: off"
	default:
		return "protocol: " + s.Lock.Protocol
	}
}

// FaultKind is what can go wrong.
type FaultKind struct {
	Do     string
	Places []string // in a thread; none: it happens to Redis, at a time
	Fields []string // the keys of its own, as a schedule has them
	Call   bool     // struck by hand, it waits for the thread's next call of a kind, which "at" names
}

// FaultKinds lists the faults that s can have, each with the places where it
// can strike, in the order in which they are explained.
func (s *Scenario) FaultKinds() []FaultKind {
	var list []FaultKind
	for _, k := range faultKinds() {
		if s.canHave(k) {
			list = append(list, k.public(s.reach(k)))
		}
	}
	return list
}

// AllFaultKinds lists the faults that exist, each with all of its places, in
// the order in which they are explained.
func AllFaultKinds() []FaultKind {
	var list []FaultKind
	for _, k := range faultKinds() {
		list = append(list, k.public(k.places))
	}
	return list
}

func (k faultKind) public(places []string) FaultKind {
	return FaultKind{Do: k.do, Places: places, Fields: k.byHand(), Call: k.awaitsCall()}
}

// byHand are the fields of a fault in a schedule: it is the whole thread that
// is paused by hand.
func (k faultKind) byHand() []string {
	return slices.DeleteFunc(slices.Clone(k.fields), func(name string) bool { return name == "scope" })
}

// awaitsCall tells whether a fault that is struck by hand waits for a call.
func (k faultKind) awaitsCall() bool { return slices.Equal(k.places, calls()) }

// Lengths of the faults that Strikes lists.
const (
	StrikePause = 300 * time.Millisecond // a pause that outlives a short lease
	StrikeDelay = 300 * time.Millisecond // of a request, and of a late copy
	StrikeJump  = time.Second
)

// Strike is a fault as it is struck by hand.
type Strike struct {
	Fault Fault
	Never string // the setting that keeps it from ever striking ("watchdog: off"), or ""
}

// Strikes lists the faults that exist, as a schedule has them: one for each
// kind, thread and call, those of Redis on its first node, with the lengths
// above, one write behind, and a restart both with and without its data. What
// Parse would refuse in s says by which setting.
func (s *Scenario) Strikes() []Strike {
	var list []Strike
	for _, k := range faultKinds() {
		if k.places == nil {
			list = append(list, s.strikes(k, Fault{Do: k.do, Node: 1})...)
			continue
		}
		for _, t := range s.Threads {
			if !k.awaitsCall() {
				list = append(list, s.strikes(k, Fault{Do: k.do, Thread: t.Name})...)
				continue
			}
			for _, at := range calls() {
				list = append(list, s.strikes(k, Fault{Do: k.do, Thread: t.Name, At: at})...)
			}
		}
	}
	return list
}

// strikes gives a fault the details that its kind has.
func (s *Scenario) strikes(k faultKind, f Fault) []Strike {
	never := ""
	switch {
	case !s.canHave(k):
		never = s.reason(fault.AtLock)
	case f.At != "" && !slices.Contains(s.reach(k), f.At):
		never = s.reason(f.At)
	}
	switch f.Do {
	case fault.Pause:
		f.For = StrikePause
	case fault.Delay, fault.LateCopy:
		f.For = StrikeDelay
	case fault.ClockJump:
		f.By = StrikeJump
	case fault.FailOver:
		f.Behind = 1
	case fault.Restart:
		kept := f
		kept.Keep = true
		return []Strike{{f, never}, {kept, never}}
	}
	return []Strike{{f, never}}
}

// FaultKeys are the keys that a fault of the kind do at a place of a thread
// has in s, in the order in which they are written; at is "" where it has no
// place. Those of an unknown kind are its do alone.
func (s *Scenario) FaultKeys(do, at string) []string {
	k, ok := kindOf(do)
	if !ok {
		return []string{"do"}
	}
	var keys []string
	if k.places == nil {
		keys = append(keys, "time", "do")
		if do == fault.Down || do == fault.Up {
			keys = append(keys, "thread")
		}
	} else {
		keys = append(keys, "thread", "at", "do")
		if at != fault.AtStart {
			keys = append(keys, "level")
		}
		keys = append(keys, "round")
		if slices.Contains(calls(), at) && do != fault.SkipUnlock && do != fault.ExtraUnlock && s.commands(at) > 1 {
			keys = append(keys, "command")
		}
	}
	for _, name := range k.fields {
		if name == "scope" && at != fault.AtWork || name == "node" && s.Lock.Nodes < 2 {
			continue
		}
		keys = append(keys, name)
	}
	return keys
}
