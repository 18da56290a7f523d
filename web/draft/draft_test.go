package draft_test

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
	"relock/web/draft"
)

func merge(t *testing.T, text, action string, pairs ...string) string {
	t.Helper()
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	got, err := draft.Merge(text, text, action, v)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOneKeyIsChangedAndTheRestStays(t *testing.T) {
	const text = `# Two of them.
title: Two # a line
lock:
  lease: 200ms # short
threads:
  - name: A
  - {name: B, work: 5ms}
faults:
  - {thread: B, at: work, do: crash}
schedule: [0, {until: 5ms}, {thread: B, do: crash}]
expect: {violations: [], outcome: {A: done, B: crashed}}
`
	for _, c := range []struct {
		name, action string
		changes      []string
		old, now     string // what is replaced; nothing else differs
	}{
		{"a value", "", []string{"lock.lease", "1s"}, "lease: 200ms # short", "lease: 1s # short"},
		{"a new key, at its place", "", []string{"lock.watchdog", "off"}, "short\n", "short\n  watchdog: off\n"},
		{"a new part", "", []string{"lock.retry.times", "3"}, "short\n", "short\n  retry: {times: 3}\n"},
		{"a key taken away", "", []string{"threads[1].work", ""}, ", work: 5ms", ""},
		{"a word that YAML takes for nothing", "", []string{"title", "null"}, "title: Two", `title: "null"`},
		{"spaces around", "", []string{"threads[0].depth", " 2 "}, "  - name: A\n", "  - name: A\n    depth: 2\n"},
		{"a resource", "", []string{"resource.kind", "stock"}, "threads:\n", "resource: {kind: stock}\nthreads:\n"},
		{"the title, below what stands above it", "", []string{"title", ""}, "title: Two # a line\n", ""},
		{"a thread's work for all", "", []string{"defaults.work", "7ms"}, "faults:\n", "defaults: {work: 7ms}\nfaults:\n"},
		{"a thread more", draft.AddThread, nil, "5ms}\n", "5ms}\n  - {name: C, work: 5ms}\n"},
		{"a copy", draft.DuplicateThread + "-0", nil, "name: A\n", "name: A\n  - name: C\n"},
		{"a copied fault", draft.DuplicateFault + "-0", nil, "do: crash}\ns", "do: crash}\n  - {thread: B, at: work, do: crash}\ns"},
		{"no fault", draft.RemoveFault + "-0", nil, "faults:\n  - {thread: B, at: work, do: crash}\n", ""},
		{"another fault", draft.AddFault, nil, "crash}\nsch", "crash}\n  - {thread: A, at: work, do: pause, for: 100ms}\nsch"},
		{"a fault of Redis", draft.AddRedisFault, nil, "crash}\nsch", "crash}\n  - {time: 100ms, do: restart}\nsch"},
		{"an unknown action", "dance", nil, "", ""},
		{"a thread that is not there", draft.RemoveThread + "-7", nil, "", ""},
		{"nor is this one", draft.DuplicateThread + "--1", nil, "", ""},
		{"a key that no form has", "", []string{"expect.violations", "x", "threads[99].name", "Z", "threads[2].name", ""}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Replace(text, c.old, c.now, 1)
			if diff := cmp.Diff(want, merge(t, text, c.action, c.changes...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsSaidOfAThreadFollowsIt(t *testing.T) {
	const text = "threads: [{name: A}, {name: B}]\nfaults: [{thread: B, at: work, do: crash}]\nschedule: [{thread: B, do: crash}]\nexpect: {outcome: {A: done, B: crashed}}\n"
	if got := merge(t, text, "", "threads[1].name", "Bob"); got != strings.ReplaceAll(text, "B,", "Bob,") && strings.Count(got, "Bob") != 4 {
		t.Errorf("renamed:\n%s", got)
	}
	if got := merge(t, text, "", "threads[1].name", "A"); strings.Count(got, "B") != 3 {
		t.Errorf("renamed to another's name:\n%s", got)
	}
	got := merge(t, text, draft.RemoveThread+"-1")
	if want := "threads: [{name: A}]\nschedule: [{thread: B, do: crash}]\nexpect: {outcome: {A: done}}\n"; got != want {
		t.Errorf("removed:\n%s", got)
	}
}

func TestAnotherKindOfFaultKeepsWhatFits(t *testing.T) {
	const text = "lock: {protocol: redlock}\nthreads: [{name: A, repeat: 2}]\nfaults: [{thread: A, at: lock, round: 2, command: 3, do: pause, for: 5ms}]\n"
	for _, c := range []struct{ key, value, want string }{
		{"do", "crash", "{thread: A, at: lock, round: 2, command: 3, do: crash}"},
		{"do", "delay", "{thread: A, at: lock, round: 2, command: 3, do: delay, for: 5ms}"},
		{"do", "panic", "{thread: A, at: work, round: 2, do: panic}"},
		{"do", "clock-jump", "{time: 100ms, do: clock-jump, by: 1s}"},
		{"do", "down", "{time: 100ms, thread: A, do: down, for: 5ms}"},
		{"at", "start", "{thread: A, at: start, round: 2, do: pause, for: 5ms}"},
		{"at", "work", "{thread: A, at: work, round: 2, do: pause, for: 5ms}"},
	} {
		got := merge(t, text, "", "faults[0]."+c.key, c.value)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s gives\n%s, want %s", c.key, c.value, got, c.want)
		}
		if _, err := scenario.Parse([]byte(got)); err != nil {
			t.Errorf("%s: %s: %v", c.key, c.value, err)
		}
	}
}

func TestMergeTakesChangesOfBothSides(t *testing.T) {
	const base, text = "title: a\nthreads: [{name: A}]\n", "title: a\nthreads: [{name: A}]\nseed: 7\n"
	got, err := draft.Merge(base, text, "", url.Values{"title": {"b"}, "seed": {""}})
	if err != nil || got != "title: b\nthreads: [{name: A}]\nseed: 7\n" {
		t.Errorf("%v\n%s", err, got)
	}
	for _, broken := range []string{"", "title: [", "7", "- a", "a: 1\n---\nb: 2"} {
		got, err := draft.Merge(base, broken, "", url.Values{"title": {"b"}})
		if got != broken || !errors.Is(err, draft.ErrUnreadable) {
			t.Errorf("%q became %q, %v", broken, got, err)
		}
		if got, err := draft.Merge(base, broken, "", url.Values{"title": {"a"}}); got != broken || err != nil {
			t.Errorf("%q without a change became %q, %v", broken, got, err)
		}
	}
}

// A list takes only its next entry: the ninth has to be there before the tenth.
func TestEntriesAreAddedInTheirOrder(t *testing.T) {
	const base = "threads:\n  - name: A\n"
	const want = base + "  - {name: T1}\n  - {name: T2}\n  - {name: T3}\n  - {name: T4}\n  - {name: T5}\n  - {name: T6}\n" +
		"  - {name: T7}\n  - {name: T8}\n  - {name: T9}\n  - {name: T10}\n  - {name: T11}\n"
	values := url.Values{}
	for i := 1; i <= 11; i++ {
		values.Set(fmt.Sprintf("threads[%d].name", i), fmt.Sprintf("T%d", i))
	}
	if got, err := draft.Merge(base, base, "", values); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestJSONIsWrittenAsYAML(t *testing.T) {
	got := merge(t, `{"title":"7","threads":[{"name":"A","work":"5ms","retry":{"times":3}}],"faults":[{"thread":"A","at":"work","do":"crash"}]}`, draft.Unfold)
	want := `title: "7"
threads: [{name: A, work: 5ms, retry: {times: 3}}]
faults: [{thread: A, at: work, do: crash}]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// leaves are the single values of a scenario's YAML, by key.
func leaves(t *testing.T, text string) url.Values {
	t.Helper()
	d, err := draft.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	v := url.Values{}
	add := func(key string) {
		if value, ok := d.Value(key); ok {
			v.Set(key, value)
		}
	}
	thread := []string{"start", "takes", "depth", "work", "after", "calls", "repeat", "on-lost", "process", "user", "drift", "client-retries", "retry.times", "retry.interval", "retry.jitter", "retry.wait", "retry.give-back"}
	for _, key := range []string{
		"title", "kind", "seed", "policy", "lock.protocol", "lock.key", "lock.kind", "lock.lease", "lock.watchdog", "lock.max-hold", "lock.keep", "lock.wait", "lock.min-replicas", "lock.nodes", "lock.retry.times",
		"lock.retry.interval", "lock.retry.jitter", "lock.retry.wait", "lock.retry.give-back", "locks", "resource.kind", "resource.size", "resource.limit", "resource.checks", "resource.looks", "resource.once-per",
	} {
		add(key)
	}
	for _, key := range thread {
		add("defaults." + key)
	}
	for i := range d.Len("threads") {
		for _, key := range append(thread, "name") {
			add("threads[" + strconv.Itoa(i) + "]." + key)
		}
	}
	for i := range d.Len("faults") {
		for _, key := range scenario.KeysAt("faults[0]").Names() {
			add("faults[" + strconv.Itoa(i) + "]." + key)
		}
	}
	return v
}

// Every lesson comes back whole, from its own text and from its form's values
// alone, with only the parts kept that a form has no inputs for.
func TestEveryLessonComesBack(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		lesson, want := lessonstest.Text(t, name), lessonstest.Scenario(t, name)
		v := leaves(t, lesson)
		bare := "{}"
		for _, kept := range []string{"\nexpect:", "\nschedule:"} {
			if at := strings.Index(lesson, kept); at >= 0 {
				bare = lesson[at:]
			}
		}
		alone, err := draft.Merge(bare, bare, "", v)
		if err != nil {
			t.Fatal(name, err)
		}
		rewritten, err := draft.Merge(lesson, lesson, "nothing", v)
		if err != nil {
			t.Fatal(name, err)
		}
		for how, text := range map[string]string{"from its values": alone, "written again": rewritten} {
			got, err := scenario.Parse([]byte(text))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %v\n%s", name, how, err, text)
			}
		}
	}
}

func FuzzMerge(f *testing.F) {
	for i, name := range lessonstest.Names(f) {
		f.Add(lessonstest.Text(f, name), []string{draft.AddThread, draft.AddFault, draft.Unfold, draft.RemoveThread + "-0", draft.DuplicateFault + "-0"}[i%5], "threads[0].retry.times", "3")
	}
	f.Add("a: &x {b: *x}\nthreads: *x", draft.DuplicateThread+"-0", "faults[0].do", "evict")
	f.Add("{? {a: b} : c, threads: [[1]]}", draft.AddThread, "threads[0].name", "\x00\ufeff")
	f.Fuzz(func(t *testing.T, text, action, key, value string) {
		got, err := draft.Merge(text, text, action, url.Values{key: {value}})
		if err != nil {
			if got != text {
				t.Fatalf("half taken: %q", got)
			}
			return
		}
		if _, err := draft.Read(got); err != nil && got != text {
			t.Fatalf("what was written cannot be read: %v\n%q", err, got)
		}
	})
}

// The scripts of a lock of one's own are written as blocks, whatever was around
// them; they begin as those of the lock that was there, or that is chosen.
func TestALockOfOnesOwnBeginsWithScripts(t *testing.T) {
	const mutex = "lock: {protocol: mutex, lease: 1s}\nthreads: [{name: A}]\n"
	own := merge(t, mutex, "", "lock.protocol", "own")
	sc, err := scenario.Parse([]byte(own))
	if err != nil {
		t.Fatalf("%v\n%s", err, own)
	}
	if want := exhibit.Mutex.Sources(); sc.Lock.Like != "mutex" || sc.Lock.Scripts.Unlock != want["unlock"] || sc.Lock.Scripts.Renew != want["renew"] || sc.Lock.Scripts.Lock != "" {
		t.Errorf("own instead of mutex begins with\n%s", own)
	}
	if got := merge(t, own, ""); got != own {
		t.Errorf("nothing was changed, and it is\n%s", got)
	}
	written := merge(t, own, "", "lock.scripts.unlock", "redis.call('DEL', KEYS[1])  \r\n\r\n  return 1\r\n")
	if !strings.Contains(written, "    unlock: |\n      redis.call('DEL', KEYS[1])\n\n        return 1\n") {
		t.Errorf("a script is written as\n%s", written)
	}
	if sc, err := scenario.Parse([]byte(written)); err != nil || sc.ScriptLine("unlock", 1) == 0 {
		t.Errorf("its lines are not known: %v", err)
	}
	for _, c := range []struct {
		name, text string
		changes    []string
		like       string
		calls      []string
	}{
		{"another one to begin with", written, []string{"lock.like", "value"}, "value", []string{"lock", "unlock"}},
		{"the empty frame", written, []string{"lock.like", ""}, "", []string{"lock", "unlock"}},
		{"a script taken away", own, []string{"lock.scripts.renew", " \n"}, "mutex", []string{"unlock"}},
		{"instead of one that cannot be written", strings.Replace(mutex, "mutex", "spin", 1), []string{"lock.protocol", "own"}, "", []string{"lock", "unlock"}},
	} {
		got := merge(t, c.text, "", c.changes...)
		sc, err := scenario.Parse([]byte(got))
		if err != nil || sc.Lock.Like != c.like {
			t.Errorf("%s: %v\n%s", c.name, err, got)
			continue
		}
		if calls := sc.Lock.Scripts.Calls(); !reflect.DeepEqual(calls, c.calls) {
			t.Errorf("%s: scripts of %v, want %v", c.name, calls, c.calls)
		}
	}
	back := merge(t, written, "", "lock.protocol", "mutex")
	if strings.Contains(back, "scripts") || strings.Contains(back, "like") {
		t.Errorf("a bundled lock keeps scripts:\n%s", back)
	}
}
