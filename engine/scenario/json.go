package scenario

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// The JSON forms of a scenario's parts. Nil parts are omitted.
type (
	threadForm struct {
		Name    string     `json:"name"`
		Start   *duration  `json:"start,omitempty"`
		Takes   []string   `json:"takes,omitempty"`
		Depth   *int       `json:"depth,omitempty"`
		Work    *Range     `json:"work,omitempty"`
		After   *Range     `json:"after,omitempty"`
		Calls   *string    `json:"calls,omitempty"`
		Repeat  *int       `json:"repeat,omitempty"`
		OnLost  *string    `json:"on-lost,omitempty"`
		Process *string    `json:"process,omitempty"`
		User    *string    `json:"user,omitempty"`
		Drift   *Drift     `json:"drift,omitempty"`
		Resends *int       `json:"client-retries,omitempty"`
		Retry   *retryForm `json:"retry,omitempty"`
	}
	lockForm struct {
		Protocol *string    `json:"protocol,omitempty"`
		Key      *string    `json:"key,omitempty"`
		Kind     string     `json:"kind,omitempty"`
		Lease    *duration  `json:"lease,omitempty"`
		Watchdog *any       `json:"watchdog,omitempty"`
		MaxHold  *duration  `json:"max-hold,omitempty"`
		Keep     *duration  `json:"keep,omitempty"`
		Wait     Sync       `json:"wait,omitzero"`
		Min      Sync       `json:"min-replicas,omitzero"`
		Retry    *retryForm `json:"retry,omitempty"`
		Nodes    *int       `json:"nodes,omitempty"`
		OwnForm
	}
	retryForm struct {
		Times    *retries  `json:"times,omitempty"`
		Interval *duration `json:"interval,omitempty"`
		Wait     *string   `json:"wait,omitempty"`
		Jitter   *Range    `json:"jitter,omitempty"`
		GiveBack *bool     `json:"give-back,omitempty"`
	}
	expectForm struct {
		Violations *[]string         `json:"violations,omitempty"`
		Outcome    map[string]string `json:"outcome,omitempty"`
		Explore    []exploredForm    `json:"explore,omitempty"`
	}
	exploredForm struct {
		Delays     int      `json:"delays"`
		Faults     []string `json:"faults,omitempty"`
		MaxFaults  *int     `json:"max-faults,omitempty"` // where there are Faults: without it, it is 1
		Violations []string `json:"violations"`
	}
	resourceForm struct {
		Kind    string    `json:"kind"`
		Size    *int      `json:"size,omitempty"`
		Limit   *int      `json:"limit,omitempty"`
		Checks  string    `json:"checks,omitempty"`
		Looks   *bool     `json:"looks,omitempty"`
		OncePer *duration `json:"once-per,omitempty"`
	}
	scenarioForm struct {
		Title    string        `json:"title,omitempty"`
		Kind     *string       `json:"kind,omitempty"`
		Lock     *lockForm     `json:"lock,omitempty"`
		Locks    []string      `json:"locks,omitempty"`
		Resource *resourceForm `json:"resource,omitempty"`
		Threads  []threadForm  `json:"threads"`
		Faults   []Fault       `json:"faults,omitempty"`
		Seed     *uint64       `json:"seed,omitempty"`
		Policy   *string       `json:"policy,omitempty"`
		Schedule []Move        `json:"schedule,omitempty"`
		Expect   *expectForm   `json:"expect,omitempty"`
	}
)

// MarshalJSON writes the scenario in its normal form: the keys of the YAML in a
// fixed order, with all defaults filled in, but for those keys that most
// scenarios never have: kind, locks, takes, give-back, max-hold, keep, wait, min-replicas, args, keys, replies, release, after, calls,
// process, user, drift and client-retries. Parse reads it back.
func (s *Scenario) MarshalJSON() ([]byte, error) { return json.Marshal(s.form(true)) }

// Compact is MarshalJSON without the values that are defaults. Parse reads back
// the same scenario.
func (s *Scenario) Compact() ([]byte, error) { return json.Marshal(s.form(false)) }

// unless returns v, or nil if it is the default and not all values are wanted.
func unless[T comparable](v, by T, all bool) *T {
	if v == by && !all {
		return nil
	}
	return &v
}

func (s *Scenario) form(all bool) scenarioForm {
	l, usual := s.Lock, defaultLock()
	how := l.Implementation()
	f := scenarioForm{
		Title: s.Title, Kind: unless(s.Kind, KindLock, false), Locks: s.Locks, Faults: s.Faults, Schedule: s.Schedule,
		Seed: unless(s.Seed, defaultSeed, all), Policy: unless(s.Policy, PolicyInOrder, all),
		Lock: &lockForm{
			Protocol: unless(l.Protocol, usual.Protocol, all), Key: unless(l.Key, usual.Key, all),
			Lease: (*duration)(unless(l.Lease, usual.Lease, all)), Retry: l.Retry.form(withWait(usual.Retry, how), all),
			MaxHold: (*duration)(unless(l.MaxHold, usual.MaxHold, false)),
			Keep:    (*duration)(unless(l.Keep, usual.Keep, false)),
			Wait:    l.Wait, Min: l.MinReplicas,
			Nodes: unless(l.Nodes, nodesOf(how), all), OwnForm: l.OwnForm(), Kind: l.Kind.String(),
		},
	}
	if w := unless(l.Watchdog, defaultWatchdog(l.Lease), all); w != nil {
		var word any = duration(*w)
		if *w == 0 {
			word = "off"
		}
		f.Lock.Watchdog = &word
	}
	if s.Locks != nil { // they are named there
		f.Lock.Key = nil
	}
	if *f.Lock == (lockForm{}) {
		f.Lock = nil
	}
	for _, t := range s.Threads {
		f.Threads = append(f.Threads, t.form(s.defaultThread(), all))
	}
	if r := s.Resource; r != nil {
		f.Resource = &resourceForm{Kind: r.Kind, Size: unless(r.Size, defaultSize(r.Kind), all), Limit: unless(r.Limit, defaultLimit(r.Kind), all && r.Kind == KindPurchases), Checks: r.Checks, OncePer: (*duration)(unless(r.OncePer, 0, false))}
		if r.Blind {
			f.Resource.Looks = new(bool)
		}
	}
	if s.Expect != nil {
		f.Expect = &expectForm{Violations: s.Expect.Violations, Outcome: s.Expect.Outcome}
		for _, e := range s.Expect.Explore {
			one := exploredForm{Delays: e.Delays, Faults: e.Faults, Violations: append([]string{}, e.Violations...)}
			if len(e.Faults) > 0 {
				one.MaxFaults = &e.MaxFaults
			}
			f.Expect.Explore = append(f.Expect.Explore, one)
		}
	}
	return f
}

