package scenario

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"relock/engine/check"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/strict"
)

// DefaultProcess is the process of threads that do not name one.
const DefaultProcess = "main"

const minWatchdog = time.Millisecond

// newScenario returns what a scenario has that says nothing.
func newScenario() *Scenario {
	s := &Scenario{Kind: KindLock, Policy: PolicyInOrder}
	scenarioKeys.usual(s)
	return s
}

func (p *parser) scenario(v strict.Value) *Scenario {
	m := p.Fields(v, scenarioKeys.Names()...)
	s := newScenario()
	p.take(m, scenarioKeys, s, "title")
	before := len(p.Mistakes)
	p.take(m, scenarioKeys, s, "kind")
	p.unknown = len(p.Mistakes) > before
	p.several = m.Has("locks")
	p.lock(m, s)
	p.locks(m, s)
	if m != nil {
		p.threads(m, s)
	}
	p.resource(m, s)
	p.faults(m, s)
	p.take(m, scenarioKeys, s, "seed", "policy")
	p.schedule(m, s)
	p.expect(m, s)
	return s
}

// defaultSize returns the initial value of a resource.
func defaultSize(kind string) int {
	if kind == KindStock {
		return 100
	}
	return 0
}

// defaultLimit returns how many each user may buy.
func defaultLimit(kind string) int {
	if kind == KindPurchases {
		return 1
	}
	return 0
}

func (p *parser) resource(m strict.Map, s *Scenario) {
	v, ok := m["resource"]
	if !ok {
		return
	}
	f := p.Fields(v, resourceKeys.Names()...)
	r := &Resource{}
	if f != nil {
		p.Needs(f, v, "kind", strict.Among(resourceKeys.Named("kind").Values.Names()...))
	}
	p.take(f, resourceKeys, r, "kind")
	delete(f, "kind")
	r.Size, r.Limit = defaultSize(r.Kind), defaultLimit(r.Kind)
	effect := r.Kind == "" || r.Kind == KindEffect
	p.only(f, "limit", r.Kind == "" || r.Kind == KindPurchases, strict.Say("a limit only with kind: %s", KindPurchases))
	p.only(f, "looks", effect, strict.Say("%s only with kind: %s", "looks", KindEffect))
	p.only(f, "once-per", effect, strict.Say("%s only with kind: %s", "once-per", KindEffect))
	p.take(f, resourceKeys.with("checks", checksOf(r.Kind)), r)
	s.Resource = r
}

