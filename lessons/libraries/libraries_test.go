package libraries_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "relock/engine/lock" // a change of it is one of a worker
	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/store/storetest"
	"relock/engine/verdict"
	"relock/lessons/libraries"
)

var (
	update = flag.Bool("update", false, "search again, and keep what is seen")
	only   = flag.String("only", "", "of these libraries, with commas between them")
)

// mostOrders is enough for all of them: each search is exhausted.
const mostOrders = 20_000

// workshop is where workers can be started: Go's are built there, the others are where they are.
type workshop struct {
	t     *testing.T
	built string
	redis string // of the libraries that need one
}

// worker is how a worker is started, with the versions of what is in it.
type worker struct {
	dir           string
	command       []string
	version, with string
}

// worker fails where something is not installed that the library needs.
func (w *workshop) worker(l libraries.Library) (worker, error) {
	switch kind := filepath.Ext(l.Worker); kind {
	case ".go":
		out := filepath.Join(w.built, l.ID())
		if _, err := say("module", "go", "build", "-o", out, filepath.Join("..", "_workers", l.Worker)); err != nil {
			return worker{}, err
		}
		found := worker{dir: w.built, command: []string{"./" + l.ID()}}
		if l.Module != "" {
			version, err := moduleVersion(l.Module)
			if err != nil {
				return worker{}, err
			}
			found.version = version
		}
		if l.Module == "github.com/redis/rueidis" { // it has its own client
			return found, nil
		}
		client, err := moduleVersion("github.com/redis/go-redis/v9")
		found.with = "go-redis " + client
		return found, err
	case ".js":
		const asks = `const v = (n) => JSON.parse(require("fs").readFileSync("../node_modules/" + n + "/package.json")).version; console.log(v(process.argv[1]), v("ioredis"))`
		out, err := say("_workers", "node", "-e", asks, l.Name)
		if err != nil {
			return worker{}, err
		}
		version, with, _ := strings.Cut(out, " ") // of ioredis alone, it is both
		return worker{"_workers", []string{"node", l.Worker}, version, "ioredis " + with}, nil
	case ".py":
		var failed error
		for _, python := range []string{"python3", "/usr/bin/python3"} { // Debian's has Debian's packages
			version, err := say("_workers", python, "-c", "import redis; print(redis.__version__)")
			if err == nil {
				return worker{"_workers", []string{python, l.Worker}, version, ""}, nil
			}
			failed = errors.Join(failed, err)
		}
		return worker{}, failed
	case ".sh":
		_, err := say("_workers", "redis-cli", "--version")
		return worker{dir: "_workers", command: []string{"sh", l.Worker}}, err
	default:
		return worker{}, fmt.Errorf("nobody starts %s", kind)
	}
}

func moduleVersion(path string) (string, error) {
	version, err := say("module", "go", "list", "-m", "-f", "{{.Version}}", path)
	return strings.TrimPrefix(version, "v"), err
}

