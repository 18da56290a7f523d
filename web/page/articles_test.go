package page_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Threads that got an error are named beside the rules that were not broken.
func TestTheVerdictNamesWhoFailed(t *testing.T) {
	for _, c := range []struct {
		l             words.Language
		name          string
		verdict, last string
		why           string
	}{
		{
			words.English, "setnx-hash",
			"no rule was broken, but A and B ended with an error: WRONGTYPE",
			"The run has ended: no rule was broken, but A and B ended with an error: WRONGTYPE",
			"The run is over at step 68: no rule was broken, but A and B ended with an error.",
		},
		{
			words.Match("zh"), "setnx-hash",
			"没有违反任何规则，但 A 和 B 以错误结束：WRONGTYPE",
			"运行结束：没有违反任何规则，但 A 和 B 以错误结束：WRONGTYPE",
			"运行在第 68 步结束：没有违反规则，但 A 和 B 以错误结束。",
		},
		{
			words.English, "redlock-cut-off",
			"no rule was broken, but A ended with an error: no majority of the nodes",
			"The run has ended: no rule was broken, but A ended with an error: no majority of the nodes",
			"The run is over at step 42: no rule was broken, but A ended with an error.",
		},
		{words.English, "crash", "no rule was broken", "The run has ended", ""},
		{
			words.English, "fenced-late-write",
			"two were inside, and no harm came of it", "The run has ended: two were inside, and no harm came of it",
			"The counter is safe: A's late write was refused. Two were inside at once; that does no harm here.",
		},
		{words.English, "late-write-without-a-token", "a rule was broken 2 times", "The run has ended", "The run is over at step 11: a rule was broken 2 times."},
		{words.English, "heartbeat", "no rule was broken, but this cannot be judged", "The run has ended", ""},
		{words.Match("zh"), "mutex-lost-reply", "没有违反任何规则，但无法判定", "运行结束", ""},
		{words.English, "value-inner-unlock", "a rule was broken 2 times", "The run has ended", ""},
	} {
		f := played(t, c.l, c.name)
		rows := f.Rows()
		last := rows[len(rows)-1]
		verdict, tone := page.Verdict(c.l, rows, true)
		if verdict != c.verdict || (tone == film.Good) != (c.verdict == "no rule was broken" || c.verdict == "two were inside, and no harm came of it") {
			t.Errorf("%s: %q %s, want %q", c.name, verdict, tone, c.verdict)
		}
		if last.Event != c.last {
			t.Errorf("%s: the run's last row says %q, want %q", c.name, last.Event, c.last)
		}
		if why := f.Rows()[len(rows)-1].Why; c.why != "" && why != c.why {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
	}
}

// It says who asks in vain, and why.
func TestWhoAsksInVain(t *testing.T) {
	for _, c := range []struct {
		l           words.Language
		name        string
		detail, why string
	}{
		{
			words.English, "setnx-hash-crash",
			"B will never get in: the key is A's, it has no expiry, and no thread is left to delete it",
			"B will never get in: the key is A's, has no expiry, and no thread is left to delete it.",
		},
		{words.Match("zh"), "setnx-hash-crash", "B 永远拿不到锁：键是 A 的，永不过期，也没有线程会再删它", "B 永远拿不到锁：键是 A 的，永不过期，也没有线程会再删它。"},
		{
			words.English, "spin-stalled-holder",
			"B will never get in: no thread is left to release the lock",
			"B will never get in: no thread is left to release the lock.",
		},
		{
			words.English, "stalled-work",
			"nobody else ever gets in: A hangs, and its key stays",
			"Nobody else ever gets in: A hangs, and its key stays.",
		},
	} {
		f := played(t, c.l, c.name)
		found := false
		for i, r := range f.Rows() {
			for _, v := range r.Violations {
				found = true
				if v.Rule != "shut-out" || v.Detail != c.detail {
					t.Errorf("%s: %+v, want %q", c.name, v, c.detail)
				}
				if why := f.Rows()[i].Why; why != c.why {
					t.Errorf("%s: %q, want %q", c.name, why, c.why)
				}
			}
		}
		if !found {
			t.Errorf("%s: nobody is stuck", c.name)
		}
	}
}

func TestRetriesWithoutEndInWords(t *testing.T) {
	sc := parsed(t, "lock: {retry: {times: unlimited, interval: 100ms}}\nthreads: [{name: A}, {name: B, retry: {times: 3}}]")
	shown := film.NewScenario(words.English, sc)
	if a, b := shown.Threads[0], shown.Threads[1]; !a.Endless || b.Endless || b.Retries != 3 {
		t.Errorf("%+v, %+v", a, b)
	}
	option := run.Option{Next: run.NextRetry, Call: lock.Call{Name: lock.CallLock, Level: 1, Attempt: 2}, Retries: scenario.Unlimited, First: "EXISTS"}
	if got, want := page.NewOptions(words.English, []run.Option{option})[0].Does, "asks again: EXISTS … in lock, level 1, retry 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The run's limit says who still asked.
	tl := film.NewTimeline(words.English, shown, nil)
	tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "B", Key: trace.Absent(), Body: trace.End{Result: trace.Exhausted}})
	tl.Add(trace.Event{Seq: 2, Step: 2, Key: trace.Absent(), Body: trace.End{Result: trace.Failed, Error: run.ErrLimit.Error() + ", with A still asking for the lock"}})
	if got, want := tl.Rows()[1].Event, "The run was ended: it reached the limit of 20,000 events, and A still asked for the lock"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// crowd has lanes too low for two lines.
