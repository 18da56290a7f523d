package explore

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/racetest"
	"relock/engine/scenario"
)

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Bounds beyond what a search can do are refused, and what is left out is filled in.
func TestBoundsAreChecked(t *testing.T) {
	racetest.Skip(t)
	sc := parsed(t, "threads: [{name: A}, {name: B}]")
	pauses := []string{fault.Pause}
	for _, c := range []struct {
		name string
		b    Bounds
		want error
	}{
		{"none", Bounds{}, nil},
		{"most", Bounds{Delays: scenario.MaxDelays, Kinds: pauses, MaxFaults: scenario.MaxStruck, MaxStates: MaxStates}, nil},
		{"one delay more", Bounds{Delays: scenario.MaxDelays + 1}, ErrDelays},
		{"fewer than no delays", Bounds{Delays: -1}, ErrDelays},
		{"one fault more", Bounds{Kinds: pauses, MaxFaults: scenario.MaxStruck + 1}, ErrFaults},
		{"fewer than no faults", Bounds{Kinds: pauses, MaxFaults: -1}, ErrFaults},
		{"one state more", Bounds{MaxStates: MaxStates + 1}, ErrStates},
		{"fewer than no states", Bounds{MaxStates: -1}, ErrStates},
		{"faults of no kind", Bounds{MaxFaults: 1}, ErrKinds},
	} {
		got, err := c.b.Check(sc)
		if !errors.Is(err, c.want) || err == nil && got.MaxStates == 0 {
			t.Errorf("%s: %+v, %v; want %v", c.name, got, err, c.want)
		}
	}
	if _, err := (Bounds{Kinds: []string{"fly"}, MaxFaults: 1}).Check(sc); err == nil || !strings.Contains(err.Error(), "allowed: ") {
		t.Errorf("a kind that cannot strike: %v", err)
	}
}

// Of the kinds that are given, only those faults are tried that can ever strike.
func TestFaultsThatNeverStrikeAreNotTried(t *testing.T) {
	racetest.Skip(t)
	sc := parsed(t, "threads: [{name: A}, {name: B}]\nlock: {watchdog: off}")
	var never, can int
	for _, s := range sc.Strikes() {
		b := Bounds{Kinds: []string{s.Fault.Do}, MaxFaults: 1}
		tried := slices.ContainsFunc(b.faults(sc), func(f scenario.Fault) bool { return f == s.Fault })
		if tried != (s.Never == "") {
			t.Errorf("%+v is tried: %v, though it says %q", s.Fault, tried, s.Never)
		}
		if s.Never != "" {
			never++
		} else {
			can++
		}
		if len((Bounds{Kinds: b.Kinds}).faults(sc)) > 0 {
			t.Errorf("%s is tried where no fault may strike", s.Fault.Do)
		}
	}
	if never == 0 || can == 0 {
		t.Errorf("%d faults that never strike, %d that can", never, can)
	}
}

// It compares what a scenario claims about all orders with the findings: from an
// unfinished search only a broken rule is certain.
func TestWhatIsUnexpected(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name   string
		ending Ending
		broken []string
		claim  []string
		want   string // part of it, or ""
	}{
		{"none of none", Exhausted, nil, nil, ""},
		{"as claimed, in another order", Exhausted, []string{"shut-out", "mutual-exclusion"}, []string{"mutual-exclusion", "shut-out", "shut-out"}, ""},
		{"one more", Exhausted, []string{"shut-out"}, nil, "break no rule, but they break shut-out"},
		{"one less", Exhausted, nil, []string{"shut-out"}, "break shut-out, but they break no rule"},
		{"one more, of some", Bound, []string{"shut-out"}, nil, "break no rule, but they break shut-out"},
		{"one less, of some", Bound, nil, []string{"shut-out"}, "nothing is certain"},
		{"as claimed, of some", Stopped, []string{"shut-out"}, []string{"shut-out"}, "nothing is certain"},
	} {
		s := &Space{search: &search{b: Bounds{MaxStates: 1}}, ending: c.ending}
		for _, name := range c.broken {
			s.rules = append(s.rules, Rule{Name: name})
		}
		got := s.Unexpected(scenario.Explored{Violations: c.claim}).String()
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// It says Every and None only if it knows everything.
func TestWhatAProspectSays(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		all, broken int64
		complete    bool
		every, none bool
	}{
		{3, 0, true, false, true},
		{3, 1, true, false, false},
		{3, 3, true, true, false},
		{3, 0, false, false, false},
		{3, 3, false, false, false},
	} {
		p := Prospect{All: big.NewInt(c.all), Broken: big.NewInt(c.broken), Complete: c.complete}
		if p.Every() != c.every || p.None() != c.none {
			t.Errorf("%d of %d, complete %v: every %v, none %v", c.broken, c.all, c.complete, p.Every(), p.None())
		}
	}
}

