package export_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"relock/engine"
	"relock/engine/scenario"
	"relock/web/export"
)

// operation is an entry of a Jepsen history.
type operation struct {
	kind, f     string
	value       string
	process     int
	index, time int64
}

var ednLine = regexp.MustCompile(`^\{:type :(invoke|ok|fail|info) :process (\d+|:nemesis) :f :([A-Za-z0-9_-]+) :value (nil|"(?:[^"\\]|\\.)*"|\["(?:[^"\\]|\\.)*" nil\]) :time (\d+) :index (\d+)(?: :thread "(?:[^"\\]|\\.)*"(?: :token \d+)?(?: :result :[a-z]+)?)?\}$`)

// history reads a Jepsen history, and refuses what Jepsen does not write: a process
// with two operations at once, one that speaks again after it was not answered, or
// an index or a time that goes back.
func history(text string) ([]operation, error) {
	var list []operation
	open, dead, last := map[int]string{}, map[int]bool{}, int64(-1)
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		m := ednLine.FindStringSubmatch(l)
		if m == nil {
			return nil, fmt.Errorf("edn: %q", l)
		}
		number := func(s string) int64 {
			n, _ := strconv.ParseInt(s, 10, 64)
			return n
		}
		one := operation{kind: m[1], f: m[3], value: m[4], process: int(number(m[2])), time: number(m[5]), index: number(m[6])}
		if one.index != int64(i) || one.time < last {
			return nil, fmt.Errorf("edn: line %d: %q", i, l)
		}
		last = one.time
		if m[2] == ":nemesis" {
			continue
		}
		switch {
		case dead[one.process], one.kind == "invoke" && open[one.process] != "", one.kind != "invoke" && open[one.process] != one.f:
			return nil, fmt.Errorf("edn: process %d: %q", one.process, l)
		case one.kind == "invoke":
			open[one.process] = one.f
		default:
			open[one.process], dead[one.process] = "", one.kind == "info"
		}
		list = append(list, one)
	}
	return list, nil
}

// mutex is Knossos' mutex: it is locked or it is not. What is info may have taken
// place or not.
var mutex = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{false} },
	Step: func(state, input, output any) []any {
		locked, _ := state.(bool)
		var next []any
		if f, _ := input.(string); f == "acquire" && !locked || f == "release" && locked {
			next = append(next, !locked)
		}
		if known, _ := output.(bool); !known {
			next = append(next, locked)
		}
		return next
	},
}).ToModel()

// linearizable reports whether a mutex can have the history.
func linearizable(t *testing.T, list []operation) bool {
	t.Helper()
	var made []porcupine.Operation
	open := map[int]operation{}
	for _, one := range list {
		if one.kind == "invoke" {
			open[one.process] = one
			continue
		}
		begun := open[one.process]
		delete(open, one.process)
		end := one.index
		if one.kind == "info" {
			end = math.MaxInt64
		}
		if one.kind != "fail" {
			made = append(made, porcupine.Operation{ClientId: one.process, Input: one.f, Output: one.kind == "ok", Call: begun.index, Return: end})
		}
	}
	for _, begun := range open {
		made = append(made, porcupine.Operation{ClientId: begun.process, Input: begun.f, Output: false, Call: begun.index, Return: math.MaxInt64})
	}
	return porcupine.CheckOperations(mutex, made)
}

func soundEDN(r export.Run) error {
	got, err := export.Render(context.Background(), export.EDN, r)
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return nil
	}
	_, err = history(string(got))
	return err
}

// A checker that knows nothing of leases and threads comes to the verdict of the rule:
// the history of every scenario is one that a mutex can have, or two were inside.
func TestHistoriesAreCheckedByPorcupine(t *testing.T) {
	names, err := filepath.Glob("../../lessons/scenarios/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no scenarios:", err)
	}
	verdicts := map[bool]int{}
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		r := played(t, name)
		list, err := history(render(t, export.EDN, r))
		if r.Scenario.Locks != nil { // each has a history of its own
			for _, key := range r.Scenario.Locks {
				one := slices.DeleteFunc(slices.Clone(list), func(o operation) bool { return o.value != `["`+key+`" nil]` })
				if len(one) == 0 || !linearizable(t, one) {
					t.Errorf("%s, %s: %d operations, of no mutex", name, key, len(one))
				}
			}
			continue
		}
		if err != nil || r.Scenario.Kind == scenario.KindHeartbeat || strings.HasPrefix(name, "no-lock") || len(list) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		broken := slices.Contains(engine.Broken(r.Events), "mutual-exclusion")
		got := linearizable(t, list)
		verdicts[got]++
		if got == broken {
			t.Errorf("%s: linearizable: %v, mutual exclusion broken: %v\n%s", name, got, broken, render(t, export.EDN, r))
		}
	}
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("verdicts %v: too few of a kind to tell anything", verdicts)
	}
}

