package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"relock/engine/fault"
	"relock/engine/phrase"
)

// A fault that can never strike would be a broken promise: the run would go on
// as if nobody had asked for it. Only what the lock, its watchdog setting and
// the kind of scenario rule out with certainty counts here.

// asksRedis reports whether anything is sent to Redis.
func (s *Scenario) asksRedis() bool { return s.Kind == KindHeartbeat || s.commands(fault.AtLock) > 0 }

// commands returns the most commands that one attempt of the call at place
// sends.
func (s *Scenario) commands(place string) int {
	return s.Lock.Implementation().Commands(place, s.Lock.Nodes)
}

// renews reports whether the lock has a watchdog.
func (l Lock) renews() bool { return l.Implementation().HasWatchdog() }

// reach returns the places of a thread where a fault of a kind can strike.
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
		return waitOf(s.Lock.Implementation()) == WaitNotify
	case place == fault.AtWork, k.Target == fault.Code:
		return true
	case place == fault.AtRenew && s.Lock.Watchdog == 0:
		return false
	default:
		return s.commands(place) > 0
	}
}

// canHave reports whether a fault of a kind can strike at all.
func (s *Scenario) canHave(k fault.Kind) bool {
	if k.Target == fault.Redis {
		return s.asksRedis() && (s.Locks == nil || !ofOneKey(k))
	}
	return len(s.reach(k)) > 0
}

// canStrike reports whether f can strike.
func (s *Scenario) canStrike(f Fault) bool {
	k, ok := fault.Struck(f.Do, f.At)
	switch {
	case !ok:
		return false
	case f.At == "":
		return s.canHave(k) && f.Node <= s.Lock.Nodes
	default:
		return s.strikesAt(k, f.At) && f.Command <= max(s.commands(f.At), 1)
	}
}

// cannotHave returns the setting that keeps a fault of a kind from striking at all.
func (s *Scenario) cannotHave(k fault.Kind) string {
	if s.Locks != nil && ofOneKey(k) {
		return "locks"
	}
	return s.reason(fault.AtLock)
}

// reason returns the setting that keeps a fault from striking at place.
func (s *Scenario) reason(place string) string {
	switch {
	case s.Kind == KindHeartbeat:
		return "kind: " + KindHeartbeat
	case place == fault.AtRenew && s.Lock.Watchdog == 0 && s.Lock.renews():
		return "watchdog: off"
	default:
		return "protocol: " + s.Lock.Protocol
	}
}

// FaultKinds lists the faults s can have, each with the places where it can
// strike, in the order in which they are explained.
func (s *Scenario) FaultKinds() []fault.Kind {
	var list []fault.Kind
	for _, k := range fault.Kinds() {
		if s.canHave(k) || k.Wide != nil && s.canHave(*k.Wide) {
			k.Places = s.reach(k)
			list = append(list, k)
		}
	}
	return list
}

// Strike is a fault as struck by hand.
type Strike struct {
	Fault Fault
	Never string // the setting that keeps it from ever striking ("watchdog: off"), or ""
}

// Strikes lists all faults as a schedule has them: one for each kind, thread
// and call, those of Redis on its first node and with their defaults, and a
// restart both with and without its data. If Parse would reject one in s, it
// names the setting that rules it out.
func (s *Scenario) Strikes() []Strike {
	var list []Strike
	for _, k := range fault.Kinds() {
		if k.Target == fault.Redis && !k.One {
			list = append(list, s.strikes(k, Fault{Do: k.Name, Node: 1})...)
			continue
		}
		for _, t := range s.Threads {
			if k.One {
				list = append(list, s.strikes(k, Fault{Do: k.Name, Thread: t.Name, Node: 1})...)
				continue
			}
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

// StrikeKinds returns the kinds of Strikes that can ever strike.
func (s *Scenario) StrikeKinds() []string {
	var list []string
	for _, one := range s.Strikes() {
		if one.Never == "" && !slices.Contains(list, one.Fault.Do) {
			list = append(list, one.Fault.Do)
		}
	}
	return list
}

// strikes fills in the details of a fault's kind.
func (s *Scenario) strikes(k fault.Kind, f Fault) []Strike {
	never := ""
	switch {
	case !s.canHave(k):
		never = s.cannotHave(k)
	case f.At != "" && !slices.Contains(s.reach(k), f.At):
		never = s.reason(f.At)
	}
	f.For, f.By, f.Behind, f.Error = k.For, k.By, k.Behind, k.Error
	if f.For > 0 && k.Target != fault.Redis && s.Lock.Own() {
		f.For = min(max(f.For, s.Lock.Lease*3/2), MaxDuration) // of scripts of one's own the lease may be any
	}
	if slices.Contains(k.Fields, "replica") && s.Lock.Wait.Count > 0 {
		f.Replica = 1
		if other := f; s.Lock.Wait.Of > s.Lock.Wait.Count { // one that need not have acknowledged anything
			other.Replica = s.Lock.Wait.Of
			return []Strike{{f, never}, {other, never}}
		}
	}
	if slices.Contains(k.Fields, "keep") {
		kept := f
		kept.Keep = true
		return []Strike{{f, never}, {kept, never}}
	}
	return []Strike{{f, never}}
}

// FaultKeys returns the keys of a fault of the kind do at a place, in the order
// in which they are written; at is "" for a fault without a place. For an
// unknown kind it returns do alone.
func (s *Scenario) FaultKeys(do, at string) []string {
	k, ok := fault.Struck(do, at)
	if !ok {
		return []string{"do"}
	}
	var keys []string
	if k.Target == fault.Redis {
		if all, _ := fault.Named(do); all.Wide != nil { // a place makes it a thread's
			keys = append(keys, "at")
		}
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
		if name == "scope" && at != fault.AtWork || name == "node" && s.Lock.Nodes < 2 || name == "replica" && s.Lock.Wait.Count == 0 {
			continue
		}
		keys = append(keys, name)
	}
	return keys
}

// ParseStrike reads what a person has strike by hand: an entry of a schedule, as
// the keys of a JSON object. It fails with one sentence about the first mistake.
func (s *Scenario) ParseStrike(entry map[string]json.RawMessage) (Move, error) {
	if entry == nil {
		return Move{}, ErrNoFault
	}
	text, err := json.Marshal([]any{entry})
	if err != nil {
		return Move{}, fmt.Errorf("scenario: %w", err)
	}
	moves, err := s.ParseMoves(text)
	var mistakes Mistakes
	if errors.As(err, &mistakes) {
		first := mistakes[0]
		return Move{}, phrase.New("%s: given %s, allowed: %s", strings.TrimPrefix(first.Key, "schedule[0]."), first.Given, first.Allowed)
	}
	if err != nil {
		return Move{}, err
	}
	return moves[0], nil
}

// ErrNoFault is returned for a strike without a fault.
var ErrNoFault = phrase.New("a strike needs a fault, such as {\"do\": \"crash\", \"thread\": \"A\"}")
