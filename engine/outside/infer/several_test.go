package infer_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/outside/infer"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// two folds what threads do to the locks x and y, a line each: "A x" takes one, "A -x" and
// "A -x -y" delete, "A x>y" renames, "idle" lets a minute pass in which A and B ask in vain; at its end both
// leases are over.
func two(t *testing.T, lines ...string) *infer.Several {
	t.Helper()
	keys := []string{"x", "y"}
	s := infer.NewSeveral([]string{"A", "B"}, keys, "", infer.Roles{})
	state := map[string]trace.KeyState{"x": trace.Absent(), "y": trace.Absent()}
	at := time.Duration(0)
	for _, line := range lines {
		words := strings.Fields(line)
		was := map[string]trace.KeyState{"x": state["x"], "y": state["y"]}
		r := infer.Record{Thread: words[0]}
		switch {
		case words[0] == "idle":
			at += time.Minute
			r = infer.Record{Do: "lease-ends", Asking: []string{"A", "B"}}
			state["x"], state["y"] = trace.Absent(), trace.Absent()
		case strings.HasPrefix(words[1], "-"):
			r.Args = []string{"DEL"}
			var gone int64
			for _, key := range words[1:] {
				r.Args = append(r.Args, key[1:])
				if state[key[1:]].Exists() {
					gone++
				}
				state[key[1:]] = trace.Absent()
			}
			r.Reply = gone
		case strings.Contains(words[1], ">"):
			from, to, _ := strings.Cut(words[1], ">")
			r.Args, r.Reply = []string{"RENAME", from, to}, "OK"
			state[from], state[to] = trace.Absent(), state[from]
		default:
			r.Args = []string{"SET", words[1], words[0], "NX", "PX", "60000"}
			if !state[words[1]].Exists() {
				r.Reply = "OK"
				state[words[1]] = trace.KeyState{Type: trace.TypeString, Value: &words[0], PTTL: 60000}
			}
		}
		r.At, r.Before, r.After = at, was["x"], state["x"]
		r.Also = []infer.Change{{Before: was["y"], After: state["y"]}}
		s.See(r)
	}
	s.Finish(infer.Over{Key: state["x"], Also: []trace.KeyState{state["y"]}})
	return s
}

// saidOf is an event in short: what it is, of which lock, and who then believes to hold which.
func saidOf(e trace.Event) string {
	what := string(e.Kind())
	switch b := e.Body.(type) {
	case trace.Outcome:
		what = fmt.Sprintf("%s %s %d", b.Call, b.Result, b.Level)
	case trace.Violation:
		what = b.Rule
	}
	text := fmt.Sprintf("%d %s %s %s:", e.Step, e.Thread, what, e.Lock)
	for _, one := range e.Locks {
		for _, name := range []string{"A", "B"} {
			if one.Belief[name] > 0 {
				text += " " + name + one.Lock
			}
		}
	}
	return text
}

// The events of several locks are those of each, in one list: each says of which lock it is,
// and how all of them are after it.
func TestEventsOfSeveralLocks(t *testing.T) {
	s := two(t, "A x", "B y", "A y", "B x", "idle", "A y", "A -x -y")
	want := `1 A command x:
1 A lock acquired 1 x: Ax
2 B command y: Ax
2 B lock acquired 1 y: Ax By
3 A command y: Ax By
3 A lock refused 2 y: Ax By
4 B command x: Ax By
4 B lock refused 2 x: Ax By
4  deadlock : Ax By
5  expired x: Ax By
5  expired y: Ax By
6 A command y: Ax By
6 A lock acquired 2 y: Ax Ay By
6  mutual-exclusion y: Ax Ay By
7 A command : By
7 A unlock not-held 1 x: By
7 A unlock released 1 y: By
8  end : By`
	var got []string
	for i, e := range s.Events() {
		if e.Seq != i+1 || len(e.Locks) != 2 || e.Locks[0].Lock != "x" || e.Key.Type != e.Locks[0].Key.Type {
			t.Errorf("event %d is %+v", i+1, e)
		}
		got = append(got, saidOf(e))
		if v, is := e.Body.(trace.Violation); is {
			for _, seq := range v.Events {
				if seq < 1 || seq >= e.Seq {
					t.Errorf("%s is proved by %v", v.Rule, v.Events)
				}
			}
		}
	}
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if rules := s.Rules(); !slices.Equal(rules, []string{"mutual-exclusion", "deadlock"}) {
		t.Errorf("it breaks %v", rules)
	}
}

