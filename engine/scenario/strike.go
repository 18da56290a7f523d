package scenario

import (
	"slices"

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
func (s *Scenario) reach(k fault.Kind) []string {
	return slices.DeleteFunc(slices.Clone(k.Places), func(place string) bool { return !s.strikesAt(k, place) })
}

func (s *Scenario) strikesAt(k fault.Kind, place string) bool {
	switch {
	case place == fault.AtStart:
		return true
	case s.Kind == KindHeartbeat: // it takes no lock
		return false
	case k.Target == fault.Message:
		return waitOf(s.Lock.Protocol) == WaitNotify
	case place == fault.AtWork, k.Target == fault.Code:
		return true
	case place == fault.AtRenew && s.Lock.Watchdog == 0:
		return false
	default:
		return s.commands(place) > 0
	}
}

// canHave tells whether a fault of a kind can strike at all.
func (s *Scenario) canHave(k fault.Kind) bool {
	if k.Target == fault.Redis {
		return s.asksRedis()
	}
	return len(s.reach(k)) > 0
}

// canStrike tells whether a fault can.
func (s *Scenario) canStrike(f Fault) bool {
	k, ok := fault.Named(f.Do)
	switch {
	case !ok:
		return false
	case f.At == "":
		return s.canHave(k) && f.Node <= s.Lock.Nodes
	default:
		return s.strikesAt(k, f.At) && f.Command <= max(s.commands(f.At), 1)
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

// FaultKinds lists the faults that s can have, each with the places where it
// can strike, in the order in which they are explained.
func (s *Scenario) FaultKinds() []fault.Kind {
	var list []fault.Kind
	for _, k := range fault.Kinds() {
		if s.canHave(k) {
			k.Places = s.reach(k)
			list = append(list, k)
		}
	}
	return list
}

// Strike is a fault as it is struck by hand.
type Strike struct {
	Fault Fault
	Never string // the setting that keeps it from ever striking ("watchdog: off"), or ""
}

// Strikes lists the faults that exist, as a schedule has them: one for each
// kind, thread and call, those of Redis on its first node, as its kind has it
// by hand, and a restart both with and without its data. What Parse would
// refuse in s says by which setting.
func (s *Scenario) Strikes() []Strike {
	var list []Strike
	for _, k := range fault.Kinds() {
		if k.Target == fault.Redis {
			list = append(list, s.strikes(k, Fault{Do: k.Name, Node: 1})...)
			continue
		}
		for _, t := range s.Threads {
			if !k.AwaitsCall() {
				list = append(list, s.strikes(k, Fault{Do: k.Name, Thread: t.Name})...)
				continue
			}
			for _, at := range fault.Calls() {
				list = append(list, s.strikes(k, Fault{Do: k.Name, Thread: t.Name, At: at})...)
			}
		}
	}
	return list
}

// strikes gives a fault the details that its kind has.
func (s *Scenario) strikes(k fault.Kind, f Fault) []Strike {
	never := ""
	switch {
	case !s.canHave(k):
		never = s.reason(fault.AtLock)
	case f.At != "" && !slices.Contains(s.reach(k), f.At):
		never = s.reason(f.At)
	}
	f.For, f.By, f.Behind = k.For, k.By, k.Behind
	if slices.Contains(k.Fields, "keep") {
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
	k, ok := fault.Named(do)
	if !ok {
		return []string{"do"}
	}
	var keys []string
	if k.Target == fault.Redis {
		keys = append(keys, "time", "do")
		if k.Alone {
			keys = append(keys, "thread")
		}
	} else {
		keys = append(keys, "thread", "at", "do")
		if at != fault.AtStart {
			keys = append(keys, "level")
		}
		keys = append(keys, "round")
		if slices.Contains(fault.Calls(), at) && k.Target != fault.Code && s.commands(at) > 1 {
			keys = append(keys, "command")
		}
	}
	for _, name := range k.Fields {
		if name == "scope" && at != fault.AtWork || name == "node" && s.Lock.Nodes < 2 {
			continue
		}
		keys = append(keys, name)
	}
	return keys
}
