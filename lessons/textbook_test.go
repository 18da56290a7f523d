package lessons_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"relock/engine/trace"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

// Each row of the article's table is in the run where textbook.yaml says, and
// nothing happens in the run before T10 that is in no row.
func TestTextbookIsTheRun(t *testing.T) {
	rows, err := lessons.Textbook()
	if err != nil {
		t.Fatal(err)
	}
	run := lessonstest.Play(t, "textbook.yaml")
	events, owners := run.Events, run.Owners
	var told []int
	for i, row := range rows {
		if want := fmt.Sprintf("T%d", i+1); row.Row != want || len(row.Stops) == 0 {
			t.Errorf("row %q with %d stops, want %s with one or more", row.Row, len(row.Stops), want)
		}
		for _, stop := range row.Stops {
			told = append(told, stop.Step)
			e, ok := at(events, stop)
			if !ok {
				t.Errorf("%s: in step %d %s has nothing that is %s", row.Row, stop.Step, stop.Thread, stop.Is)
				continue
			}
			hash := map[string]string{}
			for id, count := range e.Key.Fields {
				hash[owners[id]] = count
			}
			if e.Thread != stop.Thread || !maps.Equal(hash, stop.Hash) {
				t.Errorf("%s, step %d: %s has left the hash %v, want %s and %v", row.Row, stop.Step, e.Thread, hash, stop.Thread, stop.Hash)
			}
		}
	}
	if len(rows) != 10 {
		t.Errorf("%d rows, want 10", len(rows))
	}
	slices.Sort(told)
	if got, want := slices.Compact(told), []int{1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("the rows are in the steps %v, want %v", got, want)
	}
}

// at finds what a stop is about.
func at(events []trace.Event, stop lessons.Stop) (trace.Event, bool) {
	commands := 0
	for _, e := range events {
		if e.Step != stop.Step {
			continue
		}
		is, command := "", false
		switch b := e.Body.(type) {
		case trace.Command:
			commands++
			is, command = b.Args[0], true
		case trace.Outcome:
			is = string(b.Result)
		case trace.Work:
			is = map[string]string{trace.WorkBegin: "work"}[b.State]
		case trace.Wait:
			is = "wait"
		}
		if is == stop.Is && command == (stop.Command > 0) && (!command || commands == stop.Command) {
			return e, true
		}
	}
	return trace.Event{}, false
}
