package draft_test

import (
	"net/url"
	"slices"
	"testing"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
	"relock/web/draft"
)

func TestATimeIsReadAsPeopleWriteIt(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"lock.lease", "150", "150ms"},
		{"lock.lease", " 150 ms ", "150ms"},
		{"lock.lease", "150\u00a0ms", "150ms"},
		{"lock.watchdog", "off", "off"},
		{"lock.watchdog", "66", "66ms"},
		{"threads[1].work", "50-100", "50-100ms"},
		{"threads[1].work", "50 ms - 100 ms", "50ms-100ms"},
		{"threads[0].start", "1.5 s", "1.5s"},
		{"threads[0].retry.interval", "0", "0ms"},
		{"faults[3].by", "-150", "-150ms"},
		{"faults[3].by", "-1 s", "-1s"},
		{"threads[1].depth", "150", "150"},
		{"threads[1].retry.times", "2", "2"},
		{"seed", "7", "7"},
		{"title", "9 to 5", "9 to 5"},
		{"threads[1].work", "a while, 5", "a while, 5"},
		{"lock.lease", "", ""},
	} {
		if got := draft.Input(c.key, c.value); got != c.want {
			t.Errorf("%s: %q is read as %q, want %q", c.key, c.value, got, c.want)
		}
	}
	if got := merge(t, "lock: {lease: 150ms}\n", "", "lock.lease", "150 ms"); got != "lock: {lease: 150ms}\n" {
		t.Errorf("the same time is a change:\n%s", got)
	}
}

func TestSoManyThreads(t *testing.T) {
	const two = "threads:\n  - {name: A}\n  - {name: B, work: 5ms}\nfaults: [{thread: B, at: work, do: crash}]\n"
	for _, c := range []struct{ count, want string }{
		{"4", "threads:\n  - {name: A}\n  - {name: B, work: 5ms}\n  - {name: C, work: 5ms}\n  - {name: D, work: 5ms}\nfaults: [{thread: B, at: work, do: crash}]\n"},
		{"2", two},
		{"1", "threads:\n  - {name: A}\n"},
		{"0", "threads:\n  - {name: A}\n"},
		{"-7", "threads:\n  - {name: A}\n"},
		{"many", two},
	} {
		if got := merge(t, two, "", "threads", c.count); got != c.want {
			t.Errorf("%s threads:\n%s", c.count, got)
		}
	}
	d, err := draft.Read(merge(t, two, "", "threads", "999999999"))
	if err != nil || d.Len("threads") != scenario.MaxThreads {
		t.Errorf("%d threads, %v", d.Len("threads"), err)
	}
	if got := merge(t, two, "", "threads", "1", "threads[1].work", "soon"); got != "threads:\n  - {name: A}\n" {
		t.Errorf("what was wrong in a thread outlives it:\n%s", got)
	}
}

func TestWhatNoLongerFitsIsTakenOut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        url.Values
		want       string
		gone       []string
	}{
		{
			"all fits", "threads: [{name: A}]\nschedule: [0, 0]\n",
			url.Values{"lock.protocol": {"reentrant"}},
			"threads: [{name: A}]\nschedule: [0, 0]\n", nil,
		},
		{
			"moves that name who is gone", "threads: [{name: A}]\nschedule: [0, {thread: B, do: crash}, 0]\n",
			url.Values{"threads": {"1"}},
			"threads: [{name: A}]\nschedule: [0]\n",
			[]string{"schedule"},
		},
		{
			"from the first move on", "threads: [{name: A}]\nschedule: [{thread: B, do: crash}, 0]\n",
			url.Values{"threads": {"1"}},
			"threads: [{name: A}]\n",
			[]string{"schedule"},
		},
		{
			"of another lock", "lock: {protocol: mutex, nodes: 3, watchdog: 20ms}\nthreads: [{name: A}]\nfaults: [{do: evict, time: 1ms}, {do: crash, node: 2, time: 1ms}]\n",
			url.Values{"lock.protocol": {"mutex"}},
			"lock: {protocol: mutex, watchdog: 20ms}\nthreads: [{name: A}]\nfaults: [{do: evict, time: 1ms}]\n",
			[]string{"nodes", "faults"},
		},
		{
			"what was set itself stays, wrong as it is", "lock: {protocol: mutex, lease: soon}\nthreads: [{name: A}]\n",
			url.Values{"lock.protocol": {"mutex"}, "lock.lease": {"soon"}},
			"lock: {protocol: mutex, lease: soon}\nthreads: [{name: A}]\n", nil,
		},
		{
			"nothing goes for a lease", "lock: {lease: 10ms, watchdog: 20ms}\nthreads: [{name: A, depth: x}]\n",
			url.Values{"lock.lease": {"10ms"}},
			"lock: {lease: 10ms, watchdog: 20ms}\nthreads: [{name: A, depth: x}]\n", nil,
		},
	} {
		got, gone := draft.Fit(c.text, c.set)
		slices.Sort(gone)
		slices.Sort(c.gone)
		if got != c.want || !slices.Equal(gone, c.gone) {
			t.Errorf("%s: %v gone, want %v\n%s", c.name, gone, c.gone, got)
		}
	}
}

func mistakes(text string) scenario.Mistakes {
	_, found := scenario.Draft([]byte(text))
	return found
}

// Every bundled scenario is one on every other lock, whatever has to go, or that lock is refused.
func TestEveryScenarioFitsEveryLock(t *testing.T) {
	for i, name := range lessonstest.Names(t) {
		all := exhibit.All()
		if testing.Short() {
			all = []*protocol.Protocol{all[i%len(all)]}
		}
		text, err := lessonstest.Scenario(t, name).Compact()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			set := url.Values{"lock.protocol": {p.Name}}
			fitted, gone := draft.Fit(merge(t, string(text), "", "lock.protocol", p.Name), set)
			for _, m := range mistakes(fitted) {
				if m.Key != "lock.protocol" { // that has a sentence: it has only one key, say
					t.Errorf("%s with %s, without %v: %v", name, p.Name, gone, m)
				}
			}
		}
	}
}
