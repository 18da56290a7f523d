package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"relock/engine/check"
	"relock/engine/course"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/lessons/course/review/rounds"
)

// reviewKept is one entry of review.yaml.
type reviewKept struct {
	labKept `yaml:",inline"`

	Resource string
	Once     bool // its deed, written down in rounds.Book, must be done once
}

func (k reviewKept) search() []string {
	switch {
	case k.Once:
		return append(k.labKept.search(), inTheBook...)
	case k.Resource != "":
		return append(k.labKept.search(), "-resource", k.Resource)
	}
	return k.labKept.search()
}

// inTheBook has the lab look at what must be done once.
var inTheBook = []string{"-resource", rounds.Book, "-once"}

// otherLock is the lock of somebody else that a file imports.
var otherLock = regexp.MustCompile(`github\.com/(go-redsync|bsm)/\w+`)

// bench is where code under review becomes workers.
type bench struct{ reviews, module, built string }

// worker makes a worker of a file's text, in the folder where it then runs, and returns
// the command. It skips where the machine lacks the language.
func (b bench) worker(t *testing.T, name, ending, file string) []string {
	t.Helper()
	if ending != ".go" {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(b.built, name+ending), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		python := pythonWithRedis(t)
		if dir := filepath.Dir(python); dir != "." { // it is called as anybody calls it
			t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
		t.Setenv("PYTHONPATH", b.reviews)
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		return []string{"--", "python3", name + ending}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(b.built, name), file)
	build.Env = append(os.Environ(), "GOPROXY=off") // no test asks the network
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	theirs := otherLock.Find(text)
	build.Dir = filepath.Join(b.reviews, "..")
	if theirs != nil {
		build.Dir = b.module
	}
	switch out, err := build.CombinedOutput(); {
	case err != nil && theirs != nil && bytes.Contains(out, []byte("GOPROXY=off")):
		t.Skipf("%s is not here (go -C lessons/libraries/module mod download)", theirs)
	case err != nil:
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return []string{"--", "./" + name}
}

// linesOf are the lines that each thread's commands came from, in the last round.
func linesOf(t *testing.T, file string) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, thread := range []string{"A", "B"} {
		text, err := os.ReadFile(file + "." + thread)
		if err != nil {
			t.Fatal(err)
		}
		all[thread] = text
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// drawnCall is what our own lock numbers its calls by.
var drawnCall = regexp.MustCompile(`\b(\d{16}|[0-9a-f]{32})\b`)

// ownerless is a trace whose owners are called as their threads: each run draws others.
func ownerless(t *testing.T, text []byte) string {
	t.Helper()
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var header map[string]json.RawMessage
	var owners map[string]string
	err := json.Unmarshal(first, &header)
	if err == nil {
		err = json.Unmarshal(header["owners"], &owners)
	}
	delete(header, "owners")
	if err == nil {
		first, err = json.Marshal(header)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain := plainTokens(slices.Concat(first, []byte("\n"), rest))
	for id, thread := range owners {
		if len(id) > 1 {
			plain = strings.ReplaceAll(plain, id, thread)
		}
	}
	return drawnCall.ReplaceAllString(plain, "0")
}

// The course says about code under review what the lab finds: unchanged, with its faults
// mended, and with one of two. With -short of every ninth.
func TestTheReviewsOfTheCourse(t *testing.T) {
	racetest.Skip(t)
	folder, err := filepath.Abs("../../lessons/course/review")
	if err != nil {
		t.Fatal(err)
	}
	b := bench{folder, filepath.Join(folder, "../../libraries/module"), ""}
	text, err := os.ReadFile(filepath.Join(folder, "review.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list map[string]reviewKept
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for n, name := range slices.Sorted(maps.Keys(list)) {
		if testing.Short() && n%9 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b.built = t.TempDir()
			t.Chdir(b.built)
			list[name].compare(t, b, name)
		})
	}
	for _, pattern := range []string{"*.go", "*.py", "*.js"} {
		files, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name, _, _ := strings.Cut(file, "."); list[name].Faults == "" {
				t.Errorf("review.yaml does not say how %s is searched", file)
			}
		}
	}
}

// once is what the lab finds of a worker if A dies right after its deed, and a lease may end.
func once(t *testing.T, command []string) []byte {
	t.Helper()
	return found(t, slices.Concat([]string{"-json", "-faults", lab.LeaseEnds, "-rules", check.DoneTwice, "-env", rounds.Dies + "=A", "-probe=false"}, inTheBook, command)...)
}

// A mark of one's own, set after the deed, is enough for one that comes later, and not for a
// crash between the two: what marks so is not called right.
func TestAMarkAfterTheDeedIsNotOnce(t *testing.T) {
	racetest.Skip(t)
	folder, err := filepath.Abs("../../lessons/course/review")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "remind.mended.py"))
	if err != nil {
		t.Fatal(err)
	}
	b := bench{reviews: folder, built: t.TempDir()}
	t.Chdir(b.built)
	const sends, marks = "        mail.send(text, id=f\"reminder:{bill}\")\n", "        if not r.get(\"sent\"):\n            mail.send(text)\n            r.set(\"sent\", 1)\n"
	if err := os.WriteFile("marks", bytes.Replace(text, []byte(sends), []byte(marks), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	twice := []byte(`"rule":"` + check.DoneTwice + `"`)
	command := b.worker(t, "remind", ".py", "marks")
	if later := found(t, slices.Concat([]string{"-json", "-faults", "none"}, inTheBook, command)...); bytes.Contains(later, twice) {
		t.Errorf("one that comes later does it again: %s", later)
	}
	if died := once(t, command); !bytes.Contains(died, twice) {
		t.Errorf("after a crash it is done once: %s", died)
	}
}

// compare searches a file and its variants, and holds what is kept to it; -update writes
// that instead.
func (k reviewKept) compare(t *testing.T, b bench, name string) {
	t.Helper()
	code, err := course.ReadReview(os.DirFS(filepath.Dir(b.reviews)), name)
	if err != nil {
		t.Fatal(err)
	}
	ending := filepath.Ext(code.File)
	keep := func(file string, now []byte, plain func([]byte) string) {
		t.Helper()
		file = filepath.Join(b.reviews, file)
		if *updateLabs {
			if err := os.WriteFile(file, now, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if kept, err := os.ReadFile(file); err != nil || plain(kept) != plain(now) {
			t.Errorf("%s is not what is found (make generate): %v\n%s\nand now\n%s", filepath.Base(file), err, kept, now)
		}
	}
	asIs := func(text []byte) string { return string(text) }
	for variant, mended := range code.Variants() {
		file := filepath.Join(b.reviews, variant+ending)
		if len(mended) > 0 && len(mended) < len(code.Faults) {
			file = filepath.Join(b.built, variant+".one"+ending)
			if err := os.WriteFile(file, []byte(code.With(mended...)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command := b.worker(t, variant, ending, file)
		search := found(t, slices.Concat([]string{"-json"}, k.search(), command)...)
		keep(variant+".json", search, asIs)
		if k.Once && len(mended) == len(code.Faults) {
			keep(variant+course.Once+".json", once(t, command), asIs)
		}
		if variant != name {
			continue
		}
		saved, lines := filepath.Join(b.built, "order.jsonl"), filepath.Join(b.built, "lines")
		order := []string{"-replay", k.order(t, search)}
		found(t, slices.Concat(k.search(), order, []string{"-save", saved}, command)...)
		found(t, slices.Concat(k.search(), order, []string{"-env", rounds.Lines + "=" + lines, "-probe=false"}, command)...) // whoever tries to get in sends commands, too
		now, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		keep(name+".jsonl", now, func(text []byte) string { return ownerless(t, text) })
		keep(name+".lines.json", linesOf(t, lines), asIs)
	}
}
