package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relock/engine/phrase"
)

// Mistake is one thing that is wrong with a scenario.
type Mistake struct {
	Line    int    // from 1
	Key     string // such as "threads[1].work"; "" for the whole
	Given   phrase.Wording
	Allowed phrase.Wording
}

// say is a wording whose values are the same in every language.
func say(text phrase.Text, named ...any) phrase.Wording {
	for i, one := range named {
		named[i] = fmt.Sprint(one)
	}
	return phrase.Say(text, named...)
}

// among are the words that are allowed, one after the other.
func among(words ...string) phrase.Wording { return phrase.Plain(strings.Join(words, ", ")) }

// Says is the mistake as a clause.
func (m Mistake) Says() phrase.Wording {
	return phrase.Say("line %s: %s: given %s, allowed: %s", strconv.Itoa(m.Line), cmp.Or(m.Key, "scenario"), m.Given, m.Allowed)
}

// String is the mistake in English.
func (m Mistake) String() string { return m.Says().String() }

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

// Says implements phrase.Speaker: all of them, one a line.
func (m Mistakes) Says() phrase.Wording {
	var lines phrase.Wording
	for i, one := range m {
		if i > 0 {
			lines.Args = append(lines.Args, "\n")
		}
		lines.Args = append(lines.Args, one.Says())
	}
	return phrase.Say("the scenario has mistakes: %s", lines)
}

func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return m
}

// MaxMistakes is how many mistakes are named: whoever makes more has one cause
// for most of them.
const MaxMistakes = 20

// named are the first mistakes by line, the last one of them being how many
// more there are.
func (m Mistakes) named() Mistakes {
	m = m.sorted()
	if len(m) <= MaxMistakes {
		return m
	}
	rest := len(m) - (MaxMistakes - 1)
	last := Mistake{m[MaxMistakes-1].Line, "", say("%s more mistakes from here on", rest), say("none")}
	return append(slices.Clip(m[:MaxMistakes-1]), last)
}

// maxGiven is how much of a wrong value a mistake repeats.
const maxGiven = 60

func quote(s string) string {
	if runes := []rune(s); len(runes) > maxGiven {
		s = string(runes[:maxGiven]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// quoted is a wrong value as a mistake repeats it.
func quoted(s string) phrase.Wording { return phrase.Plain(quote(s)) }
