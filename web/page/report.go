package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/explore/card"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/words"
)

// CardOfOwn says what a card takes from a scenario with a user's own lock.
const CardOfOwn phrase.Text = "It takes only the scripts of your scenario. The threads, the lease and the tries are the same on every lock's card, so you can compare cards."

// OwnCard is the page with the report card of a user's own lock.
type OwnCard struct {
	Page

	Title  string // the scenario's
	Text   string // its YAML, with the lock's scripts
	Card   CardTable
	Legend []CardEntry
	Broken []CardFound

	Picture string // of the card, as a URL that holds an SVG file
}

// MostCards is how many locks one table has.
const MostCards = 2

// CardTable is a card, or two side by side in each cell.
type CardTable struct {
	Locks   []string
	Threads []CardThread
	Rows    []CardRow // of faults that strike threads
	Redis   []CardRow // of faults of Redis, at any moment: one cell
	Without []CardMark
	Own     bool   // one of the locks is one's own
	Delays  string // how late the moves of a schedule may be
}

// CardThread is the columns of a thread.
type CardThread struct {
	Name   string
	Places []CardPlace
}

// CardPlace is a column.
type CardPlace struct {
	At    string // as scenarios name it
	Level int    // 0 where there is none
}

// Words is the place in words: "lock 1".
func (p CardPlace) Words() string {
	if p.Level == 0 {
		return p.At
	}
	return p.At + " " + strconv.Itoa(p.Level)
}

// CardRow is a fault.
type CardRow struct {
	Fault string     // as scenarios name it
	Label string     // what it is
	Cells []CardCell // a thread's places, then the next one's
}

// CardCell has a mark for each lock.
type CardCell []CardMark

// CardTone is the colour of a mark.
type CardTone string

// The tones.
const (
	Good    CardTone = "good"
	Late    CardTone = "late"
	Failed  CardTone = "failed"
	Bad     CardTone = "bad"
	Neutral CardTone = "neutral"
)

// CardMark is what a fault at a place does to a lock.
type CardMark struct {
	sign

	Lock   string
	Cell   string   // the cell's name, "" where the lock never comes to that
	Link   string   // where its example is shown, "" where there is none
	Says   string   // in words
	Rules  []string // broken, as traces name them
	Partly bool     // not all orders were tried
}

// sign is how a verdict is shown: a character of one column, and a tone.
type sign struct {
	shape string
	tone  CardTone
}

// Signs differ without their colours.
var signs = map[card.Verdict]sign{
	card.Survived:   {"✓", Good},
	card.Late:       {"◔", Late},
	card.Unfinished: {"◑", Failed},
	card.Broken:     {"✗", Bad},
}

// The signs for no verdict.
var (
	same  = sign{"=", Neutral}
	open  = sign{"?", Neutral} // nothing but a broken rule is certain where not all orders were tried
	never = sign{"·", Neutral}
)

// CardEntry is one of the legend.
type CardEntry struct {
	Shape string
	Tone  CardTone
	Says  string
}

// CardLegend explains the shapes.
func CardLegend(l words.Language) []CardEntry {
	entry := func(s sign, says string) CardEntry { return CardEntry{s.shape, s.tone, says} }
	return []CardEntry{
		entry(signs[card.Survived], l.Say("survived: every order ends as the same moves do without the fault, and no later")),
		entry(signs[card.Late], l.Say("time lost only")),
		entry(signs[card.Unfinished], l.Say("no rule is broken, but a thread gives up or fails")),
		entry(signs[card.Broken], l.Say("breaks a rule")),
		entry(same, l.Say("no worse than without the fault")),
		entry(open, l.Say("no rule was broken, but not all orders were tried")),
		entry(never, l.Say("cannot happen here")),
	}
}

// NewCardTable lays out the cards of one lock or of two.
func NewCardTable(l words.Language, cards ...*card.Card) CardTable {
	var t CardTable
	depth, delays := 0, 0
	for _, c := range cards {
		t.Locks = append(t.Locks, c.Protocol)
		t.Own = t.Own || c.Protocol == protocol.Own
		t.Without = append(t.Without, mark(l, c, c.Without))
		depth, delays = max(depth, c.Depth), max(delays, c.Delays)
	}
	t.Delays = Delays(l, delays)
	places := card.Places(depth)
	for _, p := range places {
		if n := len(t.Threads); n == 0 || t.Threads[n-1].Name != p.Thread {
			t.Threads = append(t.Threads, CardThread{Name: p.Thread})
		}
		last := &t.Threads[len(t.Threads)-1]
		last.Places = append(last.Places, CardPlace{p.At, p.Level})
	}
	ofThreads, ofRedis := card.Faults()
	t.Rows = cardRows(l, cards, ofThreads, places)
	t.Redis = cardRows(l, cards, ofRedis, []card.Place{{}})
	return t
}

// cardRows are the rows of faults that some of the locks can have.
func cardRows(l words.Language, cards []*card.Card, faults []string, places []card.Place) []CardRow {
	var list []CardRow
	for _, name := range faults {
		k, _ := fault.Named(name)
		row := CardRow{Fault: name, Label: l.Say(k.Label)}
		some := false
		for _, p := range places {
			var cell CardCell
			for _, c := range cards {
				m := mark(l, c, c.Cell(name, p))
				some = some || m.Cell != ""
				cell = append(cell, m)
			}
			row.Cells = append(row.Cells, cell)
		}
		if some {
			list = append(list, row)
		}
	}
	return list
}

