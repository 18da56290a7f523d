package mend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Kind is what a change changes.
type Kind string

// The kinds, the cheapest first: a setting, a line in the threads' code, how a Redis restarts, of several locks
// their order and giving them back, waiting for replicas, keeping the key after the work, another script, another lock, and what the lock protects. A lock
// with its watchdog is one change.
const (
	Watchdog Kind = "watchdog"
	MaxHold  Kind = "max-hold"
	Lease    Kind = "lease"
	OnLost   Kind = "on-lost"
	Restart  Kind = "restart"
	Order    Kind = "order"
	GiveBack Kind = "give-back"
	Replicas Kind = "replicas"
	Keep     Kind = "keep"
	Script   Kind = "script"
	Lock     Kind = "lock"
	Resource Kind = "resource"
)

var kinds = []Kind{Watchdog, MaxHold, Lease, OnLost, Restart, Order, GiveBack, Replicas, Keep, Script, Lock, Resource}

// Change is one change of a scenario. It is not changed once made.
type Change struct {
	Kind  Kind
	Name  string         // as in the YAML, "lease: 1s": unique among the changes of a scenario
	Title phrase.Wording // a few words, with a capital
	Note  phrase.Wording // what it does, and what it does not: sentences but for the last full stop
	Lacks int            // faults of the scenario that the lock cannot have: it is tried without them

	Scenario *scenario.Scenario // with the change, without moves and expectations

	place  int      // among those of its kind
	longer []longer // with longer pauses, see Longer
	calm   *outcome // of Scenario without its faults, once it was played
}

// and is a check of what the lock protects together with another lock, or nil where the
// two do not go together.
func (c *Change) and(lock *Change) *Change {
	sc := lock.Scenario
	other, err := sc.Change(map[string]any{"resource": map[string]any{"checks": c.Scenario.Resource.Checks}})
	if err != nil {
		return nil
	}
	return &Change{
		Kind: Resource, Name: c.Name + ", " + lock.Name, Title: phrase.Say("%[1]s + %[2]s", c.Title, lock.Title),
		Note: c.Note, Lacks: lock.Lacks, Scenario: other, place: lock.place,
	}
}

// better are the locks that are another one's with better scripts, and what is
// better in them.
var better = []struct {
	from, to string
	title    phrase.Text
}{
	{"mutex-unsafe", "mutex-get-del", "Set value and expiry in one command, compare before deleting"},
	{"mutex-unsafe", "mutex", "Set value and expiry in one command, compare and delete in one script"},
	{"mutex-get-del", "mutex", "Compare and delete in one script"},
	{"mutex-blind", "mutex", "Renew only one's own lease"},
	{"mutex-pxat", "mutex", "A span instead of an instant"},
	{"mutex-take-back", "mutex", "Report the loss instead of taking the lock again"},
	{"redsync", "redsync-reset", "Set the value again on a node that has lost it"},
	{"mutex-stray-watchdog", "mutex", "Stop the watchdog with the unlock"},
	{"mutex", "mutex-own-value", "Let one's own value in"},
	{"reentrant-naive", "reentrant", "Calls that name their level: sent twice, they count once"},
	{"reentrant", "reentrant-sequenced", "Numbered calls: Redis refuses a late one"},
	{"value", "reentrant", "Count the holds"},
	{"setnx-hash", "reentrant", "Owner and count in one hash, set by one script"},
}

// sound are the locks that are made to be used, those with several nodes last: each
// search of one takes long.
var sound = []*protocol.Protocol{
	protocol.Sequenced, protocol.Notify, protocol.Fair, protocol.Fenced, protocol.Reentrant, protocol.RedlockInTurn,
}

