package film

import (
	"slices"
	"strings"

	"relock/engine/trace"
	"relock/web/words"
)

// Index is what a page has of every row of a film whose rows come in portions,
// when they are needed: columns of small values.
type Index struct {
	Count int    `json:"count"` // rows
	Size  int    `json:"size"`  // rows of a portion
	Marks string `json:"marks"` // a character a row: the place of its mark among all, or "."
	At    string `json:"at"`    // when each row was, with "|" between; empty where that is as of the row before
}

// Index returns the film's index. Size is how many rows a portion has.
func (f *Film) Index(size int) *Index {
	marked := make([]byte, len(f.timeline.rows))
	var at strings.Builder
	for i := range f.timeline.rows {
		marked[i] = '.'
		if n := slices.Index(marks, f.timeline.rows[i].Mark); n >= 0 {
			marked[i] = byte('0' + n)
		}
		if i > 0 {
			at.WriteByte('|')
		}
		if i == 0 || f.timeline.rows[i].At != f.timeline.rows[i-1].At {
			at.WriteString(f.timeline.rows[i].At)
		}
	}
	return &Index{Count: len(f.timeline.rows), Size: size, Marks: string(marked), At: at.String()}
}

// Before is the state of the key before the row with that index, cut to what
// a page can show.
func (f *Film) Before(row int) Key {
	if row == 0 {
		return Key{Type: trace.TypeNone}
	}
	return f.timeline.rows[row-1].Key.cut()
}

// Most of what a page shows of one row.
const (
	mostFields = 64  // of the key, of a row that has more than it can show
	mostText   = 400 // bytes of one text of such a row
)

// Cut is what there is to see at a row that has more than a page can show: it
// says so, in the place of what happened.
func (f *Film) Cut(row int) Row {
	full := f.Rows()[row]
	cut := Row{
		Step: full.Step, At: full.At, Millis: full.Millis, Thread: full.Thread, Mark: full.Mark, Alarm: words.Short(full.Alarm, mostText),
		Key: full.Key.cut(), Belief: full.Belief, Leaving: full.Leaving, Stage: full.Stage, Broken: full.Broken,
		Why: TooMuch(f.say, len(full.Inside), len(full.Violations)),
	}
	cut.Says = f.sentences(full.Time, cut.Why)
	return cut
}

// TooMuch says of a row that it is not shown.
func TooMuch(l words.Language, commands, broken int) string {
	return l.Say("More happened in this step than a page can show: %d commands, %d broken rules. The exported trace has all of it.", commands, broken)
}

// cut is a state without what makes it long.
func (s Key) cut() Key {
	if n := len(s.Holds) + len(s.Calls); n > mostFields {
		s.More = n - mostFields
		s.Holds = s.Holds[:min(len(s.Holds), mostFields)]
		s.Calls = s.Calls[:min(len(s.Calls), mostFields-len(s.Holds))]
	}
	s.Holds = slices.Clone(s.Holds)
	for i := range s.Holds {
		s.Holds[i].Owner, s.Holds[i].Count = words.Short(s.Holds[i].Owner, mostText), words.Short(s.Holds[i].Count, mostText)
	}
	s.Calls = slices.Clone(s.Calls)
	for i := range s.Calls {
		s.Calls[i].Field, s.Calls[i].Number = words.Short(s.Calls[i].Field, mostText), words.Short(s.Calls[i].Number, mostText)
	}
	return s
}
