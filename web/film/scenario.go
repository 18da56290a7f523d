package film

import (
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/words"
)

// Scenario is a scenario ready to be shown and to be edited in a form.
type Scenario struct {
	Title       string
	Kind        string // "lock", or "heartbeat", which has no lock
	Protocol    string
	Key         string
	Locks       []string // the keys of several locks, or nil
	Lease       string   // as the scenario has it, "200ms"
	LeaseMillis int64
	Watchdog    string // its interval, "off", or "none" if the lock has none
	Nodes       int
	Wait        string // the replicas that its lock waits for: "1 of 2 in 50 ms", or ""
	Unheard     int    // one of them that it does not wait for, or 0
	MinReplicas string // without which its master takes no writes: "1 in 1,000 ms", or ""
	Seed        string
	Drawn       bool     // something visible is drawn with the seed
	Facts       []string // its settings, each in a few words
	Threads     []Thread
	Bare        bool // the table's head says no settings: nobody knows them, or they would tell what is asked

	of *scenario.Scenario // nil of one that was made by hand
}

// Heartbeat reports whether the scenario is about a device and its watchers
// instead of a lock.
func (s Scenario) Heartbeat() bool { return s.Kind == scenario.KindHeartbeat }

// Sets reports whether the table's head says what threads and lock are set to: columns of
// four have no room for it.
func (s Scenario) Sets() bool { return len(s.Threads) < 4 && !s.Heartbeat() && !s.Bare }

// After is the head of the table's column that has the lock's key after each row, or the
// keys of several.
func (s Scenario) After(l words.Language) string {
	if len(s.Locks) > 0 {
		return l.Say("The locks, after")
	}
	return l.Say("%s, after", s.Key)
}

// Queues reports whether who waits for its lock is in a line: the lock is handed on.
func (s Scenario) Queues() bool { return s.of != nil && s.of.Lock.Implementation().Granting }

// Nested reports whether a thread enters its lock more than once at a time: it has a call
// for each level.
func (s Scenario) Nested() bool {
	return slices.ContainsFunc(s.Threads, func(t Thread) bool { return t.Depth > 1 })
}

// frame is the scenario itself, or what is known of one that was made by hand.
func (s Scenario) frame() *scenario.Scenario {
	if s.of != nil {
		return s.of
	}
	names := make([]string, len(s.Threads))
	for i, t := range s.Threads {
		names[i] = t.Name
	}
	sc := frameOf(names, s.LeaseMillis)
	for i, t := range s.Threads {
		if t.Endless {
			sc.Threads[i].Retry.Times = scenario.Unlimited
		}
	}
	sc.Kind, sc.Locks, sc.Lock.Protocol, sc.Lock.Key = s.Kind, s.Locks, s.Protocol, s.Key
	return sc
}

// frameOf is a scenario of which no more is known than its threads and its lease.
func frameOf(threads []string, leaseMillis int64) *scenario.Scenario {
	sc := &scenario.Scenario{Lock: scenario.Lock{Lease: millis(leaseMillis)}}
	for _, name := range threads {
		sc.Threads = append(sc.Threads, scenario.Thread{Name: name, Process: scenario.DefaultProcess})
	}
	return sc
}

// InRedis reports whether the protocol keeps its lock in Redis, so that a
// thread's belief and Redis can disagree.
func InRedis(name string) bool {
	return exhibit.Named(name).Guard == protocol.InRedis
}

// NoLock reports whether a protocol keeps nobody out.
func NoLock(name string) bool { return exhibit.Named(name).Guard == protocol.Nothing }

// settings words a scenario's settings, as far as it has them: a heartbeat has
// no lock, and a lock outside Redis has no lease.
func settings(l words.Language, s Scenario) []string {
	switch {
	case s.Heartbeat():
		return []string{s.Kind, l.Say("the key stays for %s", l.Length(s.Lease))}
	case !InRedis(s.Protocol):
		if NoLock(s.Protocol) {
			return []string{l.Say("no lock")}
		}
		return []string{l.Say("lock: %s", s.Protocol)}
	}
	list := []string{s.Protocol}
	if s.of.Lock.Kind.Said() {
		list = append(list, s.of.Lock.Kind.String())
	}
	if len(s.Locks) > 0 {
		list = append(list, l.Say("locks: %s", l.List(s.Locks)))
	}
	if s.Nodes > 1 {
		list = append(list, l.Say("nodes: %d", s.Nodes))
	}
	list = append(list, l.Say("lease %s", l.Length(s.Lease)), l.Say("watchdog %s", l.Length(s.Watchdog)))
	if s.Wait != "" {
		list = append(list, l.Say("waits for replicas: %s", s.Wait))
	}
	if s.MinReplicas != "" {
		list = append(list, l.Say("needs replicas: %s", s.MinReplicas))
	}
	return list
}