// Changes are the changes that can be tried with a scenario, in the order in which
// they are tried. It takes the locks with better scripts, and the locks of package lock,
// which are made to be used, if they can play the scenario: without its faults, each
// thread ends as well as with its own lock. It fails with the error of a run.
func Changes(ctx context.Context, sc *scenario.Scenario) ([]Change, error) {
	m := maker{sc: sc, seen: map[string]bool{sc.Lock.Protocol: true}}
	m.watchdog()
	isLock := sc.Kind == scenario.KindLock
	m.restarts()
	if isLock {
		if err := m.ownScripts(ctx); err != nil {
			return nil, err
		}
		m.replicas()
		if err := m.scripts(ctx); err != nil {
			return nil, err
		}
	}
	m.threads()
	m.order()
	m.giveBack()
	m.lease()
	m.resource()
	if isLock {
		if err := m.keep(ctx); err != nil {
			return nil, err
		}
		if err := m.locks(ctx); err != nil {
			return nil, err
		}
	}
	return m.list, m.warn(ctx)
}

// warn says of which changes the price is that a thread gives up.
func (m *maker) warn(ctx context.Context) error {
	own, err := m.ends(ctx)
	if err != nil || slices.Contains(own.results, trace.Exhausted) {
		return err
	}
	for i := range m.list {
		c := &m.list[i]
		if c.calm == nil {
			theirs, err := ends(ctx, c.Scenario)
			if err != nil {
				return err
			}
			c.calm = &theirs
		}
		if slices.Contains(c.calm.results, trace.Exhausted) {
			c.Note = phrase.Say("%[1]s. A thread gives up now that it is kept out: give it more retries", c.Note)
		}
	}
	return nil
}

// maker makes the changes of a scenario.
type maker struct {
	sc   *scenario.Scenario
	own  *outcome                        // of sc without its faults, once it was played
	seen map[string]bool                 // locks
	like map[string][]*scenario.Scenario // the own lock and changes of its scripts, by what they send without faults
	list []Change
}

// add adds a change of sc, unless that is no scenario or the same one.
func (m *maker) add(c Change, sc *scenario.Scenario, with map[string]any) *Change {
	other, err := sc.WithSchedule(nil).Change(with)
	if err != nil {
		return nil // there is no such setting here
	}
	c.Scenario, c.place = other, len(m.list)
	c.Lacks = len(m.sc.Faults) - len(other.Faults)
	m.list = append(m.list, c)
	return &m.list[len(m.list)-1]
}

func ofLock(key string, value any) map[string]any {
	return map[string]any{"lock": map[string]any{key: value}}
}

// every is how often the watchdog would renew of a lock that is without, or 0 where it
// has one or cannot have one.
func every(l *scenario.Lock) time.Duration {
	if !l.Implementation().HasWatchdog() || l.Watchdog > 0 && l.Watchdog < l.Lease {
		return 0
	}
	return max((l.Lease / 3).Truncate(time.Millisecond), time.Millisecond)
}

// strikes reports whether a fault of the scenario is of one of some kinds.
func (m *maker) strikes(kinds ...string) bool {
	return slices.ContainsFunc(m.sc.Faults, func(f scenario.Fault) bool { return slices.Contains(kinds, f.Do) })
}

// watchdog adds the changes of the watchdog.
func (m *maker) watchdog() {
	l := m.sc.Lock
	if every := every(&l); every > 0 {
		m.lasting(m.add(Change{
			Kind: Watchdog, Name: "watchdog: " + phrase.Duration(every), Title: phrase.Say("A watchdog, every %s", every),
			Note: phrase.Say("It renews while its thread runs, and pauses with it"),
		}, m.sc, ofLock("watchdog", phrase.Duration(every))))
		return
	}
	if !l.Implementation().HasWatchdog() {
		return
	}
	if m.strikes(fault.Pause) {
		apart := *m.sc
		apart.Faults = slices.Clone(m.sc.Faults)
		for i := range apart.Faults {
			if apart.Faults[i].Do == fault.Pause {
				apart.Faults[i].Scope = fault.ScopeWork
			}
		}
		if !slices.Equal(apart.Faults, m.sc.Faults) {
			m.lasting(m.add(Change{
				Kind: Watchdog, Name: apartName, Title: phrase.Say("A watchdog that runs apart from the work"),
				Note: phrase.Say("It renews while the work blocks its thread or event loop. A pause of the whole process stops both"),
			}, &apart, nil))
		}
	}
	most := roundUp(longestHold(m.sc) * 3 / 2)
	if m.strikes(fault.Stall, fault.SkipUnlock) && (l.MaxHold == 0 || l.MaxHold > most) {
		m.add(Change{
			Kind: MaxHold, Name: "max-hold: " + phrase.Duration(most), Title: phrase.Say("Renew for %s at most", most),
			Note: phrase.Say("The watchdog gives up a hold that lasts longer than any here should. The lease then lets the others in, and a thread that still works is too late"),
		}, m.sc, ofLock("max-hold", phrase.Duration(most)))
	}
}