func mark(l words.Language, c *card.Card, cell *card.Cell) CardMark {
	m := CardMark{Lock: c.Protocol, sign: never, Says: l.Say("cannot happen here")}
	if cell == nil {
		return m
	}
	m.Cell, m.sign, m.Partly = cell.Name(), signs[cell.Verdict], cell.Partly
	m.Link = "/locks/" + m.Lock + "/" + m.Cell
	switch cell.Verdict {
	case card.Survived:
		m.Says = l.Say("survived")
	case card.Late:
		m.Says = l.Say("time lost: up to %s", l.Duration(time.Duration(cell.LaterMS*float64(time.Millisecond))))
	case card.Unfinished:
		m.Says = l.Say("a thread gives up or fails")
	case card.Broken:
		for _, r := range cell.Rules {
			m.Rules = append(m.Rules, r.Name)
		}
		m.Says = l.Say("broken: %s", named(l, m.Rules))
		if !slices.ContainsFunc(cell.Rules, func(r card.Rule) bool { return !r.Stands }) {
			m.Says = l.Say("%s (%s)", m.Says, l.Say("only if a thread stands still longer than its lease"))
		}
	}
	if cell.Same {
		m.sign = same
		m.Says = l.Say("%s (%s)", m.Says, l.Say("no worse than without the fault"))
	}
	if cell.Partly {
		m.Says = l.Say("%s (%s)", m.Says, l.Say("not all orders were tried"))
		if cell.Verdict != card.Broken {
			m.sign = open
		}
	}
	return m
}

// named lists rules in words.
func named(l words.Language, rules []string) string {
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = film.RuleNamed(l, rule)
	}
	return l.List(names)
}

// Lead sets where the example of each cell is shown, for a card that the page with
// all locks does not have. It fails with the first error of to.
func (t *CardTable) Lead(to func(cell string) (string, error)) error {
	lead := func(cell CardCell) (err error) {
		for i := range cell {
			if err == nil && cell[i].Cell != "" {
				cell[i].Link, err = to(cell[i].Cell)
			}
		}
		return err
	}
	cells := []CardCell{t.Without}
	for _, r := range slices.Concat(t.Rows, t.Redis) {
		cells = append(cells, r.Cells...)
	}
	for _, c := range cells {
		if err := lead(c); err != nil {
			return err
		}
	}
	return nil
}

// Shape is one character.
func (m CardMark) Shape() string { return m.shape }

// Tone is the colour.
func (m CardMark) Tone() CardTone { return m.tone }

// Tally counts the verdicts of the nth lock, the better first, and last those that
// are no worse than without the fault, and those that are not certain; what it
// never comes to is not counted.
func (t CardTable) Tally(l words.Language, lock int) []CardCount {
	kinds := []struct {
		sign
		says string
	}{
		{signs[card.Survived], l.Say("survived")},
		{signs[card.Late], l.Say("time lost only")},
		{signs[card.Unfinished], l.Say("a thread gives up or fails")},
		{signs[card.Broken], l.Say("breaks a rule")},
		{same, l.Say("no worse than without the fault")},
		{open, l.Say("no rule was broken, but not all orders were tried")},
	}
	var list []CardCount
	for _, k := range kinds {
		n := 0
		for _, r := range slices.Concat(t.Rows, t.Redis) {
			for _, c := range r.Cells {
				if c[lock].sign == k.sign {
					n++
				}
			}
		}
		if n > 0 {
			list = append(list, CardCount{CardEntry{k.shape, k.tone, k.says}, n})
		}
	}
	return list
}

// CardCount is how many cells have a verdict.
type CardCount struct {
	CardEntry

	N int
}

// Partly returns the names of the cells of the nth lock of which not all orders
// were tried.
func (t CardTable) Partly(lock int) []string {
	var list []string
	for _, r := range slices.Concat(t.Rows, t.Redis) {
		for _, c := range r.Cells {
			if c[lock].Partly {
				list = append(list, c[lock].Cell)
			}
		}
	}
	return list
}

// CardFound is where a lock breaks some rules.
type CardFound struct {
	Rules  []string
	Says   string // the rules, in words
	Faults []CardWhere
}

// CardWhere is a fault and the places where it breaks them.
type CardWhere struct {
	Fault  string
	Places []string // "A lock 1"; none: at any moment
}

// Broken groups what breaks a lock, the nth of the table, by the rules: those that
// most places break first. It leaves out rules that also break without a fault.
func (t CardTable) Broken(l words.Language, lock int) []CardFound {
	var list []CardFound
	count := map[string]int{}
	add := func(r CardRow, m CardMark, place string) {
		if m.tone != Bad {
			return
		}
		key := strings.Join(slices.Sorted(slices.Values(m.Rules)), " ")
		count[key]++
		at := slices.IndexFunc(list, func(f CardFound) bool {
			return slices.Equal(slices.Sorted(slices.Values(f.Rules)), slices.Sorted(slices.Values(m.Rules)))
		})
		if at < 0 {
			at = len(list)
			list = append(list, CardFound{Rules: m.Rules, Says: named(l, m.Rules)})
		}
		f := &list[at]
		if n := len(f.Faults); n == 0 || f.Faults[n-1].Fault != r.Fault {
			f.Faults = append(f.Faults, CardWhere{Fault: r.Fault})
		}
		if place != "" {
			last := &f.Faults[len(f.Faults)-1]
			last.Places = append(last.Places, place)
		}
	}
	for _, r := range t.Rows {
		n := 0
		for _, thread := range t.Threads {
			for _, p := range thread.Places {
				add(r, r.Cells[n][lock], thread.Name+" "+p.Words())
				n++
			}
		}
	}
	for _, r := range t.Redis {
		add(r, r.Cells[0][lock], "")
	}
	slices.SortStableFunc(list, func(a, b CardFound) int {
		return count[strings.Join(b.Rules, " ")] - count[strings.Join(a.Rules, " ")]
	})
	return list
}
