package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relock/engine/phrase"
)

// Mistake is one mistake in a scenario.
type Mistake struct {
	Line    int    // from 1
	Key     string // such as "threads[1].work"; "" for the whole
	Given   phrase.Wording
	Allowed phrase.Wording
}

// say returns a wording whose values are the same in every language.
func say(text phrase.Text, named ...any) phrase.Wording {
	for i, one := range named {
		named[i] = fmt.Sprint(one)
	}
	return phrase.Say(text, named...)
}

// among lists the allowed words.
func among(words ...string) phrase.Wording { return phrase.Plain(strings.Join(words, ", ")) }

// Says returns the mistake as a clause.
func (m Mistake) Says() phrase.Wording {
	return phrase.Say("line %s: %s: given %s, allowed: %s", strconv.Itoa(m.Line), cmp.Or(m.Key, "scenario"), m.Given, m.Allowed)
}

// String returns the mistake in English.
func (m Mistake) String() string { return m.Says().String() }

// Mistakes are all mistakes of a scenario, by line.
type Mistakes []Mistake

// Error lists the mistakes, one per line.
func (m Mistakes) Error() string { return phrase.Lines(m).String() }

// Says implements phrase.Speaker: all mistakes, one per line.
func (m Mistakes) Says() phrase.Wording {
	return phrase.Say("the scenario has mistakes: %s", phrase.Lines(m))
}

func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return m
}

// MaxMistakes is how many mistakes are listed: more mostly have a common cause.
const MaxMistakes = 20

// named returns the first mistakes by line, followed by the number of the rest.
func (m Mistakes) named() Mistakes {
	m = m.sorted()
	if len(m) <= MaxMistakes {
		return m
	}
	rest := len(m) - (MaxMistakes - 1)
	last := Mistake{m[MaxMistakes-1].Line, "", say("%s more mistakes from here on", rest), say("none")}
	return append(slices.Clip(m[:MaxMistakes-1]), last)
}

// maxGiven is how many characters of a wrong value a mistake quotes.
const maxGiven = 60

func quote(s string) string {
	if runes := []rune(s); len(runes) > maxGiven {
		s = string(runes[:maxGiven]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// quoted returns a wrong value as a mistake quotes it.
func quoted(s string) phrase.Wording { return phrase.Plain(quote(s)) }