// lease adds a longer lease.
func (m *maker) lease() {
	l := m.sc.Lock
	if l.Implementation().Guard != protocol.InRedis {
		return
	}
	longest := longestHold(m.sc)
	if lease := roundUp(max(longest*3/2, 2*l.Lease)); lease <= scenario.MaxDuration {
		m.lasting(m.add(Change{
			Kind: Lease, Name: "lease: " + phrase.Duration(lease), Title: phrase.Say("A lease of %s", lease),
			Note: phrase.Say("It is longer than the longest hold here, %[1]s. A crashed holder keeps the others out for %[2]s", longest, lease),
		}, m.sc, ofLock("lease", phrase.Duration(lease))))
	}
}

// The words for stopping when the lock is lost, and what to know about it.
const (
	stopTitle phrase.Text = "Stop when the lock is lost"
	stopNote  phrase.Text = "The work is left half done. A thread checks, and then writes: it can pause in between"
)

// threads adds the change of the threads' code.
func (m *maker) threads() {
	if stop := stops(m.sc); stop != nil && m.sc.Kind == scenario.KindLock {
		m.lasting(m.add(Change{
			Kind: OnLost, Name: "on-lost: " + scenario.OnLostStop, Title: phrase.Say(stopTitle),
			Note: phrase.Say(stopNote),
		}, m.sc, stop))
	}
}

// order adds, of several locks, that every thread takes them in one order.
func (m *maker) order() {
	var ordered []any
	for _, t := range m.sc.Threads {
		takes := slices.DeleteFunc(slices.Clone(m.sc.Locks), func(key string) bool { return t.Takes.Level(key) == 0 })
		if !slices.Equal(takes, t.Takes.Keys()) {
			list := make([]any, len(takes))
			for i, key := range takes {
				list[i] = key
			}
			ordered = append(ordered, map[string]any{"name": t.Name, "takes": list})
		}
	}
	if ordered == nil {
		return
	}
	m.add(Change{
		Kind: Order, Name: "takes: in the order of locks", Title: phrase.Say("One order for all threads"),
		Note: phrase.Say("Each takes its locks in the order in which the scenario lists them, so no circle can close. It must know before the first one which others it will need"),
	}, m.sc, map[string]any{"threads": ordered})
}

// giveBack adds, of several locks, that who is refused another gives back those that it
// has. Without jitter, threads would give way to one another again and again.
func (m *maker) giveBack() {
	var back []any
	jitter := scenario.Range{}
	for _, t := range m.sc.Threads {
		r := t.Retry
		if r.GiveBack || len(t.Takes.Keys()) < 2 {
			continue
		}
		retry := map[string]any{"give-back": true}
		if r.Jitter.Max == 0 {
			jitter = scenario.Range{Max: r.Interval}
			retry["jitter"] = jitter.String()
		}
		back = append(back, map[string]any{"name": t.Name, "retry": retry})
	}
	if back == nil {
		return
	}
	name := "give-back: true"
	if jitter.Max > 0 {
		name += ", jitter: " + jitter.String()
	}
	m.add(Change{
		Kind: GiveBack, Name: name, Title: phrase.Say("Try, and give back"),
		Note: phrase.Say("A thread that is refused another lock releases what it has, waits for a random time, and starts over: nobody waits with a lock in hand. Work between two locks is done again"),
	}, m.sc, map[string]any{"threads": back})
}