// soundPerfetto wants slices that nest in each track, times that do not go back, and
// a counter after each event.
func soundPerfetto(r export.Run) error {
	got, err := export.Render(context.Background(), export.Perfetto, r)
	if err != nil {
		return err
	}
	var file struct {
		TraceEvents []struct {
			Name string
			Ph   string
			TS   int64
			PID  int
			TID  int
			Args map[string]any
		}
	}
	if err := json.Unmarshal(got, &file); err != nil {
		return fmt.Errorf("perfetto: %w", err)
	}
	open, counters, last := map[[2]int][]string{}, 0, int64(0)
	for _, e := range file.TraceEvents {
		track := [2]int{e.PID, e.TID}
		if e.Ph != "M" && e.TS < last {
			return fmt.Errorf("perfetto: %s is at %d, after %d", e.Name, e.TS, last)
		}
		last = max(last, e.TS)
		switch stack := open[track]; e.Ph {
		case "B":
			open[track] = append(stack, e.Name)
		case "E":
			if len(stack) == 0 || stack[len(stack)-1] != e.Name {
				return fmt.Errorf("perfetto: %s ends in %v of track %v", e.Name, stack, track)
			}
			open[track] = stack[:len(stack)-1]
		case "C":
			counters++
		case "i", "M":
		default:
			return fmt.Errorf("perfetto: phase %q", e.Ph)
		}
		if e.Name == "" {
			return fmt.Errorf("perfetto: an event without a name: %+v", e)
		}
	}
	for track, stack := range open {
		if len(stack) > 0 {
			return fmt.Errorf("perfetto: %v never ends on track %v", stack, track)
		}
	}
	if counters != 2*len(r.Events) {
		return fmt.Errorf("perfetto: %d counters of %d events", counters, len(r.Events))
	}
	return nil
}

// soundShiViz reads the log with its own first line, and wants clocks as ShiViz does:
// each host's from 1 on without gaps, and no knowledge of what has not happened.
func soundShiViz(r export.Run) error {
	got, err := export.Render(context.Background(), export.ShiViz, r)
	if err != nil {
		return err
	}
	head, log, _ := strings.Cut(string(got), "\n\n")
	line, err := regexp.Compile("^" + strings.ReplaceAll(head, "(?<", "(?P<") + "$")
	if err != nil {
		return fmt.Errorf("shiviz: %w", err)
	}
	own := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			return fmt.Errorf("shiviz: its parser does not read %q", lines.Text())
		}
		clock := map[string]int{}
		if err := json.Unmarshal([]byte(m[2]), &clock); err != nil {
			return fmt.Errorf("shiviz: %q: %w", m[2], err)
		}
		host := m[1]
		own[host]++
		for other, n := range clock {
			if other == host && n != own[host] || n > own[other] || n < 1 {
				return fmt.Errorf("shiviz: %s knows %d of %s, which has %d: %q", host, n, other, own[other], lines.Text())
			}
		}
	}
	return lines.Err()
}

// soundITF wants a state before the first event and one after each, all with the same
// variables, and in each the set of the rules broken so far as a set is compared: sorted.
func soundITF(r export.Run) error {
	got, err := export.Render(context.Background(), export.ITF, r)
	if err != nil {
		return err
	}
	var file struct {
		Meta   map[string]string `json:"#meta"`
		Vars   []string
		States []map[string]json.RawMessage
	}
	if err := json.Unmarshal(got, &file); err != nil {
		return fmt.Errorf("itf: %w", err)
	}
	if file.Meta["format"] != "ITF" || len(file.States) != len(r.Events)+1 {
		return fmt.Errorf("itf: %v, %d states of %d events", file.Meta, len(file.States), len(r.Events))
	}
	for i, s := range file.States {
		if len(s) != len(file.Vars)+1 || string(s["#meta"]) != fmt.Sprintf(`{"index":%d}`, i) {
			return fmt.Errorf("itf: state %d: %s", i, s)
		}
		for _, v := range file.Vars {
			if s[v] == nil {
				return fmt.Errorf("itf: state %d has no %s", i, v)
			}
		}
		rules := engine.Broken(r.Events[:i])
		slices.Sort(rules)
		want, err := json.Marshal(map[string][]string{"#set": append([]string{}, rules...)})
		if err != nil || !bytes.Equal(s["broken"], want) {
			return fmt.Errorf("itf: state %d: broken is %s, want %s: %w", i, s["broken"], want, err)
		}
	}
	return nil
}