// The fate of a place follows from who comes there and from what lies ahead.
func TestFates(t *testing.T) {
	racetest.Skip(t)
	prospect := func(broken int64, complete bool) Prospect {
		return Prospect{All: big.NewInt(2), Broken: big.NewInt(broken), Complete: complete}
	}
	for _, c := range []struct {
		name          string
		clean, broken bool
		ahead         Prospect
		want          Fate
	}{
		{"nothing was broken, nor will be", true, false, prospect(0, true), Sound},
		{"nothing was, and not all is known", true, false, prospect(0, false), Untried},
		{"some will be", true, false, prospect(1, true), Open},
		{"some will be, and not all is known", true, false, prospect(1, false), Open},
		{"all will be", true, false, prospect(2, true), Broken},
		{"all that is known will be", true, false, prospect(2, false), Open},
		{"some was", true, true, prospect(0, true), Open},
		{"all was", false, true, prospect(0, true), Broken},
	} {
		if got := fate(c.clean, c.broken, c.ahead); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A rule keeps its place in a list by what it costs, the first of several that
// cost the same.
func TestTheCheapestIsKept(t *testing.T) {
	racetest.Skip(t)
	var list []Rule
	for _, r := range []Rule{
		{Name: "a", Delays: 2, moves: 5, node: 1},
		{Name: "b", Faults: 1, moves: 9, node: 2},
		{Name: "a", Delays: 1, Faults: 1, moves: 5, node: 3}, // no cheaper
		{Name: "b", Delays: 1, moves: 9, node: 4},
		{Name: "c", Delays: 2, moves: 4, node: 5},
		{Name: "b", Delays: 1, moves: 8, node: 6},
		{Name: "a", Delays: 2, moves: 6, node: 7},
	} {
		list = better(list, r)
	}
	var got []int32
	for _, r := range list {
		got = append(got, r.node)
	}
	if !slices.Equal(got, []int32{6, 5, 1}) {
		t.Errorf("kept %v: %+v", got, list)
	}
}

// More schedules than a machine word can count are counted as well, with a rule and
// without it.
func TestManySchedulesAreCounted(t *testing.T) {
	racetest.Skip(t)
	const length = 70
	nodes := make([]node, length)
	for i := range nodes {
		to := int32(i + 1)
		if to == length {
			to = end
		}
		nodes[i].edges = []edge{{to: to}, {to: to}, {to: untried}}
	}
	nodes[length-1].edges[1].broken = 1 << 3
	nodes[0].edges[1].broken = 1 << 5
	order := childrenFirst(nodes)
	power := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	for _, c := range []struct {
		none rules
		want *big.Int
	}{{0, power(length)}, {1 << 3, power(length - 1)}, {1<<3 | 1<<5, power(length - 2)}} {
		if got := count(nodes, order, c.none).at(root); got.Cmp(c.want) != 0 {
			t.Errorf("without %b: %s, want %s", c.none, got, c.want)
		}
	}
	if c := count(nodes, order, 0); c.none(root) || c.at(end).Int64() != 1 || c.at(untried).Sign() != 0 {
		t.Error("what is counted is none, an end is not one, or what was not tried is")
	}
}

// There is a bit for each rule, now and with many more.
func TestEachRuleHasABit(t *testing.T) {
	racetest.Skip(t)
	names := check.Names()
	if got := set(names).names(); !slices.Equal(got, names) {
		t.Errorf("%v of %v", got, names)
	}
	for _, name := range names {
		if got := set([]string{name}).names(); !slices.Equal(got, []string{name}) {
			t.Errorf("%s is %v", name, got)
		}
	}
	if room := 4 * len(names); rules(1)<<room == 0 {
		t.Errorf("there are %d rules, and no room for %d", len(names), room)
	}
}

// A command in a comment is none that could be reached.
func TestACommentIsNotReached(t *testing.T) {
	racetest.Skip(t)
	b := book{sc: parsed(t, "threads: [{name: A}]"), scripts: []protocol.Script{{Name: "x.lua", Source: "-- redis.call('GET', KEYS[1])\nlocal a = 1 -- redis.call('DEL')\nredis.call('SET', KEYS[1], 1) -- sets\nredis.pcall('DEL')\n"}}, first: map[string]int{"x.lua": 3}, size: 10}
	reached := b.empty().lines
	reached.set(3 + 4)
	got := b.unreached(reached)
	if len(got) != 1 || !slices.Equal(got[0].Lines, []Line{{3, "redis.call('SET', KEYS[1], 1)"}}) {
		t.Errorf("%+v", got)
	}
}

// Nobody keeps what the rules knew at a state when all was tried there.
func TestNotesAreLetGo(t *testing.T) {
	racetest.Skip(t)
	sc := parsed(t, "threads: [{name: A, work: 5ms}, {name: B, work: 7ms}]")
	most := 0
	space, err := Search(t.Context(), sc, Bounds{Delays: 1}, Options{Workers: 1, Progress: func(s *Space) { most = max(most, s.search.noted) }})
	if err != nil {
		t.Fatal(err)
	}
	if space.ending != Exhausted || space.search.noted != 0 || most == 0 {
		t.Errorf("%s with %d notes, %d at most", space.ending, space.search.noted, most)
	}
}

// The first of two things to be held back is held back as often as it was, for as
// long, in order; and who was first is first again.
func TestWhatWasDecidedIsDecidedAgain(t *testing.T) {
	racetest.Skip(t)
	a, b, c := doing{thread: "A"}, doing{thread: "B"}, doing{thread: "C"}
	d := decisions{
		held:   map[doing][]time.Duration{b: {3, 5}},
		before: map[[2]doing]bool{{c, a}: true, {b, c}: true},
	}
	for i, want := range []time.Duration{3, 5, 0} {
		if got, ok := d.holds([]doing{a, b}); got != want || ok != (want > 0) {
			t.Errorf("time %d: held for %d, %v; want %d", i+1, got, ok, want)
		}
	}
	for _, one := range []struct {
		ready []doing
		want  int
	}{{[]doing{a, b}, 0}, {[]doing{a, c}, 1}, {[]doing{a, b, c}, 2}, {[]doing{a, c, b}, 2}} {
		if got := d.first(one.ready); got != one.want {
			t.Errorf("of %v the first is %d, want %d", one.ready, got, one.want)
		}
	}
}

// A search that has nothing left to try has seen all, unless it has left something
// out: then nobody may say "never".
func TestWhenASearchHasSeenAll(t *testing.T) {
	racetest.Skip(t)
	for full, want := range map[bool]Ending{false: Exhausted, true: Bound} {
		s := &search{full: full, queue: [][]item{{}, {}}, space: &Space{}}
		if err := s.round(t.Context()); err != nil || s.space.ending != want {
			t.Errorf("with ways without an end, %v: %s, %v", full, s.space.ending, err)
		}
	}
}
