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

	// Before are the states of the key before the rows that are the first of
	// what is in the page already, by step.
	Before map[int]State `json:"before,omitempty"`
}

// Index returns the film's index. Size is how many rows a portion has.
func (f *Film) Index(size int) *Index {
	marked := make([]byte, len(f.frames))
	var at strings.Builder
	for i := range f.frames {
		marked[i] = '.'
		if n := slices.Index(marks, f.frames[i].Mark); n >= 0 {
			marked[i] = byte('0' + n)
		}
		if i > 0 {
			at.WriteByte('|')
		}
		if i == 0 || f.frames[i].At != f.frames[i-1].At {
			at.WriteString(f.frames[i].At)
		}
	}
	return &Index{Count: len(f.frames), Size: size, Marks: string(marked), At: at.String(), Before: map[int]State{}}
}

// Before is the state of the key before the row with that index, cut to what
// a page can show.
func (f *Film) Before(row int) State {
	if row == 0 {
		return State{Type: trace.TypeNone}
	}
	return f.frames[row-1].After.cut()
}

// Most of what a page shows of one row.
const (
	mostFields = 64  // of the key, of a row that has more than it can show
	mostText   = 400 // bytes of one text of such a row
)

// Cut is what there is to see at a row that has more than a page can show: it
// says so, in the place of what happened.
func (f *Film) Cut(row int) Frame {
	full := f.frames[row]
	cut := Frame{
		Step: full.Step, At: full.At, Millis: full.Millis, Thread: full.Thread, Mark: full.Mark, Alarm: words.Short(full.Alarm, mostText),
		After: full.After.cut(), Belief: full.Belief, Leaving: full.Leaving,
		Why: TooMuch(f.say, len(full.Inside), len(f.Rows()[row].Violations)),
	}
	cut.Says = f.sentences(f.Rows()[row].Time, cut.Why)
	return cut
}

// TooMuch says of a row that it is not shown.
func TooMuch(l words.Language, commands, broken int) string {
	return l.Say("More happened in this step than a page can show: %d commands, %d broken rules. The exported trace has all of it.", commands, broken)
}

// cut is a state without what makes it long.
func (s State) cut() State {
	if n := len(s.Fields) + len(s.Calls); n > mostFields {
		s.More = n - mostFields
		s.Fields = s.Fields[:min(len(s.Fields), mostFields)]
		s.Calls = s.Calls[:min(len(s.Calls), mostFields-len(s.Fields))]
	}
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		s.Fields[i].Owner, s.Fields[i].Count = words.Short(s.Fields[i].Owner, mostText), words.Short(s.Fields[i].Count, mostText)
	}
	s.Calls = slices.Clone(s.Calls)
	for i := range s.Calls {
		s.Calls[i].Field, s.Calls[i].Number = words.Short(s.Calls[i].Field, mostText), words.Short(s.Calls[i].Number, mostText)
	}
	return s
}
