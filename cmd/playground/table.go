package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/lessons"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// Output fits the terminal, as long as one thread does; in a wide terminal, or
// without one, it is as wide as a page of a book.
const (
	minWidth = timeWidth + gap + minThreadWidth + gap + keyWidth
	maxWidth = 100
)

// Columns of fixed width.
const (
	timeWidth = 12 // "1,234.567 ms"
	keyWidth  = 24 // "{ A 3045…439: 2 }" and a lease
	gap       = 2
)

// minThreadWidth is the narrowest readable column. If the threads do not all
// fit, a single column shows the thread that acts.
const minThreadWidth = 27

const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	reset = "\x1b[0m"
)

// table writes rows of cells of fixed widths.
type table struct {
	w      io.Writer
	width  int // in total
	widths []int
	colour bool
	l      words.Language
}

type styled struct {
	text  string
	style string
}

// printTable writes a run as the textbook's T1–T10 table, of a long one only a part unless
// all is asked for.
func printTable(env environment, l words.Language, sc film.Scenario, h trace.Header, events []trace.Event, all bool) {
	timeline := film.NewTimeline(l, sc, h.Owners).Framed(h)
	for _, e := range events {
		timeline.Add(e)
	}
	threads := timeline.Threads()
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l, widths: []int{timeWidth}}
	room := t.width - timeWidth - keyWidth - 2*gap
	single := len(threads)*(minThreadWidth+gap)-gap > room
	head := [][]styled{{{l.Say("Time"), bold}}}
	if single {
		t.widths = append(t.widths, room)
		head = append(head, []styled{{l.Say("Threads"), bold}})
	} else {
		for i, name := range threads {
			t.widths = append(t.widths, (room-gap*(len(threads)-1))/len(threads))
			cell := []styled{{l.Say("Thread %s", name), bold}}
			if of := sc.Threads[i].Of; of != "" {
				cell = append(cell, styled{of, faint})
			}
			head = append(head, cell)
		}
	}
	t.widths = append(t.widths, keyWidth)
	shown := sc
	shown.Key = middle(sc.Key, keyWidth-columns(l.Say("%s, after", "")))
	head = append(head, []styled{{shown.After(l), bold}})

	t.line(titleOf(l, sc.Title), bold)
	about := []string{place(l, h), l.Say("seed %s", strconv.FormatUint(h.Seed, 10)), l.Say("lease %s", sc.Lease), l.Say("watchdog %s", sc.Watchdog)}
	if h.Framed() { // nothing was drawn, and whose watchdog renews is not known
		about = []string{place(l, h), longest(l, events)}
	}
	t.line(strings.Join(about, " · "), "")
	fmt.Fprintln(t.w)
	t.row(head)
	t.rule()
	t.rows(timeline.Rows(), single, all)
}

// longest says what time the lock's key was given at most, as far as the events of other
// programs' clients show it.
func longest(l words.Language, events []trace.Event) string {
	most := int64(trace.NoKey)
	for i, e := range events {
		if i+1 < len(events) && events[i+1].Step == e.Step { // in the middle of a script nobody sees the key
			continue
		}
		keys := append([]trace.KeyState{e.Key}, e.Nodes...)
		for _, one := range e.Locks {
			keys = append(keys, one.Key)
		}
		for _, k := range keys {
			if k.Exists() && (k.PTTL == trace.NoExpiry || k.PTTL > most && most != trace.NoExpiry) {
				most = k.PTTL
			}
		}
	}
	switch most {
	case trace.NoKey:
		return l.Say("the lock's key was never there")
	case trace.NoExpiry:
		return l.Say("the key has no expiry at times")
	default:
		return l.Say("longest lease %s", l.Duration(trace.Millis(most).Duration()))
	}
}

// rows writes all rows, or of many those beside a broken rule and how many are between them.
func (t table) rows(rows []film.Row, single, all bool) {
	stretches := []film.Stretch{{To: len(rows)}}
	if !all && len(rows) > film.LongTable {
		stretches = film.Stretches(rows)
	}
	shown := 0
	for _, s := range stretches {
		if left := s.From - shown; left > 0 {
			t.line(t.l.Say("… %d rows are left out; -all prints them", left), faint)
		}
		for _, r := range rows[s.From:s.To] {
			t.timelineRow(r, single)
		}
		shown = s.To
	}
}

// titleOf returns the heading of a scenario's run.
func titleOf(l words.Language, title string) string {
	return cmp.Or(l.Clause(lessons.Title(title)), l.Say("Scenario"))
}

func place(l words.Language, h trace.Header) string {
	if h.Store == trace.StoreExternal {
		return l.Say("external Redis · wall clock")
	}
	return page.Place(l, h, "")
}

