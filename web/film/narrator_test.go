package film_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// longest are how many characters a sentence may have, by language.
var longest = map[words.Language]int{words.English: 140, words.Match("zh"): 70}

// sentences are what is said of each event of a run.
func sentences(p lessonstest.Run, l words.Language) []string {
	narrator := film.NarratorOf(l, p.Scenario, p.Header)
	out := make([]string, 0, len(p.Events))
	for _, e := range p.Events {
		out = append(out, narrator.Tell(e))
	}
	return out
}

func as(name string) string { return name }

// longName makes of a name the longest that is allowed.
func longName(name string) string { return (name + "-long-name--")[:scenario.MaxName] }

// quotedText is what a program has written: nobody translates it.
var quotedText = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// latin are the words in a sentence in Chinese that stay as they are: of
// commands, of calls, and of what Redis answers.
var (
	latin  = regexp.MustCompile(`[A-Za-z][A-Za-z0-9.-]*`)
	proper = regexp.MustCompile(`^(Redis|ms|OK|lock|unlock|renew|nil|read|write|PX|NX|restart|panic|defer|fencing|token|[a-z0-9-]+\.lua|[A-Z]{3,})$`)
)

// unwritten is what nobody writes in Chinese: words of two scripts without a
// space between them, half-width marks, and more than one space.
var unwritten = regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}|\p{Han}[,;:!?.(]|[,;:!?)]\p{Han}| [，。：；、（）]|[，。：；、（）] |  `)

// verb is one of fmt that was not filled in: a percentage has a digit before it.
var verb = regexp.MustCompile(`(^|[^\d])%|%!`)

// checkSentence finds what no sentence may have.
func checkSentence(t *testing.T, l words.Language, p lessonstest.Run, e trace.Event, text string) {
	t.Helper()
	limit := longest[l]
	if p.Scenario.Locks != nil { // it says at its end which lock it is about
		limit += 20
	}
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		t.Errorf("%s: %d, %s: no sentence for %+v", l.Code(), e.Seq, e.Kind(), e.Body)
		return
	case n > limit:
		t.Errorf("%s: %d characters: %s", l.Code(), n, text)
	case verb.MatchString(text):
		t.Errorf("%s: a verb that was not filled in: %s", l.Code(), text)
	case e.Thread != "" && !strings.HasPrefix(text, e.Thread):
		t.Errorf("%s: %s acts, and the sentence is: %s", l.Code(), e.Thread, text)
	}
	if l == words.English {
		if !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
			t.Errorf("not a sentence: %s", text)
		}
		return
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) || !strings.HasSuffix(text, "。") {
		t.Errorf("not in Chinese: %s", text)
	}
	if found := unwritten.FindString(text); found != "" {
		t.Errorf("%q is not how Chinese is written: %s", found, text)
	}
	for _, word := range latin.FindAllString(quotedText.ReplaceAllString(text, ""), -1) {
		named := slices.ContainsFunc(p.Scenario.Threads, func(s scenario.Thread) bool { return s.Name == word })
		named = named || slices.Contains(p.Scenario.Locks, word)
		if !named && !proper.MatchString(word) {
			t.Errorf("%q in a sentence in Chinese: %s", word, text)
		}
	}
}

func TestEveryEventOfTheLessonsIsTold(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for _, rename := range []func(string) string{as, longName} {
				p := lessonstest.PlayRenamed(t, name, rename)
				for l := range longest {
					for i, text := range sentences(p, l) {
						checkSentence(t, l, p, p.Events[i], text)
					}
				}
			}
		})
	}
}

// Each sentence was checked by hand against the run's trace.
func TestTheArticlesRunInWords(t *testing.T) {
	p := lessonstest.Play(t, "two-threads.yaml")
	checkTold(t, p, words.English, []string{
		// T1
		"A finds the lock free: EXISTS answers 0, there is no key.",
		"A takes the lock: HINCRBY makes its field 1, and for now the key has no expiry.",
		"A begins its lease: PEXPIRE gives the key 200 ms, which had no expiry until now.",
		"A has the lock: hold count 1, and a lease of 200 ms.",
		"A works at level 1 for 93 ms, within the 200 ms that its lease has left.",
		// T2
		"B finds a key: EXISTS answers 1, so it must ask next whether the key is its own.",
		"B finds no field of its own: HEXISTS answers 0, the key is A's with count 1.",
		"B is refused: A holds the key with count 1, for another 200 ms.",
		"B waits 50 ms before it asks again: retry 1 of 5.",
		// T3
		"B finds a key: EXISTS answers 1, so it must ask next whether the key is its own.",
		"B finds no field of its own: HEXISTS answers 0, the key is A's with count 1.",
		"B is refused: A holds the key with count 1, for another 150 ms.",
		"B waits 50 ms before it asks again: retry 2 of 5.",
		// T4
		"A ends its work at level 1, and its lease has 107 ms left.",
		"A finds a key: EXISTS answers 1, so it must ask next whether the key is its own.",
		"A finds its own field: HEXISTS answers 1, so this is a re-entry and no conflict.",
		"A reads its count: HGET answers 1, and entering level 2 makes it 2.",
		"A enters level 2: its field is 1 already, so HINCRBY makes it 2 and nobody is asked.",
		"A is at level 2: hold count 2. Re-entry adds no time: 107 ms are left.",
		"A works at level 2 for 59 ms, within the 107 ms that its lease has left.",
		// T5
		"A's watchdog finds its field: HEXISTS answers 1, so the lease is its own to renew.",
		"A's watchdog reads PTTL: 100 ms of 200 ms are left, so it renews.",
		"A's watchdog renews: PEXPIRE raises what is left of the lease from 100 ms to 200 ms.",
		"A's watchdog has renewed: the lease now has 200 ms.",
		// T6
		"B finds a key: EXISTS answers 1, so it must ask next whether the key is its own.",
		"B finds no field of its own: HEXISTS answers 0, the key is A's with count 2.",
		"B is refused: A holds the key with count 2, for another 200 ms.",
		"B waits 50 ms before it asks again: retry 3 of 5.",
		// T7
		"B finds a key: EXISTS answers 1, so it must ask next whether the key is its own.",
		"B finds no field of its own: HEXISTS answers 0, the key is A's with count 2.",
		"B is refused: A holds the key with count 2, for another 150 ms.",
		"B waits 50 ms before it asks again: retry 4 of 5.",
		// T8
		"A ends its work at level 2, and its lease has 148 ms left.",
		"A still has its field: HEXISTS answers 1, so it may leave level 2.",
		"A reads its count: HGET answers 2, and leaving level 2 makes it 1.",
		"A leaves level 2: HINCRBY makes its count 1, and only at 0 the key is deleted.",
		"A has left level 2: its count is 1, and only 0 deletes the key.",
		// T9
		"A still has its field: HEXISTS answers 1, so it may leave level 1.",
		"A reads its count: HGET answers 1, and leaving level 1 makes it 0.",
		"A leaves level 1: HINCRBY makes its count 0, and at 0 the key is deleted.",
		"A deletes the key: its count is 0, so the lock is free.",
		"A has released the lock: its count fell to 0, so the key was deleted.",
		"A is done: its business call has returned without an error, round 1 of 1.",
		// T10
		"B finds the lock free: EXISTS answers 0, there is no key.",
		"B takes the lock: HINCRBY makes its field 1, and for now the key has no expiry.",
		"B begins its lease: PEXPIRE gives the key 200 ms, which had no expiry until now.",
		"B has the lock at retry 4: hold count 1, and a lease of 200 ms.",
	})
	checkTold(t, p, words.Match("zh"), []string{
		"A 发现锁空闲：EXISTS 返回 0，键不存在。",
		"A 获取锁：HINCRBY 把自己的字段变为 1，此刻键还没有过期时间。",
		"A 的租约开始：键此前没有过期时间，PEXPIRE 把它设为 200 ms。",
		"A 拿到锁：重入计数 1，租约 200 ms。",
		"A 在第 1 层工作 93 ms，租约还剩 200 ms，够用。",
		"B 发现键存在：EXISTS 返回 1，接着要查键是不是自己的。",
		"B 没有自己的字段：HEXISTS 返回 0，键是 A 的，计数 1。",
		"B 被拒：键由 A 持有，计数 1，还剩 200 ms。",
		"B 等 50 ms 后重试：第 1 次，最多 5 次。",
	})
}

func TestALeaseThatEndsInWords(t *testing.T) {
	p := lessonstest.Play(t, "lease-expiry.yaml")
	told := sentences(p, words.English)
	for seq, want := range map[int]string{
		5:  "A works at level 1 for 300 ms, its lease has 200 ms left, and there is no watchdog.",
		8:  "B is refused: A holds the key with count 1, for another 190 ms.",
		21: "B waits 50 ms before it asks again: retry 4 of 5.",
		22: "Redis drops A's key: its lease of 200 ms is over, and A goes on as if it held the lock.",
		23: "B finds the lock free: EXISTS answers 0, there is no key.",
		26: "B has the lock at retry 4: hold count 1, and a lease of 200 ms.",
		27: "A and B are inside at once: Redis dropped A's key 10 ms ago.",
		34: "B has released the lock: its count fell to 0, so the key was deleted.",
		36: "A ends its work at level 1, and in Redis the lock is not its own.",
		37: "A has no field to count down: HEXISTS answers 0, there is no key.",
		38: "A learns as it leaves level 1 that the lock was lost: there is no key.",
		39: "A ends with an error: it was told that its lock had been lost.",
		40: "The run is over at step 10, and one rule was broken.",
	} {
		if seq > len(told) || told[seq-1] != want {
			t.Errorf("%d: %q\nwant %q", seq, told[min(seq, len(told))-1], want)
		}
	}
}

// Who asks in the instant in which a lease ends is told what a real Redis would
// answer; who asks later is not, nor where Redis' clock has jumped.
func TestATieAtTheEndOfALeaseInWords(t *testing.T) {
	const tie = "A has the lock the instant the lease before it ends. A real Redis keeps the key 1 ms longer, and would refuse."
	has := func(p lessonstest.Run, l words.Language, sentence string) bool {
		return slices.Contains(sentences(p, l), sentence)
	}
	exact := lessonstest.Play(t, "mutex-lost-reply.yaml")
	if !has(exact, words.English, tie) || !has(exact, words.Match("zh"), "A 拿到锁：上一个租约正好在这一刻到期。真实的 Redis 会把键多留 1 毫秒，因而会拒绝它。") {
		t.Errorf("%q", sentences(exact, words.English))
	}
	const lost = ", watchdog: off, retry: {times: 5, interval: 50ms}}\nthreads: [{name: A, work: 20ms}]\nfaults: [{thread: A, at: lock, do: lose-reply}"
	for text, own := range map[string]string{
		"lock: {protocol: mutex, lease: 149ms" + lost + "]":                                        "149 ms",
		"lock: {protocol: mutex, lease: 900ms" + lost + ", {time: 150ms, do: clock-jump, by: 2s}]": "900 ms",
		"lock: {protocol: mutex, lease: 150ms" + lost + ", {time: 150ms, do: clock-jump, by: 1s}]": "150 ms",
	} {
		p := lessonstest.PlayScenario(t, parse(t, text))
		if has(p, words.English, tie) || !has(p, words.English, "A has the lock: the key is its own for "+own+".") {
			t.Errorf("%s: %q", text, sentences(p, words.English))
		}
	}
	// The lease that ends is of the new master's key, and B asks the old one.
	apart := lessonstest.PlayScenario(t, parse(t, `