// stops is the change by which all threads stop when they lose the lock, or nil: they do.
func stops(sc *scenario.Scenario) map[string]any {
	var stop []any
	for _, t := range sc.Threads {
		if t.OnLost != scenario.OnLostStop {
			stop = append(stop, map[string]any{"name": t.Name, "on-lost": scenario.OnLostStop})
		}
	}
	if stop == nil {
		return nil
	}
	return map[string]any{"threads": stop}
}

// stopping is the change of a lock together with stopping when it is lost, or nil.
func (c *Change) stopping() *Change {
	stop := stops(c.Scenario)
	if stop == nil {
		return nil
	}
	sc, err := c.Scenario.Change(stop)
	if err != nil {
		return nil
	}
	both := *c
	both.Scenario, both.Name = sc, c.Name+", on-lost: "+scenario.OnLostStop
	both.Title = phrase.Say("%[1]s + %[2]s", c.Title, phrase.Say(stopTitle))
	both.Note = phrase.Say(stopNote)
	both.longer, both.calm = nil, nil
	return &both
}

// restarts adds that a Redis that restarts keeps its data, and that it stays away for a lease.
func (m *maker) restarts() {
	if !m.strikes(fault.Restart) {
		return
	}
	add := func(c Change, change func(*scenario.Fault)) {
		other := *m.sc
		other.Faults = slices.Clone(m.sc.Faults)
		for i := range other.Faults {
			if other.Faults[i].Do == fault.Restart {
				change(&other.Faults[i])
			}
		}
		c.Kind = Restart
		if !slices.Equal(other.Faults, m.sc.Faults) {
			m.add(c, &other, nil)
		}
	}
	add(Change{
		Name: "keep: true", Title: phrase.Say("Keep the data over a restart"),
		Note: phrase.Say("Redis writes each change to its disk before it answers: appendfsync always. With everysec, the last second is lost"),
	}, func(f *scenario.Fault) { f.Keep, f.Lose = true, 0 })
	lease := roundUp(m.sc.Lock.Lease)
	add(Change{
		Name: "for: " + phrase.Duration(lease), Title: phrase.Say("Stay away for a lease after a restart"),
		Note: phrase.Say("When it is back, each lease that it has forgotten is over, unless it was renewed elsewhere. Until then there is one Redis less"),
	}, func(f *scenario.Fault) { f.For = max(f.For, lease) })
}

// replicas adds waiting for all replicas, and for one of two.
func (m *maker) replicas() {
	if m.sc.Lock.Wait.Count > 0 || !m.strikes(fault.FailOver, fault.TwoMasters) {
		return
	}
	m.add(Change{
		Kind: Replicas, Name: "wait: 1 of 1 in 500ms", Title: phrase.Say("Wait for the replica"),
		Note: phrase.Say("The replica that takes over has the lock. While it is away, nobody gets it"),
	}, m.sc, ofLock("wait", "1 of 1 in 500ms"))
	m.add(Change{
		Kind: Replicas, Name: "wait: 2 of 2 in 100ms", Title: phrase.Say("Wait for both replicas"),
		Note: phrase.Say("Any replica that takes over has the lock. While one of them is away, nobody gets it"),
	}, m.sc, ofLock("wait", "2 of 2 in 100ms"))
	m.add(Change{
		Kind: Replicas, Name: "wait: 1 of 2 in 100ms", Title: phrase.Say("Wait for one replica of two"),
		Note: phrase.Say("A thread relies on the lock once one replica has acknowledged it. If the other one takes over, the lock is lost all the same"),
	}, m.sc, ofLock("wait", "1 of 2 in 100ms"))
}