func (t table) timelineRow(r film.Row, single bool) {
	if r.Event == "" && len(r.Violations) == 0 || anyActs(r) {
		row := [][]styled{{{r.Time, bold}, {r.At, faint}}}
		var all []styled
		for i, c := range r.Cells {
			width := t.widths[1]
			if !single {
				width = t.widths[1+i]
			}
			lines := t.cellLines(c, width)
			if !single {
				row = append(row, lines)
			} else if c.Acting {
				name := c.Thread
				if c.Of != "" {
					name += " (" + c.Of + ")"
				}
				lines[0].text = t.l.Say("%s: %s", name, lines[0].text)
				all = append(all, lines...)
			}
		}
		if single {
			row = append(row, all)
		}
		t.row(append(row, t.keyLines(r.Key)))
	}
	if r.Event != "" {
		style := faint
		if r.EventTone == film.Bad {
			style = red
		}
		t.wide(r, r.Event, style)
	}
	for _, v := range r.Violations {
		t.wide(r, "✗ "+t.l.Say("%s: %s", v.Named, v.Detail), red)
	}
}

func anyActs(r film.Row) bool {
	for _, c := range r.Cells {
		if c.Acting {
			return true
		}
	}
	return false
}

// wide writes what belongs to no thread across all columns but the first.
func (t table) wide(r film.Row, text, style string) {
	var head []styled
	switch at := r.Time + " " + r.At; {
	case anyActs(r):
	case columns(at) <= timeWidth:
		head = []styled{{at, ""}}
	default:
		head = []styled{{r.Time, ""}, {r.At, ""}}
	}
	t.widths = []int{timeWidth, t.width - timeWidth - gap}
	t.row([][]styled{head, {{text, style}}})
}

func style(t film.Tone) string {
	switch t {
	case film.Quiet:
		return faint
	case film.Good:
		return green
	case film.Bad:
		return red
	default:
		return ""
	}
}

// cellLines returns the lines of a thread's cell of a given width.
func (t table) cellLines(c film.Cell, width int) []styled {
	title := c.Title
	if c.Acting && c.Parted {
		title = t.l.Say("%s (%s)", title, t.l.Say("believes it holds"))
	}
	if c.Leaving {
		title = strings.TrimSpace(t.l.Say("%s (%s)", title, t.l.Say("leaving")))
	}
	lines := noteLines(c.Earlier)
	if title != "" || len(c.Earlier)+len(c.Lines)+len(c.Notes) == 0 {
		lines = append(lines, styled{title, style(c.Tone)})
	}
	for _, l := range c.Lines {
		s := faint
		if l.Writes {
			s = ""
		}
		if l.Error {
			s = red
		}
		words := strings.Split(strings.TrimSpace(node(l)+l.Verb+" "+l.Args)+" → "+l.Reply, " ")
		for i, word := range words {
			words[i] = middle(word, width-len(indent))
		}
		lines = append(lines, styled{strings.Join(words, " "), s})
	}
	return append(lines, noteLines(c.Notes)...)
}

func noteLines(list []film.Note) []styled {
	var lines []styled
	for _, n := range list {
		if n.Tone == film.Bad {
			lines = append(lines, styled{"✗ " + n.Text, red})
			continue
		}
		lines = append(lines, styled{"· " + n.Text, faint})
	}
	return lines
}

// node says on which of several Redis nodes a command ran.
func node(l film.Line) string {
	if l.Node == 0 {
		return ""
	}
	return strconv.Itoa(l.Node) + ": "
}

func (t table) keyLines(k film.Key) []styled {
	var lines []styled
	for _, one := range k.Locks {
		lines = append(append(lines, styled{middle(one.Name, keyWidth), bold}), t.keyLines(one.Key)...)
	}
	if len(k.Locks) > 0 {
		return lines
	}
	if len(k.Nodes) > 0 {
		text := t.l.Say("nodes")
		for _, n := range k.Nodes {
			holder := n.Thread
			if holder == "" {
				holder = "–"
			}
			if n.Down {
				holder += "✕"
			}
			text += " " + holder
		}
		lines = append(lines, styled{text, faint})
	}
	if k.Lease == "" && len(k.Nodes) > 0 {
		return append(lines, styled{t.l.Say("no majority"), faint})
	}
	if k.Lease == "" {
		return append(lines, styled{t.l.Say("no key"), faint})
	}
	lines = append(lines, entryLines(k)...)
	if k.Taken != "" {
		lines = append(lines, styled{k.Taken, faint})
	}
	const cells = 10
	full := (k.Fraction*cells + 999) / 1000
	bar := strings.Repeat("█", full) + strings.Repeat("░", cells-full)
	return append(lines, styled{bar + " " + k.Lease, faint})
}

// entryLines returns what is in the key, several entries within one pair of
// braces.
func entryLines(k film.Key) []styled {
	var lines []styled
	for i, h := range k.Entries() {
		if k.Quoted() {
			lines = append(lines, styled{strings.TrimSpace(h.Thread + " \"" + h.Owner + "\""), ""})
			continue
		}
		text := h.Text()
		if i == 0 {
			text = "{ " + text
		}
		lines = append(lines, styled{strings.TrimSpace(h.Thread + " " + text), ""})
	}
	last := len(lines) - 1
	if last < 0 || k.Quoted() {
		return lines
	}
	for i := range last {
		lines[i].text += ","
	}
	for _, c := range k.Calls {
		if text := lines[last].text + ", " + c.String(); columns(text+" }") <= keyWidth {
			lines[last].text = text
			continue
		}
		lines[last].text += ","
		lines = append(lines, styled{indent + c.String(), ""})
		last++
	}
	lines[last].text += " }"
	return lines
}

