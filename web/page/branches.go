package page

import (
	"slices"
	"strconv"

	"relock/web/film"
	"relock/web/words"
)

// Pair is two branches side by side.
type Pair struct {
	Left, Right BranchSide
	Threads     []film.Thread
	Key         string
	Same        int // rows at the start that are equal
	Rows        []PairRow
	Lanes       []film.Picture // of both, on one time axis, or none
}

// BranchSide is one of the two branches.
type BranchSide struct {
	Name string
	Rows []film.Row
	Run  *film.Lanes // nil for no picture
	Over bool        // its run has ended
}

// PairRow is something that happened in both branches, or only in the one that
// has a row.
type PairRow struct {
	Left, Right *film.Row
	Equal       bool   // at the same T and time, too
	Differs     []bool // cell by cell; the last is the key's
	Lacking     string // why one branch has no row, "" if both have one
}

// BranchName returns a branch's name.
func BranchName(l words.Language, id int) string {
	if id == 0 {
		return l.Say("main")
	}
	return l.Say("branch %d", id)
}

// Branches puts two branches side by side. Their rows are in l.
func Branches(l words.Language, s film.Scenario, left, right BranchSide) Pair {
	c := Pair{Left: left, Right: right, Threads: s.Threads, Key: s.Key}
	if left.Run != nil && right.Run != nil {
		c.Lanes = film.Together(l, []*film.Lanes{left.Run, right.Run}, []string{"left", "right"})
	}
	inLeft, inRight := numbered(left.Rows), numbered(right.Rows)
	i, j := 0, 0
	alone := func(upToLeft, upToRight int) {
		for ; i < upToLeft; i++ {
			after := j == len(right.Rows) && !slices.Contains(inRight, inLeft[i])
			c.Rows = append(c.Rows, PairRow{Left: &left.Rows[i]}.without(l, right, after))
		}
		for ; j < upToRight; j++ {
			after := i == len(left.Rows) && !slices.Contains(inLeft, inRight[j])
			c.Rows = append(c.Rows, PairRow{Right: &right.Rows[j]}.without(l, left, after))
		}
	}
	for _, pair := range inBoth(inLeft, inRight) {
		alone(pair[0], pair[1])
		c.Rows = append(c.Rows, both(&left.Rows[i], &right.Rows[j]))
		i, j = i+1, j+1
	}
	alone(len(left.Rows), len(right.Rows))
	for c.Same < len(c.Rows) && c.Rows[c.Same].Equal {
		c.Same++
	}
	return c
}

// without says why the other branch has no such row, and marks what this branch
// did, unless the other may still come to it. After means that the row comes
// after everything in the other branch.
func (c PairRow) without(l words.Language, other BranchSide, after bool) PairRow {
	row := c.Left
	if row == nil {
		row = c.Right
	}
	c.Differs = make([]bool, len(row.Cells)+1)
	mark := row.Actor()
	switch {
	case after && !other.Over:
		c.Lacking = l.Say("%s has not been stepped that far", other.Name)
		return c
	case after:
		c.Lacking = l.Say("%s has ended before", other.Name)
	default:
		c.Lacking = l.Say("not at this point in %s", other.Name)
	}
	if mark < 0 {
		mark = len(row.Cells)
	}
	c.Differs[mark] = true
	return c
}

func both(a, b *film.Row) PairRow {
	c := PairRow{Left: a, Right: b, Differs: make([]bool, len(a.Cells)+1)}
	for i := range a.Cells {
		c.Differs[i] = !sameCell(a, b, i)
	}
	c.Differs[len(a.Cells)] = !sameKey(a.Key, b.Key)
	if a.Actor() < 0 && !slices.Equal(a.Violations, b.Violations) {
		c.Differs[len(a.Cells)] = true
	}
	c.Equal = a.Step == b.Step && a.At == b.At && !slices.Contains(c.Differs, true)
	return c
}

// happening returns what happened in a row, regardless of when.
func happening(r *film.Row) string {
	if i := r.Actor(); i >= 0 {
		return r.Cells[i].Thread + "\x00" + r.Cells[i].Title
	}
	return "\x00" + r.Event
}

// inBoth pairs the indexes of what is in both lists: as many pairs as keep the
// order of both. Nothing may be in a list twice.
func inBoth(left, right []string) [][2]int {
	there := map[string]int{}
	for j, what := range right {
		there[what] = j
	}
	// The longest increasing sequence of indexes in right: tops[k] is the pair
	// with the smallest index there that ends a sequence of k+1 pairs.
	var pairs [][2]int
	var before, tops []int
	for i, what := range left {
		j, ok := there[what]
		if !ok {
			continue
		}
		k, _ := slices.BinarySearchFunc(tops, j, func(top, j int) int { return pairs[top][1] - j })
		previous := -1
		if k > 0 {
			previous = tops[k-1]
		}
		pairs, before = append(pairs, [2]int{i, j}), append(before, previous)
		if k == len(tops) {
			tops = append(tops, 0)
		}
		tops[k] = len(pairs) - 1
	}
	if len(tops) == 0 {
		return nil
	}
	var out [][2]int
	for n := tops[len(tops)-1]; n >= 0; n = before[n] {
		out = append(out, pairs[n])
	}
	slices.Reverse(out)
	return out
}

// numbered returns what happened in each row, with how often it had happened
// before.
func numbered(rows []film.Row) []string {
	times := map[string]int{}
	out := make([]string, len(rows))
	for i := range rows {
		what := happening(&rows[i])
		out[i] = what + "\x00" + strconv.Itoa(times[what])
		times[what]++
	}
	return out
}

func sameCell(a, b *film.Row, i int) bool {
	x, y := a.Cells[i], b.Cells[i]
	return x.Title == y.Title && x.Acting == y.Acting && x.Inside == y.Inside && x.Leaving == y.Leaving && x.Parted == y.Parted &&
		slices.Equal(x.Earlier, y.Earlier) && slices.Equal(x.Lines, y.Lines) && slices.Equal(x.Notes, y.Notes) &&
		(!x.Acting || slices.Equal(a.Violations, b.Violations))
}

func sameKey(a, b film.Key) bool {
	return a.Type == b.Type && !a.Changed(b) && slices.Equal(a.Holds, b.Holds)
}
