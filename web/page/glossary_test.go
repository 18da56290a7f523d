package page_test

import (
	"strings"
	"testing"

	"relock/engine"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/words"
)

// A term's link opens at the moment in which the term is seen: what the page
// says of that row has the word, or what it stands for.
func TestEachTermIsSeenWhereItsLinkStands(t *testing.T) {
	moments, err := page.TermMoments()
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{
		"lock": "refused", "critical-section": "at once", "lost-update": "writes", "owner": "acquired", "reentrant": "level 2", "hold-count": "left",
		"script": "hold count", "lease": "lease", "belief": "dropped", "watchdog": "renewed", "lost-reply": "repl", "late-copy": "late", "orphan": "no expiry", "tick": "2 times", "idempotency-key": "key is known",
		"fencing-token": "token", "fail-over": "replica", "acknowledgement": "acquired", "split-brain": "two masters", "append-only-file": "without the writes", "passing-error": "BUSY", "quorum": "acquired", "drift": "clock", "client-retry": "again", "absolute-expiry": "time of day", "herd": "T18", "starvation": "gives up", "queue": "queue", "deadlock": "wait for one another", "lock-ordering": "refused", "try-lock": "waits", "schedule": "T2",
	}
	for _, term := range page.Terms() {
		m := moments[term.ID]
		state, err := link.Decode(m.Link)
		if err != nil {
			t.Errorf("%s: %v", term.ID, err)
			continue
		}
		b, err := engine.PathOf(t.Context(), state.Scenario)
		if err != nil {
			t.Errorf("%s: %v", term.ID, err)
			continue
		}
		row := b.Positions[state.At].Row
		reel := film.New(words.English, state.Scenario, b.Header.Owners)
		for _, e := range b.Events {
			reel.Add(e)
		}
		if row < m.Step {
			t.Errorf("%s: the link stands at T%d, and it is seen at T%d", term.ID, row, m.Step)
			continue
		}
		frame := reel.Rows()[m.Step-1]
		if text := frame.Says + " " + frame.Why; says[term.ID] == "" || !strings.Contains(text, says[term.ID]) {
			t.Errorf("%s: T%d of %s says %q, without %q", term.ID, m.Step, term.Scenario, text, says[term.ID])
		}
	}
}

func TestTermsHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, term := range page.Terms() {
		if seen[term.ID] || term.ID == "" || strings.Trim(term.ID, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is there twice, or not for an address", term.ID)
		}
		seen[term.ID] = true
	}
}

// A reader who comes from an article or from Redisson finds the familiar word beside
// ours.
func TestTheGlossaryHasTheWordsOfArticlesAndRedisson(t *testing.T) {
	terms := map[string]page.FieldTerm{}
	for _, term := range page.Terms() {
		terms[term.ID] = term
	}
	zh := words.Match("zh")
	for id, want := range map[string]struct{ name, article, redisson string }{
		"lease":            {"租约", "锁的过期时间", "leaseTime"},
		"watchdog":         {"看门狗", "自动续期的守护线程", "lockWatchdogTimeout"},
		"hold-count":       {"重入计数", "重入次数", "getHoldCount()"},
		"try-lock":         {"试锁", "非阻塞加锁", "tryLock(waitTime, leaseTime, unit)"},
		"fencing-token":    {"围栏令牌（fencing token，又译栅栏令牌、防护令牌）", "", "getFencedLock()"},
		"client-retry":     {"重发的请求", "自动重试", "retryAttempts"},
		"acknowledgement":  {"确认", "", "checkLockSyncedSlaves"},
		"quorum":           {"多数派", "过半", "RedissonRedLock"},
		"queue":            {"公平锁", "先到先得", "getFairLock()"},
		"herd":             {"惊群", "惊群效应", ""},
		"starvation":       {"饥饿", "", ""},
		"split-brain":      {"脑裂", "双主", ""},
		"critical-section": {"临界区", "业务代码", ""},
		"deadlock":         {"死锁", "循环等待", ""},
		"fail-over":        {"主从切换", "故障切换", ""},
		"drift":            {"时钟漂移", "时钟回拨", ""},
	} {
		term, ok := terms[id]
		if !ok {
			t.Errorf("no term %s", id)
			continue
		}
		if got := zh.Say(term.Name); got != want.name {
			t.Errorf("%s is %s, want %s", id, got, want.name)
		}
		if got := term.Elsewhere(zh); !strings.Contains(got, want.article) || !strings.Contains(got, want.redisson) {
			t.Errorf("%s: %q has not %q and %q", id, got, want.article, want.redisson)
		}
		if got := term.Elsewhere(words.English); !strings.Contains(got, want.redisson) {
			t.Errorf("%s: %q has not %q", id, got, want.redisson)
		}
	}
	for id, term := range terms {
		if got := term.Elsewhere(words.English); strings.Contains(got, ": .") || strings.Contains(got, "%") {
			t.Errorf("%s: %q", id, got)
		}
	}
}