// A thread that is refused once and gives back what it has waits for nobody; who deletes two keys at
// once believes of neither that it holds it, whichever was there.
func TestWhatBreaksNothingOfTwoLocks(t *testing.T) {
	for _, lines := range [][]string{
		{"A x", "B y", "A y", "B x", "A -x", "B -y"},
		{"A x", "B y", "A y", "B x", "A -x", "B x", "B -x -y", "A x", "A y", "A -x -y"},
		{"A x", "A -x -y", "B x", "B y", "B -y -x"},
		{"A x", "A -x", "A y", "A -x -y", "B x", "B y", "B -y -x"},
	} {
		if s := two(t, lines...); len(s.Broken()) > 0 {
			t.Errorf("%s: %v", lines, s.Broken())
		}
	}
}

// What is a call of two locks is told as the first one's.
func TestACommandOfTwoLocksIsToldAsTheFirstOnes(t *testing.T) {
	for line, want := range map[string]string{"A x>y": lock.CallUnlock, "A y>x": lock.CallLock, "A -x -y": lock.CallUnlock} {
		taken := map[bool]string{true: "A y", false: "A x"}[line == "A y>x"]
		for _, e := range two(t, taken, line).Events() {
			if c, ok := e.Body.(trace.Command); ok && c.Args[0] != "SET" && c.Call != want {
				t.Errorf("%s is a call %s, want %s", line, c.Call, want)
			}
		}
	}
}

// A trace's locks have names as a scenario may have them, and no two have the same.
func TestNamesOfLocks(t *testing.T) {
	long := strings.Repeat("k", scenario.MaxKey+9)
	names := infer.NamesOfLocks([]string{"{a}", "(a)", "a b", long, long + "2"})
	for i, name := range names {
		if name == "" || len([]rune(name)) > scenario.MaxKey || strings.ContainsAny(name, " {}") || slices.Contains(names[:i], name) {
			t.Errorf("%q", names)
		}
	}
	sc, err := infer.Frame{Key: "{a}", Also: []string{"(a)", "b"}, Threads: []string{"A"}}.Scenario()
	if err != nil || len(sc.Locks) != 3 || sc.Locks[2] != "b" {
		t.Errorf("the frame has %v, %v", sc, err)
	}
}

// A count beside the number of a call is told from it: the number is larger.
func TestACountIsNotTheNumberOfACall(t *testing.T) {
	for range 50 { // fields come in any order
		j := infer.New([]string{"A"}, infer.Lock{Key: "k"}, "", false, infer.Roles{})
		was := trace.Absent()
		for n, count := range []string{"1", "2", "1"} {
			now := trace.KeyState{Type: trace.TypeHash, PTTL: 30000, Fields: map[string]string{"a": count, "#l": strconv.Itoa(1795716618658999 + n)}}
			j.See(infer.Record{Thread: "A", Args: []string{"EVAL", "return 1", "1", "k", "a"}, Reply: int64(1), Before: was, After: now})
			was = now
			all := j.Events()
			if got := all[len(all)-1].Belief["A"]; strconv.Itoa(got) != count {
				t.Fatalf("after %d calls A believes to hold %d levels, and the count is %s", n+1, got, count)
			}
		}
	}
}

// Who is shut out hears of the key that is left, unless it is not why.
func TestAKeyThatIsNotWhyIsNotNamed(t *testing.T) {
	value := "a"
	left := trace.KeyState{Type: trace.TypeString, Value: &value, PTTL: trace.NoExpiry}
	for _, beside := range []bool{false, true} {
		j := infer.New([]string{"A", "B"}, infer.Lock{Key: "k"}, "", false, infer.Roles{})
		j.See(infer.Record{Thread: "A", Args: []string{"SET", "k", value, "NX"}, Reply: "OK", Before: trace.Absent(), After: left})
		j.See(infer.Record{Thread: "A", Ended: trace.Crashed, Before: left, After: left})
		j.Finish(infer.Over{Key: left, Tried: true, After: map[string]time.Duration{"A": check.Never, "B": check.Never}, Beside: beside})
		list := j.Broken()
		if len(list) != 1 || list[0].Rule != check.ShutOut {
			t.Fatalf("%+v", list)
		}
		if named := strings.Contains(list[0].Detail, "key"); named == beside {
			t.Errorf("beside the key %v: %s", beside, list[0].Detail)
		}
	}
}
