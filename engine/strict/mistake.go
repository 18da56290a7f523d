package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relock/engine/phrase"
)

// Mistake is what is wrong at one place of a document.
type Mistake struct {
	Document string // what it is called: "scenario"
	Line     int    // from 1; 0 where it is about the whole document
	Key      string // such as "threads[1].work"; "" for the whole
	Given    phrase.Wording
	Allowed  phrase.Wording
	Why      phrase.Wording // in their place, where nothing else could be given there
}

// Clause says what is wrong, and of which key, but not in which line.
func (m Mistake) Clause() phrase.Wording {
	switch {
	case !m.Why.IsZero():
		return m.Why
	case m.Key == "":
		return phrase.Say("given %s, allowed: %s", m.Given, m.Allowed)
	default:
		return phrase.Say("%s: given %s, allowed: %s", m.Key, m.Given, m.Allowed)
	}
}

// Says returns the mistake as a clause.
func (m Mistake) Says() phrase.Wording {
	if !m.Why.IsZero() {
		return phrase.Say("line %s: %s", strconv.Itoa(m.Line), m.Why)
	}
	return phrase.Say("line %s: %s: given %s, allowed: %s", strconv.Itoa(m.Line), cmp.Or(m.Key, m.Document), m.Given, m.Allowed)
}

// String returns the mistake in English.
func (m Mistake) String() string { return m.Says().String() }

// Mistakes are all mistakes of a document.
type Mistakes []Mistake

// MaxMistakes is how many mistakes are listed: more mostly have a common cause.
const MaxMistakes = 20

// Listed returns the first mistakes by line, followed by the number of the rest.
func (m Mistakes) Listed() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	if len(m) <= MaxMistakes {
		return m
	}
	rest := len(m) - (MaxMistakes - 1)
	last := m[MaxMistakes-1]
	last.Key, last.Given, last.Allowed = "", Say("%s more mistakes from here on", rest), Say("none")
	return append(slices.Clip(m[:MaxMistakes-1]), last)
}

// Say returns a wording whose values are the same in every language.
func Say(text phrase.Text, named ...any) phrase.Wording {
	for i, one := range named {
		named[i] = fmt.Sprint(one)
	}
	return phrase.Say(text, named...)
}

// Among lists the allowed words.
func Among(words ...string) phrase.Wording { return phrase.Plain(strings.Join(words, ", ")) }

// TheKey is what was given where a key is not allowed.
func TheKey(name string) phrase.Wording { return Say("the key %s", Quote(name)) }

// Meant is what was given in place of one of the allowed words, with the one that it is probably
// meant to be.
func Meant(given phrase.Wording, word string, allowed []string) phrase.Wording {
	if near := Closest(word, allowed); near != "" {
		return phrase.Say("%[1]s (did you mean %[2]s?)", given, near)
	}
	return given
}

// Closest returns which of the allowed words a word is probably meant to be, "" where none is
// alike: it differs in a third of its letters at most, where two that changed places count as one.
func Closest(word string, allowed []string) string {
	best, least := "", len(word)/3+1
	for _, one := range allowed {
		if n := apart(word, one); n < least {
			best, least = one, n
		}
	}
	return best
}

// apart is how many letters must be put in, left out, changed, or change places to make a text of
// another.
func apart(a, b string) int {
	var before, last []int
	for i := range len(a) + 1 {
		row := make([]int, len(b)+1)
		for j := range row {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
				continue
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			default:
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+before[j-2])
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// maxGiven is how many characters of a wrong value a mistake quotes.
const maxGiven = 60

// Quote returns a text as a mistake quotes it.
func Quote(s string) string {
	if runes := []rune(s); len(runes) > maxGiven {
		s = string(runes[:maxGiven]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Quoted is Quote as a wording: a wrong value.
func Quoted(s string) phrase.Wording { return phrase.Plain(Quote(s)) }
