package card_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/explore/card"
	"relock/engine/lock/exhibit"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

var (
	update = flag.Bool("update", false, "make the bundled cards anew")
	whole  = flag.Bool("whole", false, "check all cells of the bundled cards")
)

// sampled is every so manyth cell of all cards; another one each time would make
// a test that fails now and then.
const sampled = 23

// TestBundledCards fails where the bundled cards are not what a search finds.
func TestBundledCards(t *testing.T) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	n := 0
	for _, p := range exhibit.All() {
		var old *card.Card
		if !*update {
			var err error
			if old, err = card.Of(p.Name); err != nil {
				t.Fatal(err)
			}
		}
		wanted := map[string]bool{}
		made, err := card.Make(t.Context(), p.Name, card.Options{Delays: card.Delays, Only: func(name string) bool {
			n++
			wanted[name] = *update || *whole || n%sampled == 0
			return wanted[name]
		}})
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := enc.Encode(made); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kept := *old
		kept.Cells = slices.DeleteFunc(slices.Clone(old.Cells), func(c *card.Cell) bool { return !wanted[c.Name()] })
		if diff := cmp.Diff(&kept, made); diff != "" {
			t.Errorf("%s (make generate):\n%s", p.Name, diff)
		}
	}
	if !*update {
		return
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("cards.jsonl.gz", packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d before they are compressed", packed.Len(), text.Len())
}

// TestExamplesShowWhatTheirCellsSay plays the examples as a scenario's schedule.
func TestExamplesShowWhatTheirCellsSay(t *testing.T) {
	cards, err := card.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cards {
		for _, cell := range append([]*card.Cell{c.Without}, c.Cells...) {
			if n++; !*whole && n%sampled != 0 && cell != c.Without {
				continue
			}
			sc, err := c.Example(cell)
			if err != nil {
				t.Fatal(err)
			}
			if cell.Verdict != card.Broken {
				if got := play(t, sc, len(sc.Schedule)); len(got.rules) > 0 || !got.over {
					t.Errorf("%s, %s: %s, and its example breaks %v, over: %v", c.Protocol, cell.Name(), cell.Verdict, got.rules, got.over)
				}
				continue
			}
			for _, r := range cell.Rules {
				moves, err := sc.ParseMoves(r.Schedule)
				if err != nil {
					t.Fatal(err)
				}
				sc := sc.WithSchedule(moves)
				if got := play(t, sc, len(moves)); !slices.Contains(got.rules, r.Name) {
					t.Errorf("%s, %s: the example of %s breaks %v", c.Protocol, cell.Name(), r.Name, got.rules)
				}
				if got := play(t, sc, len(moves)-1); slices.Contains(got.rules, r.Name) {
					t.Errorf("%s, %s: the example of %s is longer than need be", c.Protocol, cell.Name(), r.Name)
				}
			}
		}
	}
}

// played is what came of the first moves of a scenario's schedule.
type played struct {
	rules []string
	over  bool
}

func play(t *testing.T, sc *scenario.Scenario, moves int) played {
	t.Helper()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close(nil)
	if err := st.Replay(t.Context(), sc.Schedule[:moves], func(scenario.Move) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if moves == len(sc.Schedule) {
		if _, err := st.Decide(t.Context()); err != nil { // what time alone does
			t.Fatal(err)
		}
	}
	p := played{over: st.Over()}
	events, _ := r.Log().Since(0)
	for _, e := range events {
		if v, ok := e.Body.(trace.Violation); ok {
			p.rules = append(p.rules, v.Rule)
		}
	}
	return p
}
