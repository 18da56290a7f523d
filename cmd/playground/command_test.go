package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/lock/exhibit"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/film"
	"relock/web/words"
)

const (
	good = "../../lessons/scenarios/two-threads.yaml"
	bad  = "../../lessons/scenarios/lease-expiry.yaml" // breaks a rule, as expected
)

type result struct {
	code     int
	out, err string
}

func playground(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := command(t.Context(), args, environment{
		getenv: func(string) string { return "" }, in: strings.NewReader(stdin), out: &out, err: &errOut,
	})
	return result{code, out.String(), errOut.String()}
}

func TestExitCodesAndTexts(t *testing.T) {
	racetest.Skip(t)
	stalled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "stalled: nobody", http.StatusServiceUnavailable)
	}))
	defer stalled.Close()
	surprising := strings.Replace(read(t, good), "violations: []", "violations: [orphan]", 1)
	surprising = strings.Replace(surprising, "B: done", "B: lost", 1)
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		code  int
		out   []string // in standard output
		err   []string // in standard error
	}{
		{"as expected", "", []string{"run", good}, 0, []string{"Thread A", "T10", "As the scenario expects."}, nil},
		{
			"threads that failed are named", "",
			[]string{"run", "../../lessons/scenarios/setnx-hash.yaml"},
			0,
			[]string{"The run has ended: no rule was broken, but A and B ended with an error: WRONGTYPE", "As the scenario expects."},
			nil,
		},
		{
			"threads that ask in vain are named", "",
			[]string{"run", "../../lessons/scenarios/setnx-hash-crash.yaml"},
			0,
			[]string{"✗ shut out (shut-out): B will never get in: the key is A's, it has no expiry"},
			nil,
		},
		{
			"a limit without end", "lock: {retry: {times: unlimited}}\nthreads: [{name: A}, {name: B, start: 1ms}]\nfaults: [{thread: A, at: work, do: stall}]\n",
			[]string{"run", "-"},
			1,
			[]string{"The run was ended: it reached the limit of 20,000 events, and B still asked for the"},
			[]string{"the run reached its limit of 20000 events, with B still asking for the lock"},
		},
		{
			"what was broken, and what tells more", "lock: {lease: 100ms, watchdog: off}\nthreads: [{name: A, work: 300ms}, {name: B, start: 10ms}]\n",
			[]string{"run", "-"},
			exitUnexpected,
			[]string{"Broken: two inside at once. What would mend it: playground mend -"},
			nil,
		},
		{
			"nothing was broken", "threads: [{name: A}]\n",
			[]string{"run", "-"},
			exitUnjudged,
			[]string{"No rule was broken in this order. All of them: playground explore -", "This cannot be judged:\n– Only one thread ever had the critical section to itself. Add a second thread."},
			nil,
		},
		{
			"somebody got nothing, and a fault came too late", "lock: {lease: 1s, watchdog: off, retry: {times: 0}}\nthreads: [{name: A, work: 10ms}, {name: B, start: 5ms}]\nfaults: [{time: 1h, do: fail-over}]\n",
			[]string{"run", "-"},
			exitUnjudged,
			[]string{"These never got the lock: B\n", "– The fault fail-over never struck. The run was over before."},
			nil,
		},
		{"mistakes in Chinese", "lock: {wait: 7}\nthreads: [{name: A}]\n", []string{"run", "-lang", "zh", "-"}, 2, nil, []string{"第 1 行：lock.wait", "从节点个数和时间"}},
		{"a trace", `{"relock":1,"scenario":{}}` + "\n{}\n", []string{"explore", "-"}, 2, nil, []string{"-: this is a trace and not a scenario; playground import reads it"}},
		{"flags after the one file", "", []string{"mend", good, "-json"}, 2, nil, []string{"given \"-json\" after a file; allowed: flags before the files"}},
		{"what a thread belongs to", "", []string{"run", "../../lessons/scenarios/flash-sale-with-a-lock.yaml"}, 0, []string{"req1 (process balancer-1): lock: acquired"}, nil},
		{"a broken rule that is expected", "", []string{"run", bad}, 0, []string{"mutual-exclusion"}, nil},
		{"several files", "", []string{"run", good, bad}, 0, []string{"Two threads", "The lease ends"}, nil},
		{"standard input", "threads: [{name: A}]", []string{"run", "-"}, exitUnjudged, []string{"Thread A"}, nil},
		{"JSON as input", `{"threads": [{"name": "A"}]}`, []string{"run", "-"}, exitUnjudged, []string{"Thread A"}, nil},
		{
			"not as expected", surprising,
			[]string{"run", "-"},
			1, nil,
			[]string{"violations: expected shut-out, but there were none", "outcome of B: expected lost, but it was done"},
		},
		{"a schedule that does not fit", "threads: [{name: A}]\nschedule: [0, 3]", []string{"run", "-"}, 2, nil, []string{"the schedule does not fit the scenario: decision 2: choice 3 cannot be made: only 0 can move"}},
		{"another seed", "", []string{"run", "-json", "-seed", "7", good}, 0, []string{`"seed":7`}, nil},
		{
			"all mistakes of a scenario", "lock: {lease: 200}\nthreads:\n  - {name: A, depht: 2}\n  - {name: A}\n",
			[]string{"run", "-"},
			2, nil,
			[]string{`-: line 1: lock.lease: given "200", allowed: a time with a unit`, `-: line 3: threads[0]: given the key "depht"`, `-: line 4: threads[1].name: given "A"`},
		},
		{"no such file", "", []string{"run", "nowhere.yaml"}, 2, nil, []string{"nowhere.yaml"}},
		{"no file", "", []string{"run"}, 2, nil, []string{"at least one scenario file"}},
		{"a flag after the file", "", []string{"run", good, "-json"}, 2, nil, []string{`given "-json" after a file; allowed: flags before the files`}},
		{"Markdown", "", []string{"run", "-format", "md", good}, 0, []string{"| Time | Thread A | Thread B |"}, nil},
		{"CSV", "", []string{"run", "-format=csv", good}, 0, []string{"seq,step,sub_step,"}, nil},
		{"Mermaid", "", []string{"run", "-format", "mermaid", bad}, 0, []string{"sequenceDiagram\n"}, nil},
		{"SVG", "", []string{"run", "-format", "svg", bad}, 0, []string{`<svg xmlns="http://www.w3.org/2000/svg"`, "prefers-color-scheme: dark", "</svg>"}, nil},
		{"two pictures", "", []string{"run", "-format", "svg", good, bad}, 2, nil, []string{"-format svg takes one scenario file, given 2"}},
		{"redis-cli", "", []string{"run", "-format", "redis-cli", good, bad}, 0, []string{"127.0.0.1:6379> EXISTS EXAMPLE_LOCK\n(integer) 0\n"}, nil},
		{"commands for redis-cli", "", []string{"run", "-format", "redis-commands", good}, 0, []string{"DEL EXAMPLE_LOCK\n"}, nil},
		{"the trace as a format", "", []string{"run", "-format", "jsonl", "-json", good}, 0, []string{`"seed":1`}, nil},
		{"the table as a format", "", []string{"run", "-format", "table", good}, 0, []string{"As the scenario expects."}, nil},
		{"unknown format", "", []string{"run", "-format", "word", good}, 2, nil, []string{`"word"`, "allowed: table, md, csv, mermaid, svg, redis-cli, redis-commands, jsonl, html, otel"}},
		{"two formats", "", []string{"run", "-json", "-format", "md", good}, 2, nil, []string{"-json and -format md are two formats"}},
		{"two diagrams", "", []string{"run", "-format", "mermaid", good, bad}, 2, nil, []string{"-format mermaid takes one scenario file, given 2"}},
		{"not as expected, as a file", surprising, []string{"run", "-format", "csv", "-"}, 1, []string{"seq,"}, []string{"expected shut-out"}},
		{"unknown flag", "", []string{"run", "-nonsense"}, 2, nil, []string{"-nonsense", "playground run -h"}},
		{"bad seed", "", []string{"run", "-seed", "-3", good}, 2, nil, []string{"-seed", "a whole number from 0"}},
		{"unknown command", "", []string{"fly"}, 2, nil, []string{`"fly"`, "serve, run, compare, protocols, explore, mend, card, lab, import, mcp, schema, learn, healthcheck, version, help\n"}},
		{"no Redis there", "", []string{"run", "-redis", "redis://127.0.0.1:1", good}, 3, nil, []string{"no Redis answers at 127.0.0.1:1"}},
		{"no Redis URL", "", []string{"run", "-redis", "http://x", good}, 2, nil, []string{"redis://, rediss:// or unix://"}},
		{"protocols", "", []string{"protocols"}, 0, []string{"reentrant"}, nil},
		{"protocols in Chinese", "", []string{"protocols", "-long", "-lang", "zh"}, 0, []string{"reentrant", "保证", "不丢数据、时钟正常"}, nil},
		{"a run in Chinese", "", []string{"run", "-lang", "zh-CN", good}, 0, []string{"时间", "线程 A", "种子 1", "内嵌 miniredis · 虚拟时钟", "lock：已获得锁", "与场景的预期一致。"}, nil},
		{"a file in Chinese", "", []string{"run", "-lang", "zh", "-format", "md", "../../lessons/scenarios/lease-expiry.yaml"}, 0, []string{"# 活没干完，租约先到期\n"}, nil},
		{"a comparison in Chinese", "", []string{"compare", "-lang", "zh", "-protocols", "mutex,none", good}, 0, []string{"线程 A", "违反的规则"}, nil},
		{"no such language", "", []string{"run", "-lang", "de", good}, 2, nil, []string{"-lang", "allowed: en, "}},
		{"protocols takes nothing", "", []string{"protocols", "x"}, 2, nil, []string{"no arguments"}},
		{"help", "", []string{"-h"}, 0, []string{"playground run", "Exit codes", "use, lab, scenarios, operate, teach, mylock"}, nil},
		{"help in words", "", []string{"help", "run"}, 0, []string{"Usage: playground run", "-seed"}, nil},
		{"help of help", "", []string{"help", "help"}, 0, []string{"playground [serve]"}, nil},
		{"help of what is not there", "", []string{"help", "fly"}, 2, nil, []string{`unknown command or topic "fly"`, "the commands serve, run,", "the topics use, lab, scenarios, operate, teach, mylock, work\n"}},
		{"help of two topics", "", []string{"help", "use", "lab"}, 2, nil, []string{`one command or topic, given ["use" "lab"]`}},
		{"help with a flag that it has not", "", []string{"help", "use", "-nonsense"}, 2, nil, []string{"-nonsense"}},
		{"help of a topic's help", "", []string{"help", "use", "-h"}, 0, []string{"playground help TOPIC"}, nil},
		{"help of run", "", []string{"run", "-h"}, 0, []string{"-json", "-redis", "-seed", "-format", "redis-commands"}, nil},
		{"help of serve", "", []string{"serve", "-h"}, 0, []string{"PLAYGROUND_ADDR"}, nil},
		{"help of protocols", "", []string{"protocols", "-h"}, 0, []string{"playground protocols"}, nil},
		{"version", "", []string{"version"}, 0, []string{"module:   relock ", "revision: ", "go:       go1."}, nil},
		{"version as a flag", "", []string{"--version"}, 0, []string{"module:   relock "}, nil},
		{"version takes nothing", "", []string{"version", "x"}, 2, nil, []string{"no arguments"}},
		{"no server there", "", []string{"healthcheck", "-addr", "127.0.0.1:1"}, 1, nil, []string{"not ready", "127.0.0.1:1"}},
		{"a server whose work hangs", "", []string{"healthcheck", "-addr", stalled.Listener.Addr().String()}, 1, nil, []string{"not ready: it answers 503 Service Unavailable: stalled: nobody\n"}},
		{"no address there", "", []string{"healthcheck", "-addr", "8080"}, 1, nil, []string{"-addr"}},
		{"healthcheck takes nothing", "", []string{"healthcheck", "x"}, 2, nil, []string{"no arguments"}},
		{"no level", "", []string{"serve", "-log-level", "loud"}, 2, nil, []string{`"loud"`, "allowed: debug, info, warn, error"}},
		{"serve takes nothing", "", []string{"serve", "x"}, 2, nil, []string{"no arguments"}},
		{"no public address", "", []string{"serve", "-public-url", "relock.example.org"}, 2, nil, []string{"-public-url", "http:// or https:// and a host"}},
		{"no way to it", "", []string{"serve", "-advertise", ":8080"}, 2, nil, []string{"-advertise", "10.0.0.5:8080"}},
		{"no proxies", "", []string{"serve", "-trusted-proxies", "10.0.0.0/8, proxy.example"}, 2, nil, []string{"-trusted-proxies", `"proxy.example"`, "IP addresses or ranges"}},
		{"a certificate without its key", "", []string{"serve", "-tls-cert", "cert.pem"}, 2, nil, []string{"-tls-cert and -tls-key go together"}},
		{"a certificate that is not there", "", []string{"serve", "-tls-cert", "nowhere.pem", "-tls-key", "nowhere.pem"}, 2, nil, []string{"nowhere.pem"}},
		{"a limit of nothing", "", []string{"serve", "-max-kept", "0"}, 2, nil, []string{"larger than 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := playground(t, c.stdin, c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d\n%s", got.code, c.code, got.err)
			}
			for _, want := range c.out {
				if !strings.Contains(got.out, want) {
					t.Errorf("output lacks %q:\n%s", want, got.out)
				}
			}
			for _, want := range c.err {
				if !strings.Contains(got.err, want) {
					t.Errorf("error output lacks %q:\n%s", want, got.err)
				}
			}
			if c.code == exitUsage && got.out != "" {
				t.Errorf("bad input printed %q", got.out)
			}
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTraceOnStandardOutput(t *testing.T) {
	first, second := playground(t, "", "run", "-json", good), playground(t, "", "run", "-json", good)
	if first.out != second.out {
		t.Error("two runs differ")
	}
	h, events, err := trace.Read(t.Context(), strings.NewReader(first.out))
	if err != nil {
		t.Fatal(err)
	}
	if h.Store != "embedded" || h.Clock != "virtual" || len(h.Owners) != 2 || len(events) == 0 {
		t.Errorf("header %+v and %d events", h, len(events))
	}
}

func TestRunOnARealRedis(t *testing.T) {
	url := storetest.URL(t)
	got := playground(t, "", "run", "-json", "-redis", url, bad)
	for again := 2; got.code == exitLate && again > 0; again-- {
		t.Log("run again: ", got.err)
		got = playground(t, "", "run", "-json", "-redis", url, bad)
	}
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.err)
	}
	h, _, err := trace.Read(t.Context(), strings.NewReader(got.out))
	if err != nil || h.Store != "external" || h.Clock != "wall" {
		t.Errorf("header %+v, %v", h, err)
	}
	got = playground(t, "lock: {protocol: redlock}\nthreads: [{name: A}]", "run", "-redis", url, "-")
	if got.code != 2 || !strings.HasPrefix(got.err, "playground: -: ") || !strings.Contains(got.err, "5 nodes") {
		t.Errorf("five nodes on one Redis: %+v", got)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	const many = `
title: 两个线程，一把可重入锁，以及一个特别长的标题，长到一行放不下，所以必须换行，而且每个字都占两列，最后还要再多写几个字才够长
lock: {protocol: reentrant-fair, key: 订单锁:ORDERS_OF_A_VERY_LARGE_SHOP_WITH_A_LONG_NAME, lease: 20200ms, watchdog: 66.667ms, retry: {times: 3, interval: 12.345ms}}
threads: [{name: 线程甲乙丙丁戊己庚辛壬癸, start: 1.5ms}, {name: B}, {name: C}, {name: D}, {name: ABCDEFGHIJKL}]
defaults: {depth: 2, work: 12030.001ms-12040ms}
faults: [{thread: B, at: work, do: crash}, {time: 30040.125ms, do: evict}]
`
	two := strings.Replace(many, ", {name: C}, {name: D}, {name: ABCDEFGHIJKL}", "", 1)
	for _, c := range []struct {
		name     string
		text     string
		args     []string
		terminal int
		variable string
		want     int
	}{
		{"five threads in a file", many, []string{"run", "-"}, 0, "", 100},
		{"two threads in a file", two, []string{"run", "-"}, 0, "", 100},
		{"a wide terminal", two, []string{"run", "-"}, 237, "", 100},
		{"80 columns", two, []string{"run", "-"}, 80, "", 80},
		{"five threads in 80 columns", many, []string{"run", "-"}, 80, "", 80},
		{"a told width", two, []string{"run", "-"}, 120, "90", 90},
		{"a narrow terminal", two, []string{"run", "-"}, 20, "", 67},
		{"a comparison in 80 columns", two, []string{"compare", "-protocols", "reentrant-notify,reentrant-naive,mutex-unsafe,none", "-"}, 80, "", 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			command(t.Context(), c.args, environment{
				getenv: func(k string) string { return map[string]string{"COLUMNS": c.variable}[k] },
				in:     strings.NewReader(c.text), out: &out, err: &errOut, columns: c.terminal,
			})
			widest, key := 0, 0
			for line := range strings.Lines(out.String()) {
				n := columns(strings.TrimSuffix(line, "\n"))
				widest = max(widest, n)
				if n > c.want || strings.Contains(line, "\x1b") {
					t.Errorf("%d columns: %s", n, line)
				}
				// The last column begins at the same place beside wide characters too.
				if before, _, ok := strings.Cut(line, "█"); ok {
					if key == 0 {
						key = columns(before)
					}
					if at := columns(before); at != key || at > c.want-keyWidth {
						t.Errorf("the key is at column %d, and was at %d: %s", at, key, line)
					}
				}
			}
			if widest < c.want-3 {
				t.Errorf("%d columns, of %d\n%s%s", widest, c.want, out.String(), errOut.String())
			}
		})
	}
}

