package locktest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// moment is a time since the run began.
type moment = time.Duration

// span is a time in which a hold's context lived, for certain: it is later
// than Lock's return at from, and was asked after till.
type span struct {
	level      int
	from, till moment
}

// step is an acquisition or a release that succeeded.
type step struct {
	release        bool
	level          int
	called, ranout moment // called, and returned
}

// tenure is the time from an owner's first acquisition of a key to its last
// release, as the owner saw it.
type tenure struct {
	key, worker int
	token       int64
	steps       []step
	spans       []span

	// How the outermost level was left: released, or lost before left (the
	// owner was told so), or nobody knows.
	end  ending
	left moment // when that Unlock returned
}

type ending int

const (
	released ending = iota
	lost
	unknown
)

// lived is the last instant at which a context of the tenure lived for
// certain, its first return where none ever did.
func (t *tenure) lived() moment {
	last := t.steps[0].ranout
	for _, s := range t.spans {
		last = max(last, s.till)
	}
	return last
}

// overlap is a time in which two owners had living contexts on one key.
type overlap struct {
	a, b  *tenure
	lasts time.Duration
}

func (o overlap) String() string {
	return fmt.Sprintf("workers %d and %d both hold key %d for %v: %+v, %+v", o.a.worker, o.b.worker, o.a.key, o.lasts, o.a.spans, o.b.spans)
}

