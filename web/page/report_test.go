package page_test

import (
	"strings"
	"testing"

	"relock/engine/explore/card"
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