func TestColoursOnlyWhereWanted(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		noColor  string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		var out bytes.Buffer
		command(t.Context(), []string{"run", good}, environment{
			getenv: func(k string) string { return map[string]string{"NO_COLOR": c.noColor}[k] },
			out:    &out, err: io.Discard, terminal: c.terminal,
		})
		if got := strings.Contains(out.String(), "\x1b["); got != c.want {
			t.Errorf("terminal %v, NO_COLOR %q: colours %v, want %v", c.terminal, c.noColor, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"two words", 5, "two|words"},
		{"abcdefgh", 3, "abc|def|gh"},
		{"锁锁锁", 4, "锁锁|锁"},
		{"two words", 7, "two|  words"},
		{"mutual-exclusion", 12, "mutual-|exclusion"},
		{"到此为止，后面还有。", 10, "到此为止，|  后面还|  有。"},
		{"到此为止，后面还有。", 8, "到此为|  止，后|  面还|  有。"},
		{"它（只有它）在", 8, "它（只有|  它）在"},
		{"工作到 240 ms 为止", 12, "工作到|  240 ms 为|  止"},
		{"它停顿 20 秒，再走", 12, "它停顿|  20 秒，再|  走"},
		{"共 7 小时", 8, "共|  7 小时"},
		{"it works until 240 ms, then stops", 18, "it works until|  240 ms, then|  stops"},
		{"step 3 shows", 7, "step 3|  shows"},
		{"写上 # yaml: x", 10, "写上|  # yaml:|  x"},
		{"starts with # yaml", 13, "starts with|  # yaml"},
		{"e\u0301e\u0301e", 2, "e\u0301e\u0301|e"},
	} {
		if got := strings.Join(wrap(c.text, c.n), "|"); got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		word string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"EXAMPLE_LOCK:inbox:B", 9, "EXAM…ox:B"},
		{"锁锁锁锁", 6, "锁…锁"},
		{"锁锁锁锁", 7, "锁锁…锁"},
	} {
		if got := middle(c.word, c.n); got != c.want || columns(got) > c.n {
			t.Errorf("middle(%q, %d) = %q, want %q", c.word, c.n, got, c.want)
		}
	}
}

