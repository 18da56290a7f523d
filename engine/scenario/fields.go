package scenario

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// Defaults of the keys a scenario leaves out.
const (
	defaultKey      = "EXAMPLE_LOCK"
	defaultLease    = 30 * time.Second
	defaultRetries  = 5
	defaultInterval = 50 * time.Millisecond
	defaultSeed     = 1
)

// DefaultProcess is the process of threads that do not name one.
const DefaultProcess = "main"

const minWatchdog = time.Millisecond

// The keys of a scenario's parts, in the order in which a mistake lists them. Parse
// reads no others, and Schema has no others.
var (
	scenarioKeys = []string{"title", "kind", "lock", "locks", "resource", "threads", "defaults", "faults", "seed", "policy", "schedule", "expect"}
	resourceKeys = []string{"kind", "size", "limit", "checks", "looks", "once-per"}
	lockKeys     = []string{"protocol", "key", "kind", "lease", "watchdog", "max-hold", "retry", "nodes", "wait", "min-replicas", "keep", "like", "scripts", "args", "keys", "replies", "release"}
	retryKeys    = []string{"times", "interval", "wait", "jitter", "give-back"}
	threadKeys   = []string{"start", "takes", "depth", "work", "after", "calls", "repeat", "on-lost", "process", "user", "drift", "client-retries", "retry"} // and name
	expectKeys   = []string{"violations", "outcome", "explore"}
	exploredKeys = []string{"delays", "faults", "max-faults", "violations"}
)

// untilKey is the only key of a move in which time passes.
const untilKey = "until"

