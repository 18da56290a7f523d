package infer

import (
	"maps"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Majority folds the records of one order of a lock that is on several servers, each
// with a key of its own, into events and broken rules: a thread holds the lock while its
// value is on more than half of them. Each server has its own Reading, which reads what a
// command did to that server's key. It is not safe for concurrent use.
type Majority struct {
	account
	register // of all servers

	servers []*server
	marks   bool
	ballots map[string]*ballot
	belief  map[string]int
	hashes  bool // a server's key was a hash
	step    int
	at      time.Duration
	began   time.Time
	latest  int // the last event that is no broken rule

	marked
	protected string
	most      int // how many may be inside at once
}

// server is what we know about one.
type server struct {
	*Reading

	key trace.KeyState
	at  time.Duration // when it was so
}

// ballot is a call of a thread to the servers, and what they have answered so far.
type ballot struct {
	call           string
	asked, yes, no map[int]bool
	undoes         bool // a lock call that was not granted
	told           bool // what it came to
	attempt        int  // of a lock call
}

// NewMajority returns the reading of no records yet, of a lock on so many servers; the
// rest is as for New.
func NewMajority(servers int, threads []string, of Lock, resource string, marks bool, known Roles) *Majority {
	m := &Majority{register: registerOf(threads), marks: marks, ballots: map[string]*ballot{}, belief: map[string]int{}, marked: newMarked(), protected: resource, most: of.Kind.Most()}
	for range servers {
		m.servers = append(m.servers, &server{Reading: New(threads, Lock{Key: of.Key}, resource, marks, known), key: trace.Absent()})
	}
	m.checker = check.New(m.owners, protocol.InRedis, of.Kind)
	return m
}

func (m *Majority) quorum() int { return len(m.servers)/2 + 1 }

// See takes the next record, of the server Record.Node, or of a thread's end.
func (m *Majority) See(r Record) {
	m.step++
	m.at = max(m.at, r.At)
	if r.Ended != "" {
		delete(m.belief, r.Thread)
		m.ended(r.Thread)
		m.add(r.Thread, trace.End{Result: r.Ended})
		return
	}
	if r.Mark == MarkEnter || r.Mark == MarkLeave {
		w := m.mark(r)
		m.witness.Shared = m.witness.Shared || w.Reads
		m.add(r.Thread, w)
		if w.State == trace.WorkBegin {
			m.entered[r.Thread] = m.latest
		}
		return
	}
	if m.marks && r.Thread != "" {
		m.takes(r, r.Keys, m.protected, m.instant())
		defer func() {
			for _, f := range m.found(m.latest) {
				m.violate(f)
			}
		}()
	}
	if r.Aside {
		return
	}
	s := m.servers[r.Node-1]
	s.events = s.events[:0]
	named := len(s.named)
	s.See(r)
	maps.Copy(m.owners, s.owners)
	for _, id := range s.named[named:] {
		if !slices.Contains(m.named, id) {
			m.named = append(m.named, id)
		}
	}
	m.hashes = m.hashes || r.After.Type == trace.TypeHash
	if i := slices.IndexFunc(s.events, func(e trace.Event) bool { return e.Kind() == trace.KindCommand }); i >= 0 && !r.Late {
		m.asks(r.Node, r.Thread, s.events[i].Body.(trace.Command).Call)
	}
	for _, e := range s.events {
		m.take(r, e)
	}
}

// take takes an event of one server.
func (m *Majority) take(r Record, e trace.Event) {
	s := m.servers[r.Node-1]
	s.key, s.at = e.Key, m.at
	switch b := e.Body.(type) {
	case trace.Violation: // of one server alone
	case trace.Outcome:
		m.answered(r.Node, e.Thread, b)
	case trace.Expired:
		for _, t := range r.Silent {
			if m.has(t) < m.quorum() {
				delete(m.belief, t)
			}
		}
		m.lapse(r.Node, m.servers[0].Reading.key)
		b.Node = r.Node
		m.add("", b)
	case trace.Command:
		b.Node, b.Attempt, b.Level = r.Node, 1, 1
		if one := m.ballots[e.Thread]; one != nil && one.call == b.Call {
			if b.GivesBack = one.undoes; !one.undoes {
				b.Attempt = max(one.attempt, 1)
			}
		}
		m.add(e.Thread, b)
	case trace.Fault:
		b.Node = r.Node
		m.add(e.Thread, b)
	default:
		m.add(e.Thread, e.Body)
	}
}

// asks takes the call of a thread to one server. A thread that gives back what it has, or
// asks for it again, no longer believes that it holds.
func (m *Majority) asks(node int, thread, call string) {
	was := m.ballots[thread]
	if was == nil {
		was = &ballot{}
	}
	switch {
	case call != lock.CallLock && call != lock.CallUnlock && call != lock.CallRenew:
		return
	case was.call == call && (call == lock.CallUnlock || !was.asked[node]):
		was.asked[node] = true
		return
	}
	one := &ballot{call: call, asked: map[int]bool{node: true}, yes: map[int]bool{}, no: map[int]bool{}}
	switch call {
	case lock.CallLock:
		if one.attempt = 1; was.call == lock.CallLock || was.undoes {
			one.attempt = was.attempt + 1
		}
	case lock.CallUnlock:
		if one.undoes = was.call == lock.CallLock && m.belief[thread] == 0; one.undoes {
			one.attempt = was.attempt
		}
	}
	if call != lock.CallRenew {
		delete(m.belief, thread)
	}
	m.ballots[thread] = one
}

// answered takes what one server has answered.
func (m *Majority) answered(node int, thread string, o trace.Outcome) {
	one := m.ballots[thread]
	if one == nil || one.call != o.Call || one.undoes {
		return
	}
	result := trace.Refused
	switch o.Result {
	case trace.Acquired, trace.Reentered, trace.Released, trace.Decremented, trace.Renewed:
		one.yes[node] = true
	case trace.Refused, trace.NotHeld:
		one.no[node] = true
	default:
		return
	}
	switch {
	case one.told:
		return
	case len(one.yes) >= m.quorum() && (o.Call != lock.CallLock || m.valid(thread)):
		result = map[string]trace.Result{lock.CallLock: trace.Acquired, lock.CallUnlock: trace.Released, lock.CallRenew: trace.Renewed}[o.Call]
	case len(one.no) <= len(m.servers)-m.quorum():
		return
	case o.Call != lock.CallLock:
		result = trace.NotHeld
	}
	one.told = true
	told := trace.Outcome{Call: o.Call, Result: result, Level: 1, Attempt: max(one.attempt, 1)}
	switch result {
	case trace.Acquired:
		m.belief[thread] = 1
	case trace.NotHeld:
		delete(m.belief, thread)
	}
	told.Count = m.belief[thread]
	m.add(thread, told)
}

// states returns the keys of all servers at this instant.
func (m *Majority) states() []trace.KeyState {
	list := make([]trace.KeyState, len(m.servers))
	for i, s := range m.servers {
		list[i] = s.key
		if list[i].PTTL >= 0 {
			list[i].PTTL = max(list[i].PTTL-(m.at-s.at).Milliseconds(), 0)
		}
	}
	return list
}

// has returns how many servers have a thread's value.
func (m *Majority) has(thread string) int {
	n := 0
	for _, k := range m.states() {
		if k.Value != nil && m.owners[*k.Value] == thread {
			n++
		}
	}
	return n
}

// valid reports whether a majority keeps a thread's value for longer than clocks may
// differ: one hundredth of the time left, and 2 ms, as majority locks reckon it. A thread
// whose lease is as good as over gives the lock back.
func (m *Majority) valid(thread string) bool {
	n := 0
	for _, k := range m.states() {
		if k.Value != nil && m.owners[*k.Value] == thread && (k.PTTL < 0 || k.PTTL > 2+k.PTTL/100) {
			n++
		}
	}
	return n >= m.quorum()
}

// add appends an event, and what rules it breaks.
func (m *Majority) add(thread string, body trace.Body) {
	belief := m.belief
	if m.marks {
		belief = m.times
	}
	nodes := m.states()
	e := trace.Event{Seq: m.seq + 1, Step: m.step, At: trace.MillisOf(m.at), Thread: thread, Body: body, Key: trace.Majority(nodes), Nodes: nodes, Belief: maps.Clone(belief)}
	m.note(e)
	m.latest = e.Seq
	for _, f := range m.checker.Observe(e) {
		if !slices.Contains(Rules(), f.Rule) || m.marks && isTaking(f.Rule) && !m.tells(f) {
			continue
		}
		if !m.marks {
			f = inferred(f, append(m.checker.Holders(e.Key), thread))
		}
		m.violate(f)
	}
}

func (m *Majority) violate(f check.Finding) {
	m.account.violate(f, trace.Event{Step: 1, Key: trace.Absent(), Nodes: m.states()})
}

// Untried reports whether so is one of the servers.
func (m *Majority) Untried() bool {
	return slices.ContainsFunc(m.servers, func(one *server) bool { return one.Untried() })
}

// Finish judges the end of an order: its instant, and who waits; the keys are those that
// the records have left.
func (m *Majority) Finish(over Over) {
	m.at = max(m.at, over.At)
	key := trace.Majority(m.states())
	believed := len(m.belief) > 0
	if m.marks {
		believed = len(m.times) > 0
	}
	if len(over.Waiting) > 0 {
		m.violate(m.checker.Stuck(over.Waiting, over.Asking))
	} else if key.Exists() && !believed {
		for _, f := range m.checker.Finish(key) {
			m.violate(f)
		}
	}
	m.step++
	m.add("", trace.End{Result: over.result()})
}

// SetStart says from which instant the records count.
func (m *Majority) SetStart(t time.Time) {
	m.began = t
	for _, s := range m.servers {
		s.SetStart(t)
	}
}

// instant is the instant of the records so far, zero where it is not known.
func (m *Majority) instant() time.Time {
	if m.began.IsZero() {
		return time.Time{}
	}
	return m.began.Add(m.at)
}

// Kind says why the kind of lock is not known, a sentence, and what helps; "" if it is known.
// With marks nobody has to know it.
func (m *Majority) Kind() (says, helps phrase.Wording) {
	if m.marks {
		return phrase.Wording{}, phrase.Wording{}
	}
	if m.most > 1 {
		return verdict.Several.Unknown()
	}
	for _, s := range m.servers {
		if s.kind != nil {
			return s.kind.Unknown()
		}
	}
	switch {
	case m.hashes:
		return verdict.Hashes.Unknown()
	case slices.ContainsFunc(m.servers, func(s *server) bool { return len(s.shared) > 0 }):
		return verdict.OneValue.Unknown()
	}
	return phrase.Wording{}, phrase.Wording{}
}

// Believes returns who believes that it holds the lock, with how often. Nobody may change it.
func (m *Majority) Believes() map[string]int { return m.belief }

// Misread reports whether it took a script for something else before that did what it
// does: read the records again with the same Roles.
func (m *Majority) Misread() bool {
	return slices.ContainsFunc(m.servers, func(s *server) bool { return s.Misread() })
}

// Stands reports whether the lock's key existed on a majority after the last record.
func (m *Majority) Stands() bool { return trace.Majority(m.states()).Exists() }