// Without arguments the program serves, as the environment says; it tells where, what, and how
// to get help.
func TestServeFromTheEnvironment(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int)
	go func() {
		done <- command(ctx, nil, environment{
			getenv: func(k string) string {
				return map[string]string{"PLAYGROUND_ADDR": "127.0.0.1:0", "PLAYGROUND_LOG_LEVEL": "error"}[k]
			},
			out: in, err: io.Discard,
		})
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"playground help", "-rooms FOLDER"} { // rooms are in memory alone
		if next, err := lines.ReadString('\n'); err != nil || !strings.Contains(next, want) {
			t.Errorf("it says %q, %v, want %q", next, err, want)
		}
	}
	url := regexp.MustCompile(`http://[^ ]+/`).FindString(line)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || string(body) != "ok\n" {
		t.Errorf("healthz = %d %q", res.StatusCode, body)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d after an interrupt, want 0", code)
	}
}

func TestBadVariableIsNamed(t *testing.T) {
	var errOut bytes.Buffer
	code := command(t.Context(), nil, environment{
		getenv: func(k string) string { return map[string]string{"PLAYGROUND_IDLE": "soon"}[k] },
		out:    io.Discard, err: &errOut,
	})
	if code != 2 || !strings.Contains(errOut.String(), "$PLAYGROUND_IDLE") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}