const crowd = "threads: [{name: A}, {name: B}, {name: C}, {name: D}, {name: E}, {name: F}, {name: G}, {name: H}]\ndefaults: {process: web-1}"

// A thread's process is beside its name, if the scenario gives one.
func TestWhatThreadsBelongTo(t *testing.T) {
	const text = "resource: {kind: %s}\nthreads: [{name: A, process: web-1, user: 7}, {name: B, user: 8}, {name: C}]"
	for kind, want := range map[string][]string{
		"purchases": {"process web-1, user 7", "user 8", ""},
		"counter":   {"process web-1", "", ""}, // nobody asks who it is for
	} {
		sc := parsed(t, strings.Replace(text, "%s", kind, 1))
		var got, drawn []string
		for _, th := range film.NewScenario(words.English, sc).Threads {
			got = append(got, th.Of)
		}
		for _, lane := range film.LanesOf(sc, nil).Window(words.English, "p", 0, 10).Lanes {
			drawn = append(drawn, lane.Of)
		}
		if !slices.Equal(got, want) || !slices.Equal(drawn, want) {
			t.Errorf("%s: %q, on the lanes %q, want %q", kind, got, drawn, want)
		}
	}
	if got := film.NewScenario(words.Match("zh"), parsed(t, strings.Replace(text, "%s", "purchases", 1))).Threads[0].Of; got != "进程 web-1、用户 7" {
		t.Errorf("%q", got)
	}
	// Names have room, whether what they belong to stands below them or, on low
	// lanes, beside them.
	for _, name := range []string{"flash-sale-local-locks", "no-lock-over-buying", "crowd"} {
		sc := parsed(t, crowd)
		if name != "crowd" {
			sc = lessonstest.Play(t, name+".yaml").Scenario
		}
		p := film.LanesOf(sc, nil).Window(words.English, "p", 0, 10)
		for _, lane := range p.Lanes {
			if lane.Of == "" || lane.OfAt.X+6*float64(len(lane.Of)) > p.Names || lane.OfAt.Y > p.Bottom {
				t.Errorf("%s: %+v does not fit into %v", name, lane, p.Names)
			}
		}
	}
}

// A stopped run says so, even if threads had failed before.
func TestAStoppedRunIsStopped(t *testing.T) {
	tl := film.NewTimeline(words.English, film.Scenario{Key: "K", Threads: []film.Thread{{Name: "A"}, {Name: "B"}}}, nil)
	tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.End{Result: trace.Failed, Error: "x"}})
	tl.Add(trace.Event{Seq: 2, Step: 2, Key: trace.Absent(), Body: trace.End{Result: trace.Failed, Error: "stopped"}})
	if got, _ := page.Verdict(words.English, tl.Rows(), true); got != "The run was ended: stopped" {
		t.Errorf("%q", got)
	}
}

// played is the film of a bundled run.
func played(t *testing.T, l words.Language, name string) *film.Film {
	t.Helper()
	p := lessonstest.Play(t, name+".yaml")
	f := film.New(l, p.Scenario, p.Owners)
	for _, e := range p.Events {
		f.Add(e)
	}
	return f
}
