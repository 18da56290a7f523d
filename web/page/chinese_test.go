package page_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"relock/engine"
	"relock/engine/fault"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// recorded are runs in which most of what can happen does: the golden traces,
// and the scenarios that are taught.
func recorded(t *testing.T) map[string]engine.Played {
	t.Helper()
	all := map[string]engine.Played{}
	golden, err := filepath.Glob("../../engine/run/testdata/*.jsonl")
	if err != nil || len(golden) == 0 {
		t.Fatal("no golden traces:", err)
	}
	for _, name := range golden {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		h, events, err := trace.Read(t.Context(), f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Parse(h.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = engine.Played{Scenario: sc, Header: h, Events: events}
	}
	for _, name := range lessonstest.Names(t) {
		p := lessonstest.Play(t, name)
		all[name] = engine.Played{Protocol: p.Scenario.Lock.Protocol, Scenario: p.Scenario, Header: p.Header, Events: p.Events}
	}
	return all
}

// inChinese tells whether a text is Chinese, or says nothing but the name of a
// call, which stays as it is, or what Redis has answered.
func inChinese(text string) bool {
	names := []string{"", "lock", "unlock", "renew", "leave", "beat"}
	_, answered := fault.ErrorReplyIn(text)
	return slices.Contains(names, text) || answered || strings.HasPrefix(text, "WRONGTYPE ") || strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func TestNothingOfATimelineStaysEnglish(t *testing.T) {
	l := words.Match("zh")
	for name, p := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			check := func(what, text string) {
				if !inChinese(text) {
					t.Errorf("%s: %q", what, text)
				}
				if found := unwritten.FindString(text); found != "" {
					t.Errorf("%s: %q is not how Chinese is written: %q", what, found, text)
				}
			}
			tl := film.NewTimeline(l, film.NewScenario(l, p.Scenario), p.Header.Owners)
			for _, e := range p.Events {
				tl.Add(e)
			}
			for _, r := range tl.Rows() {
				check("event", r.Event)
				for _, v := range r.Violations {
					check("violation of "+v.Rule, v.Detail)
				}
				for _, c := range r.Cells {
					check("title", c.Title)
					for _, n := range slices.Concat(c.Earlier, c.Notes) {
						check("note", n.Text)
					}
					for _, line := range c.Lines {
						check("spoken line", line.Spoken)
					}
				}
			}
			verdict, _ := page.Verdict(l, tl.Rows(), true)
			check("verdict", verdict)
			for _, thread := range page.AlignLocks(l, []engine.Played{p, p}).Threads {
				for _, r := range thread.Rows {
					if r.What != "renew" && !strings.HasPrefix(r.What, "renew（") {
						check("what was done", r.What)
					}
					for _, c := range r.Cells {
						check("what came of it", c.Text)
					}
				}
			}
		})
	}
}

func TestNothingThatIsRefusedStaysEnglish(t *testing.T) {
	for _, why := range []run.Reason{
		run.IsOver, run.NoChoice, run.IsPast, run.HasEnded, run.Waits, run.IsPaused, run.AfterOther, run.Hangs, run.AwaitsOwn, run.AwaitsNode, run.AwaitsLate, run.NeverMoves,
		run.NoExpiry, run.IsArmed, run.NoWatchdog, run.NoKey, run.NoScripts, run.NothingYet, run.IsDown, run.IsUp,
		run.NotAhead, run.NoData, run.LastUnlock, run.OnItsWay,
		run.NotLive, run.IsSuspended, run.GoesOn, run.IsGated, run.IsNotGated, run.NobodyWaits, run.NoAction,
	} {
		r := &run.Refusal{Reason: why, Thread: "A", Other: "B", Choices: 3}
		english, ok := words.English.Explain(r)
		chinese, _ := words.Match("zh").Explain(r)
		if !ok || !inChinese(chinese) || !strings.HasSuffix(chinese, "。") || !strings.HasSuffix(english, ".") || strings.Contains(english, string(why)+")") {
			t.Errorf("%s: %q, %q", why, english, chinese)
		}
	}
	for _, err := range []error{
		engine.ErrMoves, engine.ErrCompared, run.ErrLimit,
		run.Diverged(3, &run.Refusal{Reason: run.IsOver}),
	} {
		if got, ok := words.Match("zh").Explain(err); !ok || !inChinese(got) {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// unwritten is what nobody writes in Chinese: words of two scripts without a
// space between them, half-width marks, and more than one space.
var unwritten = regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}|\p{Han}[,;:!?.(]|[,;:!?)]\p{Han}| [，。：；、（）]|[，。：；、（）] |  `)
