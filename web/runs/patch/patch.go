// Package patch describes how one text of markup becomes the next, briefly if
// little has changed.
package patch

import "strings"

// Edit is one change to a list of tags: after Keep unchanged tags, drop Drop
// and insert Add. The text after the last edit is unchanged.
type Edit struct {
	Keep int      `json:"keep"`
	Drop int      `json:"drop,omitempty"`
	Add  []string `json:"add,omitempty"`
}

// Tags splits markup into pieces that change as a whole: each starts with a tag
// and ends before the next; an element that contains only text is one piece.
// Joined they are the markup again.
func Tags(markup string) []string {
	var tags []string
	start, opened := 0, false // the last piece is an element that is still open and contains only text
	for i := 0; i < len(markup); i++ {
		if markup[i] != '<' {
			continue
		}
		closes := strings.HasPrefix(markup[i:], "</")
		if i > start && !(closes && opened) {
			tags = append(tags, markup[start:i])
			start = i
		}
		opened = !closes
	}
	if start < len(markup) {
		tags = append(tags, markup[start:])
	}
	return tags
}

// mostEdits is how many tags may differ before all are sent: beyond it, finding
// the edits takes longer than sending.
const mostEdits = 300

// Between returns the edits from one list to another, the fewest (Myers, An
// O(ND) Difference Algorithm, 1986) if few tags differ.
func Between(from, to []string) []Edit {
	head := 0
	for head < len(from) && head < len(to) && from[head] == to[head] {
		head++
	}
	from, to = from[head:], to[head:]
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	switch {
	case len(from) == 0 && len(to) == 0:
		return nil
	case len(from) == 0 || len(to) == 0:
		return []Edit{{Keep: head, Drop: len(from), Add: to}}
	}
	reached, ok := search(from, to)
	if !ok {
		return []Edit{{Keep: head, Drop: len(from), Add: to}}
	}
	edits := trace(reached, from, to)
	edits[0].Keep += head
	return edits
}

// search finds how far one gets in from with a number of edits, on each
// diagonal: reached[d][k+d] for d edits, where k is the place in from minus
// that in to.
func search(from, to []string) (reached [][]int, ok bool) {
	for d := 0; d <= min(mostEdits, len(from)+len(to)); d++ {
		now := make([]int, 2*d+1)
		reached = append(reached, now)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x, _ = step(reached[d-1], d, k)
			}
			for x < len(from) && x-k < len(to) && x-k >= 0 && from[x] == to[x-k] {
				x++
			}
			now[k+d] = x
			if x >= len(from) && x-k >= len(to) {
				return reached, true
			}
		}
	}
	return nil, false
}

// step returns where the d-th edit leads on diagonal k, and whether it inserts
// a tag rather than dropping one. Before is how far one got with one edit less.
func step(before []int, d, k int) (x int, adds bool) {
	at := func(k int) int { return before[k+d-1] }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1), true
	}
	return at(k-1) + 1, false
}

// trace follows the path that search found backwards, and joins edits at one
// place.
func trace(reached [][]int, from, to []string) []Edit {
	drop, add := make([]bool, len(from)+1), make([]bool, len(to)+1)
	k := len(from) - len(to)
	for d := len(reached) - 1; d > 0; d-- {
		x, adds := step(reached[d-1], d, k)
		if adds {
			add[x-k-1] = true
			k++
		} else {
			drop[x-1] = true
			k--
		}
	}
	var edits []Edit
	x, y, keep := 0, 0, 0
	for x < len(from) || y < len(to) {
		if !drop[x] && !add[y] {
			x, y, keep = x+1, y+1, keep+1
			continue
		}
		e := Edit{Keep: keep}
		keep = 0
		for drop[x] || add[y] {
			if drop[x] {
				x, e.Drop = x+1, e.Drop+1
			} else {
				e.Add = append(e.Add, to[y])
				y++
			}
		}
		edits = append(edits, e)
	}
	return edits
}
