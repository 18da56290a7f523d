package learn

import (
	"slices"
	"testing"

	"relock/engine/course"
	"relock/web/page"
)

func TestADiffKeepsWhatIsTheSame(t *testing.T) {
	code := &course.Review{
		Faults: []string{"one"},
		Lines:  []course.CodeLine{{Text: "func f() {"}, {Text: "\ta()"}, {Text: "}"}},
		Fixed:  []string{"func f() {", "\tb()", "}"},
	}
	want := []page.ReviewDiff{{Sign: " ", Text: "func f() {"}, {Sign: "-", Text: "\ta()"}, {Sign: "+", Text: "\tb()"}, {Sign: " ", Text: "}"}}
	if got := mends(code, false); !slices.Equal(got, want) {
		t.Errorf("the diff is %v, want %v", got, want)
	}
	code.Lines[1].Text, code.Fixed = "\tb()", []string{"func f() {", "\tb()", "\tb()", "}"}
	if got := mends(code, false); len(got) != 4 || got[2] != (page.ReviewDiff{Sign: "+", Text: "\tb()"}) {
		t.Errorf("with a line more the diff is %v", got)
	}
	if got := mends(&course.Review{Lines: code.Lines}, false); got != nil {
		t.Errorf("code without a fault has the diff %v", got)
	}
}
