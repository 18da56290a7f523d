package explore_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/lock/exhibit"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
)

// found is all that a search tells of its schedules, and what none of them came by.
func found(t *testing.T, s *explore.Space) string {
	t.Helper()
	list := []string{fmt.Sprintf("%s %s %s (%s) struck %v", s.Ending(), s.Schedules(), s.Broken(), s.ByStandingStill(), s.Struck())}
	for _, r := range s.Rules() {
		schedule, err := json.Marshal(r.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s (%s), %d delays, %d faults, lost %d: %s", r.Name, r.Schedules, r.ByStandingStill, r.Delays, r.Faults, r.Lost, schedule))
	}
	return strings.Join(list, "\n") + "\n" + shown(s.Unreached())
}

// ended is the ends of a search, no matter which twin it is: the results of each kind
// in order, and the latest instant.
func ended(s *explore.Space, twins []int) string {
	latest := map[string]time.Duration{}
	for _, e := range s.Ends() {
		results := make([][]string, len(e.Results))
		for i, r := range e.Results {
			results[twins[i]] = append(results[twins[i]], string(r))
		}
		for _, r := range results {
			slices.Sort(r)
		}
		name := fmt.Sprint(results)
		latest[name] = max(latest[name], e.At)
	}
	return fmt.Sprint(latest) // by name
}

// compared is what searches of scenarios came to with their twins searched once,
// and apart.
type compared struct {
	t           *testing.T
	once, apart int // states
	one         int // scenarios whose schedules were all played one by one
	rules       int // that were broken
	searched    int // scenarios and bounds
}

// search searches a scenario both ways: what is told must be the same, and every
// way through the one space must be one through the other. Where there are few
// enough schedules, they are played one by one as well. It does nothing where
// there are too many states.
func (c *compared) search(sc *scenario.Scenario, b explore.Bounds) {
	t := c.t
	t.Helper()
	each, err := explore.Search(t.Context(), sc, b, explore.Apart(explore.Options{Workers: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if each.Ending() != explore.Exhausted {
		return
	}
	one, err := explore.Search(t.Context(), sc, b, explore.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := found(t, one), found(t, each); got != want {
		t.Errorf("%s, %+v: once\n%sapart\n%s", sc.Title, b, got, want)
	}
	if err := explore.Compare(each, one); err != nil {
		t.Errorf("%s, %+v: %v", sc.Title, b, err)
	}
	if got, want := ended(one, twins(sc)), ended(each, twins(sc)); got != want {
		t.Errorf("%s, %+v: once it ends %s, apart %s", sc.Title, b, got, want)
	}
	if got, want := drawn(one), drawn(each); got != want {
		t.Errorf("%s, %+v: once the picture ends in %s, apart in %s", sc.Title, b, got, want)
	}
	for _, e := range one.Ends() {
		if moves, err := one.Moves(t.Context(), e); err != nil || len(moves) == 0 {
			t.Errorf("%s, %+v: %v: %v, %v", sc.Title, b, e.Results, moves, err)
		}
	}
	c.once, c.apart = c.once+one.States(), c.apart+each.States()
	c.rules += len(one.Rules())
	c.searched++
	if each.Schedules().IsInt64() && each.Schedules().Int64() <= 60 {
		c.one++
		if got, want := told(one), enumerate(t, sc, b).told(); got != want {
			t.Errorf("%s, %+v: %s, but one by one %s", sc.Title, b, got, want)
		}
	}
}

// drawn is the shares of all schedules that end, and that break a rule, in a
// space's picture.
func drawn(s *explore.Space) string {
	all, broken := 0.0, 0.0
	for _, w := range s.Graph().Ways {
		if w.To < 0 {
			all, broken = all+w.Share, broken+w.Broken
		}
	}
	return fmt.Sprintf("%.6f, %.6f", all, broken)
}

// twins returns, for each thread, the first that is configured like it.
func twins(sc *scenario.Scenario) []int {
	list := make([]int, len(sc.Threads))
	for i := range list {
		list[i] = slices.IndexFunc(sc.Threads, func(o scenario.Thread) bool {
			o.Name = sc.Threads[i].Name
			return o == sc.Threads[i]
		})
	}
	return list
}

// made is a random scenario with two to four threads that are configured alike,
// and perhaps another; and bounds for it.
func made(t *testing.T, random *rand.Rand, protocol string) (*scenario.Scenario, explore.Bounds) {
	t.Helper()
	p := exhibit.Named(protocol)
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	threads := 2 + random.IntN(3)
	nodes, watchdog, resource := "", "", pick("", "resource: {kind: counter}\n", "resource: {kind: stock, size: 1}\n", "resource: {kind: purchases, limit: 1}\n")
	if p.Nodes > 0 {
		nodes, threads = fmt.Sprintf(", nodes: %d", 1+random.IntN(2)), 2
	}
	if p.HasWatchdog() {
		watchdog = ", watchdog: " + pick("off", "15ms", "20ms")
	}
	if p.Token != nil {
		resource = "resource: {kind: counter, checks: token}\n"
	}
	depth := 1
	if p.Levels && random.IntN(4) == 0 {
		depth = 2
	}
	list := []string{"{name: A}", "{name: B}", "{name: C}", "{name: D}"}[:threads]
	if random.IntN(3) == 0 {
		list = slices.Insert(list, random.IntN(len(list)+1), fmt.Sprintf("{name: X, start: %s, work: 5ms}", pick("0ms", "5ms")))
	}
	faults := ""
	if random.IntN(4) == 0 {
		faults = "faults: [{thread: A, at: work, level: 1, do: pause, for: 30ms}"
		for _, one := range []string{"B", "C", "D"}[:threads-1] {
			faults += strings.ReplaceAll(", {thread: A, at: work, level: 1, do: pause, for: 30ms}", "A", one)
		}
		faults += "]\n"
	}
	text := fmt.Sprintf("title: made\nlock: {protocol: %s, lease: %s%s%s, retry: {times: %d, interval: %s}}\n%sdefaults: {depth: %d, work: %s, repeat: %d, on-lost: %s}\nthreads: [%s]\n%s",
		protocol, pick("30ms", "40ms"), watchdog, nodes, random.IntN(3), pick("5ms", "10ms", "20ms"), resource,
		depth, pick("0ms", "5ms", "10ms", "20ms"), 1+random.IntN(8)/7, pick("ignore", "stop"), strings.Join(list, ", "), faults)
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sc.Title = text
	b := explore.Bounds{Delays: random.IntN(3), MaxStates: 800}
	if kinds := sc.StrikeKinds(); len(kinds) > 0 && random.IntN(2) == 0 {
		b.Delays, b.MaxFaults = random.IntN(2), 1
		for range 1 + random.IntN(2) {
			b.Kinds = append(b.Kinds, kinds[random.IntN(len(kinds))])
		}
	}
	return sc, b
}

// Threads that are configured alike are searched once, and nothing is told that is
// not so where each is searched for itself: not a count, a share, a schedule, the
// move from which a rule is lost, an end, or a line that nobody came by.
func TestTwinsAreSearchedOnce(t *testing.T) {
	racetest.Skip(t)
	of := 4 // scenarios of each protocol
	if testing.Short() {
		of = 1
	}
	for i, protocol := range exhibit.Names() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(22, uint64(i)))
			c := compared{t: t}
			for c.searched < of {
				c.search(made(t, random, protocol))
			}
			if protocol == "reentrant-notify" { // of two that begin to wait at one instant, Redis wakes the one with the smaller name
				sc, err := scenario.Parse([]byte("lock: {protocol: reentrant-notify, lease: 30ms, watchdog: off, retry: {times: 1, interval: 5ms}}\ndefaults: {depth: 1, work: 5ms}\nthreads: [{name: X, start: 5ms}, {name: A}, {name: B}]"))
				if err != nil {
					t.Fatal(err)
				}
				c.search(sc, explore.Bounds{Delays: 1})
			}
			if protocol != "reentrant-notify" && c.once >= c.apart {
				t.Errorf("%d states instead of %d", c.once, c.apart)
			}
		})
	}
}

// Whichever twin makes a move, a run is followed to where the same is still to
// come as where each is searched for itself, and its moves are known there by the
// names that they have there.
func TestTwinsAreFollowed(t *testing.T) {
	racetest.Skip(t)
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex-unsafe, lease: 30ms, watchdog: off, retry: {times: 1, interval: 10ms}}\nresource: {kind: counter}\ndefaults: {depth: 1, work: 20ms}\nthreads: [{name: A}, {name: B}, {name: C}]"))
	if err != nil {
		t.Fatal(err)
	}
	b := explore.Bounds{Delays: 1, Kinds: []string{"crash", "lose-reply"}, MaxFaults: 1}
	once, err := explore.Search(t.Context(), sc, b, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	apart, err := explore.Search(t.Context(), sc, b, explore.Apart(explore.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	every, walks := 5, 100
	if testing.Short() {
		every, walks = 60, 12
	}
	for id := 0; id < once.States(); id += every { // the way to a state is one on which a run comes there
		e := &enumeration{t: t, sc: sc, kinds: b.Kinds, strikes: sc.Strikes()}
		way := once.Way(id)
		s, _ := e.play(nil)
		stands := []explore.Stand{{At: s.Now(), Can: len(s.Ready()) > 0}}
		for _, m := range way {
			if err := s.Apply(t.Context(), m); err != nil {
				t.Fatalf("to state %d by %v: %v", id, way, err)
			}
			stands = append(stands, explore.Stand{At: s.Now(), Can: len(s.Ready()) > 0})
		}
		s.Close(nil)
		if ids := once.Follow(way, stands); ids[len(way)] != id {
			t.Errorf("the way to state %d leads to %d: %v", id, ids[len(way)], way)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	renamed := 0
	for range walks {
		moves, stands := wander(t, sc, b, random)
		ids, own := once.Follow(moves, stands), apart.Follow(moves, stands)
		named := once.Named(moves, stands)
		for i := range stands {
			p, want := once.Place(ids[i]), apart.Place(own[i])
			if (p == nil) != (want == nil) {
				t.Fatalf("%v: after %d moves at %d, apart at %d", moves, i, ids[i], own[i])
			}
			if p == nil || i == len(moves) {
				continue
			}
			if p.At != want.At || p.All.Cmp(want.All) != 0 || p.Broken.Cmp(want.Broken) != 0 {
				t.Fatalf("%v: after %d moves %s of %s break, apart %s of %s", moves, i, p.Broken, p.All, want.Broken, want.All)
			}
			o, w := taken(p, named[i]), taken(want, moves[i])
			if (o == nil) != (w == nil) || o != nil && (o.All.Cmp(w.All) != 0 || o.Broken.Cmp(w.Broken) != 0 || !slices.Equal(o.Rules, w.Rules)) {
				t.Fatalf("%v: with move %d, %+v, apart %+v", moves, i+1, o, w)
			}
			if o != nil && !named[i].Equal(moves[i]) {
				renamed++
			}
		}
	}
	if renamed == 0 {
		t.Error("no move has another name")
	}
}

// wander makes moves at random, within bounds, to the end of the run.
func wander(t *testing.T, sc *scenario.Scenario, b explore.Bounds, random *rand.Rand) (moves []scenario.Move, stands []explore.Stand) {
	t.Helper()
	e := &enumeration{t: t, sc: sc, kinds: b.Kinds, strikes: sc.Strikes()}
	s, _ := e.play(nil)
	defer s.Close(nil)
	stand := func() { stands = append(stands, explore.Stand{At: s.Now(), Can: len(s.Ready()) > 0}) }
	apply := func(m scenario.Move) {
		if err := s.Apply(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		moves = append(moves, m)
		stand()
	}
	stand()
	for {
		before := s.Now()
		next := e.next(s, b.Delays, b.MaxFaults)
		if len(next) == 0 {
			return moves, stands
		}
		m := next[random.IntN(len(next))]
		switch {
		case m.Fault != nil && s.Now() > before: // it strikes at once, by hand
			moves = append(moves, scenario.Move{Until: s.Now()})
			stand()
			b.MaxFaults--
		case m.Fault != nil:
			b.MaxFaults--
		case m.Until > 0:
			b.Delays--
		}
		apply(m)
	}
}

// taken is the option of a place that a move takes, or nil.
func taken(p *explore.Place, m scenario.Move) *explore.Option {
	for i, o := range p.Options {
		if o.Fault != nil && m.Fault != nil && *o.Fault == *m.Fault || o.Fault == nil && !o.Delay && m.Fault == nil && m.Until == 0 && o.Choice == m.Choice {
			return &p.Options[i]
		}
	}
	return nil
}

// So it is with every bundled scenario, small bounds, and its first thread two
// and three times: what happens to Redis happens to them, too. As they come, few have twins.
func TestTwinsOfBundledScenarios(t *testing.T) {
	racetest.Skip(t)
	var compared compared
	least, one := 80, 1 // one in so many scenarios
	if testing.Short() {
		least, one = 80/12, 12
	}
	for i, name := range lessonstest.Names(t) {
		if i%one > 0 {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			compared.t = t
			sc := lessonstest.Scenario(t, name)
			if run.Twins(sc) != nil {
				compared.search(sc.WithSchedule(nil), explore.Bounds{MaxStates: 200})
			}
			compared.search(times(sc, 3), explore.Bounds{MaxStates: 200})
			compared.search(times(sc, 2), explore.Bounds{Delays: 1, MaxStates: 200})
		})
	}
	if compared.searched < least || compared.once > compared.apart*2/3 {
		t.Errorf("%+v", compared)
	}
}

// times is a scenario with its first thread so many times, once around and with
// nothing drawn, and of its faults those of Redis.
func times(sc *scenario.Scenario, n int) *scenario.Scenario {
	one := sc.Threads[0]
	one.Work.Max, one.Retry.Jitter.Max, one.Repeat = one.Work.Min, one.Retry.Jitter.Min, 1
	other := sc.WithSchedule(nil)
	other.Threads, other.Expect = nil, nil
	for _, name := range []string{"A", "B", "C"}[:n] {
		one.Name = name
		other.Threads = append(other.Threads, one)
	}
	other.Faults = slices.DeleteFunc(slices.Clone(sc.Faults), func(f scenario.Fault) bool { return f.Thread != "" })
	return other
}
