package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// MarshalJSON writes the scenario in its normal form: the keys of the YAML in a
// fixed order, with all defaults filled in, but for rare keys, which most
// scenarios do not have. Parse reads it back.
func (s *Scenario) MarshalJSON() ([]byte, error) { return json.Marshal(s.object(true)) }

// Compact is MarshalJSON without the values that are defaults. Parse reads back
// the same scenario.
func (s *Scenario) Compact() ([]byte, error) { return json.Marshal(s.object(false)) }

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the keys and their values.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for i, one := range o {
		if i > 0 {
			out = append(out, ',')
		}
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		out = append(append(strconv.AppendQuote(out, one.name), ':'), value...)
	}
	return append(out, '}'), nil
}

// object returns a part as JSON, in the order of its fields: all keys, or those that are
// not as usual; and rare ones only then. A value that instead has takes a key's place; nil
// leaves it out.
func (k Keys) object(part, usual any, all bool, instead map[string]any) object {
	var out object
	is, was := reflect.ValueOf(part), reflect.ValueOf(usual)
	for i := range is.NumField() {
		name, rare := tagOf(is, i)
		if name == "" {
			continue
		}
		value, by := is.Field(i).Interface(), was.Field(i).Interface()
		key := k.Named(name)
		if other, there := instead[name]; there {
			if other != nil {
				out = append(out, member{name, other})
			}
			continue
		}
		same := reflect.DeepEqual(value, by) || is.Field(i).Kind() == reflect.Slice && is.Field(i).Len() == 0
		if same && (rare || !all) {
			continue
		}
		if key.Values.Keys != nil && is.Field(i).Kind() == reflect.Struct {
			value = key.Values.Keys.object(value, by, all, nil)
		}
		out = append(out, member{name, key.Values.plain(value)})
	}
	return out
}

func (s *Scenario) object(all bool) object {
	usual := newScenario()
	instead := map[string]any{"lock": nil, "threads": nil, "resource": nil, "expect": nil}
	if lock := s.lockObject(all); lock != nil {
		instead["lock"] = lock
	}
	var threads []object
	for _, t := range s.Threads {
		threads = append(threads, t.object(s.defaultThread(), all))
	}
	instead["threads"] = threads
	if s.Resource != nil {
		instead["resource"] = s.Resource.object(all)
	}
	if s.Expect != nil {
		instead["expect"] = s.Expect
	}
	return scenarioKeys.object(*s, *usual, all, instead)
}

func (s *Scenario) lockObject(all bool) object {
	usual, how := defaultLock(), s.Lock.Implementation()
	usual.Watchdog, usual.Nodes, usual.Retry = defaultWatchdog(s.Lock.Lease), nodesOf(how), withWait(usual.Retry, how)
	instead := map[string]any{}
	if s.Locks != nil { // they are named there
		instead["key"] = nil
	}
	return append(lockKeys.object(s.Lock, usual, all, instead), lockKeys.object(s.Lock.OwnForm(), OwnForm{}, false, nil)...)
}

func (r Resource) object(all bool) object {
	usual := Resource{Size: defaultSize(r.Kind), Limit: defaultLimit(r.Kind)}
	instead := map[string]any{"kind": r.Kind, "looks": nil}
	if r.Blind {
		instead["looks"] = false
	}
	if r.Limit == 0 { // it has none
		instead["limit"] = nil
	}
	return resourceKeys.object(r, usual, all, instead)
}

func (t Thread) object(usual Thread, all bool) object {
	instead := map[string]any{"name": t.Name, "takes": nil}
	if t.Takes != "" { // then its depth follows
		instead["depth"] = nil
	}
	if t.Takes != usual.Takes {
		instead["takes"] = t.Takes.Keys()
	}
	return threadKeys.object(t, usual, all, instead)
}

