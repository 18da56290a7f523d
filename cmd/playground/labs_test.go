package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"relock/engine/course"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/lessons/libraries"
	"relock/web/words"
)

var updateLabs = flag.Bool("update", false, "write what the lab finds of the course's workers")

// labKept is one entry of labs.yaml.
type labKept struct {
	Worker string
	Faults string
	Rule   string   // whose smallest order is kept; or
	Order  []string // the order itself: "A", "A lose-reply", "lease-ends"
}

// search is what the entry is found by.
func (k labKept) search() []string { return []string{"-faults", k.Faults} }

// needsRedisCLI skips where the course's workers cannot run, and fails in CI.
func needsRedisCLI(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-cli"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the course's workers need redis-cli (make deps)")
		}
		t.Skip("redis-cli is not installed: the course's workers cannot run")
	}
}

// found runs the lab, and returns what it prints.
func found(t *testing.T, args ...string) []byte {
	t.Helper()
	env, out, stderr := labEnvironment("")
	if code := command(t.Context(), append([]string{"lab", "-check-redis=false"}, args...), env); code != exitOK && code != exitUnexpected && code != exitUnjudged {
		t.Fatalf("lab %q: exit code %d: %s", args, code, stderr)
	}
	return out.Bytes()
}

// order is the order that an entry keeps, for -replay.
func (k labKept) order(t *testing.T, search []byte) string {
	t.Helper()
	if k.Rule == "" {
		var way []lab.Decision
		for _, one := range k.Order {
			thread, do, _ := strings.Cut(one, " ")
			if slices.Contains(lab.Faults(), one) {
				thread, do = "", one
			}
			way = append(way, lab.Decision{Thread: thread, Do: do})
		}
		return lab.Line(way)
	}
	for line := range bytes.Lines(search) {
		var said struct {
			Rule  string
			Order json.RawMessage
		}
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatal(err)
		}
		if said.Rule == k.Rule {
			return string(said.Order)
		}
	}
	t.Fatalf("nothing breaks %s: %s", k.Rule, search)
	return ""
}

// drawnToken is what a worker draws afresh each time.
var drawnToken = regexp.MustCompile(`-\d{15,}`)

func plainTokens(text []byte) string { return drawnToken.ReplaceAllString(string(text), "-0") }

// The course shows what the lab finds: the counts, and the orders to the byte. With
// -short one search is made again, and a sixth of the orders; -update writes those.
func TestTheLabsOfTheCourse(t *testing.T) {
	racetest.Skip(t)
	needsRedisCLI(t)
	folder, err := filepath.Abs("../../lessons/course/labs")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	text, err := os.ReadFile("labs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list map[string]labKept
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	example, _ := libraries.Example("shell")
	if *updateLabs {
		if err := os.WriteFile("worker.sh", []byte(example), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile("worker.sh"); err != nil || string(kept) != example {
		t.Errorf("worker.sh is not the example that the lab prints (make generate): %v", err)
	}
	searches := map[string][]byte{}
	again := 0
	for n, name := range slices.Sorted(maps.Keys(list)) {
		if testing.Short() && n%6 > 0 && name != "lost" {
			continue // each command of its workers is a process
		}
		k := list[name]
		command := []string{"--", "sh", k.Worker + ".sh"}
		search, err := os.ReadFile(name + ".json")
		if !testing.Short() || name == "lost" {
			by := k.Worker + " " + k.Faults
			if searches[by] == nil {
				searches[by] = found(t, slices.Concat([]string{"-json"}, k.search(), command)...)
			}
			now := searches[by]
			again++
			switch {
			case *updateLabs:
				search, err = now, os.WriteFile(name+".json", now, 0o644)
			case err == nil && string(search) != string(now):
				t.Errorf("%s.json is not what is found (make generate): %s, and now %s", name, search, now)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		saved := filepath.Join(t.TempDir(), "order.jsonl")
		found(t, slices.Concat(k.search(), []string{"-replay", k.order(t, search), "-save", saved}, command)...)
		now, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		if *updateLabs {
			if err := os.WriteFile(name+".jsonl", now, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if kept, err := os.ReadFile(name + ".jsonl"); err != nil || plainTokens(kept) != plainTokens(now) {
			t.Errorf("%s.jsonl is not what is played (make generate): %v\n%s", name, err, now)
		}
	}
	if again == 0 {
		t.Error("no search was made again")
	}
}

// The lab prints what the course tells a learner to expect.
func TestTheCourseQuotesTheLab(t *testing.T) {
	racetest.Skip(t)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	item, ok := c.Item("yours/your-turn")
	if !ok || item.Lab() == nil {
		t.Fatal("no item shows what a learner finds")
	}
	for _, l := range words.All() {
		prose, err := item.Prose(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			l.Say("All %s orders were tried: %s break a rule.", item.Lab().Orders.String(), item.Lab().Broken.String()),
			"playground lab -example shell > worker.sh\n" + item.Lab().Line(),
		} {
			if !strings.Contains(prose.Body, want) {
				t.Errorf("%s: no %q in %s", l.Code(), want, prose.Body)
			}
		}
	}
}
