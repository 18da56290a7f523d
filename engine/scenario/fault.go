package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"

	"relock/engine/phrase"
)

// maxBehind is how many writes a replica may lag: more than a run's threads
// have under way at once shows nothing new.
const maxBehind = 100

// maxCommand is more commands than any protocol's call has.
const maxCommand = 32

// faultKind is what a fault can be given.
type faultKind struct {
	do     string
	places []string // of a thread; none: it happens to Redis, at a time
	fields []string // besides do and its place
}

// calls are the places at which a thread talks to Redis.
func calls() []string { return []string{AtLock, AtUnlock, AtRenew} }

func anywhere() []string { return []string{AtStart, AtLock, AtWork, AtUnlock, AtRenew} }

// faultKinds lists the faults in the order in which they are explained.
func faultKinds() []faultKind {
	return []faultKind{
		{FaultPause, anywhere(), []string{"for", "scope"}},
		{FaultCrash, anywhere(), nil},
		{FaultPanic, []string{AtWork}, nil},
		{FaultStall, []string{AtWork}, nil},
		{FaultSkipUnlock, []string{AtUnlock}, nil},
		{FaultExtraUnlock, []string{AtUnlock}, nil},
		{FaultLoseRequest, calls(), nil},
		{FaultLoseReply, calls(), nil},
		{FaultLoseMessage, []string{AtLock}, nil},
		{FaultDelay, calls(), []string{"for"}},
		{FaultLateCopy, calls(), []string{"for"}},
		{FaultRestart, nil, []string{"keep", "node"}},
		{FaultFailOver, nil, []string{"behind", "node"}},
		{FaultEvict, nil, []string{"node"}},
		{FaultClockJump, nil, []string{"by", "node"}},
		{FaultDown, nil, []string{"node"}},
		{FaultUp, nil, []string{"node"}},
		{FaultScriptFlush, nil, []string{"node"}},
	}
}

func (p *parser) faults(m map[string]value, s *Scenario) {
	v, ok := m["faults"]
	if !ok {
		return
	}
	for _, one := range p.list(v, MaxFaults, "a list of at most %s faults", "%s faults") {
		f := p.fields(one, "thread", "at", "level", "round", "command", "time", "do", "for", "scope", "by", "behind", "keep", "node")
		if f == nil {
			continue
		}
		s.Faults = append(s.Faults, p.fault(one, f, s))
	}
}

func (p *parser) needs(f map[string]value, one value, name string, allowed phrase.Wording) {
	if !has(f, name) {
		p.wrong(value{one.Node, one.key + "." + name}, say("nothing"), allowed)
	}
}

func (p *parser) fault(one value, f map[string]value, s *Scenario) Fault {
	var fault Fault
	kind, ok := p.do(one, f, s, &fault)
	switch {
	case !ok: // what is wrong besides is named as well
		p.place(f, s, kind, &fault)
		p.duration(f, "time", &fault.Time, 0, MaxDuration, time.Microsecond)
	case kind.places == nil:
		fault.Timed = true
		p.needs(f, one, "time", durations(0, MaxDuration))
		p.duration(f, "time", &fault.Time, 0, MaxDuration, time.Microsecond)
		place := []string{"time"}
		if fault.Do == FaultDown || fault.Do == FaultUp {
			place = append(place, "thread")
			p.threadOf(f, s, &fault)
		}
		p.onlyFor(f, kind, place...)
	default:
		p.needs(f, one, "thread", s.names())
		p.needs(f, one, "at", among(kind.places...))
		p.place(f, s, kind, &fault)
		p.onlyFor(f, kind, "thread", "at", "level", "round", "command")
	}
	p.details(one, f, kind, s, &fault)
	return fault
}

// do reads which fault it is, and what a fault of that kind can be given. Of
// an unknown kind, for which it returns false, that is all that f has.
func (p *parser) do(one value, f map[string]value, s *Scenario, fault *Fault) (faultKind, bool) {
	var names, able []string
	for _, k := range faultKinds() {
		names = append(names, k.do)
		if s.canHave(k) {
			able = append(able, k.do)
		}
	}
	p.needs(f, one, "do", among(names...))
	p.oneOf(f, "do", &fault.Do, names...)
	kind, ok := kindOf(fault.Do)
	if !ok {
		return faultKind{places: anywhere(), fields: slices.Sorted(maps.Keys(f))}, false
	}
	if p.judges() && !slices.Contains(able, fault.Do) {
		p.wrong(f["do"], quoted(fault.Do), say("with %s, only %s", s.reason(AtLock), strings.Join(able, ", ")))
	}
	return kind, true
}

func kindOf(do string) (faultKind, bool) {
	kinds := faultKinds()
	i := slices.IndexFunc(kinds, func(k faultKind) bool { return k.do == do })
	if i < 0 {
		return faultKind{}, false
	}
	return kinds[i], true
}

// struck reads a fault of a schedule: it strikes where it stands in the
// schedule, or at its thread's next call of the kind that at names.
func (p *parser) struck(one value, s *Scenario) *Fault {
	f := p.fields(one, "thread", "at", "do", "for", "by", "behind", "keep", "node")
	fault := &Fault{}
	kind, ok := p.do(one, f, s, fault)
	if !ok {
		kind.places = calls()
		p.threadOf(f, s, fault)
		p.at(f, s, kind, fault)
		p.details(one, f, kind, s, fault)
		return fault
	}
	var place []string
	if kind.places != nil {
		place = append(place, "thread")
		p.needs(f, one, "thread", s.names())
		p.threadOf(f, s, fault)
	}
	if kind.awaitsCall() {
		place = append(place, "at")
		p.needs(f, one, "at", among(calls()...))
		p.at(f, s, kind, fault)
	}
	if fault.Do == FaultDown || fault.Do == FaultUp {
		place = append(place, "thread")
		p.threadOf(f, s, fault)
	}
	kind.fields = kind.byHand()
	p.onlyFor(f, kind, place...)
	p.details(one, f, kind, s, fault)
	return fault
}