// chosen reports whether the change holds only where the right replica takes over.
func (c *Change) chosen() bool {
	return c.Kind == Replicas && c.Scenario.Lock.Wait.Count < c.Scenario.Lock.Wait.Of
}

// apart reports whether the change holds only where the work pauses, and not its process.
func (c *Change) apart() bool { return c.Name == apartName }

const apartName = "scope: " + fault.ScopeWork

// keep adds keeping the key after the work where work does something without looking
// whether it was done, and that is due again some time: for as long as that. A lock that
// cannot keep its key is changed to one that can.
func (m *maker) keep(ctx context.Context) error {
	r, l := m.sc.Resource, m.sc.Lock
	if r == nil || !r.Blind || r.OncePer == 0 || r.Checks != "" || l.Keep >= r.OncePer {
		return nil
	}
	after := (r.OncePer + time.Millisecond - 1).Truncate(time.Millisecond)
	c := Change{
		Kind: Keep, Name: "keep: " + phrase.Duration(after), Title: phrase.Say("Keep the key for %s after the work", after),
		Note: phrase.Say("The last release sets its expiry instead of deleting it. If the work fails, nobody does it again before that is over; after a crash, only the lease keeps the others out"),
	}
	sc := m.sc
	if !l.Implementation().CanKeep() {
		name := scenario.Keeping()[0]
		sc = sc.With(name)
		theirs, err := ends(ctx, sc.WithSchedule(nil))
		if err != nil {
			return err
		}
		own, err := m.ends(ctx)
		if err != nil || !theirs.asGood(own) {
			return err
		}
		c.Name = "protocol: " + name + ", " + c.Name
	}
	m.lasting(m.add(c, sc, ofLock("keep", phrase.Duration(after))))
	return nil
}

// ends is how sc ends without its faults.
func (m *maker) ends(ctx context.Context) (outcome, error) {
	if m.own == nil {
		own, err := ends(ctx, m.sc)
		if err != nil {
			return outcome{}, err
		}
		m.own = &own
	}
	return *m.own, nil
}

// resource adds the checks that what the lock protects can make.
func (m *maker) resource() {
	if m.sc.Resource == nil || m.sc.Resource.Checks != "" {
		return
	}
	for _, checks := range scenario.ChecksOf(m.sc.Resource.Kind) {
		c, sc := Change{Kind: Resource, Name: "checks: " + checks}, m.sc
		switch checks {
		case scenario.ChecksToken:
			c.Title = phrase.Say("A fencing token, checked by the resource")
			c.Note = phrase.Say("It refuses a write with an older token than it has seen, whatever its thread believes")
			if sc.Lock.Implementation().Token == nil {
				c.Name += ", protocol: " + protocol.Fenced.Name
				if sc = sc.With(protocol.Fenced.Name); sc.Kind != scenario.KindLock {
					continue
				}
			}
		case scenario.ChecksVersion:
			c.Title = phrase.Say("A version, checked by the resource")
			c.Note = phrase.Say("Compare and set: it refuses a write if the thread read an older version. The thread must read again")
		case scenario.ChecksKey:
			c.Title = phrase.Say("An idempotency key")
			c.Note = phrase.Say("Every try for the same thing carries the same key, and the receiver does it once")
		}
		m.add(c, sc, map[string]any{"resource": map[string]any{"checks": checks}})
	}
}