// soundOTel wants one line, ids of the right length that are each their own, parents
// that are there, and spans that lie within the run and do not end before they begin.
func soundOTel(r export.Run) error {
	got, err := export.Render(context.Background(), export.OTel, r)
	if err != nil {
		return err
	}
	var file struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					Kind                                int
					Start                               string `json:"startTimeUnixNano"`
					End                                 string `json:"endTimeUnixNano"`
				}
			}
		}
	}
	if err := json.Unmarshal(got, &file); err != nil || strings.Count(string(got), "\n") != 1 {
		return fmt.Errorf("otel: %w", errors.Join(err, errors.New("or it is not a line")))
	}
	spans := file.ResourceSpans[0].ScopeSpans[0].Spans
	ids := map[string]bool{"": true}
	for i, s := range spans {
		start, err1 := strconv.ParseInt(s.Start, 10, 64)
		end, err2 := strconv.ParseInt(s.End, 10, 64)
		if err1 != nil || err2 != nil || start > end || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.TraceID != spans[0].TraceID || s.Name == "" || s.Kind == 0 {
			return fmt.Errorf("otel: span %d: %+v", i, s)
		}
		if ids[s.SpanID] || !ids[s.ParentSpanID] || (s.ParentSpanID == "") != (i == 0) {
			return fmt.Errorf("otel: span %d has the id %s and the parent %q", i, s.SpanID, s.ParentSpanID)
		}
		ids[s.SpanID] = true
	}
	return nil
}

// A reply that never comes is told as what it is in each form.
func TestALostReplyInTheFormsOfOthers(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex, lease: 1s, retry: {times: 0, interval: 10ms}}\nthreads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]\nfaults: [{thread: A, at: lock, do: lose-reply}]"))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, sc)
	for f, want := range map[export.Format][]string{
		export.EDN:      {`{:type :info :process :nemesis :f :lose-reply :value "A"`, `{:type :info :process 0 :f :acquire :value nil :time 0 `, `{:type :ok :process 1 :f :acquire `},
		export.Perfetto: {`"name":"fault: lose-reply"`, `"result":"error"`},
		export.ShiViz:   {`A {"A":3} hears: lock, level 1: error: `},
		export.ITF:      {`"action":"fault: lose-reply"`, `"owner":"A","count":{"#bigint":"1"}`},
		export.OTel:     {`"name":"fault: lose-reply"`, `"status":{"code":2,`},
	} {
		got := render(t, f, r)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q:\n%s", f, w, got)
			}
		}
	}
}

// Who dies with the lock releases it at a time that nobody knows: its lease ends it.
func TestADeadHoldersReleaseIsInfo(t *testing.T) {
	got := render(t, export.EDN, played(t, "crash"))
	if want := `:type :info :process 0 :f :release`; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// Who is refused to the last knows that it has not got the lock.
func TestARefusalIsFail(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {retry: {times: 0}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 5ms, work: 10ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, export.EDN, run(t, sc))
	if want := `{:type :fail :process 1 :f :acquire :value nil :time 5000000 :index 3 :thread "B"}`; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// The events may end in the middle of a call.
func TestAPartOfARunInTheFormsOfOthers(t *testing.T) {
	r := played(t, "lost-replies")
	whole := r.Events
	for n := range whole {
		r.Events = whole[:n]
		if err := soundOthers(r); err != nil {
			t.Fatalf("%d events: %v", n, err)
		}
	}
}

func soundOthers(r export.Run) error {
	return errors.Join(soundEDN(r), soundPerfetto(r), soundShiViz(r), soundITF(r), soundOTel(r))
}