lock: {protocol: mutex, watchdog: off, lease: 100ms, retry: {times: 9, interval: 50ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 110ms, work: 95ms, repeat: 2}, {name: C, start: 105ms, work: 500ms}]
faults: [{time: 10ms, do: two-masters, thread: B, for: 900ms}]`))
	times := 0
	for _, sentence := range sentences(apart, words.English) {
		if strings.HasPrefix(sentence, "B has the lock") {
			times++
		}
		if strings.HasPrefix(sentence, strings.Replace(tie, "A has", "B has", 1)) {
			t.Error(sentence)
		}
	}
	if times != 2 {
		t.Errorf("B has the lock %d times, want 2", times)
	}
}

// Each sentence was checked by hand against the run's trace.
func TestNumberedCallsInWords(t *testing.T) {
	p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: reentrant-sequenced, lease: 200ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 60ms}, {name: B, retry: {times: 0}}]"))
	checkTold(t, p, words.English, []string{
		// T1
		"A finds the lock free: EXISTS answers 0, there is neither a key nor a note of calls that are over.",
		"A takes the lock: HINCRBY makes its field 1, and for now the key has no expiry.",
		"A notes the number of this call: HSET sets it to 1, and what arrives later with a smaller one is refused.",
		"A begins its lease: PEXPIRE gives the key 200 ms, which had no expiry until now.",
		"A has the lock: hold count 1, and a lease of 200 ms.",
		"A works at level 1 for 60 ms, within the 200 ms that its lease has left.",
		// T2
		"B finds a key or a note of calls that are over, not both: EXISTS answers 1, so it must ask which.",
		"B finds no field of its own: HMGET answers nil, the key is A's with count 1.",
		"B finds the key alone: EXISTS answers 1, so the lock is taken, and there is no note of calls that are over.",
		"B is refused: A holds the key with count 1, for another 200 ms.",
		"B gives up: it was refused, and it does not retry.",
		"B ends without level 1, which it asked for once.",
		// T3
		"A ends its work at level 1, and its lease has 140 ms left.",
		"A finds its own field: HMGET answers count 1, so this is a re-entry and no conflict. Call 2 follows call 1: not late.",
		"A enters level 2: its field is 1 already, so HINCRBY makes it 2 and nobody is asked.",
		"A notes the number of this call: HSET sets it to 2, and what arrives later with a smaller one is refused.",
		"A is at level 2: hold count 2. Re-entry adds no time: 140 ms are left.",
		"A works at level 2 for 60 ms, within the 140 ms that its lease has left.",
		// T4
		"A ends its work at level 2, and its lease has 80 ms left.",
		"A reads its count: HMGET answers 2, and leaving level 2 makes it 1. Call 3 follows call 2: not late.",
		"A leaves level 2: HINCRBY makes its count 1, and only at 0 the key is deleted.",
		"A notes the number of this call: HSET sets it to 3, and what arrives later with a smaller one is refused.",
		"A has left level 2: its count is 1, and only 0 deletes the key.",
		"A reads its count: HMGET answers 1, and level 1 is its last, so the key can go. Call 4 follows call 3: not late.",
		"A deletes the key as it leaves its last level: the lock is free.",
		"A has released the lock: it has left its last level, so the key was deleted.",
	})
	checkTold(t, p, words.Match("zh"), []string{
		"A 发现锁空闲：EXISTS 返回 0，没有键，也没有已结束调用的记录。",
		"A 获取锁：HINCRBY 把自己的字段变为 1，此刻键还没有过期时间。",
		"A 记下这次调用的编号：HSET 写入 1，以后再到的调用，编号更小就拒绝。",
	})
}

// What a run comes to only when several things go wrong at once.
func TestNumberedCallsOutOfTheOrdinary(t *testing.T) {
	p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: reentrant-fair, lease: 300ms}\nthreads: [{name: A}, {name: B}]"))
	key, past := p.Scenario.Lock.Key, "{"+p.Scenario.Lock.Key+"}:over"
	hmget := func(call string, level int, number int64, reply ...any) trace.Command {
		return trace.Command{Call: call, Level: level, Number: number, Attempt: 1, Args: []string{"HMGET", key, "a", "#A"}, Reply: reply}
	}
	notes := func(reply ...any) trace.Command {
		return trace.Command{Call: "unlock", Level: 1, Number: 7, Args: []string{"HGETALL", past}, Reply: reply}
	}
	for _, c := range []struct {
		command trace.Command
		want    string
	}{
		{hmget("lock", 1, 5, "1", "3"), "A finds its own field: HMGET answers count 1, from a level that was never left. Call 5 follows call 3: not late."},
		{hmget("lock", 3, 5, "1", "3"), "A reads its count: HMGET answers 1, and level 3 needs at least 2. Call 5 follows call 3: not late."},
		{hmget("lock", 1, 5, "1", nil), "A finds its own field, but no number of this client: it holds the lock through another one."},
		{hmget("lock", 2, 0, "1", "3"), "A finds its own field: HMGET answers count 1, so this is a re-entry and no conflict."}, // of an older trace
		{hmget("unlock", 2, 3, "2", "5"), "A's call 3 arrives too late: by HMGET its last call was 5, so this one is refused."},
		{hmget("unlock", 3, 5, "1", "3"), "A reads its count: HMGET answers 1, so level 3 is not held. Call 5 follows call 3: not late."},
		{hmget("leave", 1, 2, "1", "2"), "A has the lock as it leaves the line: HMGET finds its field, with the number of this call."},
		{hmget("leave", 1, 2, "1", "1"), "A has the lock as it leaves the line, but by HMGET through call 1, so it keeps it."},
		{trace.Command{Call: "leave", Level: 1, Args: []string{"PTTL", key}, Reply: int64(80)}, "A reads PTTL: 80 ms are left, no more than the 100 ms of a grant, so it hands the lock on."},
		{trace.Command{Call: "leave", Level: 1, Args: []string{"PTTL", key}, Reply: int64(100)}, "A reads PTTL: 100 ms are left, no more than the 100 ms of a grant, so it hands the lock on."},
		{trace.Command{Call: "leave", Level: 1, Args: []string{"PTTL", key}, Reply: int64(180)}, "A reads PTTL: 180 ms are left, more than the 100 ms of a grant, so the lock is held and stays."},
		{trace.Command{Call: "leave", Level: 1, Args: []string{"EXISTS", key}, Reply: int64(1)}, "A leaves the line, and nobody needs waking: EXISTS answers 1, the lock is not free."},
		{trace.Command{Call: "leave", Level: 1, Args: []string{"EXISTS", key}, Reply: int64(0)}, "A finds the lock free as it leaves the line: EXISTS answers 0, so it passes its turn on."},
		{trace.Command{Call: "unlock", Level: 1, Number: 3, Args: []string{"HGET", past, "a/A"}, Reply: "5"}, "A leaves the note of calls that are over as it is: HGET answers 5, a later one."},
		{trace.Command{Call: "unlock", Level: 1, Number: 7, Args: []string{"HGET", past, "a/A"}, Reply: "5"}, "A checks which of its calls are noted as over: HGET answers 5, so it notes this one."},
		{hmget("unlock", 1, 5, nil, nil), "A does not hold the lock: HMGET answers nil, there is no key."},
		{hmget("lock", 2, 5, nil, nil), "A wants level 2 and finds no field of its own: HMGET answers nil, so its outer level is gone."},
		{hmget("unlock", 1, 5, "2", "4"), "A reads its count: HMGET answers 2, and level 1 is its last, so the key can go. Call 5 follows call 4: not late."},
		{trace.Command{Call: "lock", Level: 1, Args: []string{"EXISTS", key, past}, Reply: int64(2)}, "A finds both a key and a note of calls that are over: EXISTS answers 2, so it must ask about each."},
		{notes("b/B", "9 900040"), "A checks which calls are noted as over: HGETALL finds none of its own, so it notes this one."},
		{notes("b/B", "9 900040", "a/A", "5 900040"), "A checks which calls are noted as over: by HGETALL its own up to call 5, so it notes this one."},
		{notes("a/A", "9 900040"), "A leaves its note of calls that are over as it is: by HGETALL it is of call 9, a later one."},
		{trace.Command{Call: "unlock", Level: 1, Number: 7, Args: []string{"HDEL", past, "b/B"}, Reply: int64(1)}, "A drops an old note of B: HDEL removes it, because none of those calls can still arrive."},
		{trace.Command{Call: "unlock", Level: 1, Number: 7, Args: []string{"HDEL", past, "a/A"}, Reply: int64(1)}, "A drops its own old note: HDEL removes it, because none of those calls can still arrive."},
		{trace.Command{Call: "unlock", Level: 1, Number: 7, Args: []string{"PEXPIRE", past, "900000"}, Reply: int64(0)}, "A has no note to keep: PEXPIRE answers 0."},
		{trace.Command{Call: "unlock", Level: 1, Args: []string{"LPUSH", key + ":queue", "b inbox B 1"}, Reply: int64(1)}, "A puts B back at the head of the queue with LPUSH, because it could not be told."},
		{trace.Command{Call: "unlock", Level: 1, Args: []string{"ZADD", key + ":waiters", "700", "b inbox B 1"}, Reply: int64(1)}, "A gives B its deadline back: ZADD."},
		{trace.Command{Call: "unlock", Level: 1, Args: []string{"PUBLISH", "inbox:B", "grant b 90 1 K"}, Error: "NOPERM this user has no permissions"}, "A gets an error from PUBLISH: NOPERM."},
		{trace.Command{Call: "lock", Level: 1, Number: 7, Args: []string{"HGET", past, "a/A"}, Reply: "5 900040"}, "A asks whether this call arrives too late: by HGET call 5 is over, and this is call 7, a later one."},
		{trace.Command{Call: "lock", Level: 1, Number: 3, Args: []string{"HGET", past, "a/A"}, Reply: "5 900040"}, "A's call 3 arrives too late: by HGET its call 5 is over by now, so this one is refused."},
		{trace.Command{Call: "lock", Level: 1, Args: []string{"HGET", past, "a/A"}, Reply: "5"}, "A asks whether this call arrives too late: by HGET call 5 is over, and earlier ones are refused."},
	} {
		for l := range longest {
			e := trace.Event{Seq: 1, Thread: "A", Body: c.command, Key: trace.Absent()}
			told := film.NarratorOf(l, p.Scenario, trace.Header{Owners: map[string]string{"a": "A", "b": "B"}}).Tell(e)
			checkSentence(t, l, p, e, told)
			if l == words.English && told != c.want {
				t.Errorf("%q\nwant %q", told, c.want)
			}
		}
	}
}

// checkTold compares the beginning of what is told.
func checkTold(t *testing.T, p lessonstest.Run, l words.Language, want []string) {
	t.Helper()
	told := sentences(p, l)
	for i, w := range want {
		if i >= len(told) || told[i] != w {
			t.Errorf("%d: %q\nwant %q", i+1, told[min(i, len(told)-1)], w)
		}
	}
}

// What the lessons do not have: each is told, and one sentence is looked at.
func TestRarerEventsAreTold(t *testing.T) {
	const one, two = `threads: [{name: A, work: 50ms}]`, `threads: [{name: A, work: 50ms, depth: 2}, {name: B, start: 5ms, work: 20ms}]`
	const late = "lock: {protocol: reentrant-sequenced, lease: 300ms, watchdog: 100ms, retry: {times: 5, interval: 10ms}}\n"
	const back = "lock: {protocol: reentrant-sequenced, lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 250ms}]\nfaults: [{time: 50ms, do: clock-jump, by: -1h}]"
	for _, c := range []struct{ name, yaml, want string }{
		{
			"a pause of the work alone", one + "\nlock: {lease: 200ms, watchdog: 66ms}\nfaults: [{thread: A, at: work, do: pause, for: 300ms, scope: work}]",
			"A's work is paused for 300 ms; its watchdog is not.",
		},
		{
			"a pause shorter than the lease", one + "\nlock: {lease: 200ms}\nfaults: [{thread: A, at: work, do: pause, for: 90ms}]",
			"A's whole process is paused for 90 ms, less than the 200 ms that its lease has left.",
		},
		{"a pause at the start", one + "\nfaults: [{thread: A, at: start, do: pause, for: 90ms}]", "A's whole process is paused for 90 ms."},
		{"a panic", two + "\nfaults: [{thread: A, at: work, level: 2, do: panic}]", "A's work panics at level 2: its deferred unlocks run on the way out."},
		{"the end after a panic", one + "\nfaults: [{thread: A, at: work, do: panic}]", "A ends with an error: its business code has panicked."},
		{"an unlock too many", one + "\nfaults: [{thread: A, at: unlock, do: extra-unlock}]", "A unlocks level 1, which it has left before: Redis is not asked."},
		{
			"a lost request", one + "\nlock: {lease: 1s, watchdog: off}\nfaults: [{thread: A, at: lock, do: lose-request}]",
			"A hears no answer to its lock and cannot know that it never arrived.",
		},
		{
			"a lost request after one that is late", one + "\nlock: {lease: 100ms, watchdog: off}\nfaults: [{thread: A, at: lock, do: delay, for: 150ms}, {thread: A, at: lock, do: lose-request}]",
			"A hears no answer to retry 1 of its lock and cannot know whether Redis has run it.",
		},
		{
			"an unlock whose first request was lost", one + "\nlock: {lease: 1s, watchdog: off}\nfaults: [{thread: A, at: unlock, do: lose-request}]",
			"A has released the lock: its count fell to 0, so the key was deleted.",
		},
		{
			"an unlock whose first reply was lost", one + "\nlock: {lease: 1s, watchdog: off}\nfaults: [{thread: A, at: unlock, do: lose-reply}]",
			"A is told “not held” and concludes that an earlier request released the lock: its lease cannot be over yet.",
		},
		{
			"a lock whose first reply was lost", one + "\nlock: {lease: 1s, watchdog: off}\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A finds its own field before it was told of it: HEXISTS answers 1, so the lock is its own.",
		},
		{"a delay", one + "\nlock: {lease: 1s}\nfaults: [{thread: A, at: lock, do: delay, for: 30ms}]", "A's lock is held up on the way and reaches Redis 30 ms later."},
		{
			"a grant that comes too late", one + "\nlock: {lease: 100ms, watchdog: off}\nfaults: [{thread: A, at: lock, do: delay, for: 99ms}]",
			"A was granted the lock too late: its lease of 100 ms may be over, so it gives the lock back.",
		},
		{"a restart with the data", one + "\nfaults: [{time: 10ms, do: restart, keep: true}]", "Redis restarts and keeps its data."},
		{"a fail-over that loses nothing", one + "\nfaults: [{time: 10ms, do: fail-over, behind: 0}]", "Redis fails over to a replica that has every write."},
		{"forgotten scripts", one + "\nfaults: [{time: 10ms, do: script-flush}]", "Redis forgets its scripts: the next call of each must send it in full."},
		{"nothing to evict", "threads: [{name: A, start: 20ms}]\nfaults: [{time: 10ms, do: evict}]", "Redis should evict the key, but there is none."},
		{
			"Redis down", one + "\nlock: {lease: 1s, retry: {times: 2, interval: 10ms}}\nfaults: [{time: 0ms, do: down}, {time: 5s, do: up}]",
			"A cannot reach Redis with its lock: nobody answers.",
		},
		{"Redis down, and then up", one + "\nfaults: [{time: 10ms, do: down}, {time: 20ms, do: up}]", "Redis answers again."},
		{
			"a level that was lost", two + "\nlock: {lease: 1s, watchdog: off}\nfaults: [{time: 10ms, do: evict}]",
			"A cannot enter level 2: its outer level is lost, the key is gone.",
		},
		{
			"a renewal that comes too late", "lock: {lease: 300ms, watchdog: 100ms, retry: {times: 9, interval: 10ms}}\nthreads: [{name: A, work: 150ms}, {name: B, start: 5ms, work: 150ms}]\nfaults: [{time: 30ms, do: evict}]",
			"A's watchdog finds no field of its own: HEXISTS answers 0, the key is B's now.",
		},
		{
			"a waiter that goes", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms, retry: {times: 2, interval: 20ms}}\nthreads: [{name: A, work: 90ms}, {name: B, start: 5ms}]",
			"B gives up: it waits for 40 ms at most, and the lock was not handed to it.",
		},
		{
			"a waiter that is no longer among them", "lock: {protocol: reentrant-notify, lease: 300ms, watchdog: 100ms, retry: {times: 2, interval: 20ms}}\nthreads: [{name: A, work: 90ms}, {name: B, start: 5ms}]",
			"B waits no longer: ZREM takes it off the list of waiters.",
		},
		{
			"Redlock with a watchdog", "lock: {protocol: redlock, lease: 300ms, watchdog: 60ms, retry: {times: 2, interval: 20ms}}\nthreads: [{name: A, work: 90ms}]",
			"A's watchdog has renewed on 5 of 5 nodes: the lock is now valid until 355 ms.",
		},
		{
			"work after the inner call", "lock: {lease: 1s}\nthreads: [{name: A, depth: 2, work: 20ms, after: 30ms}]",
			"A works on at level 1 for 30 ms, within the 960 ms that its lease has left.",
		},
		{
			"work after the inner call, and the lock is gone", "lock: {protocol: value, lease: 1s}\nthreads: [{name: A, depth: 2, work: 20ms, after: 30ms}]",
			"A works on at level 1 for 30 ms, though in Redis the lock is not its own.",
		},
		{
			"an inner unlock that releases, and there is work to do", "lock: {protocol: value, lease: 1s}\nthreads: [{name: A, depth: 2, work: 20ms, after: 30ms}]",
			"A has released the lock as it left level 2, and goes on inside level 1 without it.",
		},
		{
			"an inner unlock that releases, and there is none", "lock: {protocol: value, lease: 1s}\nthreads: [{name: A, depth: 2, work: 20ms}]",
			"A has released the lock as it left level 2, and level 1 is still to be left.",
		},
		{
			"work that its context stops", "lock: {lease: 100ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 80ms, on-lost: stop}]",
			"A stops its work at level 2, which would take 80 ms: its hold's context has ended.",
		},
		{
			"a nested lock whose context ends", "lock: {protocol: mutex, lease: 100ms, watchdog: off, retry: {times: 9, interval: 30ms}}\nthreads: [{name: A, depth: 2, work: 20ms, on-lost: stop}]",
			"A stops asking for level 2: the context of the level that called it has ended.",
		},
		{
			"a lease that ends while only unlocks are left", "lock: {lease: 100ms, watchdog: 30ms, retry: {times: 20, interval: 20ms}}\nthreads: [{name: A, depth: 2, work: 40ms}]\nfaults: [{time: 50ms, do: down}, {time: 500ms, do: up}]",
			"Redis drops A's key: its lease of 100 ms is over before the last unlock of A has arrived.",
		},
		{
			"a call that fails and arrives later", one + "\nlock: {lease: 1s, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]",
			"A's unlock is held up on the way: it fails now, and Redis runs it 30 ms later.",
		},
		{
			"a call that is still on its way", one + "\nlock: {lease: 1s}\nfaults: [{thread: A, at: lock, do: late-copy, for: 30ms}]",
			"A hears no answer to its lock and cannot know that it is still on its way.",
		},
		{
			"a retry that is still on its way", one + "\nlock: {lease: 1s}\nfaults: [{thread: A, at: lock, do: lose-request}, {thread: A, at: lock, do: late-copy, for: 30ms}]",
			"A hears no answer to retry 1 of its lock and cannot know that it is still on its way.",
		},
		{
			"a late copy that finds nothing", one + "\nlock: {lease: 1s, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]",
			"A's unlock arrives late: HEXISTS answers 0.",
		},
		{
			"a late copy is before the retry", one + "\nlock: {lease: 1s, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: lock, do: late-copy, for: 5ms}]",
			"A's lock arrives late: HINCRBY makes its count 1, and A is not told.",
		},
		{
			"a late copy of a renewal", one + "\nlock: {lease: 90ms, watchdog: 20ms}\nfaults: [{thread: A, at: renew, do: late-copy, for: 25ms}]",
			"A's renew arrives late: PEXPIRE gives the key 90 ms.",
		},
		{
			"a late renewal of another's key", "threads: [{name: A, work: 30ms}, {name: B, start: 40ms, work: 50ms}]\nlock: {protocol: reentrant-naive, lease: 90ms, watchdog: 20ms}\nfaults: [{thread: A, at: renew, do: late-copy, for: 60ms}]",
			"A's renew arrives late: PEXPIRE gives the key of B 90 ms.",
		},
		{
			"a late copy deletes another's key", "threads: [{name: A, work: 30ms}, {name: B, start: 45ms, work: 50ms}]\nlock: {protocol: mutex-unsafe, lease: 900ms, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]",
			"A's unlock arrives late and deletes the key of B, who is not told.",
		},
		{
			"a late copy deletes nothing", "threads: [{name: A, work: 30ms}]\nlock: {protocol: mutex-unsafe, lease: 900ms, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]",
			"A's unlock arrives late: DEL answers 0, there is no key.",
		},
		{
			"a late copy deletes the key of who waits to send it again", "threads: [{name: A, work: 30ms}]\nlock: {protocol: mutex-unsafe, lease: 900ms, retry: {times: 1, interval: 50ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]",
			"A's unlock arrives late and deletes the key.",
		},
		{
			"a mutex that comes late", one + "\nlock: {protocol: mutex, lease: 900ms, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: lock, do: late-copy, for: 90ms}]",
			"A's lock arrives late: SET takes the lock, though A has ended.",
		},
		{
			"a mutex that comes late, and before the retry", one + "\nlock: {protocol: mutex, lease: 200ms, retry: {times: 9, interval: 50ms}}\nfaults: [{thread: A, at: lock, do: late-copy, for: 30ms}]",
			"A's lock arrives late: SET takes the lock, and A is not told.",
		},
		{
			"a mutex that comes late and finds a key", one + "\nlock: {protocol: mutex, lease: 900ms, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: lock, do: late-copy, for: 30ms}]",
			"A's lock arrives late: SET finds a key, and takes nothing.",
		},
		{
			"a node is taken late", "threads: [{name: A, work: 30ms}]\nlock: {protocol: redlock, lease: 300ms}\nfaults: [{thread: A, at: lock, command: 2, do: late-copy, for: 90ms}]",
			"A's lock arrives late: SET takes node 2.",
		},
		{
			"a node is given back late", "threads: [{name: A, work: 30ms, repeat: 2}]\nlock: {protocol: redlock, lease: 300ms}\nfaults: [{thread: A, at: unlock, command: 2, do: late-copy, for: 20ms}]",
			"A's unlock arrives late and deletes the key on node 2.",
		},
		{
			"a late unlock with a number", "threads: [{name: A, work: 30ms, repeat: 2}]\nlock: {protocol: reentrant-sequenced, lease: 300ms, retry: {times: 9, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 20ms}]",
			"A's unlock arrives too late: it is call 2, and by HMGET the last one was 3. It is refused.",
		},
		{
			"a late lock that is over", "threads: [{name: A, work: 30ms}]\nlock: {protocol: reentrant-sequenced, lease: 300ms, retry: {times: 9, interval: 10ms}}\nfaults: [{thread: A, at: lock, do: late-copy, for: 90ms}]",
			"A's lock arrives too late: it is call 1, and by HGET call 2 is over by now. It is refused.",
		},
		{
			"a late unlock hands the lock on", "threads: [{name: A, work: 30ms}, {name: B, start: 5ms, work: 20ms}]\nlock: {protocol: reentrant-fair, lease: 300ms, retry: {times: 9, interval: 10ms}}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 5ms}]",
			"A's unlock arrives late: HINCRBY hands the lock to B.",
		},
		{
			"a late command that fails", one + "\nlock: {protocol: setnx-hash, lease: 900ms, retry: {times: 1, interval: 10ms}}\nfaults: [{thread: A, at: lock, command: 3, do: late-copy, for: 90ms}]",
			"A's lock arrives late: HSET gets an error.",
		},
		{
			"a call sent again", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\n" + one + "\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A finds its own field: by HMGET this very call, number 1, has the lock already.",
		},
		{
			"an inner call sent again", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\n" + two + "\nfaults: [{thread: A, at: lock, level: 2, do: lose-reply}]",
			"A finds its own field: HMGET answers 2 already, so asking twice counts once.",
		},
		{
			"a release sent again", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\n" + two + "\nfaults: [{thread: A, at: unlock, level: 2, do: lose-reply}]",
			"A reads its count: HMGET answers 1 already, so leaving twice counts once.",
		},
		{
			"outer levels that are gone", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\n" + two + "\nfaults: [{time: 10ms, do: evict}]",
			"A cannot enter level 2: its outer level is lost, the key is gone.",
		},
		{
			"what is noted when a release ends what had no answer", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\n" + one + "\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A notes that call 2 is over: an earlier one had no answer, and will be refused if it still arrives.",
		},
		{
			"a note that there is", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\nthreads: [{name: A, work: 50ms, repeat: 2}]\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A asks whether this call arrives too late: by HGET call 2 is over, and this is call 3, a later one.",
		},
		{
			"when notes end", "lock: {protocol: reentrant-fair, lease: 1s, watchdog: off}\n" + one + "\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A takes the time from Redis: a note of calls that are over ends by its clock.",
		},
		{
			"a note alone", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\nthreads: [{name: A, work: 50ms, repeat: 2}]\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A finds the note alone: EXISTS answers 0, so the lock is free, and it must ask which calls are over.",
		},
		{
			"a second note, by a clock that was set back", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\nthreads: [{name: A, work: 50ms, repeat: 2}]\n" +
				"faults: [{time: 1ms, do: clock-jump, by: -1h}, {thread: A, at: lock, do: lose-reply}, {thread: A, at: lock, round: 2, do: lose-reply}]",
			"A notes that call 4 is over: an earlier one had no answer, and will be refused if it still arrives.",
		},
		{
			"a first token", "lock: {protocol: fenced, lease: 300ms}\n" + one,
			"A reads Redis' clock: by TIME it is at 0 µs, no more than 1, so the count stays the token.",
		},
		{
			"a first token that is kept", "lock: {protocol: fenced, lease: 300ms}\n" + one,
			"A keeps the token for about 1 d: Redis' clock must not begin behind it when the key is gone.",
		},
		{
			"a lease that a clock made longer", back,
			"A's watchdog reads PTTL: 3,600,200 ms are left, more than the lease of 300 ms, so it asks for the owner's last call.",
		},
		{
			"the last call of a renewal", back,
			"A's watchdog asks for the owner's last call: HGET answers 1, and only a later call than this renewal may have asked for more.",
		},
		{
			"a lease that is mended", back,
			"A's watchdog cuts the lease from 3,600,200 ms to 300 ms: Redis' clock was set back, and no later call asked for more.",
		},
		{
			"a token is counted up", "lock: {protocol: fenced, lease: 300ms}\nthreads: [{name: A, start: 7ms}]",
			"A increments the fencing token: INCR makes it 1, before it takes the lock.",
		},
		{
			"a token by the clock", "lock: {protocol: fenced, lease: 300ms}\nthreads: [{name: A, start: 7ms}]",
			"A reads Redis' clock: by TIME it is at 7,000 µs, more than 1, so the time becomes the token.",
		},
		{
			"a token that is the time", "lock: {protocol: fenced, lease: 300ms}\nthreads: [{name: A, start: 7ms}]",
			"A sets the token to Redis' time, 7,000: so tokens grow even if their key is lost, as long as clocks agree.",
		},
		{
			"a note of its own", "lock: {protocol: reentrant-sequenced, lease: 1s, watchdog: off}\nthreads: [{name: A, work: 50ms, repeat: 2}]\nfaults: [{thread: A, at: lock, do: lose-reply}, {thread: A, at: lock, round: 2, do: lose-reply}]",
			"A checks which calls are noted as over: by HGETALL its own up to call 2, so it notes this one.",
		},
		{
			"a token that stays", "lock: {protocol: fenced, lease: 300ms, retry: {times: 5, interval: 10ms}}\nthreads: [{name: A, start: 7ms}]\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A keeps its fencing token: GET reads 7000, because nobody else was granted the lock since.",
		},
		{
			"a token of a late lock", "lock: {protocol: fenced, lease: 300ms, retry: {times: 1, interval: 10ms}}\nthreads: [{name: A, start: 7ms, work: 5ms}]\nfaults: [{thread: A, at: lock, do: late-copy, for: 5ms}]",
			"A's lock arrives late, and runs SET.",
		},
		{
			"a late lock when a later call has come", late + "threads: [{name: A, work: 30ms, depth: 3}]\nfaults: [{thread: A, at: lock, level: 1, do: late-copy, for: 80ms}]",
			"A's lock arrives too late: it is call 1, and by HMGET the last one was 3. It is refused.",
		},
		{
			"a late lock that was sent again meanwhile", late + "threads: [{name: A, work: 90ms}]\nfaults: [{thread: A, at: lock, level: 1, do: late-copy, for: 80ms}]",
			"A's lock arrives late, but in order: it is call 1, and by HMGET the last one was 1.",
		},
		{
			"a hand-over", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms}\n" + two,
			"A notes the number of the call that B waits in: HSET sets it to 1.",
		},
		{
			"a hand-over to one that has asked at Redis' first instant", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 50ms}, {name: B, work: 20ms}]",
			"B hears that the lock is now its own: hold count 1, and 100 ms left to renew it.",
		},
		{
			"a patience that began at Redis' first instant", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 0ms}, {name: B, work: 20ms}]",
			"A looks at the patience of B: ZSCORE says that it lasts another 100 ms.",
		},
		{
			"the last release of a fair lock", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms}\n" + two,
			"A has released the lock: it has left its last level, and the lock is B's already.",
		},
		{
			"a waiter that goes without the lock", "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms, retry: {times: 2, interval: 20ms}}\nthreads: [{name: A, work: 90ms}, {name: B, start: 5ms}]",
			"B leaves the line without the lock: HMGET finds no field of its own.",
		},
		{
			"a GET before a DEL", "lock: {protocol: mutex-get-del, lease: 300ms}\n" + one,
			"A may delete the key: GET reads its own value. Until DEL comes, that can change.",
		},
		{
			"a DEL after a GET", "lock: {protocol: mutex-get-del, lease: 300ms}\n" + one,
			"A deletes the key: it was its own when GET looked, and this time it still is.",
		},
		{
			"a DEL too late after a GET", "lock: {protocol: mutex-get-del, lease: 100ms, retry: {times: 9, interval: 20ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 5ms, work: 200ms}]\nfaults: [{thread: A, at: unlock, command: 2, do: pause, for: 90ms}]",
			"A deletes the key of B: when GET looked it was its own, and DEL does not look again.",
		},
		{
			"a DELEX of one's own", "lock: {protocol: mutex-delex, lease: 300ms}\n" + one,
			"A deletes the key: DELEX IFEQ finds its own value, compared and deleted in one command.",
		},
		{
			"a DELEX too late", "lock: {protocol: mutex-delex, lease: 100ms, watchdog: off, retry: {times: 9, interval: 20ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 5ms, work: 200ms}]\nfaults: [{thread: A, at: unlock, do: pause, for: 90ms}]",
			"A deletes nothing: DELEX IFEQ finds the value of B, whose lock it is now.",
		},
		{
			"a SET NX refused by one's own value", "lock: {protocol: mutex-own-value, lease: 300ms}\n" + one + "\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A finds its own value before it was told of it: by GET the lock is its own.",
		},
		{
			"a client that asks again", "lock: {protocol: mutex, lease: 300ms}\nthreads: [{name: A, client-retries: 3}]\nfaults: [{thread: A, at: lock, do: lose-reply}]",
			"A's client hears nothing, and sends the request again in 8 ms, unless its call is over by then. The lock is not told.",
		},
		{
			"an instant that is over", "lock: {protocol: mutex-pxat, lease: 300ms}\nthreads: [{name: A, start: 20ms, work: 10ms}]\nfaults: [{thread: A, at: start, do: client-clock-jump, by: -1s}]",
			"A names an instant that has passed by Redis' clock: SET is granted, and the key is gone at once.",
		},
		{
			"an instant to come", "lock: {protocol: mutex-pxat, lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 10ms}]\nfaults: [{thread: A, at: start, do: client-clock-jump, by: 700ms}]",
			"A takes the lock: SET NX finds no key and makes one, until an instant that is 1,000 ms away by Redis' clock.",
		},
		{
			"a renewal to an instant", "lock: {protocol: mutex-pxat, lease: 90ms, watchdog: 30ms}\nthreads: [{name: A, work: 50ms}]",
			"A's watchdog names the instant at which its lease ends: by Redis' clock in 90 ms.",
		},
		{
			"a renewal to an instant that is over", "lock: {protocol: mutex-pxat, lease: 90ms, watchdog: 30ms}\nthreads: [{name: A, work: 50ms}]\nfaults: [{thread: A, at: work, do: client-clock-jump, by: -1s}]",
			"A's watchdog names an instant that has passed by Redis' clock: PEXPIREAT drops the key at once.",
		},
		{
			"a renewal that takes the lock again", "lock: {protocol: mutex-take-back, lease: 90ms, watchdog: 30ms}\nthreads: [{name: A, work: 50ms}]\nfaults: [{thread: A, at: work, do: pause, for: 200ms}]",
			"A's watchdog finds no key, and takes the lock again: SET NX makes one, for 90 ms.",
		},
		{
			"a renewal that comes too late", "lock: {protocol: mutex-take-back, lease: 90ms, watchdog: 30ms, retry: {times: 9, interval: 50ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 80ms, work: 300ms}]\nfaults: [{thread: A, at: work, do: pause, for: 200ms}]",
			"A's watchdog has found the key of B, and goes on all the same.",
		},
		{
			"a watchdog that has renewed long enough", "lock: {protocol: mutex, lease: 90ms, watchdog: 30ms, max-hold: 50ms}\nthreads: [{name: A, work: 100ms}]",
			"A's watchdog stops: it renews a lock for 50 ms at most, and that time is up. The key has 60 ms left.",
		},
		{
			"a watchdog that asks nobody", "lock: {protocol: mutex-blind, lease: 100ms, watchdog: 30ms, retry: {times: 9, interval: 20ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 5ms, work: 200ms}]\nfaults: [{thread: A, at: work, do: pause, for: 130ms}]",
			"A's watchdog sets the lease of B to 100 ms: a plain PEXPIRE asks nobody.",
		},
		{
			"nodes that are asked at once", "lock: {protocol: redsync, nodes: 3, lease: 300ms, watchdog: off}\n" + two,
			"A gets node 3: SET NX finds no key there and makes one, for 300 ms.",
		},
		{"the mutex renews", "lock: {protocol: mutex, lease: 90ms, watchdog: 30ms}\nthreads: [{name: A, work: 50ms}]", "A's watchdog renews: PEXPIRE raises what is left of the lease from 60 ms to 90 ms."},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, err := scenario.Parse([]byte(c.yaml))
			if err != nil {
				t.Fatal(err)
			}
			p := lessonstest.PlayScenario(t, sc)
			for l := range longest {
				for i, text := range sentences(p, l) {
					checkSentence(t, l, p, p.Events[i], text)
				}
			}
			if told := sentences(p, words.English); !slices.Contains(told, c.want) {
				t.Errorf("nobody says %q:\n%s", c.want, strings.Join(told, "\n"))
			}
		})
	}
}

// A trace may come from elsewhere, and hold anything that can be read.
func TestWhatCannotBeIsToldAllTheSame(t *testing.T) {
	p := lessonstest.Play(t, "two-threads.yaml")
	narrator := film.NarratorOf(words.English, p.Scenario, trace.Header{Owners: nil})
	for _, b := range []trace.Body{
		trace.Command{},
		trace.Command{Args: []string{"HINCRBY"}, Node: 9},
		trace.Command{Args: []string{"ZPOPMIN"}, Reply: []any{int64(1)}},
		trace.Command{Args: []string{"GET"}, Reply: "x"},
		trace.Command{Args: []string{"HMGET"}, Reply: []any{int64(1), nil}},
		trace.Command{Args: []string{"HMGET", "k", "o", "#A"}, Reply: []any{"x", "y"}, Number: 3},
		trace.Command{Args: []string{"HMGET", "k", "o", "#A"}, Reply: "x"},
		trace.Command{Call: "unlock", Args: []string{"HGET", "k:over"}, Reply: int64(1)},
		trace.Command{Args: []string{"HSET"}},
		trace.Command{Args: []string{"SET", "k", "v", "PX"}},
		trace.Command{Late: true},
		trace.Command{Args: []string{"HINCRBY"}, Late: true},
		trace.Command{Args: []string{"DEL"}, Node: 9, Late: true},
		trace.Outcome{},
		trace.Wait{},
		trace.Fault{Do: "x"},
		trace.Violation{Rule: "x"},
		trace.Expired{Node: 7},
		trace.End{},
	} {
		for _, thread := range []string{"", "A", "Z"} {
			if got := narrator.Tell(trace.Event{Seq: 1, Thread: thread, Body: b, Key: trace.Absent()}); got == "" {
				t.Errorf("nothing is said of %+v", b)
			}
		}
	}
}

// The sentences about what only redsync and the second article's mutex do.
func TestWhatOnlyTheyDoIsTold(t *testing.T) {
	for _, c := range []struct {
		lesson string
		l      words.Language
		want   string
	}{
		{"redsync", words.English, "A has the lock on 3 of 3 nodes, valid until 7,920 ms: 8,000 ms from its request, less 80 ms for clock drift."},
		{"redsync", words.Match("zh"), "A 拿到锁（3/3 个节点），有效至 7,920 ms：从请求起 8,000 ms，减去漂移 80 ms。"},
		{"redlock", words.English, "A has the lock on 5 of 5 nodes, valid until 295 ms: 300 ms from its request, less 5 ms for clock drift."},
		{"redsync-one-node", words.English, "A has the lock, valid until 7,920 ms: 8,000 ms from its request, less 80 ms for clock drift."},
		{"redsync-one-node", words.English, "B must not delete the key: GET reads the value of A, whose lock it is now."},
		{"redsync-extend", words.English, "A's watchdog has renewed on 3 of 3 nodes: the lock is now valid until 15,920 ms."},
		{"redsync-extend", words.Match("zh"), "A 的看门狗已续期（3/3 个节点）：锁有效至 15,920 ms。"},
		{"redsync-split-vote", words.English, "C's lock is held up on the way to node 2 and gets there 2 ms later."},
		{"redsync-split-vote", words.English, "A is refused: 1 of 3 nodes took its value, and 2 are needed."},
		{"redsync-too-late", words.English, "A was granted the lock too late: its lease of 8,000 ms may be over, so it gives the lock back."},
		{"mutex-blind-last-pause", words.English, "B waits 50 ms before it asks again: retry 5 of 5."},
		{"mutex-blind-last-pause", words.English, "B waits 50 ms for nothing: it has no retry left, and gives up after that."},
	} {
		if told := sentences(lessonstest.Play(t, c.lesson+".yaml"), c.l); !slices.Contains(told, c.want) {
			t.Errorf("%s: nobody says %q:\n%s", c.lesson, c.want, strings.Join(told, "\n"))
		}
	}
}

// A sentence about the queue, or about votes, has their own numbers.
func TestWhyNamesWhatWasAsked(t *testing.T) {
	for name, want := range map[string]string{
		"fair":            "B asks how long the line of waiters will last: PTTL answers -1, because it has no expiry yet.",
		"redlock-cut-off": "A cannot know the result of its lock: of 5 nodes 2 said yes and 0 no, and 3 are needed.",
	} {
		if told := sentences(lessonstest.Play(t, name+".yaml"), words.English); !slices.Contains(told, want) {
			t.Errorf("%s: nobody says %q", name, want)
		}
	}
}

// What a late copy has done is not held to be the doing of the call that its
// thread is in.
func TestALateCopyIsNoPartOfACall(t *testing.T) {
	p := lessonstest.Play(t, "mutex-unsafe.yaml")
	narrator := film.NarratorOf(words.English, p.Scenario, trace.Header{Owners: p.Owners})
	of := func(owner string) trace.KeyState {
		for id, name := range p.Owners {
			if name == owner {
				return trace.KeyState{Type: trace.TypeString, Value: &id, PTTL: 90}
			}
		}
		return trace.Absent()
	}
	var told string
	for i, e := range []trace.Event{
		{Thread: "B", Body: trace.Outcome{Call: "lock", Result: trace.Acquired, Level: 1, Attempt: 1}, Key: of("B")},
		{Thread: "A", Body: trace.Command{Call: "unlock", Level: 1, Attempt: 1, Args: []string{"DEL", p.Scenario.Lock.Key}, Reply: int64(1), Late: true}, Key: trace.Absent()},
		{Thread: "A", Body: trace.Command{Call: "unlock", Level: 1, Attempt: 1, Args: []string{"DEL", p.Scenario.Lock.Key}, Reply: int64(0)}, Key: trace.Absent()},
		{Thread: "A", Body: trace.Outcome{Call: "unlock", Result: trace.Released, Level: 1, Attempt: 1}, Key: trace.Absent()},
	} {
		e.Seq, e.Step = i+1, i+1
		told = narrator.Tell(e)
	}
	if want := "A thinks it has released the lock, but there was no key of its own to delete."; told != want {
		t.Errorf("%q, want %q", told, want)
	}
}