// overlaps finds all pairs of spans of two tenures on one key that have an
// instant in common.
func overlaps(all []*tenure) (found []overlap) {
	type piece struct {
		span
		of *tenure
	}
	var pieces []piece
	for _, t := range all {
		for _, s := range t.spans {
			pieces = append(pieces, piece{s, t})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	longest := map[int]piece{} // by key: of those so far, the one that goes on longest
	for _, p := range pieces {
		if before, ok := longest[p.of.key]; ok && before.of != p.of && p.from <= before.till {
			found = append(found, overlap{before.of, p.of, min(p.till, before.till) - p.from})
		}
		if p.till > longest[p.of.key].till {
			longest[p.of.key] = p
		}
	}
	return found
}

// operation is what a tenure does to the model.
type operation struct {
	tenure int
	kind   string // "enter", "leave", "lives" or "ends"
	level  int
}

// holding is the model's state: who holds the key, how deep.
type holding struct{ tenure, level int }

// reentrant is what a reentrant lock is, without time and without Redis. A
// lock that was lost, or whose last release nobody heard of, is an operation
// "ends" that takes place at some time after its holder's context had lived.
// A Lock that failed is none: had it held the lock for a moment, nobody
// was given anything meanwhile.
var reentrant = porcupine.Model{
	Init: func() any { return holding{} },
	Step: func(state, input, _ any) (bool, any) {
		h, _ := state.(holding)
		o, _ := input.(operation)
		mine := h.tenure == o.tenure && h.level > 0
		switch o.kind {
		case "enter":
			return (o.level == 1 && h.level == 0) || (mine && o.level == h.level+1), holding{o.tenure, o.level}
		case "leave": // an inner level may be left without anybody having heard of it
			return mine && h.level >= o.level, holding{o.tenure, o.level - 1}
		case "lives":
			return mine, h
		default:
			if mine {
				return true, holding{}
			}
			return true, h
		}
	},
	Equal: func(a, b any) bool {
		x, _ := a.(holding)
		y, _ := b.(holding)
		return x == y || x.level+y.level == 0
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// history is what the model is asked about one key.
func history(all []*tenure, key int) (list []porcupine.Operation) {
	for n, t := range all {
		if t.key != key {
			continue
		}
		add := func(o operation, called, returned moment) {
			o.tenure = n + 1
			list = append(list, porcupine.Operation{ClientId: t.worker, Input: o, Call: int64(called), Return: int64(returned)})
		}
		for _, s := range t.steps {
			o := operation{kind: "enter", level: s.level}
			if s.release {
				o.kind = "leave"
			}
			add(o, s.called, s.ranout)
		}
		for _, s := range t.spans {
			for _, at := range []moment{s.from, s.till} {
				add(operation{kind: "lives"}, at, at)
			}
		}
		switch t.end {
		case lost:
			add(operation{kind: "ends"}, t.lived(), t.left)
		case unknown:
			add(operation{kind: "ends"}, t.lived(), math.MaxInt64)
		}
	}
	return list
}

// checkLimit is how long a history may take to be checked. It reports anything that takes
// longer as unknown.
const checkLimit = time.Minute

// linearizable asks the model about all keys: Ok, Illegal or Unknown.
func linearizable(all []*tenure, keys int) porcupine.CheckResult {
	result := porcupine.Ok
	for key := range keys {
		switch got := porcupine.CheckOperationsTimeout(reentrant, history(all, key), checkLimit); got {
		case porcupine.Illegal:
			return got
		case porcupine.Unknown:
			result = got
		}
	}
	return result
}

// regressions are the pairs of tenures of which the later one, asked for after
// the earlier one was granted, has no greater token. An owner whose release
// did not arrive finds its own lock, and keeps its token.
func regressions(all []*tenure) (found []string) {
	for _, earlier := range all {
		for _, later := range all {
			if earlier.key == later.key && earlier.steps[0].ranout < later.steps[0].called && (earlier.token > later.token || earlier.token == later.token && earlier.worker != later.worker) {
				found = append(found, fmt.Sprintf("token %d at %v, then %d at %v", earlier.token, earlier.steps[0].ranout, later.token, later.steps[0].ranout))
			}
		}
	}
	return found
}

// The checks must find what they are there to find, and nothing else.
func TestVerdicts(t *testing.T) {
	enter := func(level int, called, returned moment) step { return step{false, level, called, returned} }
	leave := func(level int, called, returned moment) step { return step{true, level, called, returned} }
	for _, c := range []struct {
		name        string
		all         []*tenure
		overlaps    int
		history     porcupine.CheckResult
		regressions int
	}{
		{"nothing", nil, 0, porcupine.Ok, 0},
		{"one after the other", []*tenure{
			{worker: 1, token: 1, steps: []step{enter(1, 0, 1), enter(2, 2, 3), leave(2, 4, 5), leave(1, 6, 8)}, spans: []span{{1, 1, 6}, {2, 3, 4}}},
			{worker: 2, token: 2, steps: []step{enter(1, 2, 7), leave(1, 9, 10)}, spans: []span{{1, 7, 9}}},
		}, 0, porcupine.Ok, 0},
		{"on two keys", []*tenure{
			{worker: 1, key: 0, token: 1, steps: []step{enter(1, 0, 1), leave(1, 8, 9)}, spans: []span{{1, 1, 8}}},
			{worker: 2, key: 1, token: 1, steps: []step{enter(1, 2, 3), leave(1, 8, 9)}, spans: []span{{1, 3, 8}}},
		}, 0, porcupine.Ok, 0},
		{"two at once", []*tenure{
			{worker: 1, token: 1, steps: []step{enter(1, 0, 1), leave(1, 6, 7)}, spans: []span{{1, 1, 6}}},
			{worker: 2, token: 2, steps: []step{enter(1, 2, 5), leave(1, 9, 10)}, spans: []span{{1, 5, 9}}},
		}, 1, porcupine.Illegal, 0},
		{"inside of a long one, after a short one", []*tenure{
			{worker: 1, token: 1, steps: []step{enter(1, 0, 1), leave(1, 20, 21)}, spans: []span{{1, 1, 20}}},
			{worker: 1, key: 1, steps: []step{enter(1, 0, 1), leave(1, 20, 21)}, spans: []span{{1, 1, 20}}},
			{worker: 2, token: 2, steps: []step{enter(1, 2, 3), leave(1, 5, 6)}, spans: []span{{1, 3, 4}}},
			{worker: 3, token: 3, steps: []step{enter(1, 7, 8), leave(1, 10, 11)}, spans: []span{{1, 8, 9}}},
		}, 2, porcupine.Illegal, 0},
		{"the outer context has ended, the inner one lives on", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1), enter(2, 2, 3), leave(2, 8, 9)}, spans: []span{{1, 1, 4}, {2, 3, 8}}, end: lost, left: 10},
			{worker: 2, token: 1, steps: []step{enter(1, 5, 6), leave(1, 7, 7)}, spans: []span{{1, 6, 7}}},
		}, 1, porcupine.Illegal, 0},
		{"lost, and then another's", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1)}, spans: []span{{1, 1, 4}}, end: lost, left: 20},
			{worker: 2, token: 1, steps: []step{enter(1, 2, 6), leave(1, 7, 8)}, spans: []span{{1, 6, 7}}},
		}, 0, porcupine.Ok, 0},
		{"lost, but it was told sooner than another could have been given it", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1)}, spans: []span{{1, 1, 4}}, end: lost, left: 20},
			{worker: 2, token: 1, steps: []step{enter(1, 2, 3), leave(1, 7, 8)}, spans: []span{{1, 3, 3}}},
		}, 1, porcupine.Illegal, 0},
		{"of unknown end, and another's much later", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1)}, spans: []span{{1, 1, 4}}, end: unknown, left: 5},
			{worker: 2, token: 1, steps: []step{enter(1, 2, 60), leave(1, 70, 80)}, spans: []span{{1, 60, 70}}},
		}, 0, porcupine.Ok, 0},
		{"no context ever lived, but Unlock says it was held", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1), leave(1, 9, 10)}},
			{worker: 2, token: 1, steps: []step{enter(1, 2, 3), leave(1, 4, 5)}, spans: []span{{1, 3, 4}}},
		}, 0, porcupine.Illegal, 0},
		{"level 2 of a free lock", []*tenure{{worker: 1, steps: []step{enter(2, 0, 1)}}}, 0, porcupine.Illegal, 0},
		{"an inner unlock frees all", []*tenure{
			{worker: 1, steps: []step{enter(1, 0, 1), enter(2, 2, 3), leave(2, 4, 5), leave(1, 12, 13)}},
			{worker: 2, token: 1, steps: []step{enter(1, 6, 7), leave(1, 8, 9)}},
		}, 0, porcupine.Illegal, 0},
		{"a token that does not grow", []*tenure{
			{worker: 1, token: 5, steps: []step{enter(1, 0, 1), leave(1, 2, 3)}},
			{worker: 2, token: 5, steps: []step{enter(1, 4, 5), leave(1, 6, 7)}},
			{worker: 3, token: 4, steps: []step{enter(1, 8, 9), leave(1, 10, 11)}},
			{worker: 4, token: 6, steps: []step{enter(1, 12, 13), leave(1, 14, 15)}},
			{worker: 4, token: 6, steps: []step{enter(1, 16, 17), leave(1, 18, 19)}},
		}, 0, porcupine.Ok, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := overlaps(c.all); len(got) != c.overlaps {
				t.Errorf("overlaps: %v, want %d", got, c.overlaps)
			}
			if got := linearizable(c.all, 2); got != c.history {
				t.Errorf("history: %s, want %s", got, c.history)
			}
			if got := regressions(c.all); len(got) != c.regressions {
				t.Errorf("tokens: %v, want %d", got, c.regressions)
			}
		})
	}
}
