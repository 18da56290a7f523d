package film_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/outside/logs"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/words"
)

// theirTraces are traces of labs, those of the course and of libraries, and of logs, some of
// which say which lock it is.
func theirTraces(t *testing.T) map[string]lessonstest.Run {
	t.Helper()
	all := map[string]lessonstest.Run{}
	for _, pattern := range []string{"lessons/course/labs/*.jsonl", "lessons/course/review/*.jsonl", "lessons/libraries/traces/*.jsonl.gz", "engine/outside/logs/testdata/*.log", "web/film/testdata/*.log", "lessons/mylock/*.log"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(file)] = theirTrace(t, file, data)
		}
	}
	return all
}

func theirTrace(t *testing.T, file string, data []byte) lessonstest.Run {
	t.Helper()
	if !strings.Contains(file, ".jsonl") {
		log, err := logs.Read(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(file, err)
		}
		found, err := log.Trace(t.Context(), lockOf(t, data))
		if err != nil {
			t.Fatal(file, err)
		}
		return lessonstest.Run{Scenario: found.Scenario, Header: found.Header, Owners: found.Header.Owners, Events: found.Events}
	}
	var from io.Reader = bytes.NewReader(data)
	if strings.HasSuffix(file, ".gz") {
		var err error
		if from, err = gzip.NewReader(from); err != nil {
			t.Fatal(file, err)
		}
	}
	h, events, err := trace.Read(t.Context(), from)
	if err != nil {
		t.Fatal(file, err)
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil {
		t.Fatal(file, err)
	}
	return lessonstest.Run{Scenario: sc, Header: h, Owners: h.Owners, Events: events}
}

// lockOf is the lock that the first line of a log tells, "# -lock KEY", and how many may be
// inside, "-inside N".
func lockOf(t *testing.T, log []byte) logs.Options {
	t.Helper()
	first, _, _ := strings.Cut(string(log), "\n")
	said, is := strings.CutPrefix(first, "# -lock ")
	if !is {
		return logs.Options{}
	}
	words := strings.Fields(said)
	lock, err := infer.ParseLock(words[0])
	o := logs.Options{Key: lock.Key, Also: lock.Also}
	if len(words) > 2 && words[1] == "-inside" {
		n, _ := strconv.Atoi(words[2])
		o.Kind, err = check.Inside(n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ofOneLock is a run as it is to one lock alone, and what is told of each event of it.
type ofOneLock struct {
	lessonstest.Run

	told []string
}

// lockByLock are runs, those of several locks once for each: what is told of an event is
// about its own lock, and says which that is.
func lockByLock(t *testing.T, all map[string]lessonstest.Run, l words.Language) map[string]ofOneLock {
	list := map[string]ofOneLock{}
	for name, p := range all {
		told := sentences(p, l)
		if p.Scenario.Locks == nil {
			list[name] = ofOneLock{p, told}
		}
		for i, key := range p.Scenario.Locks {
			one := ofOneLock{Run: p}
			sc := *p.Scenario
			sc.Locks, sc.Lock.Key = nil, key
			one.Scenario, one.Events = &sc, nil
			for n, e := range p.Events {
				mine, ok := e.Of(i)
				if !ok {
					continue
				}
				text, named := strings.CutSuffix(told[n], l.Say("The lock is %s.", key))
				call := e.Kind() == trace.KindCommand || e.Kind() == trace.KindOutcome
				if !named {
					text = ""
				}
				if call && named != (e.Lock == key) {
					t.Errorf("%s, event %d of %s: %q", name, e.Seq, e.Lock, told[n])
				}
				one.Events, one.told = append(one.Events, mine), append(one.told, strings.TrimSpace(text))
			}
			list[name+", "+key] = one
		}
	}
	return list
}

// What may be said of a command of somebody's own client, and of what a call came to.
var (
	didThat  = regexp.MustCompile(`^(\S+'s \S+ arrives late\. )?\S+ (sends \S+, and Redis answers|takes the lock: SET NX finds no key and makes one, for|gets an error from) |^(\S+'s \S+ arrives late\. )?\S+'s script runs \S+, which answers `)
	cameToIt = regexp.MustCompile(`^\S+ (gets the lock|does not get the lock\.|gets a permit\.|gets no permit\.|hears no answer to|is told \S+ in answer to|fails)|^\S+'s \S+ (is done|finds nothing of its own)\.`)
)

// Of clients that are not ours each sentence says what a command did or what a
// call came to, and not what a lock of ours would have done; and it is true.
func TestSentencesOfOthersClientsAreTrue(t *testing.T) {
	for l := range longest {
		counted := newTally(l)
		for name, one := range lockByLock(t, theirTraces(t), l) {
			p := one.Run
			r := newPlayedRun(p)
			for i, text := range one.told {
				if text == "" {
					continue
				}
				checkSentence(t, l, p, p.Events[i], text)
				counted.hold(t, r, i, text, 0)
				if l != words.English {
					continue
				}
				may := regexp.MustCompile("")
				switch p.Events[i].Body.(type) {
				case trace.Command:
					may = didThat
				case trace.Outcome:
					may = cameToIt
				}
				if !may.MatchString(text) {
					t.Errorf("%s, event %d: %q", name, p.Events[i].Seq, text)
				}
			}
		}
		t.Logf("%s: %d sentences, %d held by a pattern", l.Code(), counted.all, counted.held)
		if counted.held < counted.all*9/10 {
			t.Errorf("%s: %d of %d sentences are held by a pattern: %v", l.Code(), counted.held, counted.all, counted.list(counted.unheld))
		}
	}
}
