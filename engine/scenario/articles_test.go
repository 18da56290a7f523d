package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"

	"relock/engine/scenario"
)

func TestRetriesWithoutEnd(t *testing.T) {
	sc, err := scenario.Parse([]byte(`
lock: {retry: {times: unlimited, interval: 100ms}}
threads: [{name: A}, {name: B, retry: {times: 3}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := sc.Lock.Retry.Times; got != scenario.Unlimited {
		t.Errorf("the lock's retries: %d", got)
	}
	if a, b := sc.Threads[0].Retry.Times, sc.Threads[1].Retry.Times; a != scenario.Unlimited || b != 3 {
		t.Errorf("retries of A %d, of B %d", a, b)
	}
	same(t, sc)
	text, err := json.Marshal(sc)
	if err != nil || !strings.Contains(string(text), `"times":"unlimited"`) || !strings.Contains(string(text), `"times":3`) {
		t.Errorf("written as %s, %v", text, err)
	}
}

func TestPurchases(t *testing.T) {
	for _, c := range []struct {
		resource string
		want     scenario.Resource
	}{
		{"{kind: purchases}", scenario.Resource{Kind: scenario.KindPurchases, Limit: 1}},
		{"{kind: purchases, limit: 2, size: 1}", scenario.Resource{Kind: scenario.KindPurchases, Limit: 2, Size: 1}},
		{"{kind: stock}", scenario.Resource{Kind: scenario.KindStock, Size: 100}},
	} {
		sc, err := scenario.Parse([]byte("resource: " + c.resource + "\ndefaults: {user: 7}\nthreads: [{name: A}, {name: B, user: 8}]"))
		if err != nil {
			t.Fatal(err)
		}
		if *sc.Resource != c.want {
			t.Errorf("%s is %+v, want %+v", c.resource, *sc.Resource, c.want)
		}
		if a, b := sc.Threads[0].BuysFor(), sc.Threads[1].BuysFor(); a != "7" || b != "8" {
			t.Errorf("users %q and %q", a, b)
		}
		same(t, sc)
	}
	sc, err := scenario.Parse([]byte("threads: [{name: A}]"))
	if err != nil || sc.Threads[0].BuysFor() != "A" {
		t.Errorf("a thread without a user buys for %q, %v", sc.Threads[0].BuysFor(), err)
	}
}

func TestMistakesOfRetriesAndPurchases(t *testing.T) {
	const base = "threads: [{name: A}]\n"
	for _, c := range []struct{ name, text, want string }{
		{"retries", base + "lock: {retry: {times: ever}}", `line 2: lock.retry.times: given "ever", allowed: a whole number from 0 to 1000, or unlimited`},
		{"retries below none", base + "lock: {retry: {times: -1}}", `line 2: lock.retry.times: given "-1", allowed: a whole number from 0 to 1000, or unlimited`},
		{"a list of retries", base + "lock: {retry: {times: [1]}}", `line 2: lock.retry.times: given a list, allowed: a whole number from 0 to 1000, or unlimited`},
		{"a limit of nothing", base + "resource: {kind: purchases, limit: 0}", `line 2: resource.limit: given "0", allowed: a whole number from 1 to 1000000`},
		{"a limit of a stock", base + "resource: {kind: stock, limit: 2}", `line 2: resource.limit: given the key "limit", allowed: a limit only with kind: purchases`},
		{"a version of an effect", base + "resource: {kind: effect, checks: version}", `line 2: resource.checks: given "version", allowed: token, key`},
		{"a key of a counter", base + "resource: {kind: counter, checks: key}", `line 2: resource.checks: given "key", allowed: token, version`},
		{"a kind that there is not", base + "resource: {kind: money, limit: 2}", `line 2: resource.kind: given "money", allowed: counter, stock, purchases, effect`},
		{"a user without a name", "threads: [{name: A, user: ''}]", `line 1: threads[0].user: given "", allowed: 1 to 12 letters, digits, - or _`},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, err := scenario.Parse([]byte(c.text))
			if sc != nil || err == nil || err.Error() != c.want {
				t.Errorf("%v, %v, want %s", sc, err, c.want)
			}
		})
	}
}
