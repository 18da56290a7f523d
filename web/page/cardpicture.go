package page

import (
	"slices"
	"strings"

	"relock/web/film"
	"relock/web/words"
)

// CardPicture is a card laid out as a picture, in its units.
type CardPicture struct {
	Title         string
	Width, Height float64
	Columns       []CardAt // the names of places, each below its column's signs' middle
	Rows          []CardAt // the names of faults, at the start of a line
	Threads       []CardAt // the names of threads
	Marks         []CardSign
	Lines         []float64 // between groups of rows
	Told          film.Told // what breaks which rule, and what the signs mean
	ToldAt        float64   // its top
}

// CardAt is a text and where it begins.
type CardAt struct {
	X, Y    float64
	Text    string
	Ordinal int // of a thread
}

// CardSign is a mark and its middle.
type CardSign struct {
	X, Y float64
	CardMark
}

// Measures of a card's picture.
const (
	cardNames  = 150 // of the faults
	cardColumn = 30  // of one mark
	cardLine   = 28
	cardHead   = 92 // the names of threads and places
)

// NewCardPicture lays out a card: its signs, and below them what breaks which rule.
func NewCardPicture(l words.Language, title string, c CardTable) CardPicture {
	p := CardPicture{Title: title}
	column := float64(cardColumn * len(c.Locks))
	x := float64(cardNames)
	for n, t := range c.Threads {
		p.Threads = append(p.Threads, CardAt{x, 14, l.Say("Thread %s", t.Name), n})
		for _, place := range t.Places {
			p.Columns = append(p.Columns, CardAt{x + column/2, cardHead - 8, place.Words(), n})
			x += column
		}
		x += cardColumn / 2
	}
	p.Width = x
	y := float64(cardHead)
	row := func(name string, cells ...CardCell) {
		middle := y + cardLine/2
		p.Rows = append(p.Rows, CardAt{0, middle + 4, name, 0})
		for i, cell := range cells {
			at := p.Columns[i].X - column/2
			for n, m := range cell {
				p.Marks = append(p.Marks, CardSign{at + (float64(n)+.5)*cardColumn, middle, m})
			}
		}
		y += cardLine
	}
	row(l.Say("none"), c.Without)
	p.Lines = append(p.Lines, y)
	for _, r := range c.Rows {
		row(r.Fault, r.Cells...)
	}
	if len(c.Redis) > 0 {
		p.Lines = append(p.Lines, y)
	}
	for _, r := range c.Redis {
		row(r.Fault, r.Cells...)
	}
	p.Lines = append(p.Lines, y)
	p.ToldAt = y + 12
	p.Told = film.Tell(p.Width, append(cardBreaks(l, c), cardMeans(l, p.Marks)...))
	p.Width = max(p.Width, p.Told.Width)
	p.Height = p.ToldAt + p.Told.Height
	return p
}

// cardBreaks says for each lock which rules break, and by which faults.
func cardBreaks(l words.Language, c CardTable) []film.Sentence {
	var list []film.Sentence
	for n, lock := range c.Locks {
		before := len(list)
		if m := c.Without[n]; m.Tone() == Bad {
			list = append(list, film.Sentence{Why: l.Say("%s: %s", l.Say("none"), m.Says)})
		}
		for _, f := range c.Broken(l, n) {
			var by []string
			for _, w := range f.Faults {
				by = append(by, strings.TrimSpace(w.Fault+" "+strings.Join(w.Places, ", ")))
			}
			list = append(list, film.Sentence{Why: l.Say("%s: %s", f.Says, strings.Join(by, "; "))})
		}
		if before < len(list) {
			list[before].Time = lock
		}
	}
	return list
}

// cardMeans explains the signs that a picture has.
func cardMeans(l words.Language, marks []CardSign) []film.Sentence {
	var list []film.Sentence
	for _, e := range CardLegend(l) {
		if slices.ContainsFunc(marks, func(m CardSign) bool { return m.Shape() == e.Shape }) {
			list = append(list, film.Sentence{Time: e.Shape, Why: e.Says})
		}
	}
	return list
}