// MarshalJSON writes the claim with the keys of the YAML.
func (e Explored) MarshalJSON() ([]byte, error) {
	usual := Explored{MaxFaults: e.MaxFaults}
	if len(e.Faults) > 0 { // without it, it is 1
		usual.MaxFaults = -1
	}
	return json.Marshal(exploredKeys.object(e, usual, true, map[string]any{"violations": append([]string{}, e.Violations...)}))
}

func withWait(r Retry, p *protocol.Protocol) Retry {
	r.Wait = waitOf(p)
	return r
}

// String formats the range as scenarios do: "50ms", "50ms-100ms".
func (r Range) String() string {
	if r.Min == r.Max {
		return phrase.Duration(r.Min)
	}
	return phrase.Duration(r.Min) + "-" + phrase.Duration(r.Max)
}

// MarshalJSON writes the fault with the keys of the YAML.
func (f Fault) MarshalJSON() ([]byte, error) {
	usual := Fault{Command: min(f.Command, 1), Node: min(f.Node, 1)}
	instead := map[string]any{"do": f.Do, "time": nil, "behind": nil, "replica": nil}
	if f.Timed {
		instead["time"] = phrase.Duration(f.Time)
	}
	if f.Do == fault.FailOver {
		instead["behind"] = f.Behind
		delete(instead, "replica")
	}
	return json.Marshal(faultKeys.object(f, usual, false, instead))
}

// MarshalJSON writes the move as an entry of a schedule.
func (m Move) MarshalJSON() ([]byte, error) {
	switch {
	case m.Fault != nil:
		return json.Marshal(m.Fault)
	case m.Until > 0:
		return json.Marshal(object{{untilKey, phrase.Duration(m.Until)}})
	default:
		return strconv.AppendInt(nil, int64(m.Choice), 10), nil
	}
}

// Equal reports whether two moves are the same.
func (m Move) Equal(o Move) bool {
	if m.Fault != nil && o.Fault != nil {
		return *m.Fault == *o.Fault
	}
	return m == o
}

// With returns the scenario with another protocol, without the faults that can
// never strike under it, for instance at a node it does not have.
func (s *Scenario) With(name string) *Scenario {
	other := *s
	other.Lock.Protocol = name
	if !other.Lock.Own() {
		other.Lock = other.Lock.WithoutScripts()
	}
	how := other.Lock.Implementation()
	if !how.HasWatchdog() {
		other.Lock.MaxHold = 0
	}
	if !how.CanKeep() {
		other.Lock.Keep = 0
	}
	other.Faults, other.Schedule = slices.Clone(s.Faults), slices.Clone(s.Schedule)
	if !how.CanSync() {
		other.Lock.Wait = Sync{}
		other.anyReplica()
	}
	other.Lock.Retry = withWait(s.Lock.Retry, how)
	other.Threads = slices.Clone(s.Threads)
	for i := range other.Threads {
		other.Threads[i].Retry = withWait(s.Threads[i].Retry, how)
	}
	if mostNodes(how) != mostNodes(s.Lock.Implementation()) {
		other.Lock.Nodes = nodesOf(how)
	}
	other.Faults = slices.DeleteFunc(other.Faults, func(f Fault) bool { return !other.canStrike(f) })
	other.Schedule = slices.DeleteFunc(other.Schedule, func(m Move) bool {
		return m.Fault != nil && !other.canStrike(*m.Fault)
	})
	return &other
}

// anyReplica has fail-overs name no replica. The faults of moves are shared: they are
// made again.
func (s *Scenario) anyReplica() {
	for i := range s.Faults {
		s.Faults[i].Replica = 0
	}
	for i, m := range s.Schedule {
		if m.Fault != nil && m.Fault.Replica > 0 {
			f := *m.Fault
			f.Replica = 0
			s.Schedule[i].Fault = &f
		}
	}
}

// WithSchedule returns the scenario with another schedule.
func (s *Scenario) WithSchedule(moves []Move) *Scenario {
	other := *s
	other.Schedule = slices.Clone(moves)
	return &other
}