func (t Thread) form(usual Thread, all bool) threadForm {
	f := threadForm{
		Name: t.Name, Start: (*duration)(unless(t.Start, usual.Start, all)), Depth: unless(t.Depth, usual.Depth, all),
		Work: unless(t.Work, usual.Work, all), After: unless(t.After, usual.After, false), Calls: unless(t.Calls, usual.Calls, false), Repeat: unless(t.Repeat, usual.Repeat, all),
		OnLost: unless(t.OnLost, usual.OnLost, all), Process: unless(t.Process, usual.Process, false), User: unless(t.User, usual.User, false),
		Drift: unless(t.Drift, usual.Drift, false), Resends: unless(t.ClientRetries, usual.ClientRetries, false),
		Retry: t.Retry.form(usual.Retry, all),
	}
	if t.Takes != "" { // then its depth follows
		f.Depth = nil
	}
	if t.Takes != usual.Takes {
		f.Takes = t.Takes.Keys()
	}
	return f
}

func (r Retry) form(usual Retry, all bool) *retryForm {
	if r == usual && !all {
		return nil
	}
	return &retryForm{
		(*retries)(unless(r.Times, usual.Times, all)), (*duration)(unless(r.Interval, usual.Interval, all)),
		unless(r.Wait, usual.Wait, all),
		unless(Range{r.JitterMin, r.JitterMax}, Range{usual.JitterMin, usual.JitterMax}, all),
		unless(r.GiveBack, usual.GiveBack, false),
	}
}

func withWait(r Retry, p *protocol.Protocol) Retry {
	r.Wait = waitOf(p)
	return r
}

// retries is how often an acquisition is retried.
type retries int

// MarshalJSON writes a number, or the word for no limit.
func (n retries) MarshalJSON() ([]byte, error) {
	if n == Unlimited {
		return json.Marshal(unlimited)
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

type duration time.Duration

// MarshalText formats the duration.
func (d duration) MarshalText() ([]byte, error) {
	return []byte(phrase.Duration(time.Duration(d))), nil
}

// MarshalText formats the range: "50ms", "50ms-100ms".
func (r Range) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String formats the range as scenarios do.
func (r Range) String() string {
	if r.Min == r.Max {
		return phrase.Duration(r.Min)
	}
	return phrase.Duration(r.Min) + "-" + phrase.Duration(r.Max)
}

// MarshalJSON writes the fault with the keys of the YAML.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := struct {
		Thread  string    `json:"thread,omitempty"`
		At      string    `json:"at,omitempty"`
		Level   int       `json:"level,omitempty"`
		Round   int       `json:"round,omitempty"`
		Command int       `json:"command,omitempty"`
		Time    *duration `json:"time,omitempty"`
		Do      string    `json:"do"`
		Error   string    `json:"error,omitempty"`
		For     duration  `json:"for,omitzero"`
		Scope   string    `json:"scope,omitempty"`
		By      string    `json:"by,omitempty"`
		Behind  *int      `json:"behind,omitempty"`
		Replica int       `json:"replica,omitempty"`
		Node    int       `json:"node,omitempty"`
		Keep    bool      `json:"keep,omitempty"`
		Lose    duration  `json:"lose,omitzero"`
	}{Thread: f.Thread, At: f.At, Level: f.Level, Round: f.Round, Do: f.Do, Error: f.Error, For: duration(f.For), Scope: f.Scope, Keep: f.Keep, Lose: duration(f.Lose)}
	if f.Command > 1 {
		out.Command = f.Command
	}
	if f.Node > 1 {
		out.Node = f.Node
	}
	if f.Timed {
		out.Time = (*duration)(&f.Time)
	}
	if f.By > 0 {
		out.By = phrase.Duration(f.By)
	}
	if f.By < 0 {
		out.By = "-" + phrase.Duration(-f.By)
	}
	if f.Do == fault.FailOver {
		out.Behind, out.Replica = &f.Behind, f.Replica
	}
	return json.Marshal(out)
}

// MarshalJSON writes the move as an entry of a schedule.
func (m Move) MarshalJSON() ([]byte, error) {
	switch {
	case m.Fault != nil:
		return json.Marshal(m.Fault)
	case m.Until > 0:
		return json.Marshal(struct {
			Until duration `json:"until"`
		}{duration(m.Until)})
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