func TestTooLongScenario(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(name, bytes.Repeat([]byte("# long\n"), 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := playground(t, "", "run", name); got.code != 2 || !strings.Contains(got.err, "64 KiB") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}

// TestMain lets a test start this program again, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("RELOCK_TEST_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestASchedulePlaysTheSameInAFreshProcess(t *testing.T) {
	const stepped = `
title: Stepped by hand
lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 40ms, jitter: 0-9ms}}
threads: [{name: A, depth: 2, work: 30ms-90ms}, {name: B, work: 10ms-20ms}, {name: C, start: 3ms}]
policy: random
seed: 99
schedule: [1, 0, {until: 25ms}, {do: pause, thread: B, for: 500ms}, 0, {do: lose-reply, thread: A, at: unlock}, 0, {do: fail-over, behind: 1}]
`
	here := playground(t, stepped, "run", "-json", "-")
	if here.code != exitUnexpected || len(strings.Split(here.out, "\n")) < 30 {
		t.Fatalf("%+v", here)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), self, "run", "-json", "-")
		cmd.Env = append(os.Environ(), "RELOCK_TEST_AS_PROGRAM=1", "GOMAXPROCS=1")
		cmd.Stdin = strings.NewReader(stepped)
		out, err := cmd.Output()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != exitUnexpected {
			t.Fatal(err)
		}
		if string(out) != here.out {
			t.Errorf("another process gives another trace:\n%s\nwant\n%s", out, here.out)
		}
	}
}

