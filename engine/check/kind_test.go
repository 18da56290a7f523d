package check_test

import (
	"maps"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

func TestAKindIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]check.Kind{
		"exclusive": {Exclusive: true}, "readers": {Readers: true}, "permits=2": {Permits: 2}, "permits=1000": {Permits: check.MostPermits},
	} {
		if got, err := check.ParseKind(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %+v (%s), %v", text, got, got, err)
		}
	}
	if got, err := check.ParseKind("permits=1"); got != (check.Kind{Exclusive: true}) || err != nil {
		t.Errorf("one permit is %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"permits=0": "permits=1 to permits=1000", "permits=1001": "permits=1 to permits=1000", "permits=two": "permits=1 to permits=1000", "permits": check.Kinds, "": check.Kinds, "readers=2": check.Kinds,
	} {
		if got, err := check.ParseKind(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// More threads than a lock lets in break its rule; fewer, and readers together, do not.
func TestAsManyMayBeInsideAsTheKindSays(t *testing.T) {
	for _, c := range []struct {
		kind   string
		inside int
		modes  string // the mode of the hash as each thread comes in, a letter each
		want   string
	}{
		{"exclusive", 2, "--", "A,B"},
		{"permits=2", 2, "--", ""},
		{"permits=2", 3, "---", "A,B,C"},
		{"permits=3", 3, "---", ""},
		{"", 2, "--", "A,B"},
		{"", 2, "rr", ""},
		{"exclusive", 2, "rr", "A,B"},
		{"permits=2", 3, "rrr", "A,B,C"},
		{"readers", 3, "rrr", ""},
		{"readers", 2, "rw", "A,B"},
		{"readers", 2, "wr", "A,B"},
		{"readers", 2, "--", "A,B"},
	} {
		kind, err := check.ParseKind(c.kind)
		if c.kind != "" && err != nil {
			t.Fatal(err)
		}
		checker := check.New(map[string]string{"A": "A", "B": "B", "C": "C"}, protocol.InRedis, kind)
		belief, got := map[string]int{}, ""
		for i := range c.inside {
			name := string(rune('A' + i))
			belief[name] = 1
			key := held(name, "1")
			if mode := map[byte]string{'r': trace.ModeRead, 'w': trace.ModeWrite}[c.modes[i]]; mode != "" {
				key.Fields[trace.Mode] = mode
			}
			e := believing(name, trace.Outcome{Call: "lock", Result: trace.Acquired}, key, maps.Clone(belief))
			e.Seq = i + 1
			for _, f := range checker.Observe(e) {
				if f.Rule == check.MutualExclusion {
					got = strings.Join(f.Threads, ",")
				}
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q are told", c, got)
		}
	}
}

func TestHowManyAreInside(t *testing.T) {
	for n, want := range map[int]check.Kind{1: {}, 2: {Permits: 2}, check.MostPermits: {Permits: check.MostPermits}} {
		if kind, err := check.Inside(n); err != nil || kind != want {
			t.Errorf("%d: %+v, %v", n, kind, err)
		}
	}
	for _, n := range []int{-1, 0, check.MostPermits + 1} {
		if _, err := check.Inside(n); err == nil {
			t.Errorf("%d is taken", n)
		}
	}
}
