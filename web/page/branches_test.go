package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// happened makes rows of "A lock" (a thread and what it did) and "lease over"
// (an event: its first word is no thread's).
func happened(rows ...string) []film.Row {
	var out []film.Row
	for i, what := range rows {
		who, title, _ := strings.Cut(what, " ")
		r := film.Row{Step: i + 1, Time: fmt.Sprintf("T%d", i+1), At: fmt.Sprintf("%d ms", 10*i), Cells: []film.Cell{{Thread: "A"}, {Thread: "B"}}}
		switch who {
		case "A", "B":
			c := &r.Cells[strings.Index("AB", who)]
			c.Title, c.Acting = title, true
		default:
			r.Event = what
		}
		out = append(out, r)
	}
	return out
}

func TestComparedByWhatHappened(t *testing.T) {
	for _, c := range []struct {
		name        string
		left, right []string
		over        bool
		want        []string // "left right" T, "-" for none; "=" equal; the marks
	}{
		{"equal", []string{"A lock"}, []string{"A lock"}, false, []string{"T1 T1 ="}},
		{
			"the same event at another T",
			[]string{"A lock", "B lock", "B retry", "lease over", "A unlock"},
			[]string{"A lock", "lease over", "A unlock"},
			false,
			[]string{"T1 T1 =", "T2 - 1: not at this point in R", "T3 - 1: not at this point in R", "T4 T2", "T5 T3"},
		},
		{"not that far", []string{"A lock", "B lock", "lease over"}, []string{"A lock"}, false, []string{"T1 T1 =", "T2 - : R has not been stepped that far", "T3 - : R has not been stepped that far"}},
		{"over", []string{"A lock"}, []string{"A lock", "lease over"}, true, []string{"T1 T1 =", "- T2 2: L has ended before"}},
		{"the order differs", []string{"A lock", "B lock"}, []string{"B lock", "A lock"}, false, []string{"T1 - 0: not at this point in R", "T2 T1", "- T2 0: not at this point in L"}},
		{"as often", []string{"B retry", "B retry"}, []string{"B retry"}, true, []string{"T1 T1 =", "T2 - 1: R has ended before"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := page.Branches(words.English, film.Scenario{},
				page.BranchSide{Name: "L", Rows: happened(c.left...), Over: c.over}, page.BranchSide{Name: "R", Rows: happened(c.right...), Over: c.over})
			var rows []string
			for _, r := range got.Rows {
				sides := [2]string{"-", "-"}
				for i, row := range []*film.Row{r.Left, r.Right} {
					if row != nil {
						sides[i] = row.Time
					}
				}
				line := sides[0] + " " + sides[1]
				if r.Equal {
					line += " ="
				}
				if r.Lacking != "" {
					line += " "
					for i, d := range r.Differs {
						if d {
							line += fmt.Sprint(i)
						}
					}
					line += ": " + r.Lacking
				}
				rows = append(rows, line)
			}
			if !slices.Equal(rows, c.want) {
				t.Errorf("got  %q\nwant %q", rows, c.want)
			}
		})
	}
}
