package scenario

import (
	"maps"
	"slices"
	"strings"

	"relock/engine/fault"
	"relock/engine/strict"
)

// maxBehind is how many writes a replica may lag: a lag beyond what a run's
// threads have in flight shows nothing new.
const maxBehind = 100

// maxCommand is more than any call of a protocol sends.
const maxCommand = 32

func (p *parser) faults(m strict.Map, s *Scenario) {
	v, ok := m["faults"]
	if !ok {
		return
	}
	for _, one := range p.List(v, MaxFaults, "a list of at most %s faults", "%s faults") {
		f := p.Fields(one, faultKeys.Names()...)
		if f == nil {
			continue
		}
		s.Faults = append(s.Faults, p.fault(one, f, s))
	}
}

func (p *parser) fault(one strict.Value, f strict.Map, s *Scenario) Fault {
	var into Fault
	kind, ok := p.do(one, f, s, &into)
	switch {
	case !ok: // report the other mistakes too
		p.place(f, s, kind, &into)
		p.take(f, faultKeys, &into, "time")
	case kind.Places == nil:
		into.Timed = true
		p.Needs(f, one, "time", instants.Allowed())
		p.take(f, faultKeys, &into, "time")
		place := []string{"time"}
		if kind.Alone {
			place = append(place, "thread")
			if kind.One {
				p.Needs(f, one, "thread", s.names())
			}
			p.threadOf(f, s, &into)
		}
		p.onlyFor(f, kind, place...)
	default:
		p.Needs(f, one, "thread", s.names())
		p.Needs(f, one, "at", strict.Among(kind.Places...))
		p.place(f, s, kind, &into)
		p.onlyFor(f, kind, "thread", "at", "level", "round", "command")
	}
	p.details(one, f, kind, s, &into)
	return into
}

// do reads the fault's kind and its own keys. It returns false for an unknown
// kind, and f cannot say more.
func (p *parser) do(one strict.Value, f strict.Map, s *Scenario, into *Fault) (fault.Kind, bool) {
	at := f.Text("at")
	var able []string
	for _, name := range fault.Names() {
		if k, _ := fault.Struck(name, at); s.canHave(k) {
			able = append(able, name)
		}
	}
	names := fault.Names()
	p.Needs(f, one, "do", strict.Among(names...))
	p.take(f, faultKeys, into, "do")
	kind, ok := fault.Struck(into.Do, at)
	if !ok {
		details := slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(key string) bool { return slices.Contains(places, key) })
		return fault.Kind{Places: fault.Anywhere(), Fields: details}, false
	}
	if p.judges() && !slices.Contains(able, into.Do) {
		p.Wrong(f["do"], strict.Quoted(into.Do), strict.Say("with %s, only %s", s.cannotHave(kind), strings.Join(able, ", ")))
	}
	return kind, true
}

// places are the keys of a fault that say where it strikes, and what it is.
var places = []string{"do", "time", "thread", "at", "level", "round", "command"}

// struckKeys are the keys of a fault in a schedule.
func struckKeys() Keys {
	return faultKeys.Without("time", "level", "round", "command", "scope")
}

// struck reads a fault in a schedule: it strikes at its place in the schedule,
// or at its thread's next call of the kind that at names.
func (p *parser) struck(one strict.Value, s *Scenario) *Fault {
	f := p.Fields(one, struckKeys().Names()...)
	into := &Fault{}
	kind, ok := p.do(one, f, s, into)
	if !ok {
		kind.Places = fault.Calls()
		p.threadOf(f, s, into)
		p.at(f, s, kind, into)
		p.details(one, f, kind, s, into)
		return into
	}
	var place []string
	if kind.Places != nil {
		place = append(place, "thread")
		p.Needs(f, one, "thread", s.names())
		p.threadOf(f, s, into)
	}
	if kind.AwaitsCall() {
		place = append(place, "at")
		p.Needs(f, one, "at", strict.Among(fault.Calls()...))
		p.at(f, s, kind, into)
	}
	if kind.Alone {
		place = append(place, "thread")
		if kind.One {
			p.Needs(f, one, "thread", s.names())
		}
		p.threadOf(f, s, into)
	}
	kind.Fields = kind.ByHand()
	p.onlyFor(f, kind, place...)
	p.details(one, f, kind, s, into)
	return into
}

