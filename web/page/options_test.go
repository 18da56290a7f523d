package page_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/outside/lab"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/page"
	"relock/web/words"
)

// A button says in two lines who does what, and when; in either language.
func TestAnOptionInTwoLines(t *testing.T) {
	call := func(name string, level, attempt int) lock.Call {
		return lock.Call{Name: name, Level: level, Attempt: attempt}
	}
	at := 160 * time.Millisecond
	lost := []scenario.Fault{{Do: fault.LoseReply, Thread: "A", At: fault.AtUnlock}}
	for _, c := range []struct {
		o      run.Option
		en, zh string
	}{
		{run.Option{Next: run.NextStart, Call: call("lock", 1, 1), First: "EXISTS"}, "A starts / lock", "A 开始 / lock"},
		{run.Option{Choice: -1, Next: run.NextWork, Reason: run.Waits, At: at, Call: call("unlock", 2, 1)}, "A ends its work / at 160 ms · unlock, level 2", "A 结束工作 / 在 160 ms · unlock，第 2 层"},
		{run.Option{Choice: -1, Next: run.NextRetry, Reason: run.Waits, At: at, Call: call("lock", 1, 5), Retries: 5}, "A asks again / at 160 ms · 4 of 5", "A 再次请求 / 在 160 ms · 4 / 5"},
		{run.Option{Next: run.NextRetry, Call: call("lock", 1, 5), Retries: scenario.Unlimited}, "A asks again / retry 4", "A 再次请求 / 第 4 次重试"},
		{run.Option{Next: run.NextRetry, Call: call("unlock", 2, 3)}, "A repeats unlock / retry 2", "A 重发 unlock / 第 2 次重试"},
		{run.Option{Next: run.NextRetry, Call: call("lock", 1, 2), Handed: true}, "A hears of its lock / ", "A 得知锁归自己 / "},
		{run.Option{Next: run.NextCall, Call: call("lock", 1, 1), First: "SET"}, "A sends SET / lock", "A 发送 SET / lock"},
		{run.Option{Next: run.NextCall, Call: call("lock", 1, 1), First: "SET", Lock: "account-b"}, "A sends SET / lock account-b", "A 发送 SET / lock account-b"},
		{run.Option{Next: run.NextCall, Call: call("lock", 1, 1), First: "SET", Armed: lost}, "A sends SET / ⚡ lose reply", "A 发送 SET / ⚡ 丢失响应"},
		{run.Option{Choice: -1, Next: run.NextWork, Reason: run.Waits, At: at, Armed: append(lost, lost...)}, "A ends its work / at 160 ms · ⚡ lose reply +1", "A 结束工作 / 在 160 ms · ⚡ 丢失响应 +1"},
		{run.Option{Choice: -1, Next: run.NextWork, Reason: run.IsPaused, At: at, Call: call("unlock", 1, 1)}, "A is paused / works until 160 ms", "A 已暂停 / 工作到 160 ms"},
		{run.Option{Choice: -1, Next: run.NextCall, Reason: run.IsPaused, At: at, Call: call("unlock", 1, 1), First: "GET"}, "A is paused / until 160 ms · unlock", "A 已暂停 / 到 160 ms 为止 · unlock"},
		{run.Option{Background: true, Choice: -1, Next: run.NextRenew, Reason: run.Waits, At: at, Call: call("renew", 0, 0), First: "GET"}, "A's watchdog / at 160 ms · renews", "A 的看门狗 / 在 160 ms · 续期"},
		{run.Option{Background: true, Next: run.NextAsk, Node: 2, Call: call("lock", 1, 1), First: "SET"}, "A asks node 2 / SET", "A 请求节点 2 / SET"},
		{run.Option{Background: true, Next: run.NextRenew, Node: 2, Call: call("renew", 1, 1), First: "GET"}, "A's watchdog asks node 2 / GET", "A 的看门狗 请求节点 2 / GET"},
		{run.Option{Network: true, Choice: -1, Next: run.NextArrive, Node: 2, Reason: run.Waits, At: at, Call: call("lock", 1, 1)}, "A → node 2 / at 160 ms · arrives", "A → 节点 2 / 在 160 ms · 到达"},
		{run.Option{Network: true, Next: run.NextArrive, Call: call("unlock", 1, 1)}, "A's late unlock / arrives", "A 迟到的 unlock / 到达"},
		{run.Option{Choice: -1, Next: run.NextNothing, Reason: run.HasEnded, Ended: trace.Done}, "A / done", "A / 完成"},
		{run.Option{Choice: -1, Next: run.NextNothing, Reason: run.AwaitsNode}, "A / waits for the nodes", "A / 等待各节点"},
	} {
		c.o.Thread = "A"
		for l, want := range map[words.Language]string{words.English: c.en, words.Match("zh"): c.zh} {
			if got := inTwoLines(page.NewOptions(l, []run.Option{c.o})[0]); got != plain(want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// So do those of a lab, whose commands are somebody's own; and none is longer than a button.
func TestALabsOptionInTwoLines(t *testing.T) {
	threads := []lab.Standing{{Name: "A", State: lab.Busy}, {Name: "B", State: lab.Away}, {Name: "C", State: lab.Busy}}
	choices := []lab.Choice{
		{Decision: lab.Decision{Thread: "A"}, Text: "set invoice:7 0678bdc902 nx px 30000"},
		{Decision: lab.Decision{Thread: "A", Nth: 1}, Text: "get invoice:7", Late: true},
		{Decision: lab.Decision{Thread: "C", Node: 2}, Text: "ping"},
	}
	want := []string{"A sends SET / invoice:7 0678bdc902 nx …", "A's late copy / GET invoice:7", "B / no client has come yet", "C asks node 2 / PING"}
	got := page.NewLabOptions(words.English, threads, choices, false)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if line := inTwoLines(got[i]); line != want[i] {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
}

// plain is a text with blanks that may be broken.
func plain(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

func inTwoLines(o page.Option) string {
	parts := slices.DeleteFunc([]string{o.When, o.Which}, func(part string) bool { return part == "" })
	return plain(o.Button() + " / " + strings.Join(parts, " · "))
}
