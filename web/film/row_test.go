package film_test

import (
	"testing"

	"relock/web/film"
)

func TestThreeCommandsAboutTheQueueAreFolded(t *testing.T) {
	q, k := film.Line{Queue: true}, film.Line{}
	for _, c := range []struct {
		name  string
		lines []film.Line
		want  string // the sizes of the groups, folded ones in brackets
	}{
		{"two", []film.Line{k, q, q}, "1 2 "},
		{"three", []film.Line{q, q, q, k}, "[3] 1 "},
		{"three that do not follow each other", []film.Line{q, q, k, q}, "2 1 1 "},
		{"three about the lock", []film.Line{k, k, k}, "3 "},
	} {
		got := ""
		for _, g := range (&film.Cell{Lines: c.lines}).Groups() {
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
