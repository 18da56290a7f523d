package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"relock/engine/lab"
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
		{"forgets to unlock", leaves, exitUnexpected, "2", "orphan"},
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
	t.Run("broken", func(t *testing.T) {
		saved := filepath.Join(t.TempDir(), "break.jsonl")
		args := []string{"lab", "-faults", "lose-reply"}
		env, out, stderr := labEnvironment("")
		code := command(t.Context(), append(args, "-json", "-save", saved, "--", "bash", crashing(t)), env)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if code != exitUnexpected || len(lines) != 2 || !strings.Contains(lines[1], `"rule":"orphan"`) || !strings.Contains(lines[1], `"trace":"`+saved) {
			t.Fatalf("exit code %d: %s %s", code, out, stderr)
		}
		for _, replay := range []string{saved, "-"} {
			env, again, stderr := labEnvironment(out.String())
			if code := command(t.Context(), append(args, "-replay", replay, "--", "bash", crashing(t)), env); code != exitUnexpected || !strings.Contains(again.String(), "key left behind") || !strings.Contains(again.String(), "order: [{") {
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
		"-threads 99 -- x":                            "allowed: 1 to",
		"-faults explode -- x":                        "allowed: lose-request",
		"-faults crash -- x":                          "-clock wall",
		"-faults lease-ends -clock wall -- x":         "-clock gate",
		"-clock sun -- x":                             "allowed: gate, wall",
		"-env NAME -- x":                              "NAME=VALUE",
		"-timeout 0s -- x":                            "more than 0",
		"-replay nowhere.json -- x":                   "no such file",
		"-replay [{}] -- x":                           "it is no order",
		"-json":                                       "need a COMMAND",
		"-example cobol":                              "allowed: one of go",
		"-clock gate -redis redis://127.0.0.1:1 -- x": "-clock wall",
		"-- /no/such/worker":                          "cannot start the worker",
		"-max-orders 0 -- x":                          "allowed: 1 to",
		"-nosuch":                                     "tells what is allowed",
	} {
		env, out, stderr := labEnvironment("")
		if code := command(t.Context(), append([]string{"lab"}, strings.Fields(text)...), env); code != exitUsage || !strings.Contains(stderr.String(), want) || out.Len() > 0 {
			t.Errorf("lab %s: exit code %d: %s%s", text, code, out, stderr)
		}
	}
}

// A worker that does not come is exit code 3, in words and in JSON.
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
