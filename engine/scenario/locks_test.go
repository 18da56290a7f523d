package scenario_test

import (
	"strings"
	"testing"

	"relock/engine/fault"
	"relock/engine/scenario"
)

const severalText = `lock: {protocol: mutex, lease: 30s, retry: {times: 3, interval: 50ms, give-back: true}}
locks: [account-a, account-b]
threads:
  - {name: A, work: 50ms}
  - {name: B, takes: [account-b, account-a], retry: {give-back: false}}
  - {name: C, takes: [account-b]}
`

func TestSeveralLocks(t *testing.T) {
	sc := parse(t, severalText)
	same(t, sc)
	if sc.Lock.Key != "account-a" || strings.Join(sc.Keys(), " ") != "account-a account-b" {
		t.Errorf("keys %q, the lock's is %q", sc.Keys(), sc.Lock.Key)
	}
	for i, want := range []scenario.Takes{"account-a account-b", "account-b account-a", "account-b"} {
		one := sc.Threads[i]
		if one.Takes != want || one.Depth != len(want.Keys()) || one.Retry.GiveBack != (i != 1) {
			t.Errorf("%s takes %q on %d levels, give-back: %t", one.Name, one.Takes, one.Depth, one.Retry.GiveBack)
		}
	}
	if b := sc.Threads[1].Takes; b.Key(2) != "account-a" || b.Key(3) != "" || b.Level("account-b") != 1 || b.Level("other") != 0 {
		t.Errorf("levels of %q", b)
	}
	if one := parse(t, "threads: [{name: A}]"); one.Locks != nil || one.Threads[0].Takes != "" || strings.Join(one.Keys(), " ") != "EXAMPLE_LOCK" {
		t.Errorf("one lock: %q, %+v", one.Keys(), one.Threads)
	}
	// Which faults there are is not known of a lock alone: that of an eviction names no key.
	for _, kind := range sc.StrikeKinds() {
		if kind == fault.Evict || kind == fault.TwoMasters {
			t.Errorf("%s can strike", kind)
		}
	}
}

func TestMistakesWithSeveralLocks(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"one", "[account-a, account-b]\n", "[account-a]\n", "line 2: locks: given 1 key, allowed: a list of 2 to 8 keys"},
		{"too many", "[account-a, account-b]\n", "[a, b, c, d, e, f, g, h, i]\n", "line 2: locks: given 9 keys, allowed: a list of 2 to 8 keys"},
		{"twice", "[account-a, account-b]\n", "[account-a, account-a]\n", "line 2: locks[1]: given \"account-a\", allowed: 1 to 64 printable characters without spaces, { and }, each key once"},
		{"a name of the lock's own", "mutex,", "mutex, key: K,", "line 1: lock.key: given the key \"key\", allowed: key only with one lock, without locks"},
		{"replicas", "mutex,", "mutex, wait: 1 of 1 in 50ms,", "line 1: lock.wait: given the key \"wait\", allowed: wait only with one lock, without locks"},
		{"nodes", "mutex,", "redlock,", "line 1: lock.protocol: given \"redlock\", allowed: with locks only reentrant, mutex, mutex-delex, mutex-own-value, mutex-pxat: this one has a key on each of several nodes"},
		{"messages", "mutex,", "reentrant-fair,", "this one tells its waiters by messages about one key"},
		{"tokens", "mutex,", "fenced,", "line 1: lock.protocol: given \"fenced\", allowed: with locks only reentrant, mutex, mutex-delex, mutex-own-value, mutex-pxat: this one counts its tokens for one key"},
		{"scripts of one's own", "mutex,", "own, scripts: {lock: return 1, unlock: return 1},", "line 1: lock.protocol: given \"own\", allowed: with locks only reentrant, mutex, mutex-delex, mutex-own-value, mutex-pxat: scripts of your own are given one key"},
		{"in memory", "mutex,", "spin,", "this one is not in Redis"},
		{"a resource", "threads:", "resource: {kind: counter}\nthreads:", "line 3: resource: given the key \"resource\", allowed: resource only with one lock, without locks"},
		{"a device", "threads:", "kind: heartbeat\nthreads:", "line 2: locks: given the key \"locks\", allowed: locks only with kind: lock"},
		{"no such lock", "[account-b]}", "[c]}", "line 6: threads[2].takes[0]: given \"c\", allowed: keys of locks, each once: account-a, account-b"},
		{"no lock", "[account-b]}", "[]}", "line 6: threads[2].takes: given an empty list, allowed: keys of locks, each once: account-a, account-b"},
		{"depth", "[account-b]}", "[account-b], depth: 2}", "line 6: threads[2].depth: given the key \"depth\", allowed: depth only with one lock, without locks"},
		{"after", "[account-b]}", "[account-b], after: 2ms}", "line 6: threads[2].after: given the key \"after\", allowed: after only with one lock, without locks"},
		{"an eviction", "threads:", "faults: [{time: 1ms, do: evict}]\nthreads:", "line 3: faults[0].do: given \"evict\", allowed: with locks, only "},
		{"takes of one lock", "locks: [account-a, account-b]\n", "", "takes only with locks: it says in which order they are taken"},
		{"give-back of one lock", "locks: [account-a, account-b]\n", "", "give-back only with locks: a thread without another lock has none to give back"},
	} {
		text := strings.Replace(severalText, c.from, c.to, 1)
		_, err := scenario.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}
