package run_test

import (
	"slices"
	"testing"

	"relock/engine/lock/exhibit"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
)

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return sc
}

func TestWhoIsATwin(t *testing.T) {
	const three = "threads: [{name: A, work: 5ms}, {name: B, work: 5ms}, {name: C, work: 5ms}]\n"
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"all", three, []int{0, 0, 0}},
		{"none", "threads: [{name: A, work: 5ms}, {name: B, work: 6ms}]", nil},
		{"two pairs", "threads: [{name: A, work: 5ms}, {name: B, work: 6ms}, {name: C, work: 5ms}, {name: D, work: 6ms}]", []int{0, 1, 0, 1}},
		{"one begins later", "threads: [{name: A, work: 5ms}, {name: B, work: 5ms, start: 1ms}, {name: C, work: 5ms}]", []int{0, 1, 0}},
		{"work is drawn", "threads: [{name: A, work: 5ms-6ms}, {name: B, work: 5ms-6ms}]", nil},
		{"pauses are drawn", "lock: {retry: {jitter: 0ms-2ms}}\n" + three, nil},
		{"a fault strikes one", three + "faults: [{thread: C, at: work, level: 1, do: crash}]", []int{0, 0, 2}},
		{"a fault strikes two alike", three + "faults: [{thread: C, at: work, level: 1, do: crash}, {thread: A, at: work, level: 1, do: crash}]", []int{0, 1, 0}},
		{"one is cut off later", three + "faults: [{time: 5ms, thread: A, do: down}, {time: 6ms, thread: B, do: down}]", nil},
		{"a fault of Redis strikes nobody", three + "faults: [{time: 5ms, do: evict}]", []int{0, 0, 0}},
		{"they buy for one user", "threads: [{name: A, work: 5ms, user: u}, {name: B, work: 5ms, user: u}]", []int{0, 0}},
		{"one buys for another", "threads: [{name: A, work: 5ms}, {name: B, work: 5ms}, {name: C, work: 5ms}, {name: D, work: 5ms, user: A}]", []int{0, 1, 1, 3}},
		{"the device is none", "kind: heartbeat\nlock: {lease: 30ms}\nthreads: [{name: D, work: 10ms}, {name: V, work: 10ms}, {name: W, work: 10ms}]", []int{0, 1, 1}},
	} {
		if got := run.Twins(parsed(t, c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A lock may ask Redis which of two names is the smaller. Of these, that is the
// one that takes who waits longest from a sorted set.
func TestWhereNamesDecide(t *testing.T) {
	var list []string
	for _, protocol := range exhibit.Names() {
		if run.Twins(parsed(t, "lock: {protocol: "+protocol+"}\nthreads: [{name: A, work: 5ms}, {name: B, work: 5ms}]")) == nil {
			list = append(list, protocol)
		}
	}
	if !slices.Equal(list, []string{"reentrant-notify"}) {
		t.Errorf("%v", list)
	}
}

// It is one position whichever of two twins moved first, and two where they are
// taken for different.
func TestPositionsOfTwins(t *testing.T) {
	sc := parsed(t, "lock: {protocol: reentrant-sequenced, lease: 30ms, watchdog: off}\nthreads: [{name: A, work: 5ms}, {name: B, work: 5ms}, {name: C, work: 9ms}]")
	memory := recall.NewMemory()
	defer func() { _ = memory.Close() }()
	stand := func(twins []int, choices ...int) (run.Position, []int8) {
		r, err := run.New(sc, run.Options{Memory: memory, Twins: twins})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(nil)
		for _, choice := range choices {
			if err := s.Apply(t.Context(), scenario.Move{Choice: choice}); err != nil {
				t.Fatal(err)
			}
		}
		return s.Position()
	}
	twins := run.Twins(sc)
	first, as := stand(twins, 0)
	second, other := stand(twins, 1)
	if first != second || !slices.Equal(as, []int8{1, 0, 2}) || other != nil {
		t.Errorf("A first: %x, as %v; B first: %x, as %v", first, as, second, other)
	}
	if third, _ := stand(twins, 2); third == first {
		t.Error("C is taken for a twin")
	}
	one, _ := stand(nil, 0)
	if two, _ := stand(nil, 1); one == two {
		t.Error("without twins, A and B are one")
	}
}
