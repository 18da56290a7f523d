package film

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Sentence is the text about a row below a picture that stands alone.
type Sentence struct {
	Time, At string   // "T5", "62 ms"
	Why      string   //
	Broken   bool     // a rule is broken in it
	Beliefs  []string // of threads, that are not so
}

// Told are sentences set in columns, as wide as the picture above them.
type Told struct {
	Width, Height float64
	Lines         []ToldLine
}

// ToldLine is a line of them, or the part to the left of the first line.
type ToldLine struct {
	X, Y float64 // of its baseline
	Text string
	Kind ToldKind
}

// ToldKind says how a line is meant.
type ToldKind string

// The kinds of line.
const (
	ToldTime ToldKind = "time"
	ToldAt   ToldKind = "at"
	ToldWhy  ToldKind = "why"
	ToldBad  ToldKind = "bad" // of a broken rule, or of a belief that is not so
)

// Measures of the text below a picture.
const (
	toldLine   = 17  // between two lines
	toldGap    = 6   // between two sentences, on top of that
	toldColumn = 460 // the least width of a column
	toldGutter = 28  // between two columns
	toldPlain  = .95 // its type is so wide beside the picture's
	toldBold   = 1.05
)

// Tell sets sentences below a picture of a width.
func Tell(width float64, list []Sentence) Told {
	t := Told{Width: max(width, toldColumn)}
	if len(list) == 0 {
		return t
	}
	columns := max(math.Floor((t.Width+toldGutter)/(toldColumn+toldGutter)), 1)
	column := (t.Width - toldGutter*(columns-1)) / columns
	number, label := 0.0, 0.0
	for _, s := range list {
		number = max(number, math.Ceil(1.2*wide(s.Time)))
		label = max(label, math.Ceil(wide(s.At)))
	}
	label += number + 8 + 14
	items, whole := make([][]ToldLine, len(list)), 0
	for i, s := range list {
		items[i] = toldLines(s, number+8, label, column)
		whole += len(items[i]) - 2
	}
	// Each column takes its share of the lines, and the last one what is left.
	share := math.Ceil(float64(whole) / columns)
	x, y, taken := 0.0, 0.0, 0.0
	for i, item := range items {
		lines := float64(len(item) - 2)
		if taken > 0 && taken+lines/2 > share && x+column < t.Width-1 {
			x, y, taken = x+column+toldGutter, 0, 0
		}
		for _, line := range item {
			line.X, line.Y = round(x+line.X), round(y+line.Y)
			t.Lines = append(t.Lines, line)
		}
		y += lines*toldLine + toldGap
		taken += lines
		t.Height = max(t.Height, y)
		items[i] = nil
	}
	return t
}

// toldLines are the lines of one sentence: first its step and time, then the text
// from label on.
func toldLines(s Sentence, at, label, column float64) []ToldLine {
	lines := []ToldLine{{0, toldLine, s.Time, ToldTime}, {at, toldLine, s.At, ToldAt}}
	add := func(text string, kind ToldKind) {
		broader := toldPlain
		if kind == ToldBad {
			broader = toldBold
		}
		for _, part := range wrapped(text, (column-label)/broader) {
			lines = append(lines, ToldLine{label, toldLine * float64(len(lines)-1), part, kind})
		}
	}
	kind := ToldWhy
	if s.Broken {
		kind = ToldBad
	}
	add(s.Why, kind)
	for _, belief := range s.Beliefs {
		add(belief, ToldBad)
	}
	if len(lines) == 2 {
		lines = append(lines, ToldLine{label, toldLine, "", ToldWhy})
	}
	return lines
}

// wrapped is a text in lines of a width at most. It breaks at spaces, beside
// ideographs, and within a word that is longer than a line.
func wrapped(text string, width float64) []string {
	var lines []string
	line := ""
	for _, piece := range pieces(text) {
		for wider(width, line, piece) {
			if line != "" {
				lines, line = append(lines, strings.TrimRight(line, " ")), ""
				continue
			}
			n := fitting(piece, width)
			lines, piece = append(lines, piece[:n]), piece[n:]
		}
		line += piece
	}
	if line = strings.TrimRight(line, " "); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// wider reports whether texts one after the other are wider than a width, without
// spaces at their end.
func wider(width float64, texts ...string) bool {
	w, spaces := 0.0, 0
	for _, text := range texts {
		for _, r := range text {
			if r == ' ' {
				spaces++
				continue
			}
			w += wide(" ")*float64(spaces) + wide(string(r))
			if spaces = 0; w > width {
				return true
			}
		}
	}
	return false
}

// pieces are the parts of a text between which a line may end. Punctuation that closes or
// ends a clause stays with the word before it.
func pieces(text string) []string {
	var list []string
	start := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:]) // one byte, where it is none
		i += size
		next, _ := utf8.DecodeRuneInString(text[i:])
		if r == ' ' || (ideograph(r) || ideograph(next)) && !strings.ContainsRune("，。：；、）”？！", next) {
			list = append(list, text[start:i])
			start = i
		}
	}
	return append(list, text[start:])
}

func ideograph(r rune) bool { return r >= 0x2e80 && r != utf8.RuneError }

// fitting is how many bytes of a word fit into a width, at least one rune.
func fitting(word string, width float64) int {
	w := 0.0
	for i, r := range word {
		if w += wide(string(r)); w > width && i > 0 {
			return i
		}
	}
	return len(word)
}
