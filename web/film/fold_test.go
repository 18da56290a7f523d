package film_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// byStep are the events of each row.
func byStep(events []trace.Event) map[int][]trace.Event {
	out := map[int][]trace.Event{}
	for _, e := range events {
		out[e.Step] = append(out[e.Step], e)
	}
	return out
}

// What a fold says is counted again from the events of its rows, in every bundled run.
func TestAFoldSaysWhatItsRowsDo(t *testing.T) {
	kinds := map[string]int{}
	for _, name := range lessonstest.Names(t) {
		p := lessonstest.Play(t, name)
		rows := filmed(p, words.English, false).Rows()
		events := byStep(p.Events)
		for i := range rows {
			f := rows[i].Fold
			if f == nil {
				continue
			}
			where := fmt.Sprintf("%s, %s (%s)", name, f.Steps(), f.Says)
			if f.Last != rows[i].Step || f.First >= f.Last || f.Steps() != "T"+strconv.Itoa(f.First)+"–T"+strconv.Itoa(f.Last) {
				t.Errorf("%s: the fold that T%d ends", where, rows[i].Step)
			}
			kinds[foldOf(t, where, *f, rows, events)]++
		}
	}
	for _, kind := range []string{"refusals", "renewals", "failed", "asks"} {
		if kinds[kind] == 0 {
			t.Errorf("no fold of %s in any run", kind)
		}
	}
}

// foldOf holds a fold against the rows in it and their events, and returns what it is of.
func foldOf(t *testing.T, where string, f film.Fold, rows []film.Row, events map[int][]trace.Event) string {
	t.Helper()
	said := strings.Fields(f.Says)
	asks := len(said) > 1 && said[1] == "asks"
	thread := said[len(said)-1]
	if asks {
		thread = said[0]
	}
	var calls, nodes []string
	for step := f.First; step <= f.Last; step++ {
		row := &rows[step-1]
		if row.Mark != "" || row.Event != "" || row.Broken != "" || len(row.Violations) > 0 || row.Final || row.Thread != f.Thread || row.Cells[row.Thread].Thread != thread {
			t.Errorf("%s: T%d may not be folded", where, step)
		}
		for _, e := range events[step] {
			switch b := e.Body.(type) {
			case trace.Outcome:
				calls = append(calls, fmt.Sprint(e.Thread, b.Call, b.Result, b.Level, b.Error))
			case trace.Command:
				nodes = append(nodes, strconv.Itoa(b.Node))
			case trace.Wait:
			default:
				t.Errorf("%s: a %s in T%d", where, e.Kind(), step)
			}
		}
	}
	last := rows[f.Last-1].Key
	if asks {
		slices.Sort(nodes)
		has := 0
		nodes = slices.Compact(nodes)
		for _, n := range last.Nodes {
			if n.Thread == thread && slices.Contains(nodes, strconv.Itoa(n.Number)) {
				has++
			}
		}
		list := words.English.List(nodes)
		const inTurn = "123456789"
		if n := len(nodes); n > 2 && strings.Contains(inTurn, strings.Join(nodes, "")) {
			list = nodes[0] + "–" + nodes[n-1]
		}
		if want := fmt.Sprintf("%s asks nodes %s: its value is on %d of them", thread, list, has); f.Says != want {
			t.Errorf("%s: want %q", where, want)
		}
		return "asks"
	}
	if said[0] != strconv.Itoa(len(calls)) || len(calls) != f.Last-f.First+1 || len(slices.Compact(slices.Clone(calls))) != 1 {
		t.Errorf("%s: the outcomes are %q", where, calls)
	}
	for step := f.First; step <= f.Last; step++ {
		if key := rows[step-1].Key; holdsOf(key) != holdsOf(last) {
			t.Errorf("%s: the key has %q after T%d, and %q after the last", where, holdsOf(key), step, holdsOf(last))
		}
	}
	want := last.Lease
	if first := rows[f.First-1].Key.Lease; first != want {
		want = strings.TrimSuffix(first, " ms") + " → " + want
	}
	if f.Lease != want {
		t.Errorf("%s: the lease %q, want %q", where, f.Lease, want)
	}
	return said[1]
}

func holdsOf(k film.Key) string { return fmt.Sprint(k.Type, k.Holds, k.Calls, k.Nodes) }

// The refusals before the lease runs out are one fold; of a call that asks nodes the last
// row has its outcome, and stays.
func TestWhichRowsFold(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"late-write-without-a-token.yaml", []string{"T2–T6 5 refusals of B 95 → 15 ms"}},
		{"redlock-not-reentrant.yaml", []string{
			"T1–T4 A asks nodes 1–4: its value is on 4 of them ", "T7–T9 A asks nodes 2–4: its value is on 3 of them ",
			"T11–T14 A asks nodes 1–4: its value is on 4 of them ", "T16–T19 A asks nodes 1–4: its value is on 4 of them ",
			"T21–T24 A asks nodes 1–4: its value is on 0 of them ",
		}},
	} {
		var whole []string
		rows := filmed(lessonstest.Play(t, c.name), words.English, false).Rows()
		for i := range rows {
			if f := rows[i].Fold; f != nil && (i+1 == len(rows) || rows[i+1].Fold == nil) {
				whole = append(whole, f.Steps()+" "+f.Says+" "+f.Lease)
			}
		}
		if !slices.Equal(whole, c.want) {
			t.Errorf("%s: %q, want %q", c.name, whole, c.want)
		}
	}
}