// onlyFor rejects keys that faults of this kind do not have.
func (p *parser) onlyFor(f strict.Map, k fault.Kind, place ...string) {
	allowed := slices.Concat([]string{"do"}, place, k.Fields)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(allowed, name) {
			p.Wrong(f[name], strict.TheKey(name), strict.Say("with do: %s, only %s", k.Name, strings.Join(allowed[1:], ", ")))
		}
	}
}

// place reads where in a thread a fault strikes.
func (p *parser) place(f strict.Map, s *Scenario, k fault.Kind, into *Fault) {
	depth, repeat := MaxDepth, MaxRepeat
	if t := p.threadOf(f, s, into); t != nil {
		depth, repeat = t.Depth, t.Repeat
	}
	if k.Target == fault.Message {
		depth = 1 // only the first level waits for a message
	}
	p.at(f, s, k, into)
	into.Round = 1
	p.take(f, faultKeys.with("round", aNumber(1, repeat)), into, "round")
	if into.At != fault.AtRenew && into.At != fault.AtStart {
		into.Level = 1
	}
	p.command(f, s, k, into)
	if v, ok := f["level"]; ok && into.At == fault.AtStart {
		p.Wrong(v, strict.Say("a level"), strict.Say("no level at: start"))
		return
	}
	p.take(f, faultKeys.with("level", aNumber(1, depth)), into, "level")
}

// at reads the place. If the lock of s cannot have a fault of this kind
// anywhere, the kind is the mistake rather than the place.
func (p *parser) at(f strict.Map, s *Scenario, k fault.Kind, into *Fault) {
	p.take(f, faultKeys.with("at", oneOf(words(k.Places...)...)), into, "at")
	able := s.reach(k)
	if into.At != "" && p.judges() && len(able) > 0 && !slices.Contains(able, into.At) {
		p.Wrong(f["at"], strict.Quoted(into.At), strict.Say("with %s, only %s", s.reason(into.At), strings.Join(able, ", ")))
	}
}

// command reads which command of a call a fault affects.
func (p *parser) command(f strict.Map, s *Scenario, k fault.Kind, into *Fault) {
	v, given := f["command"]
	switch {
	case into.At == "": // already a mistake
		p.take(f, faultKeys, into, "command")
	case slices.Contains(fault.Calls(), into.At) && k.Target != fault.Code:
		most := s.commands(into.At)
		if !p.judges() || most == 0 {
			most = maxCommand
		}
		into.Command = 1
		p.take(f, faultKeys.with("command", aNumber(1, most)), into, "command")
	case given:
		p.Wrong(v, strict.Say("a command"), strict.Say("no command outside of a call to Redis"))
	}
}

// details reads the keys that only some faults have.
func (p *parser) details(one strict.Value, f strict.Map, k fault.Kind, s *Scenario, into *Fault) {
	keys := faultKeys
	if p.judges() {
		keys = keys.with("node", aNumber(1, s.Lock.Nodes))
	}
	for _, name := range k.Fields {
		if allowed, needed := neededDetails[name]; needed && !slices.Contains(k.Optional, name) {
			p.Needs(f, one, name, allowed)
		}
		switch name {
		case "scope":
			into.Scope = fault.ScopeAll
		case "behind":
			into.Behind = 1
		case "node":
			into.Node = 1
		case "replica":
			if p.judges() {
				p.only(f, name, s.Lock.Wait.Count > 0, strict.Say("only where the lock waits for replicas, as in wait: %s", ofSeveral.String()))
			}
			if s.Lock.Wait.Count == 0 {
				continue
			}
			into.Replica = 1
			keys = keys.with(name, aNumber(1, s.Lock.Wait.Of))
		}
		p.take(f, keys, into, name)
		v, given := f[name]
		switch {
		case !given:
		case name == "scope" && into.Scope == fault.ScopeWork && into.At != "" && into.At != fault.AtWork:
			p.Wrong(v, strict.Quoted(fault.ScopeWork), strict.Say("scope: work only at: work"))
		case name == "lose" && into.Keep:
			p.Wrong(v, strict.Quoted(v.Value), strict.Say("not with keep: true"))
		}
	}
}

// threadOf reads a thread's name and finds the thread.
func (p *parser) threadOf(f strict.Map, s *Scenario, into *Fault) *Thread {
	known := aText(s.names(), nil, func(name string) bool { return s.thread(name) != nil })
	p.take(f, faultKeys.with("thread", known), into, "thread")
	if into.Thread == "" {
		return nil
	}
	return s.thread(into.Thread)
}