// schedule reads the moves: a choice's number, {until: 150ms}, or a fault
// struck by hand.
func (p *parser) schedule(m strict.Map, s *Scenario) {
	v, ok := m["schedule"]
	if !ok {
		return
	}
	for _, one := range p.List(v, MaxDecisions, "a list of at most %s choices", "%s choices") {
		var move Move
		switch {
		case one.Kind != yaml.MappingNode:
			p.Number(one, &move.Choice, 0, MaxChoice)
		case len(one.Content) > 0 && one.Content[0].Value == untilKey:
			if v, ok := p.Fields(one, untilKey)[untilKey]; ok {
				p.Time(v, &move.Until, strict.Times{Low: time.Microsecond, High: MaxSchedule, Unit: time.Microsecond})
			}
		default:
			move.Fault = p.struck(one, s)
		}
		s.Schedule = append(s.Schedule, move)
	}
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func defaultLock() Lock {
	l := Lock{Nodes: 1, Retry: Retry{Wait: WaitPoll}}
	lockKeys.usual(&l)
	retryKeys.usual(&l.Retry)
	l.Watchdog = defaultWatchdog(l.Lease)
	return l
}

// waitOf returns how a protocol's waiters wait.
func waitOf(p *protocol.Protocol) string {
	if p.Leave != nil {
		return WaitNotify
	}
	return WaitPoll
}

// nodesOf returns a protocol's default number of nodes.
func nodesOf(p *protocol.Protocol) int { return max(p.Nodes, 1) }

// Keeping returns the names of the locks that can keep their key after the work.
func Keeping() []string { return named((*protocol.Protocol).CanKeep) }

// ofNodes returns the names of the locks whose key is on several Redis.
func ofNodes() []string { return named(func(p *protocol.Protocol) bool { return nodesOf(p) > 1 }) }

// named returns the names of the locks for which that is so.
func named(is func(*protocol.Protocol) bool) []string {
	var names []string
	for _, p := range exhibit.All() {
		if is(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

func mostNodes(p *protocol.Protocol) int {
	if nodesOf(p) > 1 {
		return MaxNodes
	}
	return 1
}

func defaultWatchdog(lease time.Duration) time.Duration {
	return max((lease / 3).Round(time.Microsecond), minWatchdog)
}

// defaultThread returns what a thread of the scenario has that says nothing: it takes all
// locks in their order.
func (s *Scenario) defaultThread() Thread {
	t := Thread{Process: DefaultProcess, Retry: s.Lock.Retry}
	defaultsKeys.usual(&t)
	if t.Takes = takesOf(s.Locks); s.Locks != nil {
		t.Depth = len(s.Locks)
	}
	return t
}

func (p *parser) lock(m strict.Map, s *Scenario) {
	s.Lock = defaultLock()
	l := &s.Lock
	v, ok := m["lock"]
	var f strict.Map
	if ok {
		f = p.Fields(v, lockKeys.Names()...)
	}
	before := len(p.Mistakes)
	p.take(f, lockKeys, l, "protocol")
	delete(f, "protocol")
	known := len(p.Mistakes) == before
	p.unknown = p.unknown || !known
	p.own(v, f, s)
	how := l.Implementation()
	keys := lockKeys
	if l.Nodes = nodesOf(how); known {
		p.only(f, "nodes", mostNodes(how) > 1 || !p.judges() || f.Text("nodes") == "1",
			strict.Say("nodes only with protocol: %s, whose key is on several Redis", strings.Join(ofNodes(), ", ")))
		keys = keys.with("nodes", aNumber(1, mostNodes(how)))
	}
	l.Watchdog = unsaid
	p.take(f, keys, l)
	if l.Watchdog == unsaid {
		l.Watchdog = defaultWatchdog(l.Lease)
	}
	p.retry(f, &l.Retry, waitOf(how))
	p.wholeSeconds(f, l)
	p.madeKey(f, l)
	if p.judges() {
		p.only(f, "max-hold", l.Watchdog != 0 && how.HasWatchdog(), strict.Say("only with a watchdog: it limits renewals"))
		p.only(f, "keep", how.CanKeep(), strict.Say("keep only with protocol: %s, whose key refuses its last owner, too", strings.Join(Keeping(), ", ")))
		p.only(f, "wait", l.plain().CanSync(), strict.Say("only with a lock in one Redis"))
	}
}

// unsaid is an interval that nobody can write.
const unsaid time.Duration = -1

// retry reads how a refused acquisition is tried again. Wait is how the lock waits.
func (p *parser) retry(m strict.Map, r *Retry, wait string) {
	keys := retryKeys
	if r.Wait = wait; !p.unknown {
		keys = keys.with("wait", oneOf(words(wait)...))
	}
	v, ok := m["retry"]
	if !ok {
		return
	}
	f := p.Fields(v, keys.Names()...)
	p.only(f, "give-back", p.several, strict.Say("give-back only with locks: a thread without another lock has none to give back"))
	p.take(f, keys, r)
}

var nameForm = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_-]+$`)

func isName(name string) bool {
	return utf8.RuneCountInString(name) <= MaxName && nameForm.MatchString(name)
}

func (p *parser) threads(m strict.Map, s *Scenario) {
	common := s.defaultThread()
	if v, ok := m["defaults"]; ok {
		p.thread(p.Fields(v, defaultsKeys.Names()...), s, defaultsKeys, &common)
	}
	v, ok := m["threads"]
	if !ok {
		p.Wrong(strict.Value{Node: &yaml.Node{Line: 1}, Key: "threads"}, strict.Say("nothing"), strict.Say("a list of 1 to %s threads", MaxThreads))
		return
	}
	list := p.List(v, MaxThreads, "a list of at most %s threads", "%s threads")
	if list != nil && len(list) == 0 {
		p.Wrong(v, strict.Say("an empty list"), strict.Say("a list of 1 to %s threads", MaxThreads))
	}
	allowed := strict.Say("1 to %s letters, digits, - or _, unlike every other thread's", MaxName)
	keys := threadKeys.with("name", aText(allowed, nil, func(name string) bool { return isName(name) && s.thread(name) == nil }))
	for _, one := range list {
		t := common
		f := p.Fields(one, keys.Names()...)
		if f != nil {
			p.Needs(f, one, "name", allowed)
		}
		p.thread(f, s, keys, &t)
		s.Threads = append(s.Threads, t)
	}
}

func (p *parser) thread(f strict.Map, s *Scenario, keys Keys, t *Thread) {
	p.take(f, keys, t)
	p.retry(f, &t.Retry, t.Retry.Wait)
	p.takes(f, s, t)
}

func (s *Scenario) thread(name string) *Thread {
	for i := range s.Threads {
		if s.Threads[i].Name == name {
			return &s.Threads[i]
		}
	}
	return nil
}

func (s *Scenario) names() phrase.Wording {
	var names []string
	for _, t := range s.Threads {
		if t.Name != "" { // refused already
			names = append(names, t.Name)
		}
	}
	return strict.Say("a thread of the scenario: %s", strings.Join(names, ", "))
}

func (p *parser) expect(m strict.Map, s *Scenario) {
	v, ok := m["expect"]
	if !ok {
		return
	}
	f := p.Fields(v, expectKeys.Names()...)
	s.Expect = &Expect{}
	if violations, ok := f["violations"]; ok {
		names := p.rules(violations)
		s.Expect.Violations = &names
	}
	if explored, ok := f["explore"]; ok {
		claims := []strict.Value{explored}
		if explored.Kind == yaml.SequenceNode {
			claims = p.List(explored, MaxExplored, "a map, or a list of at most %s", "%s of them")
		}
		for _, claim := range claims {
			s.Expect.Explore = append(s.Expect.Explore, p.explored(claim, s))
		}
	}
	if outcome, ok := f["outcome"]; ok {
		var threads []string
		for _, t := range s.Threads {
			if t.Name != "" { // refused already
				threads = append(threads, t.Name)
			}
		}
		named := p.Fields(outcome, threads...)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			text := ""
			p.OneOf(named[name], &text, ends()...)
			if s.Expect.Outcome == nil {
				s.Expect.Outcome = map[string]string{}
			}
			s.Expect.Outcome[name] = text
		}
	}
}

// rules reads a list of rules.
func (p *parser) rules(v strict.Value) []string {
	names := []string{}
	known := func(name string) bool { _, ok := check.Named(name); return ok }
	for _, one := range p.List(v, len(check.Names()), "a list of at most %s rules", "%s rules") {
		name := ""
		if p.Text(one, &name, strict.Among(check.Names()...), known) {
			name, _ = check.Named(name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// explored reads one claim about the schedules of s, which is read but for what
// it expects.
func (p *parser) explored(v strict.Value, s *Scenario) Explored {
	f := p.Fields(v, exploredKeys.Names()...)
	var e Explored
	p.take(f, exploredKeys, &e)
	if violations, ok := f["violations"]; ok {
		e.Violations = p.rules(violations)
	} else if f != nil {
		p.Wrong(v, strict.Say("no violations"), strict.Say("a list of at most %s rules", len(check.Names())))
	}
	if faults, ok := f["faults"]; ok {
		kinds := s.StrikeKinds()
		if len(s.Threads) == 0 { // refused already: it is not known what can strike
			return e
		}
		for _, one := range p.List(faults, len(kinds), "a list of at most %s kinds of faults", "%s kinds of faults") {
			kind := ""
			p.OneOf(one, &kind, kinds...)
			e.Faults = append(e.Faults, kind)
		}
	}
	switch most, ok := f["max-faults"]; {
	case !ok && len(e.Faults) > 0:
		e.MaxFaults = 1
	case e.MaxFaults > 0 && len(e.Faults) == 0:
		p.Wrong(most, strict.Say("max-faults without faults"), strict.Say("with the faults that may strike, or not at all"))
	}
	return e
}
