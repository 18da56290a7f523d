package infer_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/trace"
)

// tokens folds what threads do to a list of tokens, a word each: "A+2" puts two in, "A-" takes
// one, "A!" takes one and is not told, "A." ends.
func tokens(t *testing.T, kind check.Kind, words ...string) *infer.Reading {
	t.Helper()
	j := infer.New([]string{"A", "B", "C"}, infer.Lock{Key: "k", Kind: kind}, "", false, infer.Roles{})
	n := int64(0)
	state := func() trace.KeyState {
		if n == 0 {
			return trace.Absent()
		}
		return trace.KeyState{Type: trace.TypeList, Length: n, PTTL: trace.NoExpiry}
	}
	for _, word := range words {
		r := infer.Record{Thread: word[:1], Before: state()}
		switch word[1] {
		case '+':
			r.Args = []string{"RPUSH", "k"}
			for range word[2] - '0' {
				r.Args = append(r.Args, "token")
				n++
			}
			r.Reply = n
		case '-', '!':
			r.Args = []string{"LPOP", "k"}
			if n > 0 {
				n--
				r.Reply = "token"
			}
			if word[1] == '!' {
				r.Do = "lose-reply"
			}
		case '.':
			r.Ended = trace.Done
		}
		r.After = state()
		j.See(r)
	}
	j.Finish(infer.Over{Key: state()})
	return j
}

// A token taken is a permit until its taker puts one back: more inside than permits, and
// tokens that are gone, are broken rules. A thread that has none and puts one in fills
// the list, or gives back another's; and a list without a number of permits is not
// judged.
func TestAListOfTokens(t *testing.T) {
	for _, c := range []struct{ does, broken string }{
		{"A+2 A- B- A+1 B+1 A. B. C.", ""},
		{"A+2 A- B- C- A+1 C- B+1 C+1 A. B. C.", ""},                  // C was refused
		{"A+2 A- B- C+2 C- A+1 B+1 C+1 A. B. C.", "mutual-exclusion"}, // filled twice
		{"A+2 A! A. B. C.", "orphan"},                                 // it has a token, and does not know
		{"A+2 A! B! A. B. C.", "orphan"},                              // none is left
		{"A+2 A! A- A+1 A. B. C.", "orphan"},                          // it has taken two, and put back one
		{"A+2 A- B- A+1 A+1 C- B+1 C+1 A. B. C.", ""},                 // a token too many lets nobody more in here
		{"A+2 A- B+1 A. B. C.", ""},                                   // B gives back A's
		{"A+1 A- A- B+1 A. B. C.", ""},                                // refused the second time
		{"A+2 A- A- A+2 B- B+1 A. B. C.", ""},                         // two permits of one thread
		{"A+2 A- A- B- A+2 A. B. C.", ""},                             // and B was refused
	} {
		j := tokens(t, check.Kind{Permits: 2}, strings.Fields(c.does)...)
		if got := strings.Join(j.Rules(), " "); got != c.broken {
			t.Errorf("%s: %q, want %q: %v", c.does, got, c.broken, j.Broken())
		}
		if says, _ := j.Kind(); !says.IsZero() {
			t.Errorf("%s: %s", c.does, says)
		}
	}
	for _, kind := range []check.Kind{{}, {Exclusive: true}} {
		if says, helps := tokens(t, kind, "A+2", "A-", "B-").Kind(); says.IsZero() || !strings.Contains(fmt.Sprint(helps), "permits=N") {
			t.Errorf("as %q it is judged: %s", kind, says)
		}
	}
}

// Who has taken no token and puts some in fills the list: it unlocks nothing.
func TestFillingAListIsNoUnlock(t *testing.T) {
	var calls []string
	for _, e := range tokens(t, check.Kind{Permits: 2}, "A+2", "A-", "A+1").Events() {
		if c, ok := e.Body.(trace.Command); ok {
			calls = append(calls, c.Call)
		}
	}
	if got := strings.Join(calls, " "); got != "other lock unlock" {
		t.Errorf("A fills, takes and gives back: %s", got)
	}
}
