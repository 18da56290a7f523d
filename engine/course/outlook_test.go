package course_test

import (
	"errors"
	"slices"
	"testing"

	"relock/engine/course"
	"relock/engine/explore"
	"relock/engine/scenario"
)

// At its start every goal is open, and in the solution up to its end; where the run
// was left alone to its end, it is lost, and the way back leads to where it is open.
func TestAGoalThatCannotBeReachedSaysSo(t *testing.T) {
	t.Parallel()
	for _, i := range whole(t).Items() {
		if i.Kind != course.Break {
			if _, err := course.TaskOf[*course.Breaking](i); !errors.Is(err, course.ErrOtherKind) {
				t.Errorf("%s: %v", i.Path(), err)
			}
			continue
		}
		t.Run(i.Path(), func(t *testing.T) {
			t.Parallel()
			if i.Scenario.Lock.Nodes > 1 {
				long(t)
			}
			made := task[*course.Breaking](t, i)
			at := func(moves []scenario.Move) course.Outlook {
				o, err := made.Outlook(t.Context(), moves, explore.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			for n := range made.Steps {
				if testing.Short() && n > 0 && n < len(made.Steps)-1 {
					continue
				}
				if o := at(made.Steps[:n]); !o.Open || o.Lost() {
					t.Errorf("after %d moves of the solution it is lost: %+v", n, o)
				}
			}
			var alone []scenario.Move // nobody interferes
			for {
				v, err := made.Judge(t.Context(), alone)
				if err != nil {
					t.Fatal(err)
				}
				if v.Over {
					break
				}
				alone = append(alone, scenario.Move{})
			}
			o := at(alone)
			if o.Open || !o.Lost() || o.Back >= len(alone) {
				t.Fatalf("when the run is over: %+v", o)
			}
			if before, after := at(alone[:o.Back]), at(alone[:o.Back+1]); !before.Open || after.Open {
				t.Errorf("the way back leads to %d of %d: open there %v, and one on %v", o.Back, len(alone), before.Open, after.Open)
			}
		})
	}
}

// long is of a test that takes more than its share, and finds what others do.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: without -short")
	}
}

// The item asks for the scene in which the goal is reached, and for nothing that is true
// at the start; a mend asks for a scene in which nothing is broken.
func TestWhatIsAskedForIsDrawn(t *testing.T) {
	t.Parallel()
	for _, i := range whole(t).Items() {
		scene, ok := i.Asked()
		if ok != (i.Kind == course.Break || i.Kind == course.Mend) {
			t.Errorf("%s, a %s: drawn %v", i.Path(), i.Kind, ok)
		}
		switch i.Kind {
		case course.Break:
			v, err := task[*course.Breaking](t, i).Judge(t.Context(), nil)
			if err != nil || len(v.Scene.Broken) > 0 || !slices.Contains(scene.Broken, i.Rule()) {
				t.Errorf("%s asks for %+v, and begins with %+v, %v", i.Path(), scene, v.Scene, err)
			}
		case course.Mend:
			if len(scene.Broken) > 0 {
				t.Errorf("%s asks for %+v", i.Path(), scene)
			}
		}
	}
}