// say runs a command in a folder, and returns what it prints.
func say(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, complaint bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, lastLine(complaint.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// TestSearchAgain searches all libraries again with -update, by the command that anybody has, and keeps what is seen. Of one that
// cannot be installed here the old figures stay.
func TestSearchAgain(t *testing.T) {
	if !*update {
		return
	}
	w := &workshop{t: t, built: t.TempDir()}
	playground := filepath.Join(w.built, "playground")
	if _, err := say(".", "go", "build", "-o", playground, "relock/cmd/playground"); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, l := range libraries.All() {
		if !l.Seen {
			continue
		}
		found, err := worker{}, error(nil)
		stays := *only != "" && !slices.Contains(strings.Split(*only, ","), l.ID())
		if !stays {
			if found, err = w.worker(l); err != nil {
				t.Logf("%s: the old figures stay: %v", l.Name, err)
			}
		}
		for _, fault := range l.Faults() {
			old, oldErr := libraries.Of(l.ID(), fault)
			if oldErr != nil {
				t.Fatal(oldErr)
			}
			if stays || err != nil {
				if old != nil && enc.Encode(old) != nil {
					t.Fatal("cannot write")
				}
				continue
			}
			s := w.search(playground, l, found, fault)
			if s != nil && enc.Encode(s) != nil {
				t.Fatal("cannot write")
			}
		}
	}
	if err := os.WriteFile("seen.jsonl", lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// search is `playground lab -json -save`. It returns nil where the fault cannot strike.
func (w *workshop) search(playground string, l libraries.Library, found worker, fault string) *libraries.Seen {
	w.t.Helper()
	id := libraries.TraceID(l.ID(), fault)
	saved, kept := filepath.Join(w.built, id+".jsonl"), filepath.Join("traces", id+".jsonl.gz")
	args := []string{"lab", "-json", "-save", saved, "-faults", fault, "-max-orders", strconv.Itoa(mostOrders)}
	if fault == libraries.LoseReplyRetried {
		args[5] = lab.LoseReply
		args = append(args, "-env", "RETRIES=3")
	}
	if l.Real {
		if fault == lab.LeaseEnds || fault == lab.Delay { // a real lease ends when it ends: on a busy machine, during 300 ms, too
			return nil
		}
		if w.redis == "" {
			w.redis = "redis://" + storetest.Start(w.t).Addr
		}
		args = append(args, "-redis", w.redis)
	}
	if err := os.Remove(kept); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), playground, append(append(args, "--"), found.command...)...)
	var complaint bytes.Buffer
	cmd.Dir, cmd.Stderr = found.dir, &complaint
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 && code != 4 {
		w.t.Fatalf("%s with %s: %v: %s", l.Name, fault, err, complaint.String())
	}
	s := &libraries.Seen{Library: l.ID(), Version: found.version, With: found.with, Fault: fault, Date: time.Now().UTC().Format(time.DateOnly)}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		var line struct {
			Store, Ending, Rule, By string
			Orders                  int `json:",string"`
			Broken                  int `json:",string"`
			Diverged                int
			Order                   []lab.Decision
			Verdict                 verdict.Verdict
			Unjudged                []struct{ Reason verdict.Reason }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			w.t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if n == 0 {
			s.Store, s.Ending, s.Orders, s.Broken, s.Diverged = line.Store, line.Ending, line.Orders, line.Broken, line.Diverged
			s.Judged = line.Verdict
			for _, lack := range line.Unjudged {
				s.Unjudged = append(s.Unjudged, lack.Reason)
			}
		} else {
			s.Rules = append(s.Rules, libraries.Rule{Rule: line.Rule, By: line.By, Orders: line.Orders, Steps: len(line.Order)})
		}
	}
	w.t.Logf("%-24s %-12s %6d orders, %5d broken, %d diverged, %5.1f s, %3.0f orders/s", l.Name, fault, s.Orders, s.Broken, s.Diverged, took.Seconds(), float64(s.Orders)/took.Seconds())
	if len(s.Rules) > 0 {
		pack(w.t, saved, kept)
	}
	return s
}

// pack compresses a file; the same in gives the same out.
func pack(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The results are there for every library and fault, exhausted, with a trace if a rule is broken;
// and all of it is small.
func TestWhatIsKept(t *testing.T) {
	size, wanted := 0, map[string]bool{}
	for _, l := range libraries.All() {
		if !l.Seen {
			continue
		}
		for _, fault := range l.Faults() {
			s, err := libraries.Of(l.ID(), fault)
			if err != nil {
				t.Fatal(err)
			}
			if s == nil {
				if !l.Real {
					t.Errorf("%s with %s was not searched", l.Name, fault)
				}
				continue
			}
			sum := 0
			for _, r := range s.Rules {
				sum += r.Orders
				if !slices.Contains(infer.Rules(), r.Rule) || r.Steps == 0 {
					t.Errorf("%s with %s breaks %+v", l.Name, fault, r)
				}
			}
			if s.Judged != "" && (s.Judged == verdict.Broken) != (s.Broken > 0) || (s.Judged == verdict.Unbroken) && len(s.Unjudged) > 0 {
				t.Errorf("%s with %s: %s of %d broken, lacks %v", l.Name, fault, s.Judged, s.Broken, s.Unjudged)
			}
			if s.Ending != lab.Exhausted || s.Orders == 0 || s.Broken > sum || (s.Broken == 0) != (sum == 0) {
				t.Errorf("%s with %s: %+v", l.Name, fault, s)
			}
			packed, ok := libraries.Trace(libraries.TraceID(l.ID(), fault))
			if ok != (s.Broken > 0) {
				t.Errorf("%s with %s: %d broken, and a trace: %t", l.Name, fault, s.Broken, ok)
			}
			if wanted[libraries.TraceID(l.ID(), fault)+".jsonl.gz"] = ok; !ok {
				continue
			}
			size += len(packed)
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			if way, err := lab.ReadOrder(bytes.NewReader(data)); err != nil || len(way) != s.Rules[0].Steps {
				t.Errorf("%s with %s: its trace has %d decisions, %v; want %d", l.Name, fault, len(way), err, s.Rules[0].Steps)
			}
		}
	}
	files, err := os.ReadDir("traces")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !wanted[f.Name()] {
			t.Errorf("traces/%s is nobody's", f.Name())
		}
	}
	if size > 150<<10 {
		t.Errorf("%d bytes of traces are in the program", size)
	}
}

// Redlock is one algorithm: its Go and its Node library make the same calls, and so there are as many orders of each.
func TestTwoLibrariesOfOneAlgorithmAgree(t *testing.T) {
	for _, fault := range libraries.Faults() {
		a, _ := libraries.Of("redsync", fault)
		b, _ := libraries.Of("redlock", fault)
		if a == nil || b == nil || a.Orders != b.Orders || a.Broken != b.Broken || !slices.Equal(a.Rules, b.Rules) {
			t.Errorf("%s: %+v and %+v", fault, a, b)
		}
	}
}

// A new search finds what is kept: for each installed library without a fault, for redis-py with
// all faults, and for our own with a lost reply. With -short it is that of ours, of redis-py and of
// redis-cli, and of redis-py's faults the lost reply. Ours needs nothing that the tests do not
// need, and redis-py and redis-cli are Debian's: these are there in CI.
func TestTheSameIsSeenAgain(t *testing.T) {
	w := &workshop{t: t, built: t.TempDir()}
	for _, l := range libraries.All() {
		if l.Real || l.Nodes > 0 || l.Name == "redisson" { // on the wall's clock counts are rough; and nobody has run Redisson's
			continue
		}
		faults, needed := []string{libraries.None}, false
		switch l.ID() {
		case "relock":
			faults, needed = append(faults, lab.LoseReply), true
		case "redis-py":
			faults, needed = libraries.Faults(), true
			if testing.Short() {
				faults = []string{lab.LoseReply}
			}
		case "redis-cli":
			needed = true
		}
		t.Run(l.ID(), func(t *testing.T) {
			if testing.Short() && !needed {
				t.Skip("long: make soak does it")
			}
			found, err := w.worker(l)
			switch {
			case err != nil && needed && os.Getenv("CI") != "":
				t.Fatal("needed in CI: ", err)
			case err != nil && l.ID() != "relock":
				t.Logf("%s is not seen again: it is not installed: %v", l.Name, err)
				return
			case err != nil:
				t.Fatal(err)
			}
			t.Chdir(found.dir)
			for _, fault := range faults {
				like := l.ID()
				if !l.Seen {
					like = "redis-py" // the same calls
				}
				before, err := libraries.Of(like, fault)
				if err != nil || before == nil {
					t.Fatalf("%s: %v", fault, err)
				}
				if l.Seen && before.Version != found.version {
					t.Logf("%s is not seen again: %q is installed, and %q was searched", l.Name, found.version, before.Version)
					return
				}
				now := again(t, found, 0, fault)
				t.Logf("%s: %d of %d, %d diverged", fault, now.Broken, now.Orders, now.Diverged)
				if now.Ending != before.Ending || now.Orders != before.Orders || now.Broken != before.Broken || now.Diverged != before.Diverged || !slices.Equal(now.Rules, before.Rules) ||
					before.Judged != "" && (now.Judged != before.Judged || !slices.Equal(now.Unjudged, before.Unjudged)) {
					t.Errorf("%s: %+v; kept is %+v (make libraries ONLY=%s)", fault, now, before, l.ID())
				}
			}
		})
	}
}

// again searches in this process, as the command does.
func again(t *testing.T, found worker, nodes int, fault string) *libraries.Seen {
	t.Helper()
	o := lab.Options{Command: found.command, Threads: 2, Nodes: nodes, MaxOrders: mostOrders, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute}
	if fault != libraries.None {
		o.Faults, o.MaxFaults = []string{fault}, 1
	}
	now, err := lab.Search(t.Context(), o)
	if err != nil || now.Failed != nil {
		t.Fatalf("%s: %v, %v", fault, err, now)
	}
	if now.Diverged > 0 {
		t.Logf("a replay diverged: %+v", now.First)
	}
	s := &libraries.Seen{Ending: now.Ending, Orders: now.Orders, Broken: now.Broken, Diverged: now.Diverged}
	j := now.Judgement()
	s.Judged = j.Verdict
	for _, lack := range j.Unjudged {
		s.Unjudged = append(s.Unjudged, lack.Reason)
	}
	for _, r := range now.Rules {
		one := libraries.Rule{Rule: r.Name, Orders: r.Orders, Steps: len(r.Order.Decisions)}
		if r.Name == "mutual-exclusion" {
			one.By = r.By
		}
		s.Rules = append(s.Rules, one)
	}
	return s
}

// Two libraries of one algorithm agree on several nodes, too: commands that commute for one do for
// the other.
func TestTwoLibrariesOfAMajorityAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make soak does it")
	}
	w := &workshop{t: t, built: t.TempDir()}
	var seen []*libraries.Seen
	for _, l := range libraries.All() {
		if l.Nodes == 0 {
			continue
		}
		found, err := w.worker(l)
		if err != nil {
			t.Skipf("%s is not installed: %v", l.Name, err)
		}
		t.Run(l.ID(), func(t *testing.T) {
			t.Chdir(found.dir)
			seen = append(seen, again(t, found, l.Nodes, libraries.None))
		})
	}
	for _, s := range seen {
		if s.Orders != 257 || s.Broken > 0 || s.Ending != lab.Exhausted {
			t.Errorf("%+v", s)
		}
	}
}

// Each worker to start from is short, says how it is started, and sends the marks.
func TestExamples(t *testing.T) {
	languages, names := libraries.Examples()
	if have := strings.Join(languages, " "); have != "go java node python shell" {
		t.Error(have)
	}
	for _, name := range append(languages, names...) {
		text, ok := libraries.Example(name)
		if n := strings.Count(text, "\n"); !ok || n > 25 && !strings.Contains(text, "-nodes") || n > 45 {
			t.Errorf("%s has %d lines", name, n)
		}
		for _, part := range []string{"playground lab", infer.MarkRound, infer.MarkEnter, infer.MarkLeave} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s", name, part)
			}
		}
	}
	for _, name := range []string{"", "cobol"} {
		if _, ok := libraries.Example(name); ok {
			t.Errorf("there is a worker %q", name)
		}
	}
}
