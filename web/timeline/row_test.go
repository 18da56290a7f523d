package timeline_test

import (
	"testing"

	"relock/web/timeline"
)

func TestThreeCommandsAboutTheQueueAreFolded(t *testing.T) {
	q, k := timeline.Line{Queue: true}, timeline.Line{}
	for _, c := range []struct {
		name  string
		lines []timeline.Line
		want  string // the sizes of the groups, folded ones in brackets
	}{
		{"two", []timeline.Line{k, q, q}, "1 2 "},
		{"three", []timeline.Line{q, q, q, k}, "[3] 1 "},
		{"three that do not follow each other", []timeline.Line{q, q, k, q}, "2 1 1 "},
		{"three about the lock", []timeline.Line{k, k, k}, "3 "},
	} {
		got := ""
		for _, g := range (&timeline.Cell{Lines: c.lines}).Groups() {
			size := string(rune('0' + len(g.Lines)))
			if g.Folded {
				size = "[" + size + "]"
			}
			got += size + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