func (p *parser) scenario(v strict.Value) *Scenario {
	m := p.Fields(v, scenarioKeys...)
	s := &Scenario{Kind: KindLock, Seed: defaultSeed, Policy: PolicyInOrder}
	p.text(m, "title", &s.Title, strict.Say("a line of at most %s characters", MaxTitle), func(t string) bool {
		return printable(t) && utf8.RuneCountInString(t) <= MaxTitle
	})
	before := len(p.Mistakes)
	p.oneOf(m, "kind", &s.Kind, KindLock, KindHeartbeat)
	p.unknown = len(p.Mistakes) > before
	p.several = m.Has("locks")
	p.lock(m, s)
	p.locks(m, s)
	if m != nil {
		p.threads(m, s)
	}
	p.resource(m, s)
	p.faults(m, s)
	if v, ok := m["seed"]; ok {
		text := ""
		p.Text(v, &text, strict.Whole[uint64](0, MaxSeed), func(text string) (ok bool) {
			s.Seed, ok = strict.ParseWhole(text)
			return ok
		})
	}
	p.oneOf(m, "policy", &s.Policy, PolicyInOrder, PolicyRandom)
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

// resourceKinds returns the values of Resource.Kind.
func resourceKinds() []string {
	kinds := make([]string, len(resourceChecks))
	for i, one := range resourceChecks {
		kinds[i] = one.kind
	}
	return kinds
}

func (p *parser) resource(m strict.Map, s *Scenario) {
	v, ok := m["resource"]
	if !ok {
		return
	}
	f := p.Fields(v, resourceKeys...)
	r := &Resource{}
	if f != nil && !f.Has("kind") {
		p.Wrong(strict.Value{Node: v.Node, Key: v.Key + ".kind"}, strict.Say("nothing"), strict.Among(resourceKinds()...))
	}
	p.oneOf(f, "kind", &r.Kind, resourceKinds()...)
	r.Size, r.Limit = defaultSize(r.Kind), defaultLimit(r.Kind)
	p.number(f, "size", &r.Size, 0, MaxSize)
	if limit, given := f["limit"]; given && r.Kind != "" && r.Kind != KindPurchases {
		p.Wrong(limit, strict.TheKey("limit"), strict.Say("a limit only with kind: %s", KindPurchases))
	} else {
		p.number(f, "limit", &r.Limit, 1, MaxSize)
	}
	p.oneOf(f, "checks", &r.Checks, ChecksOf(r.Kind)...)
	p.effect(f, r)
	s.Resource = r
}

// effect reads what only an effect has.
func (p *parser) effect(f strict.Map, r *Resource) {
	for _, key := range []string{"looks", "once-per"} {
		if one, given := f[key]; given && r.Kind != "" && r.Kind != KindEffect {
			p.Wrong(one, strict.TheKey(key), strict.Say("%s only with kind: %s", key, KindEffect))
			return
		}
	}
	looks := "true"
	p.oneOf(f, "looks", &looks, "true", "false")
	r.Blind = looks == "false"
	p.duration(f, "once-per", &r.OncePer, time.Millisecond, MaxDuration, time.Microsecond)
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
			p.number(strict.Map{"": one}, "", &move.Choice, 0, MaxChoice)
		case len(one.Content) > 0 && one.Content[0].Value == untilKey:
			f := p.Fields(one, untilKey)
			p.duration(f, untilKey, &move.Until, time.Microsecond, MaxSchedule, time.Microsecond)
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
	return Lock{
		Protocol: exhibit.All()[0].Name, Key: defaultKey, Lease: defaultLease, Watchdog: defaultWatchdog(defaultLease), Nodes: 1,
		Retry: Retry{Times: defaultRetries, Interval: defaultInterval, Wait: WaitPoll},
	}
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
	t := defaultThread(s.Lock.Retry)
	if t.Takes = takesOf(s.Locks); s.Locks != nil {
		t.Depth = len(s.Locks)
	}
	return t
}

func defaultThread(retry Retry) Thread {
	return Thread{Depth: 1, Work: defaultWork(), Repeat: 1, OnLost: OnLostIgnore, Process: DefaultProcess, Retry: retry}
}

func defaultWork() Range { return Range{50 * time.Millisecond, 100 * time.Millisecond} }

func (p *parser) lock(m strict.Map, s *Scenario) {
	s.Lock = defaultLock()
	l := &s.Lock
	v, ok := m["lock"]
	var f strict.Map
	if ok {
		f = p.Fields(v, lockKeys...)
	}
	before := len(p.Mistakes)
	p.oneOf(f, "protocol", &l.Protocol, append(exhibit.Names(), protocol.Own)...)
	known := len(p.Mistakes) == before
	p.unknown = p.unknown || !known
	p.own(v, f, s)
	how := l.Implementation()
	p.text(f, "key", &l.Key, strict.Say("1 to %s printable characters without spaces, { and }", MaxKey), keyForm)
	kind := l.Kind.String()
	p.text(f, "kind", &kind, strict.Say("%s, N from 1 to %d", check.Kinds, check.MostPermits), func(s string) (ok bool) {
		var err error
		l.Kind, err = check.ParseKind(s)
		return err == nil
	})
	p.duration(f, "lease", &l.Lease, time.Millisecond, MaxDuration, time.Millisecond)
	p.wholeSeconds(f, l)
	l.Watchdog = defaultWatchdog(l.Lease)
	if w, ok := f["watchdog"]; ok && (w.Value == "off" || w.Value == "false" && w.Tag == "!!bool") {
		l.Watchdog = 0 // YAML 1.1 readers turn a bare off into false
	} else if ok {
		p.Time(w, &l.Watchdog, strict.Times{Low: minWatchdog, High: MaxDuration, Unit: time.Microsecond, Or: "%s, or off"})
	}
	p.duration(f, "max-hold", &l.MaxHold, time.Millisecond, MaxDuration, time.Microsecond)
	if v, ok := f["max-hold"]; ok && p.judges() && (l.Watchdog == 0 || !how.HasWatchdog()) {
		p.Wrong(v, strict.TheKey("max-hold"), strict.Say("only with a watchdog: it limits renewals"))
	}
	p.duration(f, "keep", &l.Keep, time.Millisecond, MaxDuration, time.Millisecond)
	if v, ok := f["keep"]; ok && p.judges() && !how.CanKeep() {
		p.Wrong(v, strict.TheKey("keep"), strict.Say("keep only with protocol: %s, whose key refuses its last owner, too", strings.Join(Keeping(), ", ")))
	}
	p.replicas(f, l)
	l.Retry.Wait = waitOf(how)
	p.retry(f, &l.Retry)
	l.Nodes = nodesOf(how)
	most := mostNodes(how)
	if !known {
		most = MaxNodes
	}
	if v, ok := f["nodes"]; ok && most == 1 && p.judges() && v.Value != "1" {
		p.Wrong(v, strict.TheKey("nodes"), strict.Say("nodes only with protocol: %s, whose key is on several Redis", strings.Join(ofNodes(), ", ")))
		return
	}
	p.number(f, "nodes", &l.Nodes, 1, most)
}

func (p *parser) retry(m strict.Map, r *Retry) {
	v, ok := m["retry"]
	if !ok {
		return
	}
	f := p.Fields(v, retryKeys...)
	p.times(f, &r.Times)
	p.duration(f, "interval", &r.Interval, time.Millisecond, MaxInterval, time.Microsecond)
	waits := []string{r.Wait}
	if p.unknown {
		waits = []string{WaitPoll, WaitNotify}
	}
	p.oneOf(f, "wait", &r.Wait, waits...)
	jitter := Range{r.JitterMin, r.JitterMax}
	p.between(f, "jitter", &jitter, MaxInterval)
	r.JitterMin, r.JitterMax = jitter.Min, jitter.Max
	if v, ok := f["give-back"]; ok && !p.several {
		p.Wrong(v, strict.TheKey("give-back"), strict.Say("give-back only with locks: a thread without another lock has none to give back"))
		return
	}
	back := strconv.FormatBool(r.GiveBack)
	p.oneOf(f, "give-back", &back, "true", "false")
	r.GiveBack = back == "true"
}

// unlimited is the word for Unlimited in a scenario.
const unlimited = "unlimited"

// times reads how often an acquisition is retried.
func (p *parser) times(f strict.Map, into *int) {
	if v, ok := f["times"]; ok && v.Kind == yaml.ScalarNode && v.Value == unlimited {
		*into = Unlimited
		return
	}
	if v, ok := f["times"]; ok {
		p.NumberOr(v, into, 0, MaxRetries, "%s, or unlimited")
	}
}

var nameForm = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_-]+$`)

func (p *parser) threads(m strict.Map, s *Scenario) {
	common := s.defaultThread()
	if v, ok := m["defaults"]; ok {
		f := p.Fields(v, threadKeys...)
		p.thread(f, &common)
		p.takes(f, s, &common)
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
	for _, one := range list {
		t := common
		f := p.Fields(one, append([]string{"name"}, threadKeys...)...)
		allowed := strict.Say("1 to %s letters, digits, - or _, unlike every other thread's", MaxName)
		if _, named := f["name"]; !named && f != nil {
			p.Wrong(strict.Value{Node: one.Node, Key: one.Key + ".name"}, strict.Say("nothing"), allowed)
		}
		p.text(f, "name", &t.Name, allowed, func(name string) bool {
			return utf8.RuneCountInString(name) <= MaxName && nameForm.MatchString(name) && s.thread(name) == nil
		})
		p.thread(f, &t)
		p.takes(f, s, &t)
		s.Threads = append(s.Threads, t)
	}
}

func (p *parser) thread(f strict.Map, t *Thread) {
	p.duration(f, "start", &t.Start, 0, MaxDuration, time.Microsecond)
	p.number(f, "depth", &t.Depth, 1, MaxDepth)
	p.between(f, "work", &t.Work, MaxDuration)
	p.between(f, "after", &t.After, MaxDuration)
	p.text(f, "calls", &t.Calls, strict.Say("names of up to %s functions, with spaces between", MaxDepth), func(calls string) bool {
		names := strings.Fields(calls)
		return len(names) <= MaxDepth && strings.Join(names, " ") == calls && !slices.ContainsFunc(names, func(name string) bool {
			return utf8.RuneCountInString(name) > MaxName || !nameForm.MatchString(name)
		})
	})
	p.number(f, "repeat", &t.Repeat, 1, MaxRepeat)
	p.oneOf(f, "on-lost", &t.OnLost, OnLostIgnore, OnLostStop)
	p.name(f, "process", &t.Process)
	p.name(f, "user", &t.User)
	p.drift(f, &t.Drift)
	p.number(f, "client-retries", &t.ClientRetries, 0, MaxResends)
	p.retry(f, &t.Retry)
}

func (p *parser) name(f strict.Map, key string, into *string) {
	p.text(f, key, into, strict.Say("1 to %s letters, digits, - or _", MaxName), func(name string) bool {
		return utf8.RuneCountInString(name) <= MaxName && nameForm.MatchString(name)
	})
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
	f := p.Fields(v, expectKeys...)
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
			p.oneOf(named, name, &text, ends()...)
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
	for _, one := range p.List(v, len(check.Names()), "a list of at most %s rules", "%s rules") {
		name := ""
		p.oneOf(strict.Map{"": one}, "", &name, check.Names()...)
		names = append(names, name)
	}
	return names
}

// explored reads one claim about the schedules of s, which is read but for what
// it expects.
func (p *parser) explored(v strict.Value, s *Scenario) Explored {
	f := p.Fields(v, exploredKeys...)
	var e Explored
	p.number(f, "delays", &e.Delays, 0, MaxDelays)
	p.number(f, "max-faults", &e.MaxFaults, 0, MaxStruck)
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
			p.oneOf(strict.Map{"": one}, "", &kind, kinds...)
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
