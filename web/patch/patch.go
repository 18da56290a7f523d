// Package patch says what leads from one text of markup to the next, in few
// words where little has changed.
package patch

import "strings"

// Edit is one place where a list of tags changes: after Keep tags more that
// stay, Drop are left out and Add put in. What is after the last edit stays.
type Edit struct {
	Keep int      `json:"keep"`
	Drop int      `json:"drop,omitempty"`
	Add  []string `json:"add,omitempty"`
}

// Tags cuts markup into pieces that change as one: each begins with a tag, and
// ends before the next one; an element with nothing but text in it is one.
// Joined they are the markup again.
func Tags(markup string) []string {
	var tags []string
	start, opened := 0, false // what began last is an element, and nothing else has come since
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

// mostEdits is how many tags may differ before all of them are sent: as many
// as take longer to find than to send.
const mostEdits = 300

// Between leads from one list to another. It is the shortest way (Myers, An
// O(ND) Difference Algorithm, 1986) where few of the tags differ.
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

// search finds how far one gets in from with as many edits, on each diagonal:
// reached[d][k+d] for d edits, where k is the place in from less that in to.
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

// step is where the d-th edit leads to on diagonal k, and whether it puts a tag
// in; else it leaves one out. Before is how far one got with one edit less.
func step(before []int, d, k int) (x int, adds bool) {
	at := func(k int) int { return before[k+d-1] }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1), true
	}
	return at(k-1) + 1, false
}

// trace goes back the way that search found, and joins edits at one place.
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
