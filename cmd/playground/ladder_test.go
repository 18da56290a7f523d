package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/clock/clocktest"
	"relock/engine/course"
	"relock/engine/racetest"
	"relock/lessons"
	"relock/web/words"
)

// holes are, by level, what to change in the worker that climbs all of them, so that it stops there.
var holes = map[string][]string{
	"one":         {"redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])", "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])"},
	"left-behind": {"'NX', 'PX', ARGV[2])", "'NX')", "redis.call('PEXPIRE', KEYS[1], ARGV[2])", "1"},
	"own":         {`r.eval(GIVE, 1, "invoice:7", me)`, `r.delete("invoice:7")`},
	"renews":      {"    renewing.start()\n", "", "        renewing.join()\n", ""},
	"pause":       {"  return redis.error_reply('late')\n", ""},
}

// ladderOf is the ladder with some of its levels, and the folder of a worker: the one that climbs
// all of them, with something replaced.
func ladderOf(t testing.TB, in string, levels []string, replaced ...string) (climber, *bytes.Buffer) {
	t.Helper()
	text, err := os.ReadFile("testdata/ladder/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	worker := string(text)
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(worker, replaced[i]) {
			t.Fatalf("the worker has no %q", replaced[i])
		}
		worker = strings.ReplaceAll(worker, replaced[i], replaced[i+1])
	}
	g, err := course.ReadLadder(words.All(), lessons.Course())
	if err != nil {
		t.Fatal(err)
	}
	g.Levels = slices.DeleteFunc(g.Levels, func(r *course.Rung) bool { return levels != nil && !slices.Contains(levels, r.ID) })
	g.Sentences = slices.DeleteFunc(g.Sentences, func(r *course.Rung) bool { return levels != nil && !slices.Contains(levels, r.ID) })
	env, out, _ := labEnvironment(in)
	dir := t.TempDir()
	file := filepath.Join(dir, "worker.py")
	if err := os.WriteFile(file, []byte(worker), 0o600); err != nil {
		t.Fatal(err)
	}
	return climber{g, env, words.English, dir, []string{pythonWithRedis(t), file}}, out
}