// Thread is a thread's settings. Lengths of time are as the scenario has them, "50ms-100ms":
// [words.Language.Length] words them.
type Thread struct {
	Name     string
	Ordinal  int
	Start    string
	Depth    int
	Work     string
	After    string // work when a nested call has returned, or ""
	Retries  int
	Endless  bool   // it asks until it has the lock; Retries is meaningless
	Interval string // between two tries
	Of       string // its process, "process balancer-1", its clock, or ""
}

// Belonging says what a thread of sc belongs to: its process, if named, the user
// it buys for, if that matters, and how its clock runs, if not as the others.
func Belonging(l words.Language, sc *scenario.Scenario, t scenario.Thread) string {
	var of []string
	if slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return !slices.Equal(t.Takes.Keys(), sc.Locks) }) { // else the scenario's own order says it
		of = append(of, l.Say("takes %s", strings.Join(t.Takes.Keys(), l.Say(", "))))
	}
	if t.Process != scenario.DefaultProcess {
		of = append(of, l.Say("process %s", t.Process))
	}
	if sc.Resource != nil && sc.Resource.Kind == scenario.KindPurchases && t.User != "" {
		of = append(of, l.Say("user %s", t.User))
	}
	switch {
	case t.Drift > 0:
		of = append(of, l.Say("clock %s fast", t.Drift.Size()))
	case t.Drift < 0:
		of = append(of, l.Say("clock %s slow", t.Drift.Size()))
	}
	if t.ClientRetries > 0 {
		of = append(of, l.Say("its client repeats requests, up to %d times", t.ClientRetries))
	}
	return strings.Join(of, l.Say(", "))
}

// NewScenario words sc in l.
func NewScenario(l words.Language, sc *scenario.Scenario) Scenario {
	s := Scenario{
		Title: sc.Title, Kind: sc.Kind, Protocol: sc.Lock.Protocol, Key: sc.Lock.Key, Locks: sc.Locks, Nodes: sc.Lock.Nodes, Seed: strconv.FormatUint(sc.Seed, 10), Drawn: sc.Drawn(),
		Lease: phrase.Duration(sc.Lock.Lease), LeaseMillis: sc.Lock.Lease.Milliseconds(),
		Watchdog: l.Say("off"), of: sc,
	}
	if s.Key == scenario.NoKey {
		s.Key = l.Say("The lock's key")
	}
	if w := sc.Lock.Wait; w.Count > 0 {
		s.Wait = l.Say("%d of %d in %s", w.Count, w.Of, l.Duration(w.Within))
		if w.Of > w.Count {
			s.Unheard = w.Of
		}
	}
	if w := sc.Lock.MinReplicas; w.Count > 0 {
		s.MinReplicas = l.Say("%d in %s", w.Count, l.Duration(w.Within))
	}
	switch {
	case !sc.Lock.Implementation().HasWatchdog():
		s.Watchdog = l.Say("none")
	case sc.Lock.Watchdog > 0:
		s.Watchdog = phrase.Duration(sc.Lock.Watchdog)
	}
	s.Facts = settings(l, s)
	for i, t := range sc.Threads {
		after := ""
		if t.Depth > 1 && t.After.Max > 0 {
			after = t.After.String()
		}
		s.Threads = append(s.Threads, Thread{
			Name: t.Name, Ordinal: i, Start: phrase.Duration(t.Start), Depth: t.Depth, Work: t.Work.String(), After: after,
			Retries: max(t.Retry.Times, 0), Endless: t.Retry.Times == scenario.Unlimited, Interval: t.Retry.Pause().String(),
			Of: Belonging(l, sc, t),
		})
	}
	return s
}