// try adds a lock, as the scenario sets it, and together with its watchdog where that is
// off. If nothing renews, another lock alone does not either: that is a separate change.
func (m *maker) try(ctx context.Context, name string, c Change, note func(renewed bool) phrase.Wording) error {
	own, err := m.ends(ctx)
	if err != nil {
		return err
	}
	add := func(c Change, renewed bool, with map[string]any) error {
		other, err := m.sc.With(name).WithSchedule(nil).Change(with)
		if err != nil {
			return nil //nolint:nilerr // it cannot do the scenario
		}
		theirs, err := ends(ctx, other)
		if err != nil || !theirs.asGood(own) {
			return err
		}
		if same, err := m.same(ctx, theirs, other); err != nil || same {
			return err
		}
		m.seen[name], c.Note, c.calm = true, note(renewed), &theirs
		m.lasting(m.add(c, other, nil))
		return nil
	}
	other := m.sc.With(name)
	var alone map[string]any
	if !m.sc.Lock.Implementation().HasWatchdog() && other.Lock.Implementation().HasWatchdog() {
		other.Lock.Watchdog, alone = 0, ofLock("watchdog", "off")
	}
	every := every(&other.Lock)
	c.Name = "protocol: " + name
	if err := add(c, every == 0 && other.Lock.Implementation().HasWatchdog(), alone); err != nil || every == 0 {
		return err
	}
	c.Name += ", watchdog: " + phrase.Duration(every)
	c.Title = phrase.Say("%[1]s, with a watchdog, every %[2]s", c.Title, every)
	return add(c, true, ofLock("watchdog", phrase.Duration(every)))
}

// scripts adds the locks that are the scenario's own with better scripts.
func (m *maker) scripts(ctx context.Context) error {
	for _, b := range better {
		if b.from != m.sc.Lock.Protocol {
			continue
		}
		note := func(bool) phrase.Wording { return phrase.Say("It uses the lock %s", b.to) }
		if err := m.try(ctx, b.to, Change{Kind: Script, Title: phrase.Say(b.title)}, note); err != nil {
			return err
		}
	}
	return nil
}

// locks adds the other locks.
func (m *maker) locks(ctx context.Context) error {
	for _, p := range sound {
		if m.seen[p.Name] {
			continue
		}
		note := func(renewed bool) phrase.Wording {
			if !renewed {
				return phrase.Say("Nothing renews its lease here")
			}
			return phrase.Say(p.Summary)
		}
		if err := m.try(ctx, p.Name, Change{Kind: Lock, Title: phrase.Say("The lock %s", p.Name)}, note); err != nil {
			return err
		}
	}
	return nil
}

// outcome is how a run ended.
type outcome struct {
	results []trace.Result // by thread
	itself  bool           // a thread waited for itself
	broken  bool           // it broke a rule

	sent    string // the commands, whoever sent them
	keyType string // of the lock's key, when it was first there
}

// asGood reports whether each thread has done its work that has with the other, too. It may
// give up because others keep it out for longer, and if the other broke a rule, it may hear
// that it lost the lock.
func (o outcome) asGood(than outcome) bool {
	for i, r := range than.results {
		told := o.results[i] == trace.Exhausted || o.results[i] == trace.Lost && than.broken
		if r == trace.Done && o.results[i] != trace.Done && !told {
			return false
		}
	}
	return !o.itself
}

// ends plays a scenario without its faults and moves.
func ends(ctx context.Context, sc *scenario.Scenario) (outcome, error) {
	calm := *sc.WithSchedule(nil)
	calm.Faults = nil
	return played(ctx, &calm)
}

// played is how a run of sc ends.
func played(ctx context.Context, sc *scenario.Scenario) (outcome, error) {
	r, err := run.New(sc, run.Options{})
	if err != nil {
		return outcome{}, fmt.Errorf("mend: %w", err)
	}
	if err := r.Execute(ctx); err != nil {
		if ctx.Err() != nil {
			return outcome{}, fmt.Errorf("mend: %w", context.Cause(ctx))
		}
		return outcome{results: make([]trace.Result, len(sc.Threads)), itself: true}, nil // it never ends
	}
	o := outcome{results: make([]trace.Result, len(sc.Threads))}
	events, _ := r.Log().Since(0)
	for _, e := range events {
		if o.keyType == "" && e.Key.Exists() {
			o.keyType = e.Key.Type
		}
		switch b := e.Body.(type) {
		case trace.Command:
			o.sent += sent(e, b)
		case trace.End:
			if i := slices.IndexFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == e.Thread }); i >= 0 {
				o.results[i] = b.Result
			}
		case trace.Violation:
			o.itself, o.broken = o.itself || b.Rule == check.SelfDeadlock, true
		}
	}
	return o, nil
}

