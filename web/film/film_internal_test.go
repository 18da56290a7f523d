package film

import (
	"reflect"
	"testing"

	"relock/engine/scenario"
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

// overlooked fails for each field of a struct that can be another one without same noticing.
func overlooked[T any](t *testing.T, same func(a, b *T) bool) {
	t.Helper()
	var plain T
	if !same(&plain, &plain) {
		t.Errorf("%T is not the same as itself", plain)
	}
	for i := range reflect.TypeFor[T]().NumField() {
		var other T
		field := reflect.ValueOf(&other).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(1)
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Struct:
			field.Field(0).SetString("x")
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		default:
			t.Fatalf("a field of kind %v", field.Kind())
		}
		if same(&plain, &other) || same(&other, &plain) {
			t.Errorf("%T: another %s is not noticed", plain, reflect.TypeFor[T]().Field(i).Name)
		}
	}
}

// Whatever is on a stage, a stage with something else there is another one.
func TestAnotherStageIsNoticed(t *testing.T) {
	overlooked(t, (*Stage).same)
	overlooked(t, func(a, b *Belief) bool { return a.same(*b) })
	overlooked(t, (*Card).same)
	overlooked(t, (*ResourceLine).same)
}

// How much a picture has room for before anything has happened.
func TestTheHorizonIsThePlannedWork(t *testing.T) {
	for text, want := range map[string]float64{
		"threads: [{name: A, depth: 3, work: 10ms, after: 30ms}]":                                                                  90,
		"threads: [{name: A, start: 5ms, work: 10ms, repeat: 3}]":                                                                  35,
		"threads: [{name: A, work: 50ms}, {name: B, work: 20ms, retry: {interval: 15ms}}]":                                         85,
		"threads: [{name: A, work: 50ms}]\nlock: {lease: 80ms}":                                                                    80,
		"threads: [{name: A, work: 50ms}]\nlock: {lease: 101ms}":                                                                   50,
		"threads: [{name: A, work: 50ms}]\nfaults: [{thread: A, at: work, do: pause, for: 300ms}]\nlock: {lease: 1s}":              350,
		"threads: [{name: A, work: 50ms}]\nfaults: [{time: 5ms, do: restart, for: 500ms}, {time: 9ms, do: clock-jump, by: 500ms}]": 50,
	} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := horizon(sc); got != want {
			t.Errorf("%s: %v ms, want %v", text, got, want)
		}
	}
}