// The scenario that SCENARIOS shows is one, and comes out as it says.
func TestReadmeShowsAScenario(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../lessons/docs/SCENARIOS.md"), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("SCENARIOS shows no scenario")
	}
	if got := playground(t, text, "run", "-"); got.code != 0 || !strings.Contains(got.out, "As the scenario expects.") {
		t.Errorf("%+v", got)
	}
}

func TestCompare(t *testing.T) {
	got := playground(t, "", "compare", "-protocols", "reentrant, mutex", good)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"◆ lock, level 2         reentered · 93 ms", "refused · 93 ms", "rules broken            none", "waits for itself"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, got.out)
		}
	}
	if strings.Count(got.out, "◆") != 1 {
		t.Errorf("%d first differences", strings.Count(got.out, "◆"))
	}
	for line := range strings.Lines(got.out) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-protocols", "mutex", good}, "2 to 4 are wanted, given 1"},
		{[]string{"-protocols", "mutex,zookeeper", good}, `there is no "zookeeper"; there are reentrant, `},
		{[]string{"-protocols", "mutex,mutex", good}, "mutex is named twice"},
		{[]string{"-protocols", "mutex,value"}, "needs one scenario file"},
	} {
		if got := playground(t, "", append([]string{"compare"}, c.args...)...); got.code != 2 || !strings.Contains(got.err, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

// A schedule that fits one lock need not fit another: the run follows it as far as it
// fits, and says so.
func TestCompareFollowsAScheduleAsFarAsItFits(t *testing.T) {
	const text = "lock: {lease: 200ms}\nthreads: [{name: A, depth: 2, work: 10ms}, {name: B, start: 20ms}]\nschedule: [0, 0, 1]\n"
	got := playground(t, text, "compare", "-protocols", "reentrant,mutex", "-")
	if got.code != 0 || strings.Count(got.out, "your moves fit until") != 1 || !strings.Contains(got.out, "until 20 ms;") {
		t.Errorf("%+v", got)
	}
}

// A lock without those nodes has nothing happen to them.
func TestCompareLocksWithAndWithoutNodes(t *testing.T) {
	for _, file := range []string{"redlock-clock-jump", "redlock-two-nodes-down", "redlock-cut-off"} {
		got := playground(t, "", "compare", "-protocols", "none,spin,redlock,reentrant-fair", "../../lessons/scenarios/"+file+".yaml")
		if got.code != 0 || !strings.Contains(got.out, "rules broken") {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// A fault that one of the locks cannot have strikes with the others alone, and
// a schedule without it is followed to its end.
func TestCompareLocksThatCannotHaveEachFault(t *testing.T) {
	const text = `
lock: {lease: 200ms, watchdog: 70ms}
threads: [{name: A, work: 100ms}, {name: B, work: 10ms, start: 1ms}]
faults: [{thread: A, at: lock, do: lose-reply}, {thread: A, at: renew, do: crash}, {time: 60ms, do: evict}]
schedule: [{thread: B, at: lock, do: lose-request}, 0]
`
	got := playground(t, text, "compare", "-protocols", "reentrant,value,spin,none", "-")
	if got.code != 0 || strings.Contains(got.out, "follows") { // the words of the note wrap
		t.Errorf("%+v", got)
	}
	for _, fault := range []string{"lose-reply", "crash"} {
		if !strings.Contains(got.out, "fault: "+fault) {
			t.Errorf("no %s in\n%s", fault, got.out)
		}
	}
	if got := playground(t, strings.Replace(text, "watchdog: 70ms", "protocol: none", 1), "compare", "-protocols", "reentrant,none", "-"); got.code != 2 {
		t.Errorf("faults that the scenario's own lock cannot have: %+v", got)
	}
}

// However long their names, the texts about locks begin in one column.
func TestLocksAreListedInColumns(t *testing.T) {
	column := 0
	for _, p := range exhibit.All() {
		column = max(column, len(p.Name)+1)
	}
	for line := range strings.Lines(playground(t, "", "protocols").out) {
		if line[column-1] != ' ' || line[column] == ' ' {
			t.Errorf("not in column %d: %s", column, line)
		}
	}
}

// The key's contents are between two braces, with the number of a last call on a separate line
// if both do not fit.
func TestTheKeyIsOne(t *testing.T) {
	hold := func(thread, count string) film.HoldCount {
		return film.HoldCount{Thread: thread, Owner: "0678…102", Count: count}
	}
	call := func(number string) []film.LastCall {
		return []film.LastCall{{Field: "#A", Thread: "A", Number: number}}
	}
	for _, c := range []struct {
		key  film.Key
		want string
	}{
		{film.Key{Holds: []film.HoldCount{hold("A", "2")}}, "A { 0678…102: 2 }"},
		{film.Key{Holds: []film.HoldCount{hold("A", "2")}, Calls: call("3")}, "A { 0678…102: 2, #A: 3 }"},
		{film.Key{Holds: []film.HoldCount{hold("A", "2")}, Calls: call("345")}, "A { 0678…102: 2,|  #A: 345 }"},
		{film.Key{Holds: []film.HoldCount{hold("A", "1"), hold("", "3")}}, "A { 0678…102: 1,|0678…102: 3 }"},
		{film.Key{Type: trace.TypeString, Holds: []film.HoldCount{hold("B", "")}}, `B "0678…102"`},
		{film.Key{Type: trace.TypeSet, Holds: []film.HoldCount{hold("A", ""), hold("B", "")}}, "A { 0678…102,|B 0678…102 }"},
		{film.Key{Type: trace.TypeHash, Mode: trace.ModeRead, Holds: []film.HoldCount{hold("A", "1"), hold("B", "1")}}, "{ mode: read,|A 0678…102: 1,|B 0678…102: 1 }"},
		{film.Key{}, ""},
	} {
		var got []string
		for _, l := range entryLines(c.key) {
			got = append(got, l.text)
			if columns(l.text) > keyWidth {
				t.Errorf("%q does not fit", l.text)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q, want %q", strings.Join(got, "|"), c.want)
		}
	}
}

// A user's own course is checked by line, and the server does not serve one with a
// mistake.
func TestACourseOfOnesOwn(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "mine")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, "00-mine", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("chapter.yaml", "id: mine\nminutes: 1\nitems:\n  - {id: it, kind: read, scenario: redlock, at: A acquired}\n")
	write("en.md", "# Mine\n## It {#it}\nAt {{at \"A acquired\"}}.\n")
	write("zh.md", "# 我的\n## 它 {#it}\n在 {{at \"A acquired\"}}。\n")
	if r := playground(t, "", "learn", "-check", folder); r.code != 0 || !strings.Contains(r.out, "No mistake in 1 item") {
		t.Errorf("%+v", r)
	}
	write("en.md", "# Mine\n## It {#it}\nAt {{at \"C acquired\"}}.\n")
	for _, args := range [][]string{{"learn", "-check", folder}, {"serve", "-course", folder}} {
		if r := playground(t, "", args...); r.code == 0 || !strings.Contains(r.err, "en.md:3: ") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := playground(t, "", "serve", "-course", filepath.Join(folder, "nowhere")); r.code != 2 || !strings.Contains(r.err, "there is no chapter") {
		t.Errorf("%+v", r)
	}
}

// A run that a machine was late in says so beside its verdict. If it is not as expected,
// that has its own exit code; if it is, the code is 0 all the same.
func TestALateMachineIsNotNotAsExpected(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {lease: 800ms}\nthreads: [{name: A, work: 1ms}]\nexpect: {violations: []}"))
	if err != nil {
		t.Fatal(err)
	}
	const says = "machine was up to 80 ms late: these instants are not the scenario's"
	broken := trace.Event{Body: trace.Violation{Rule: check.ShutOut}}
	for _, c := range []struct {
		name     string
		lateness trace.Millis
		broken   bool
		failed   error
		format   export.Format
		code     int
		out, err string // what is said, besides the differences
	}{
		{"late, and not as expected", 80, true, nil, tableFormat, exitLate, "", "playground: x.yaml: the " + says + "\n"},
		{"late, and as expected", 80, false, nil, tableFormat, exitOK, "As the scenario expects.\nThe " + says + ".\n", ""},
		{"late, as expected, and no table", 80, false, nil, export.JSONL, exitOK, "", "playground: x.yaml: the " + says + "\n"},
		{"late, and without a Redis", 80, true, engine.ErrRedis, tableFormat, exitUnreachable, "", "playground: x.yaml: no Redis serves the run any more\nplayground: x.yaml: the " + says + "\n"},
		{"not as expected", 79.9, true, nil, tableFormat, exitUnexpected, "", ""},
		{"as expected", 79.9, false, nil, tableFormat, exitOK, "As the scenario expects.\n", ""},
		{"as expected, without a table", 79.9, false, nil, export.JSONL, exitOK, "", ""},
	} {
		events := []trace.Event{{Body: trace.End{Result: trace.Done, Lateness: c.lateness}}}
		said := c.err
		if c.broken {
			events = append([]trace.Event{broken}, events...)
		}
		if c.broken && c.failed == nil {
			said = "playground: x.yaml: not as expected: violations: expected none, but there were shut-out\n" + said
		}
		var out, errOut bytes.Buffer
		code := concluded(t.Context(), sc, "x.yaml", events, c.failed, runFlags{format: c.format, language: &words.English}, environment{getenv: os.Getenv, out: &out, err: &errOut})
		if code != c.code || out.String() != c.out || errOut.String() != said {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.code, &out, &errOut)
		}
	}
}

// Of several runs, the gravest exit code counts: a late run hides no broken one.
func TestTheGravestExitCodeCounts(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{
		{exitOK, exitLate, exitLate}, {exitLate, exitOK, exitLate}, {exitLate, exitUnexpected, exitUnexpected}, {exitUnreachable, exitLate, exitUnreachable},
	} {
		if got := graver(c.a, c.b); got != c.want {
			t.Errorf("%d of %d and %d, want %d", got, c.a, c.b, c.want)
		}
	}
}

// A real Redis does not say on which line of a script a tail call was: nothing is said of a line that nobody knows.
func TestOfATailCallOnARealRedisNoLineIsNamed(t *testing.T) {
	const own = `
lock:
  {protocol: own, key: k, lease: 200ms, watchdog: off, args: {lock: [token], unlock: [token]}, replies: {lock: {entered: OK, refused: nil}}, scripts: {
    lock: "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 300)", unlock: "%sreturn redis.call('DEL', KEYS[1])"}}
threads: [{name: A, work: 1ms}]
`
	url := storetest.URL(t)
	const unreached, says = "No order reached line 1 of the script unlock.lua, which releases", "where the file says 200ms: it says 300."
	for before, want := range map[string]bool{"": false, "if true then return 1 end;": true} {
		got := playground(t, fmt.Sprintf(own, before), "run", "-redis", url, "-")
		if text := strings.Join(strings.Fields(got.out+got.err), " "); strings.Contains(text, unreached) != want || !strings.Contains(text, says) || strings.Contains(text, "line 0") {
			t.Errorf("%q: %s", before, text)
		}
	}
}
