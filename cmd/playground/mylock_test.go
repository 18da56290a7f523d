package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"relock/engine/racetest"
)

// pythonWithRedis returns a Python that has redis-py. Without one it skips, and fails in CI.
func pythonWithRedis(t testing.TB) string {
	t.Helper()
	var failed error
	for _, python := range []string{"python3", "/usr/bin/python3"} { // Debian's has Debian's packages
		err := exec.CommandContext(t.Context(), python, "-c", "import redis").Run()
		if err == nil {
			return python
		}
		failed = errors.Join(failed, err)
	}
	if os.Getenv("CI") != "" {
		t.Fatal("the examples need redis-py (make deps):", failed)
	}
	t.Skip("redis-py is not installed: the examples cannot run:", failed)
	return ""
}

// Each command of MYLOCK.md prints the lines that stand below it, in their order. With
// -short every third one is run.
func TestMyLockIsAsItIsTold(t *testing.T) {
	racetest.Skip(t)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	python := pythonWithRedis(t)
	doc, err := os.ReadFile("../../lessons/docs/MYLOCK.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../lessons/mylock")
	commands := 0
	for block := range strings.SplitSeq(string(doc), "```console\n") {
		block, _, is := strings.Cut(block, "\n```\n")
		for i, part := range strings.Split("\n"+block, "\n$ playground ") {
			if i == 0 || !is {
				continue
			}
			commands++
			if testing.Short() && commands%4 != 1 {
				continue
			}
			line, want, _ := strings.Cut(part, "\n")
			args := strings.Fields(line)
			for j, a := range args {
				if a == "python3" {
					args[j] = python
				}
			}
			env, out, stderr := labEnvironment("")
			command(t.Context(), args, env)
			rest := out.Bytes()
			for told := range strings.SplitSeq(want, "\n") {
				if told == "…" {
					continue
				}
				_, after, found := bytes.Cut(append([]byte("\n"), rest...), []byte("\n"+told))
				if !found {
					t.Errorf("%s\ndoes not print, or not there:\n%s\nbut:\n%s%s", line, told, out, stderr)
					break
				}
				rest = after
			}
		}
	}
	if commands < 12 {
		t.Errorf("%d commands are told", commands)
	}
}

// A log of two locks is read once, for both: it reports a circle of waiting once each thread
// has asked again, and nothing is broken if each gives back what it has.
func TestAnImportOfTwoLocks(t *testing.T) {
	lines, err := os.ReadFile("../../lessons/mylock/two-keys.log")
	if err != nil {
		t.Fatal(err)
	}
	const deadlock = "B has account:2 and waits for account:1; A has account:1 and"
	r := playground(t, string(lines), "import", "-lock", "account:1,account:2", "-")
	if r.code != exitUnexpected || strings.Count(r.out, "deadlock (deadlock): ") != 1 || !strings.Contains(r.out, deadlock) || strings.Contains(r.out, "mutual-exclusion") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	var once []string
	for line := range strings.Lines(string(lines)) {
		if !strings.Contains(line, "0000.1003") && !strings.Contains(line, "0000.1004") { // who asks again
			once = append(once, line)
		}
	}
	if r := playground(t, strings.Join(once, ""), "import", "-lock", "account:1,account:2", "-"); r.code != exitOK || strings.Contains(r.out, "deadlock") || !strings.Contains(r.out, "No rule is broken in it.") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	var short []string // A has never had account:2
	for _, line := range once {
		if !strings.Contains(line, `50001] "SET" "account:2"`) {
			short = append(short, line)
		}
	}
	if r := playground(t, strings.Join(short, ""), "import", "-lock", "account:1,account:2", "-"); r.code != exitUnjudged || !strings.Contains(r.out, "Only one thread ever had the critical section to itself") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := playground(t, string(lines), "import", "-json", "-lock", "account:1,account:2", "-"); r.code != exitUnexpected || !strings.Contains(r.out, `"locks":["account:1","account:2"]`) || !strings.Contains(r.out, `"lock":"account:2","call":"lock"`) {
		t.Errorf("exit code %d\n%.2000s%s", r.code, r.out, r.err)
	}
}

// A list of tokens in a log is judged by its marks; whom Redis serves that waits for a token is
// recomputed. Without marks nobody knows who is inside.
func TestAnImportOfTokens(t *testing.T) {
	data, err := os.ReadFile("../../lessons/mylock/tokens.log")
	if err != nil {
		t.Fatal(err)
	}
	log := string(data)
	const refused, late = `000.000400 [0 127.0.0.1:50003] "LPOP" "printers"`, "1760000000.200100 [0 127.0.0.1:50003] \"LPOP\" \"printers\"\n"
	waits := strings.Replace(strings.Replace(log, late, "", 1), refused, `000.000400 [0 127.0.0.1:50003] "BLPOP" "printers" "0"`, 1)
	const third = `1760000000.000450 [0 127.0.0.1:50003] "ECHO" "relock:enter"` + "\n"
	early := strings.Replace(log, `1760000000.100000`, third+`1760000000.100000`, 1)
	var unmarked []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "ECHO") {
			unmarked = append(unmarked, line)
		}
	}
	for name, c := range map[string]struct {
		log, inside string
		code        int
		says        string
	}{
		"as it is":        {log, "2", exitOK, "No rule is broken in it."},
		"as one for one":  {log, "1", exitUnexpected, "two inside at once"},
		"one waits":       {waits, "2", exitOK, "BLPOP 0 → printers 1"},
		"in vain":         {strings.Replace(waits, `"printers" "0"`, `"printers" "0.05"`, 1), "2", exitOK, "RPUSH 1 → 3"},
		"a third goes in": {early, "2", exitUnexpected, "more inside than permits"},
		"without marks":   {strings.Join(unmarked, ""), "1", exitUnjudged, "The key holds a list. Let the worker say when it is inside"},
		"and for two":     {strings.Join(unmarked, ""), "2", exitUnjudged, "the key does not say who is"},
	} {
		if r := playground(t, c.log, "import", "-inside", c.inside, "-"); r.code != c.code || !strings.Contains(strings.Join(strings.Fields(r.out), " "), c.says) {
			t.Errorf("%s: exit code %d\n%s%s", name, r.code, r.out, r.err)
		}
	}
}

// If one of several locks is not in the log, it says nothing about the others either.
func TestAnImportOfSeveralLocksIsWhole(t *testing.T) {
	const log = "../../lessons/mylock/readers.log"
	if r := playground(t, "", "import", "-lock", "catalogue,other", log); r.code != exitUsage || r.out != "" || !strings.Contains(r.err, `"other"`) {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}