// longestHold is how long a thread of sc can hold its lock at most while nothing
// but its own faults, those struck by hand too, goes wrong: its work, and all for
// which it is held up or Redis' clock jumps.
func longestHold(sc *scenario.Scenario) time.Duration {
	longest := time.Duration(0)
	faults := slices.Clone(sc.Faults)
	for _, m := range sc.Schedule {
		if m.Fault != nil {
			faults = append(faults, *m.Fault)
		}
	}
	for _, t := range sc.Threads {
		held := time.Duration(t.Depth)*t.Work.Max + time.Duration(t.Depth-1)*t.After.Max
		for _, f := range faults {
			if f.Thread == t.Name || f.Thread == "" {
				held += max(f.For, f.By)
			}
		}
		longest = max(longest, held)
	}
	return longest
}

// roundUp is a length that a person would choose, at least d: in the first digits 1,
// 1.5, 2, 3, 5 and 6 below a minute, and in whole minutes above.
func roundUp(d time.Duration) time.Duration {
	for unit := time.Millisecond; unit <= 10*time.Second; unit *= 10 {
		for _, tenths := range []time.Duration{10, 15, 20, 30, 50, 60} {
			if one := unit * tenths / 10; one >= d && one%time.Millisecond == 0 {
				return one
			}
		}
	}
	for _, minutes := range []time.Duration{2, 3, 5, 10, 15, 20, 30} {
		if one := minutes * time.Minute; one >= d {
			return one
		}
	}
	return (d + time.Hour - 1).Truncate(time.Hour)
}

// longer is a change in a scenario with a longer pause.
type longer struct {
	pause    time.Duration
	scenario *scenario.Scenario
}

// lasting gives a change that turns on how long something takes the scenarios in
// which a pause takes as long as its lease, and twice as long: with the one it ends
// while another holds the lock, with the other when that is over. A lease is tried so
// wherever it is; other changes where the scenario has a pause.
func (m *maker) lasting(c *Change) {
	if c == nil || m.sc.Kind != scenario.KindLock || c.Kind != Lease && !m.strikes(fault.Pause) {
		return
	}
	for times := range time.Duration(2) {
		pause := (times + 1) * c.Scenario.Lock.Lease
		other := paused(c.Scenario, pause)
		if sc, err := other.Change(nil); err == nil { // not where a time would be longer than allowed
			c.longer = append(c.longer, longer{pause, sc})
		}
	}
}

// paused is sc with a pause of a length: the longest of its pauses or, where it has
// none, one of its first thread at work. The others ask until that is over.
func paused(sc *scenario.Scenario, pause time.Duration) *scenario.Scenario {
	other := *sc
	other.Faults = slices.Clone(sc.Faults)
	longest := -1
	for i, f := range other.Faults {
		if f.Do == fault.Pause && (longest < 0 || f.For > other.Faults[longest].For) {
			longest = i
		}
	}
	if longest < 0 {
		first := slices.MinFunc(sc.Threads, func(a, b scenario.Thread) int { return cmp.Compare(a.Start, b.Start) })
		longest = len(other.Faults)
		other.Faults = append(other.Faults, scenario.Fault{Do: fault.Pause, Thread: first.Name, At: fault.AtWork, Level: 1, Round: 1, Scope: fault.ScopeAll})
	}
	other.Faults[longest].For = pause
	other.Threads = slices.Clone(sc.Threads)
	for i := range other.Threads {
		r := &other.Threads[i].Retry
		if r.Times == scenario.Unlimited {
			continue
		}
		r.Times = max(r.Times, 5)
		r.Interval = min(max(r.Interval, (pause/time.Duration(r.Times)).Round(time.Millisecond)), scenario.MaxInterval)
	}
	return &other
}