// climbed are the levels that a folder's progress has.
func climbed(t testing.TB, dir string) []string {
	t.Helper()
	var kept struct {
		Version int `json:"relock_progress"`
		Items   map[string]struct{ At string }
	}
	text, err := os.ReadFile(filepath.Join(dir, progressFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || kept.Version != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	var list []string
	for path, item := range kept.Items {
		if _, err := time.Parse(time.DateOnly, item.At); err != nil {
			t.Error(err)
		}
		list = append(list, strings.TrimPrefix(path, "ladder/"))
	}
	slices.Sort(list)
	return list
}

// stops climbs with a hole, and wants the worker to stop exactly there.
func stops(t testing.TB, hole string, levels []string) {
	t.Helper()
	c, out := ladderOf(t, "", levels, holes[hole]...)
	at := slices.IndexFunc(c.Levels, func(r *course.Rung) bool { return r.ID == hole })
	var want []string
	for _, level := range c.Levels[:at] {
		want = append(want, level.ID)
	}
	slices.Sort(want)
	code := c.climb(t.Context())
	if got := climbed(t, c.dir); code != exitUnexpected || !slices.Equal(got, want) {
		t.Errorf("with the hole %q: code %d, it has climbed %q, want %q\n%s", hole, code, got, want, out)
	}
	level := c.Levels[at]
	for _, says := range []string{"order: [", level.Says(c.l, course.PartMissing), "Hint: " + level.Says(c.l, course.PartHint)} {
		if flat := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(flat, says) {
			t.Errorf("with the hole %q, it does not say %q:\n%s", hole, says, out)
		}
	}
}

// A worker stops exactly at the level that its hole is in. With -short only that level is
// judged; TestTheLadderIsClimbed judges the others on a worker without holes.
func TestAWorkerStopsAtItsHole(t *testing.T) {
	racetest.Skip(t)
	for _, hole := range []string{"one", "own", "pause"} {
		var levels []string
		if testing.Short() {
			levels = []string{hole}
		}
		stops(t, hole, levels)
	}
}

// The same of the levels on the wall clock.
func TestTimedAWorkerStopsAtItsHole(t *testing.T) {
	for _, hole := range []string{"left-behind", "renews"} {
		clocktest.Punctual(t, 600*time.Millisecond, func(t testing.TB) {
			var levels []string
			if testing.Short() {
				levels = []string{hole}
			}
			stops(t, hole, levels)
		})
	}
}

// A worker without a hole climbs, and says so where the course's pages read it.
func TestTheLadderIsClimbed(t *testing.T) {
	racetest.Skip(t)
	gate := []string{"one", "own", "pause"}
	c, out := ladderOf(t, "", gate)
	if code := c.climb(t.Context()); code != exitOK || !slices.Equal(climbed(t, c.dir), gate) {
		t.Errorf("code %d, climbed %q:\n%s", code, climbed(t, c.dir), out)
	}
}

// The same of the levels on the wall clock.
func TestTimedTheLadderIsClimbed(t *testing.T) {
	clocktest.Punctual(t, 600*time.Millisecond, func(t testing.TB) {
		wall := []string{"left-behind", "renews"}
		c, out := ladderOf(t, "", wall)
		if code := c.climb(t.Context()); code != exitOK || !slices.Equal(climbed(t, c.dir), wall) {
			t.Errorf("code %d, climbed %q:\n%s", code, climbed(t, c.dir), out)
		}
	})
}

// Where the lab cannot judge, no level holds, and nobody is told that something is missing: a
// worker that leaves the stock alone cannot lose an update.
func TestALevelThatIsNotJudgedDoesNotHold(t *testing.T) {
	racetest.Skip(t)
	c, out := ladderOf(t, "", []string{"pause"}, "        change(number)\n", "        pass\n")
	code := c.climb(t.Context())
	if code != exitUnjudged || climbed(t, c.dir) != nil || strings.Contains(out.String(), "Hint:") || !strings.Contains(out.String(), "Of the threads 0 have read or written stock:7.") {
		t.Errorf("code %d:\n%s", code, out)
	}
}

// A worker to start from runs, and stops at the first level; one in Go is built.
func TestTheWorkersToStartFromRun(t *testing.T) {
	racetest.Skip(t)
	t.Setenv("PATH", filepath.Dir(pythonWithRedis(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOPROXY", "off") // no test asks the network
	for _, name := range []string{"worker.py", "worker.go"} {
		text, err := course.LadderWorker(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		files := map[string]string{name: text}
		if name == "worker.go" {
			for _, own := range []string{"go.mod", "go.sum"} {
				text, err := os.ReadFile("../../" + own)
				if err != nil {
					t.Fatal(err)
				}
				files[own] = string(text)
			}
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env, out, stderr := labEnvironment("")
		if code := command(t.Context(), []string{"learn", "-ladder", dir}, env); code != exitUnexpected || !strings.Contains(out.String(), "two inside at once (mutual-exclusion)") || !strings.Contains(out.String(), "Level 1 does not hold yet.") {
			t.Errorf("%s: code %d:\n%s%s", name, code, out, stderr)
		}
	}
}

// What a learner says of the lock is written with what the lab found of it.
func TestTeachBackSaysWhatIsTrue(t *testing.T) {
	racetest.Skip(t)
	c, out := ladderOf(t, "perhaps\n1\n2\n", []string{"lost-reply", "another"})
	file := filepath.Join(c.dir, "lock.md")
	if code := c.teachBack(t.Context(), file); code != exitUnexpected {
		t.Errorf("code %d:\n%s", code, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	first, second, _ := strings.Cut(text[strings.Index(text, "\n## ")+1:], "\n## ")
	for _, want := range []string{"nobody is shut out", "**False. In fact: After a lost reply", "keep others out", "playground lab -faults lose-reply -rules shut-out -- ", "order: [", "orders were tried"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first sentence has no %q:\n%s", want, first)
		}
	}
	if !strings.Contains(second, "the lock of the one inside stays.\n\n**True.**") || !strings.Contains(second, "none breaks a rule") || strings.Contains(second, "order: [") {
		t.Errorf("the second sentence:\n%s", second)
	}
	c, _ = ladderOf(t, "1\n", []string{"lost-reply", "another"})
	if code := c.teachBack(t.Context(), file); code != exitUsage {
		t.Errorf("without an answer: code %d", code)
	}
}

// A folder has one worker.
func TestALadderHasOneWorker(t *testing.T) {
	dir := t.TempDir()
	for n, name := range []string{"worker.py", "worker.js", "lock.go"} {
		_, _, err := workerIn(t.Context(), dir)
		if want := fmt.Sprintf("given %d", n); (n == 1) != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d workers: %v", n, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
