package advice_test

import (
	"net/url"
	"strings"
	"testing"

	"relock/engine/lock/protocol"
	"relock/lessons/advice"
)

// every calls f with each way to answer all questions.
func every(f func(advice.Answers)) {
	var answer func(n int, given url.Values)
	answer = func(n int, given url.Values) {
		if n == len(advice.Questions()) {
			f(advice.Read(given))
			return
		}
		q := advice.Questions()[n]
		for _, a := range q.Answers {
			given.Set(q.Name, a.Name)
			answer(n+1, given)
		}
	}
	answer(0, url.Values{})
}

func TestEachWayToAnswerLeadsToOneLockThatFits(t *testing.T) {
	ways, programs := 0, map[string]string{}
	every(func(given advice.Answers) {
		ways++
		if !given.Complete() {
			t.Fatalf("%v is not complete", given)
		}
		a := advice.To(given)
		p := a.Protocol
		switch harm := given["harm"]; {
		case (harm == "write" || harm == "outside") != (p == nil):
			t.Errorf("%v: %v", given, p)
		case p == nil:
			if len(a.Prices()) > 0 {
				t.Errorf("%v: no lock has a price", given)
			}
		case harm == "compares" && p.Token == nil:
			t.Errorf("%v: %s has no token to compare", given, p.Name)
		case given["redis"] == "cluster" && (p.OneRedis || a.Nodes > 1), given["redis"] == "one" && a.Nodes > 1:
			t.Errorf("%v: %s on %d does not run there", given, p.Name, a.Nodes)
		case given["nested"] == "yes" && !p.Levels:
			t.Errorf("%v: %s waits for itself", given, p.Name)
		case harm == "waste" && given["wait"] == "order" && given["redis"] != "cluster" && !p.Granting:
			t.Errorf("%v: %s serves nobody in order", given, p.Name)
		case len(a.Prices()) < 3:
			t.Errorf("%v: of the price %d parts", given, len(a.Prices()))
		}
		if len(a.Because) < 2 && p != protocol.Redlock {
			t.Errorf("%v: says only %v", given, a.Because)
		}
		code := a.Program()
		if !strings.HasPrefix(code, "package invoice\n") || strings.Contains(code, "lock.New(") != (p != nil) {
			t.Errorf("%v: %s", given, code)
		}
		name := ""
		if p != nil {
			name = p.Name
		}
		if was, ok := programs[code]; ok && was != name {
			t.Errorf("%v: the program of %q is shown for %q", given, was, name)
		}
		programs[code] = name
	})
	if ways != 2*4*3*4 || len(programs) != 8 {
		t.Errorf("%d ways lead to %d programs", ways, len(programs))
	}
}

func TestWhatIsNoAnswerIsLeftOut(t *testing.T) {
	given := advice.Read(url.Values{"nested": {"perhaps"}, "harm": {"waste"}, "lock": {"mutex"}})
	if len(given) != 1 || given["harm"] != "waste" || given.Complete() {
		t.Errorf("taken: %v", given)
	}
}

// A lock that nobody should use has no program, and a program has the reader's key.
func TestAProgramHasTheReadersKey(t *testing.T) {
	for _, c := range []struct{ lock, checks, has string }{
		{"fenced", "token", `locker.Do(ctx, "stock:\"1", `},
		{"mutex-get-del", "token", "lock.Fenced"},
		{"mutex", "key", "Idempotency-Key"},
		{protocol.Fair.Name, "", "lock.ReentrantFair"},
		{"mutex-get-del", "", ""},
	} {
		if got := advice.Program(c.lock, c.checks, `stock:"1`); !strings.Contains(got, c.has) || (got == "") != (c.has == "") {
			t.Errorf("%s, %s: %q", c.lock, c.checks, got)
		}
	}
}
