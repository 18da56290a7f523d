package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong with a scenario.
type Mistake struct {
	Line    int    // from 1
	Key     string // such as "threads[1].work"; "" for the whole
	Given   string
	Allowed string
}

// String is the mistake in one sentence.
func (m Mistake) String() string {
	key := m.Key
	if key == "" {
		key = "scenario"
	}
	return fmt.Sprintf("line %d: %s: given %s, allowed: %s", m.Line, key, m.Given, m.Allowed)
}

// Mistakes are all mistakes of a scenario, by line.
type Mistakes []Mistake

// Error lists the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return m
}

// maxGiven is how much of a wrong value a mistake repeats.
const maxGiven = 60

func quote(s string) string {
	if runes := []rune(s); len(runes) > maxGiven {
		s = string(runes[:maxGiven]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
