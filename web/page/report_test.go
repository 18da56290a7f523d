package page_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/explore/card"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

func of(t *testing.T, names ...string) page.CardTable {
	t.Helper()
	var cards []*card.Card
	for _, name := range names {
		c, err := card.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		cards = append(cards, c)
	}
	return page.NewCardTable(words.English, cards...)
}

// Two locks share the columns of the deeper one, in each row and group.
func TestTwoLocksShareTheirColumns(t *testing.T) {
	both := of(t, "mutex", "reentrant")
	columns := 0
	for _, thread := range both.Threads {
		columns += len(thread.Places)
	}
	if columns != len(card.Places(2)) {
		t.Fatalf("%d columns", columns)
	}
	for _, r := range both.Rows {
		if len(r.Cells) != columns {
			t.Errorf("%s: %d cells for %d columns", r.Fault, len(r.Cells), columns)
		}
	}
	for i, name := range both.Locks {
		alone := of(t, name)
		if got, want := both.Broken(words.English, i), alone.Broken(words.English, 0); len(got) != len(want) {
			t.Errorf("%s: breaks %v beside another, %v alone", name, got, want)
		}
		sum := 0
		for _, c := range both.Tally(words.English, i) {
			sum += c.N
		}
		c, err := card.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum != len(c.Cells) {
			t.Errorf("%s: %d verdicts of %d cells", name, sum, len(c.Cells))
		}
	}
}

// A lock that is broken without a fault is not marked as broken by one, unless
// that breaks more.
func TestWhatBreaksAnywayIsNotTheFaults(t *testing.T) {
	none := of(t, "none")
	if m := none.Without[0]; m.Shape() != "✗" || !strings.Contains(m.Says, "mutual-exclusion") {
		t.Errorf("without a fault: %s, %s", m.Shape(), m.Says)
	}
	for _, r := range none.Rows {
		if r.Fault != "crash" {
			continue
		}
		for _, c := range r.Cells {
			if c[0].Shape() == "✗" {
				t.Errorf("crash: %s", c[0].Says)
			}
		}
	}
}

// A picture has each cell of the table once, within its bounds, and the signs it
// explains are those it has.
func TestACardAsAPicture(t *testing.T) {
	for _, names := range [][]string{{"reentrant"}, {"none"}, {"redlock", "mutex"}} {
		c := of(t, names...)
		p := page.NewCardPicture(words.English, "a card", c)
		cells := len(c.Without)
		for _, r := range slices.Concat(c.Rows, c.Redis) {
			for _, cell := range r.Cells {
				cells += len(cell)
			}
		}
		if len(p.Marks) != cells {
			t.Errorf("%v: %d marks of %d cells", names, len(p.Marks), cells)
		}
		taken := map[[2]float64]bool{}
		for _, m := range p.Marks {
			at := [2]float64{m.X, m.Y}
			if taken[at] || m.X < 0 || m.X > p.Width || m.Y < 0 || m.Y > p.ToldAt {
				t.Errorf("%v: a mark at %v, of a picture of %v by %v; taken: %v", names, at, p.Width, p.ToldAt, taken[at])
			}
			taken[at] = true
		}
		for _, e := range page.CardLegend(words.English) {
			has := slices.ContainsFunc(p.Marks, func(m page.CardSign) bool { return m.Shape() == e.Shape })
			told := slices.ContainsFunc(p.Told.Lines, func(line film.ToldLine) bool { return line.Text == e.Shape })
			if has != told {
				t.Errorf("%v: %s is in the picture: %v, in the legend: %v", names, e.Shape, has, told)
			}
		}
	}
}