func (t table) row(cells [][]styled) {
	var wrapped [][]styled
	height := 0
	for i, c := range cells {
		var lines []styled
		for _, s := range c {
			for _, part := range wrap(s.text, t.widths[i]) {
				lines = append(lines, styled{part, s.style})
			}
		}
		wrapped = append(wrapped, lines)
		height = max(height, len(lines))
	}
	for n := range height {
		var b strings.Builder
		for i, lines := range wrapped {
			var s styled
			if n < len(lines) {
				s = lines[n]
			}
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			text := s.text
			if i < len(wrapped)-1 {
				text = pad(text, t.widths[i])
			}
			b.WriteString(t.paint(text, s.style))
		}
		fmt.Fprintln(t.w, strings.TrimRight(b.String(), " "))
	}
}

// line writes a text across all columns.
func (t table) line(text, style string) {
	for _, part := range wrap(text, t.width) {
		fmt.Fprintln(t.w, t.paint(part, style))
	}
}

func (t table) rule() { fmt.Fprintln(t.w, strings.Repeat("─", t.width)) }

func (t table) paint(text, style string) string {
	if !t.colour || style == "" || text == "" {
		return text
	}
	return style + text + reset
}

// columns returns how many terminal columns a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) { // combines with the previous character
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(n-columns(s), 0)) }

// indent starts each continuation line that has room for it.
const indent = "  "

// wrap breaks a text into lines of at most n columns, where a reader would.
func wrap(s string, n int) []string { return wrapped(s, n, indent) }

// wrapped is wrap with something else before each line after the first.
func wrapped(s string, n int, indent string) []string {
	var lines []string
	line := ""
	for _, piece := range pieces(words.Unparted(s)) {
		piece = strings.ReplaceAll(piece, string(noBreak), " ")
		for columns(strings.TrimRight(piece, " ")) > n { // longer than a line
			if strings.TrimSpace(line) != "" {
				lines = append(lines, strings.TrimRight(line, " "))
			}
			line = ""
			head := cut(piece, n)
			lines, piece = append(lines, head), piece[len(head):]
		}
		if columns(line)+columns(strings.TrimRight(piece, " ")) > n {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
			if n >= 3*len(indent) && columns(indent)+columns(strings.TrimRight(piece, " ")) <= n {
				line = indent
			}
		}
		line += piece
	}
	return append(lines, strings.TrimRight(line, " "))
}

// pieces are the parts of a text that stay whole, each with the spaces after it: words, and
// Han characters with the marks that belong to them. A number is one with its unit.
func pieces(s string) []string {
	var list []string
	from, before := 0, rune(0)
	for i, r := range s {
		if i > from && breaks(s[from:i], before, r) {
			list, from = append(list, s[from:i]), i
		}
		before = r
	}
	return append(list, s[from:])
}

// The characters that no line ends with, and that none starts with.
const (
	opening = "（【《「『“‘("
	closing = "），。：；、？！】》」』”’…—·～)%,.:;!?"
)

// comment is the mark that begins a comment, with the space after it: what follows is read as
// one only behind it.
const comment = "# "

// noBreak is the space at which no line ends.
const noBreak = '\u00a0'

// breaks reports whether a line may end between two characters: after a piece that ends in
// before.
func breaks(piece string, before, next rune) bool {
	switch {
	case next == ' ' || strings.ContainsRune(opening, before) || strings.ContainsRune(closing, next):
		return false
	case before == noBreak || next == noBreak:
		return false
	case before == ' ':
		return piece != comment
	case before == '小' && next == '时', before == '分' && next == '钟', before == '毫' && next == '秒':
		return false
	default:
		return runeColumns(before) == 2 || runeColumns(next) == 2
	}
}

// cut returns as much of the start of a word as fits into n columns, up to a
// hyphen if there is one.
func cut(s string, n int) string {
	head := within(s, n)
	if hyphen := strings.LastIndexByte(head, '-'); hyphen > 0 && len(head) < len(s) {
		return head[:hyphen+1]
	}
	return head
}

// middle shortens a word to n columns, keeping both ends.
func middle(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	tail := ""
	for runes := []rune(s); len(runes) > 0; runes = runes[:len(runes)-1] {
		last := string(runes[len(runes)-1])
		if columns(last)+columns(tail) > n/2 {
			break
		}
		tail = last + tail
	}
	return within(s, n-1-columns(tail)) + "…" + tail
}

// within returns as much of the start of a text as fits into n columns.
func within(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n {
			return s[:i]
		}
	}
	return s
}

// unjudged says what keeps a judgement from being given, as a list, with the flags that
// help; nil where nothing does.
func unjudged(l words.Language, j verdict.Judgement) []string {
	list := film.Unjudged(l, j)
	for i := range list[min(1, len(list)):] {
		list[i+1] = "– " + list[i+1]
		if set := j.Unjudged[i].Set; set != "" {
			list[i+1] += " (-" + string(set) + ")"
		}
	}
	return list
}
