package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"relock/engine/lock/telemetry"
	"relock/engine/trace"
	"relock/web/site"
)

const brokenLog = `OK
1700000000.000000 [0 127.0.0.1:5001] "SET" "lock" "v1" "NX" "PX" "300"
1700000000.350000 [0 127.0.0.1:5002] "SET" "lock" "v2" "NX" "PX" "300"
1700000000.500000 [0 127.0.0.1:5001] "DEL" "lock"
`

// A command that is told to end does so while nothing comes that it could read.
func TestReadingEndsWithTheCommand(t *testing.T) {
	silent, never := io.Pipe()
	t.Cleanup(func() { _ = never.Close() })
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := io.ReadAll(until{ctx, silent}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if data, err := io.ReadAll(until{t.Context(), iotest.OneByteReader(strings.NewReader("a log"))}); err != nil || string(data) != "a log" {
		t.Errorf("%q, %v", data, err)
	}
}

// The head says the longest expiry that the key had, not what a scenario may have at most.
func TestTheHeadOfALogHasItsLease(t *testing.T) {
	for expiry, want := range map[string]string{
		`"NX" "PX" "300"`:         "longest lease 300 ms\n",
		`"NX" "EX" "7200"`:        "longest lease 2 h\n",
		`"NX" "EX" "20000000000"`: "longest lease over 292 years\n",
		`"NX"`:                    "the key has no expiry at times\n",
	} {
		got := playground(t, strings.ReplaceAll(brokenLog, `"NX" "PX" "300"`, expiry), "import", "-")
		if head, _, _ := strings.Cut(got.out, "\nTime"); !strings.Contains(head, want) {
			t.Errorf("%s: %q, want %q", expiry, head, want)
		}
	}
}

// A time without an expiry is said whether it is before or after one with.
func TestTheHeadOfALogKnowsATimeWithoutExpiry(t *testing.T) {
	const never, ends, frees = `"SET" "lock" "v" "NX"`, `"SET" "lock" "v" "NX" "PX" "300"`, `"DEL" "lock"`
	for _, commands := range [][]string{{never, frees, ends, frees}, {ends, frees, never, frees}} {
		text := ""
		for i, args := range commands {
			text += fmt.Sprintf("1700000000.%06d [0 127.0.0.1:5001] %s\n", i*1000, args)
		}
		got := playground(t, text, "import", "-")
		if head, _, _ := strings.Cut(got.out, "\nTime"); !strings.Contains(head, "the key has no expiry at times\n") {
			t.Errorf("%q: %q", commands, head)
		}
	}
}

// The last row of a log says how long the key stays that it leaves, and which hold count.
func TestALogEndsWithWhatItLeaves(t *testing.T) {
	const frees = `"DEL" "lock"`
	hash := []string{`"HINCRBY" "lock" "a:1" "1"`, `"PEXPIRE" "lock" "300"`, `"HINCRBY" "lock" "a:1" "1"`}
	for name, c := range map[string]struct {
		commands []string
		want     string
	}{
		"a lease":        {[]string{`"SET" "lock" "v" "NX" "PX" "300"`, frees, `"SET" "lock" "w" "NX" "PX" "700"`}, "The log ends, and the key is still there: 700 ms left\n"},
		"no lease":       {[]string{`"SET" "lock" "v" "NX" "PX" "300"`, frees, `"SET" "lock" "w" "NX"`}, "The log ends, and the key is still there, without an expiry\n"},
		"a hold count":   {hash, "The log ends, and the key is still there: 299 ms left; A's hold count is still 2\n"},
		"nothing":        {[]string{`"SET" "lock" "v" "NX" "PX" "300"`, frees}, "The run has ended\n"},
		"far too long":   {[]string{`"SET" "lock" "v" "NX" "EX" "20000000000"`}, "still there: over 292 years left"},
		"a day too long": {[]string{`"SET" "lock" "v" "NX" "EX" "172800"`}, "still there: 2 d left"},
	} {
		text := ""
		for i, args := range c.commands {
			text += fmt.Sprintf("1700000000.%06d [0 127.0.0.1:5001] %s\n", i*1000, args)
		}
		if got := playground(t, text, "import", "-"); !strings.Contains(got.out, c.want) {
			t.Errorf("%s: nowhere %q: %s", name, c.want, got.out)
		}
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	data, err := site.Zipped([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestImport(t *testing.T) {
	whole := strings.ReplaceAll(strings.Replace(brokenLog, `.350000`, `.510000`, 1), "OK\n", "")
	lines := strings.SplitAfter(whole, "\n")
	whole = lines[0] + lines[2] + lines[1]
	whole = strings.Replace(whole, ".500000", ".200000", 1)
	own := playground(t, "", "run", "-json", bad)
	const servers = "../../engine/outside/logs/testdata/servers/"
	for _, c := range []struct {
		name, stdin string
		args        []string
		code        int
		out, err    []string
	}{
		{"broken", brokenLog, []string{"import", "-"}, exitUnexpected, []string{"another's lock released (foreign-release), first at T4, line 4 of the log. Times in all: 1.", "Read from a MONITOR log: 3 commands name the key lock, threads by value.", "It has no replies", "Thread A: v1, 127.0.0.1:5001."}, nil},
		{"nothing broken", whole, []string{"import", "-"}, exitOK, []string{"No rule is broken in it."}, nil},
		{"begun in the middle of a hold", `1700000000.200000 [0 127.0.0.1:5001] "DEL" "lock"` + "\n" + lines[1], []string{"import", "-"}, exitUnjudged, []string{"This cannot be judged:", "– Threads that release or renew what they took before it began: 1, the first in line 1."}, nil},
		{"packed with gzip", zipped(t, brokenLog), []string{"import", "-"}, exitUnexpected, []string{"first at T4, line 4 of the log."}, nil},
		{"packed with gzip, without its end", zipped(t, brokenLog)[:len(zipped(t, brokenLog))-8], []string{"import", "-"}, exitUnexpected, []string{"first at T4, line 4 of the log."}, nil},
		{"a trace, packed with gzip", zipped(t, own.out), []string{"import", "-"}, exitUnexpected, []string{"first at "}, nil},
		{"damaged gzip", zipped(t, "")[:10] + "\xff\xff\xff", []string{"import", "-"}, exitUsage, nil, []string{"import: it is packed with gzip, and damaged"}},
		{"in Chinese", brokenLog, []string{"import", "-lang", "zh", "-"}, exitUnexpected, []string{"日志第 4 行", "来自 MONITOR 日志"}, nil},
		{"by connection", brokenLog, []string{"import", "-threads", "connection", "-"}, exitUnexpected, []string{"threads by connection"}, nil},
		{"a file of the corpus", "", []string{"import", "../../engine/outside/logs/testdata/redsync-4.18.1.log"}, exitOK, []string{"redsync-4.18.1.log", "worker-x"}, nil},
		{"three servers", "", []string{"import", servers + "over-1.log", servers + "over-2.log", servers + "over-3.log"}, exitUnexpected, []string{
			"over-1.log, over-2.log, over-3.log", "2: set 1296…175 PX 2000 → OK", "node 3 dropped the key", "first at T26, line 25 of over-2.log.", "Node 2: over-2.log. Its lines are counted from 33 on.", "the clocks of 3 servers",
		}, nil},
		{"two of three servers", "", []string{"import", "-nodes", "3", servers + "fine-1.log", servers + "fine-2.log"}, exitUnjudged, []string{"– Servers without a log: 1. Nobody knows what happened there. Add the log of each server."}, nil},
		{"behind a prefix", "redis-1  | # by hand\n" + "redis-1  | " + strings.ReplaceAll(strings.TrimSuffix(whole, "\n"), "\n", "\nredis-1  | "), []string{"import", "-"}, exitOK, []string{"Dropped a prefix of 11 characters from each line of a command."}, nil},
		{"a client's own log", "2026-01-01T00:00:00.000Z ioredis:redis write command[127.0.0.1:1]: 0 -> info([])\n", []string{"import", "-"}, exitUsage, nil, []string{"line 1: this is the DEBUG output of ioredis", "redis-cli monitor > monitor.log"}},
		{"a trace of ours", own.out, []string{"import", "-"}, exitUnexpected, []string{"mutual-exclusion"}, nil},
		{"a trace already has its key", own.out, []string{"import", "-key", "x", "-"}, exitUsage, nil, []string{"a trace already has its key"}},
		{"a bad line", brokenLog + "1700000001.000000 [0 127.0.0.1:5001] what\n", []string{"import", "-"}, exitUsage, nil, []string{"line 5: it is not a line of MONITOR"}},
		{"no log", "hello\n", []string{"import", "-"}, exitUsage, nil, []string{"line 1: no known log has such a line"}},
		{"no such key", brokenLog, []string{"import", "-key", "x", "-"}, exitUsage, nil, []string{`-key "x"`, "could be locks: lock"}},
		{"no such threads", brokenLog, []string{"import", "-threads", "x", "-"}, exitUsage, nil, []string{"owner and value and connection"}},
		{"no such file", "", []string{"import", "nowhere.log"}, exitUsage, nil, []string{"nowhere.log"}},
		{"no file", "", []string{"import"}, exitUsage, nil, []string{"given 0"}},
		{"help", "", []string{"import", "-h"}, exitOK, []string{"-threads WHO", "Exit codes: 0 no rule is broken, and nothing is missing", "4 no rule is broken, but it cannot tell whether"}, nil},
	} {
		got := playground(t, c.stdin, c.args...)
		if got.code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s%s", c.name, got.code, c.code, got.out, got.err)
		}
		for _, want := range c.out {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: output lacks %q:\n%s", c.name, want, got.out)
			}
		}
		for _, want := range c.err {
			if !strings.Contains(got.err, want) {
				t.Errorf("%s: error output lacks %q:\n%s", c.name, want, got.err)
			}
		}
	}
	got := playground(t, brokenLog, "import", "-json", "-")
	h, events, err := trace.Read(t.Context(), strings.NewReader(got.out))
	if err != nil || h.Store != trace.StoreLog || h.Log == nil || len(events) == 0 || got.code != exitUnexpected {
		t.Errorf("%+v, %d events, %v, code %d", h, len(events), err, got.code)
	}
	if again := playground(t, got.out, "import", "-json", "-"); again.out != got.out || again.code != got.code {
		t.Error("its own trace comes to something else")
	}
}

// What -format otel writes of a run, import reads, with the commands of its spans and without
// them; and it comes to what the run has come to.
func TestSpansAreImported(t *testing.T) {
	rules := func(text string) (list []string, outcomes int) {
		_, events, err := trace.Read(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch b := e.Body.(type) {
			case trace.Violation:
				list = append(list, fmt.Sprint(b.Rule, b.Threads, e.At))
			case trace.Expired:
				list = append(list, fmt.Sprint("the lease is over at ", e.At))
			case trace.Outcome:
				outcomes++
			}
		}
		return list, outcomes
	}
	for name, code := range map[string]int{"lease-expiry": exitUnexpected, "two-threads": exitOK} {
		file := "../../lessons/scenarios/" + name + ".yaml"
		want, outcomes := rules(playground(t, "", "run", "-json", file).out)
		spans := playground(t, "", "run", "-format", "otel", file).out
		for how, text := range map[string]string{"with its commands": spans, "without them": strings.ReplaceAll(spans, telemetry.Query, "x")} {
			got := playground(t, text, "import", "-json", "-")
			have, n := rules(got.out)
			if got.code != code || !slices.Equal(have, want) || n != outcomes {
				t.Errorf("%s %s: exit code %d, %v, %d outcomes; want %d, %v, %d: %s", name, how, got.code, have, n, code, want, outcomes, got.err)
			}
		}
	}
	for _, name := range []string{"notify", "fair", "flash-sale-with-a-lock"} { // the next has it in the instant in which it is released
		spans := playground(t, "", "run", "-format", "otel", "../../lessons/scenarios/"+name+".yaml").out
		if got := playground(t, spans, "import", "-"); got.code != exitOK {
			t.Errorf("%s: exit code %d:\n%s%s", name, got.code, got.out, got.err)
		}
	}
	got := playground(t, "", "import", "../../engine/outside/logs/testdata/example.otlp.jsonl")
	for _, want := range []string{"Read from spans of OpenTelemetry: 5 attempts", "mutual-exclusion", "Attempts without commands, or of a lock", "Thread A: worker-1.\n"} {
		if !strings.Contains(got.out, want) || got.code != exitUnexpected {
			t.Errorf("the Example's spans: exit code %d, no %q:\n%s%s", got.code, want, got.out, got.err)
		}
	}
}

// A trace that is read again says that its machine was late.
func TestAnImportedTraceTellsOfALateMachine(t *testing.T) {
	const head = `{"relock":1,"scenario":{"lock":{"lease":"800ms"},"threads":[{"name":"A"}]},"owners":{},"clock":"wall"}` + "\n"
	for tail, want := range map[string]bool{`,"lateness_ms":80`: true, `,"lateness_ms":79.9`: false, ``: false} {
		got := playground(t, head+`{"seq":1,"step":1,"kind":"end","result":"done"`+tail+"}\n", "import", "-")
		if says := strings.Contains(got.out, "The machine was up to 80 ms late: these instants are not the scenario's."); says != want || got.code != exitUnjudged {
			t.Errorf("%q: exit code %d\n%s%s", tail, got.code, got.out, got.err)
		}
	}
}

// Of a long log, the rows beside a broken rule are printed, and how many are left out.
func TestALongLogIsPrintedWhereItBreaks(t *testing.T) {
	var log strings.Builder
	line := func(ms int, client, command string) {
		fmt.Fprintf(&log, "%d.%06d [0 127.0.0.1:%s] %s\n", 1_700_000_000+ms/1000, ms%1000*1000, client, command)
	}
	for n := range 150 {
		line(20*n, "5001", fmt.Sprintf(`"SET" "lock" "v%d" "NX" "PX" "300"`, n))
		if n == 75 {
			line(20*n+5, "5002", `"DEL" "lock"`)
		}
		line(20*n+10, "5001", `"DEL" "lock"`)
	}
	cut := playground(t, log.String(), "import", "-threads", "connection", "-")
	all := playground(t, log.String(), "import", "-threads", "connection", "-all", "-")
	for _, want := range []string{"… 130 rows are left out; -all prints them", "… 129 rows are left out; -all prints them", "B deleted the lock of A", "\nT1 ", "\nT142 ", "\nT162 ", "\nT302 "} {
		if !strings.Contains(cut.out, want) {
			t.Errorf("%q is missing:\n%s", want, cut.out)
		}
	}
	if strings.Contains(cut.out, "\nT141 ") || strings.Contains(cut.out, "\nT163 ") || !strings.Contains(all.out, "\nT141 ") || strings.Contains(all.out, "left out") {
		t.Error("other rows than those beside the broken rule, the first and the last")
	}
}
