package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/redis/go-redis/v9"

	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/trace"
)

// shellWorker locks k with SET NX in one round, and lets go of it, with nothing but a
// shell that speaks RESP by hand.
const shellWorker = `
exec 3<>/dev/tcp/$REDIS_HOST/$REDIS_PORT
ask() { printf '%s\r\n' "$*" >&3; IFS= read -r reply <&3; reply=${reply%$'\r'}; case $reply in '$'[0-9]*) IFS= read -r reply <&3;; esac; }
while ask ECHO relock:round; [ "$reply" ]; do
  ask SET k "$RELOCK_THREAD" NX PX 2000
  case $reply in +OK) DEL;; esac
done
`

func labEnvironment(in string) (environment, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	return environment{getenv: func(string) string { return "" }, in: strings.NewReader(in), out: &out, err: &err}, &out, &err
}

// worker writes a worker that ends a round with a command.
func worker(t *testing.T, release string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "worker.sh")
	if err := os.WriteFile(name, []byte(strings.Replace(shellWorker, "DEL", release, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A lab that a page opens is told which lock it is, and how many may be inside.
func TestALabOfAPageIsToldTheLock(t *testing.T) {
	for lock, want := range map[string]string{"k": "-key k", "k,l": "-lock k,l", "doc:9": "-key doc:9 -inside 3"} {
		o, err := lab.Options{Threads: 2}.Of(lock)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(want, "-inside") {
			o.Kind, _ = check.Inside(3)
		}
		if got := strings.Join(labArguments(o, false), " "); !strings.Contains(got, want) {
			t.Errorf("%s: %s", lock, got)
		}
	}
}

// The lab says what it found in an exit code, in JSON Lines, in a table, and in a trace;
// and what it says of an order plays it again.
func TestLab(t *testing.T) {
	good, leaves := worker(t, "ask DEL k"), worker(t, ":")
	for _, c := range []struct {
		name, file string
		code       int
		orders     string
		rule       string
	}{
		{"nothing broken", good, exitOK, "4", ""},
		{"forgets to unlock", leaves, exitUnexpected, "2", "shut-out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			saved := filepath.Join(t.TempDir(), "break.jsonl")
			env, out, stderr := labEnvironment("")
			code := command(t.Context(), []string{"lab", "-json", "-faults", "none", "-save", saved, "--", "bash", c.file}, env)
			t.Log(out)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var head map[string]any
			if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head["lab"] != 1.0 || head["ending"] != lab.Exhausted || head["store"] != "embedded" || head["max_faults"] != 0.0 || head["diverged"] != 0.0 {
				t.Errorf("%v, %v", head, err)
			}
			if (c.rule == "") != (len(lines) == 1) || c.rule != "" && !strings.Contains(lines[1], `"rule":"`+c.rule+`"`) {
				t.Errorf("want %q broken: %s", c.rule, out)
			}
			if code != c.code || head["orders"] != c.orders || stderr.Len() > 0 {
				t.Errorf("exit code %d: %s %s", code, out, stderr)
			}
		})
	}
	t.Run("stuck before anything is decided", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "worker.sh")
		if err := os.WriteFile(name, []byte(strings.Replace(shellWorker, `ask SET k "$RELOCK_THREAD" NX PX 2000`, "ask BLPOP q 0", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"lab", "-json", "-faults", "none"}
		env, out, _ := labEnvironment("")
		if code := command(t.Context(), append(args, "--", "bash", name), env); code != exitUnexpected || !strings.Contains(out.String(), `{"rule":"shut-out","orders":"1","order":[]}`) {
			t.Fatalf("exit code %d: %s", code, out)
		}
		env, again, stderr := labEnvironment(out.String())
		if code := command(t.Context(), append(args, "-replay", "-", "--", "bash", name), env); code != exitUnexpected || !strings.Contains(again.String(), `"rule":"shut-out"`) {
			t.Errorf("-replay: exit code %d: %s %s", code, again, stderr)
		}
	})
	t.Run("broken", func(t *testing.T) {
		saved := filepath.Join(t.TempDir(), "break.jsonl")
		args := []string{"lab", "-faults", "lose-reply"}
		env, out, stderr := labEnvironment("")
		code := command(t.Context(), append(args, "-json", "-save", saved, "--", "bash", crashing(t)), env)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if code != exitUnexpected || len(lines) != 2 || !strings.Contains(lines[1], `"rule":"shut-out"`) || !strings.Contains(lines[1], `"trace":"`+saved) {
			t.Fatalf("exit code %d: %s %s", code, out, stderr)
		}
		for _, replay := range []string{saved, "-"} {
			env, again, stderr := labEnvironment(out.String())
			if code := command(t.Context(), append(args, "-replay", replay, "--", "bash", crashing(t)), env); code != exitUnexpected || !strings.Contains(again.String(), "shut out") || !strings.Contains(again.String(), "order: [{") {
				t.Errorf("-replay %s: exit code %d: %s %s", replay, code, again, stderr)
			}
		}
	})
}

// crashing is a worker that ends after its round: a lost reply ends it early.
func crashing(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "worker.sh")
	text := strings.Replace(shellWorker, "while ask ECHO relock:round; [ \"$reply\" ]; do", "for once in 1; do", 1)
	if err := os.WriteFile(name, []byte(strings.Replace(text, "DEL", "ask DEL k", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLabRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"-threads 0 -- x":                             "allowed: 1 to",
		"-nodes 0 -- x":                               "-nodes 0: allowed: 1 to",
		"-threads 99 -- x":                            "allowed: 1 to",
		"-faults explode -- x":                        "allowed: lose-request",
		"-faults crash -- x":                          "-clock wall",
		"-faults lease-ends -clock wall -- x":         "-clock gate",
		"-clock sun -- x":                             "allowed: gate, wall",
		"-env NAME -- x":                              "NAME=VALUE",
		"-timeout 0s -- x":                            "more than 0",
		"-replay nowhere.json -- x":                   "no such file",
		"-replay [{}] -- x":                           "it is not an order",
		"-save x":                                     "need a COMMAND",
		"-open -json":                                 "-open goes without",
		"-listen nowhere.invalid":                     "nowhere.invalid",
		"-example cobol":                              "allowed: one of go",
		"-clock gate -redis redis://127.0.0.1:1 -- x": "-clock wall",
		"-- /no/such/worker":                          "cannot start the worker",
		"-max-orders 0 -- x":                          "allowed: 1 to",
		"-probe=maybe -- x":                           "allowed: true or false",
		"-nosuch":                                     "says what is allowed",
	} {
		env, out, stderr := labEnvironment("")
		if code := command(t.Context(), append([]string{"lab"}, strings.Fields(text)...), env); code != exitUsage || !strings.Contains(stderr.String(), want) || out.Len() > 0 {
			t.Errorf("lab %s: exit code %d: %s%s", text, code, out, stderr)
		}
	}
}

// A worker that fails is exit code 3, in words and in JSON.
func TestLabTellsOfABadWorker(t *testing.T) {
	env, out, stderr := labEnvironment("")
	code := command(t.Context(), []string{"lab", "-json", "--", "sh", "-c", "echo goodbye >&2; exit 4"}, env)
	var head struct {
		Ending string `json:"ending"`
		Worker struct {
			Thread string `json:"thread"`
			Words  string `json:"last_words"`
		} `json:"worker"`
	}
	if err := json.Unmarshal(out.Bytes(), &head); err != nil || code != exitUnreachable || head.Ending != lab.Worker || head.Worker.Words != "goodbye" {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	if want := fmt.Sprintf("worker %s talks to nobody", head.Worker.Thread); !strings.Contains(stderr.String(), want) {
		t.Errorf("no %q in %s", want, stderr)
	}
}

func TestLabExamples(t *testing.T) {
	env, out, _ := labEnvironment("")
	if code := command(t.Context(), []string{"lab", "-example", "python"}, env); code != exitOK || !strings.Contains(out.String(), "relock:round") {
		t.Errorf("exit code %d: %s", code, out)
	}
	env, out, _ = labEnvironment("")
	if code := command(t.Context(), []string{"lab", "-h"}, env); code != exitOK || !strings.Contains(out.String(), "-max-orders") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Without a command, -json is steered by lines of JSON, until they end.
func TestLabIsSteeredByLines(t *testing.T) {
	env, out, stderr := labEnvironment(`{"id":1,"do":"again"}
{"id":2,"do":"decide","decision":{"thread":"A"}}
{"id":3,"do":"dance"}
nonsense
`)
	if code := command(t.Context(), []string{"lab", "-json"}, env); code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{`"address":"127.0.0.1:`, `"state":"away"`, `"re":1,"refused":{"kind":"nobody","says":"no client has come yet`, `"re":2,"refused":{"kind":"no-choice","says":"that cannot be decided now`, `a lab does not know \"dance\"`, "that is no line for a lab"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// With -open the lab is a page of its own server.
func TestLabOpens(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	in, said := io.Pipe()
	env, _, stderr := labEnvironment("")
	env.out = said
	ended := make(chan int)
	go func() { ended <- command(ctx, []string{"lab", "-open", "--", "bash", worker(t, "ask DEL k")}, env) }()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "Relock is at "), " ")
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "worker.sh") || !strings.HasPrefix(answer.Request.URL.Path, "/lab/") {
		t.Errorf("%s leads to %s, %d, %v", address, answer.Request.URL, answer.StatusCode, err)
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, in) }()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A server's lab is a separate process: whatever its clients do there, even a script
// without an end, bothers nobody else.
func TestALabOfAServer(t *testing.T) {
	t.Setenv("RELOCK_TEST_AS_PROGRAM", "1")
	ctx, stop := context.WithCancel(t.Context())
	in, said := io.Pipe()
	env, _, stderr := labEnvironment("")
	env.out = said
	ended := make(chan int)
	go func() { ended <- command(ctx, []string{"serve", "-addr", "127.0.0.1:0"}, env) }()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	server, _, _ := strings.Cut(strings.TrimPrefix(line, "Relock is at "), "/ ")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	page, err := client.PostForm(server+"/lab", url.Values{"threads": {"2"}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(page.Body)
	_ = page.Body.Close()
	found := regexp.MustCompile(`REDIS_URL=redis://([0-9.:]+)`).FindSubmatch(body)
	if err != nil || found == nil {
		t.Fatalf("%d, %v: there is no address on the page", page.StatusCode, err)
	}
	dialer := websocket.Dialer{Jar: jar}
	socket, _, err := dialer.Dial("ws"+strings.TrimPrefix(server, "http")+page.Request.URL.Path+"/socket", http.Header{"Origin": {server}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	until := func(text string) {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
		for {
			_, frame, err := socket.ReadMessage()
			if err != nil {
				t.Fatalf("before %s: %v", text, err)
			}
			if strings.Contains(string(frame), text) {
				return
			}
		}
	}
	ask := func(frame string) {
		t.Helper()
		if err := socket.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	ask(`{"id":1,"do":"open"}`)
	until(`"re":1`)

	c := redis.NewClient(&redis.Options{Addr: string(found[1]), ReadTimeout: -1, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	got := make(chan error, 1)
	go func() { got <- c.SetNX(t.Context(), "invoice:7", "me", time.Minute).Err() }()
	until(`"verb":"sends SET"`)
	ask(`{"id":2,"do":"step","branch":0,"at":0,"thread":"A"}`)
	until(`"re":2`)
	if err := <-got; err != nil {
		t.Error(err)
	}
	go func() { c.Eval(t.Context(), "while true do end", []string{"invoice:7"}) }()
	until(`"verb":"sends EVAL"`)
	ask(`{"id":3,"do":"step","branch":0,"at":1,"thread":"A"}`)
	if other, err := client.Get(server + "/locks"); err != nil || other.StatusCode != http.StatusOK {
		t.Errorf("beside a script without an end: %v", err)
	}

	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// The smallest order of each broken rule is saved in a file of its own, and each file breaks its
// rule. A post-mortem tells the first of them, with what would have saved that one.
func TestEachBrokenRuleIsSaved(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "break.jsonl")
	args := []string{"lab", "-faults", "lease-ends", "-save", saved, "--", "bash", worker(t, "ask DEL k")}
	env, out, stderr := labEnvironment("")
	if code := command(t.Context(), args, env); code != exitUnexpected {
		t.Fatalf("exit code %d: %s %s", code, out, stderr)
	}
	for rule, name := range map[string]string{check.MutualExclusion: saved, check.ForeignRelease: strings.TrimSuffix(saved, ".jsonl") + ".foreign-release.jsonl"} {
		data, err := os.ReadFile(name)
		if err != nil || !strings.Contains(out.String(), "saved: "+name+"\n") {
			t.Fatalf("%s in %s: %v\n%s", rule, name, err, out)
		}
		h, events, err := trace.Read(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		broken := lab.BrokenIn(h, events)
		if !slices.ContainsFunc(broken, func(b lab.Broken) bool {
			return b.Rule == rule && slices.Equal(lab.FaultsOf(b.Order), []string{lab.LeaseEnds})
		}) {
			t.Errorf("%s breaks %+v", name, broken)
		}
	}
	env, out, stderr = labEnvironment("")
	if code := command(t.Context(), append([]string{"lab", "-post-mortem"}, args[1:]...), env); code != exitUnexpected {
		t.Fatalf("exit code %d: %s %s", code, out, stderr)
	}
	for _, want := range []string{"**What happened:** At 2,000 ms", "**What would have saved it?**\n\n1. **Let what the lock protects decide.**", "| **T1**", "`playground import -format html " + saved} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if other := "Compare, and delete"; strings.Contains(out.String(), other) { // saves the other rule's order
		t.Errorf("%q in\n%s", other, out)
	}
}
