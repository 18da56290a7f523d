package film

import (
	"testing"

	"relock/engine/trace"
	"relock/web/words"
)

// Of what happens in one row the weightiest stands for it; the first rule that
// it breaks, and of lesser things the last.
func TestWhatStandsForARow(t *testing.T) {
	type event struct {
		weight int
		why    string
	}
	for _, c := range []struct {
		name   string
		events []event
		want   string
	}{
		{"a violation, whatever follows", []event{{weightCommand, "c"}, {weightViolation, "first"}, {weightOutcome, "o"}, {weightViolation, "second"}}, "first"},
		{"the last of several commands", []event{{weightCommand, "one"}, {weightCommand, "two"}}, "two"},
		{"the last of several outcomes", []event{{weightOutcome, "one"}, {weightCommand, "two"}, {weightOutcome, "three"}}, "three"},
		{"a fault right after the outcome", []event{{weightOutcome, "It is refused."}, {weightFault, "It crashes."}}, "It is refused. It crashes."},
		{"an outcome after a fault", []event{{weightFault, "fault"}, {weightOutcome, "outcome"}}, "outcome"},
		{"a token before the outcome", []event{{weightToken, "It writes."}, {weightOutcome, "It unlocks."}}, "It writes. It unlocks."},
	} {
		f := &Row{weight: -1}
		for _, e := range c.events {
			f.tell(words.English, e.weight, e.why)
		}
		if f.Why != c.want {
			t.Errorf("%s: %q, want %q", c.name, f.Why, c.want)
		}
	}
}

// A fault's label is in the picture also where the fault struck at once.
func TestALabelBeginsInThePicture(t *testing.T) {
	t.Parallel()
	l := NewLanes([]string{"A"}, nil, 100)
	l.Add(trace.Event{Step: 1, Body: trace.Fault{Do: "two-masters"}})
	p := l.Window(words.English, "p", 0, 1)
	if len(p.Events) != 1 || p.Events[0].Text == "" {
		t.Fatalf("events: %+v", p.Events)
	}
	if e := p.Events[0]; e.X+e.TextX-wide(e.Text)/2 < p.Left {
		t.Errorf("the label %q begins at %g, the picture at %g", e.Text, e.X+e.TextX-wide(e.Text)/2, p.Left)
	}
}