// onlyFor refuses what a fault of this kind does not have.
func (p *parser) onlyFor(f map[string]value, k faultKind, place ...string) {
	allowed := slices.Concat([]string{"do"}, place, k.fields)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(allowed, name) {
			p.wrong(f[name], say("the key %s", quote(name)), say("with do: %s, only %s", k.do, strings.Join(allowed[1:], ", ")))
		}
	}
}

// place reads where in a thread a fault strikes.
func (p *parser) place(f map[string]value, s *Scenario, k faultKind, fault *Fault) {
	depth, repeat := MaxDepth, MaxRepeat
	if t := p.threadOf(f, s, fault); t != nil {
		depth, repeat = t.Depth, t.Repeat
	}
	if k.do == FaultLoseMessage {
		depth = 1 // who has entered a level waits for no message
	}
	p.at(f, s, k, fault)
	fault.Round = 1
	p.number(f, "round", &fault.Round, 1, repeat)
	if fault.At != AtRenew && fault.At != AtStart {
		fault.Level = 1
	}
	p.command(f, s, fault)
	if v, ok := f["level"]; ok && fault.At == AtStart {
		p.wrong(v, say("a level"), say("no level at: start"))
		return
	}
	p.number(f, "level", &fault.Level, 1, depth)
}

// at reads the place itself. Where the lock of s can have no fault of this
// kind anywhere, that is the mistake, and not the place.
func (p *parser) at(f map[string]value, s *Scenario, k faultKind, fault *Fault) {
	p.oneOf(f, "at", &fault.At, k.places...)
	able := s.reach(k)
	if fault.At != "" && p.judges() && len(able) > 0 && !slices.Contains(able, fault.At) {
		p.wrong(f["at"], quoted(fault.At), say("with %s, only %s", s.reason(fault.At), strings.Join(able, ", ")))
	}
}

// command reads which of a call's commands a fault is about.
func (p *parser) command(f map[string]value, s *Scenario, fault *Fault) {
	v, given := f["command"]
	switch {
	case fault.At == "": // a mistake already
		p.number(f, "command", &fault.Command, 1, maxCommand)
	case slices.Contains(calls(), fault.At) && fault.Do != FaultSkipUnlock && fault.Do != FaultExtraUnlock:
		most := s.commands(fault.At)
		if !p.judges() || most == 0 {
			most = maxCommand
		}
		fault.Command = 1
		p.number(f, "command", &fault.Command, 1, most)
	case given:
		p.wrong(v, say("a command"), say("no command outside of a call to Redis"))
	}
}

// details reads what only some faults have.
func (p *parser) details(one value, f map[string]value, k faultKind, s *Scenario, fault *Fault) {
	for _, name := range k.fields {
		switch name {
		case "for":
			p.needs(f, one, "for", durations(time.Millisecond, MaxDuration))
			p.duration(f, "for", &fault.For, time.Millisecond, MaxDuration, time.Microsecond)
		case "scope":
			fault.Scope = ScopeAll
			p.oneOf(f, "scope", &fault.Scope, ScopeAll, ScopeWork)
			if v, ok := f["scope"]; ok && fault.Scope == ScopeWork && fault.At != "" && fault.At != AtWork {
				p.wrong(v, quoted(ScopeWork), say("scope: work only at: work"))
			}
		case "by":
			p.jump(one, f, fault)
		case "behind":
			fault.Behind = 1
			p.number(f, "behind", &fault.Behind, 0, maxBehind)
		case "keep":
			keep := "false"
			p.oneOf(f, "keep", &keep, "true", "false")
			fault.Keep = keep == "true"
		case "node":
			nodes := s.Lock.Nodes
			if !p.judges() {
				nodes = MaxNodes
			}
			fault.Node = 1
			p.number(f, "node", &fault.Node, 1, nodes)
		}
	}
}

// threadOf reads a thread's name, and finds the thread.
func (p *parser) threadOf(f map[string]value, s *Scenario, fault *Fault) *Thread {
	p.text(f, "thread", &fault.Thread, s.names(), func(name string) bool { return s.thread(name) != nil })
	if fault.Thread == "" {
		return nil
	}
	return s.thread(fault.Thread)
}

// jump reads a length of time that may be negative.
func (p *parser) jump(one value, f map[string]value, fault *Fault) {
	allowed := say("a time with a unit, forward or with a - back, from 1ms to %s, in whole milliseconds", phrase.Duration(MaxDuration))
	p.needs(f, one, "by", allowed)
	v, ok := f["by"]
	if !ok {
		return
	}
	text, is := p.scalar(v, allowed)
	if !is {
		return
	}
	back := strings.HasPrefix(text, "-")
	d, ok := parseDuration(strings.TrimLeft(text, "+-"))
	if !ok || d < time.Millisecond || d > MaxDuration || d%time.Millisecond != 0 {
		p.wrong(v, quoted(text), allowed)
		return
	}
	fault.By = d
	if back {
		fault.By = -d
	}
}
