package course

import (
	"fmt"
	"strings"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/lessons"
)

// ArticleRow is a row of the first article's T1–T10 table, and where it is in
// our run.
type ArticleRow struct {
	Row     string
	Article phrase.Text // what the article says
	Ours    []Happening
	Differs phrase.Text // what is otherwise in our run, "" where nothing is
}

// article is what its rows say.
var article = map[string]phrase.Text{
	"T1":  "Both threads ask for the lock.",
	"T2":  "A has the lock: its field has the value 1. B is refused.",
	"T3":  "A works. B waits for A's unlock, and retries as often as it may.",
	"T4":  "A calls another method, or itself, and asks for the lock again.",
	"T5":  "A has the lock again: the value is 2.",
	"T6":  "A works in the inner method, until all nested calls are done.",
	"T7":  "A unlocks, from the innermost call on: the value is 1.",
	"T8":  "A is back in the outermost call, and unlocks: the value is 0.",
	"T9":  "As the value is 0, the lock is released.",
	"T10": "B has the lock.",
}

// Article puts the article's table beside a run of its scenario. It finds the difference
// in the run: a count that no step leaves behind, because the same step goes on.
func Article(run *Run) ([]ArticleRow, error) {
	rows, err := lessons.Textbook()
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	var out []ArticleRow
	overtaken := -1 // step in which a count was seen that it did not leave behind
	for _, row := range rows {
		one := ArticleRow{Row: row.Row, Article: article[row.Row]}
		for _, stop := range row.Stops {
			at, ok := stopAt(run.Events, stop)
			if !ok {
				return nil, phrase.New("course: %s: the run has no %s in step %d", row.Row, stop.Is, stop.Step)
			}
			one.Ours = append(one.Ours, Happening{Run: run, Event: at})
			after := run.Events[stepEnd(run.Events, at)-1].Key
			written := at > 0 && !sameCounts(run.Events[at].Key, run.Events[at-1].Key)
			switch {
			case written && !sameCounts(run.Events[at].Key, after):
				overtaken = stop.Step
				one.Differs = "No client ever sees this count: the script goes on, and Redis runs nothing else before it is done."
			case stop.Step == overtaken:
				one.Differs = "This is the same step as the row above: counting down to 0 and DEL are one script."
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// sameCounts reports whether two keys hold the same owners with the same counts.
func sameCounts(a, b trace.KeyState) bool {
	return a.Exists() == b.Exists() && fmt.Sprint(a.Fields) == fmt.Sprint(b.Fields)
}

// stopAt finds the event of a place in the run.
func stopAt(events []trace.Event, stop lessons.Stop) (int, bool) {
	nth := 0
	for i, e := range events {
		if e.Step != stop.Step || e.Thread != stop.Thread {
			continue
		}
		switch b := e.Body.(type) {
		case trace.Command:
			if nth++; nth == stop.Command {
				return i, strings.EqualFold(b.Arg(0), stop.Is)
			}
		case trace.Outcome:
			if stop.Command == 0 && string(b.Result) == stop.Is {
				return i, true
			}
		case trace.Work:
			if stop.Command == 0 && stop.Is == "work" && b.State == trace.WorkBegin {
				return i, true
			}
		default:
			if stop.Command == 0 && string(e.Kind()) == stop.Is {
				return i, true
			}
		}
	}
	return 0, false
}

// Happening is an event of a run.
type Happening struct {
	Run   *Run
	Event int
}
