package card_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"relock/engine/explore/card"
	"relock/engine/lock/exhibit"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

var update = flag.Bool("update", false, "make the bundled cards again")

// A sample of the cells is so many of each verdict, and every so manyth of all. They
// are drawn by the sum of the sources: each change of the engine looks at other
// cells, and the same sources always at the same ones.
const (
	ofEach  = 8
	sampled = 97
)

// TestBundledCards fails where the bundled cards are not what a search finds.
func TestBundledCards(t *testing.T) {
	sum, every := drawn(t), *update || !testing.Short()
	all := exhibit.All()
	var sample map[string][]string
	if !every {
		sample = sampleOf(t, sum)
	}
	made := make([]*card.Card, len(all))
	t.Run("each", func(t *testing.T) {
		for i, p := range all {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				made[i] = searched(t, p.Name, int(sum%sampled)+i, every, sample[p.Name])
			})
		}
	})
	if !*update || t.Failed() {
		return
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, one := range made {
		if err := enc.Encode(one); err != nil {
			t.Fatal(err)
		}
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
	if err := os.WriteFile(sumFile, sums(sources(t), packed.Bytes()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d before they are compressed", packed.Len(), text.Len())
}

// sumFile has the sum of the sources that the cards were made from, and that of
// the cards.
const sumFile = "cards.sum"

func sums(sources, cards []byte) []byte {
	return fmt.Appendf(nil, "sources %x\ncards %x\n", sources, sha256.Sum256(cards))
}

// sampleOf draws as many cells of each verdict by the names of their cards.
func sampleOf(t *testing.T, sum uint64) map[string][]string {
	t.Helper()
	cards, err := card.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ protocol, cell string }
	all := map[card.Verdict][]place{}
	for _, c := range cards {
		for _, cell := range c.Cells {
			all[cell.Verdict] = append(all[cell.Verdict], place{c.Protocol, cell.Name()})
		}
	}
	sample := map[string][]string{}
	for _, verdict := range slices.Sorted(maps.Keys(all)) {
		r := rand.New(rand.NewPCG(sum, 0))
		for _, i := range r.Perm(len(all[verdict]))[:min(ofEach, len(all[verdict]))] {
			one := all[verdict][i]
			sample[one.protocol] = append(sample[one.protocol], one.cell)
		}
	}
	return sample
}

// drawn returns the sum of the sources, shortened, by which a sample is drawn. It
// fails where the cards are not those that the sum was made with: of a merge,
// half was taken.
func drawn(t *testing.T) uint64 {
	t.Helper()
	cards, err := os.ReadFile("cards.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(sumFile)
	if err != nil {
		t.Fatal(err)
	}
	from := sources(t)
	_, ofCards, _ := bytes.Cut(kept, []byte("\n"))
	if _, want, _ := bytes.Cut(sums(nil, cards), []byte("\n")); !*update && !bytes.Equal(ofCards, want) {
		t.Fatal(sumFile, " is not of these cards (make generate)")
	}
	if !bytes.Equal(kept, sums(from, cards)) {
		t.Log("the cards were made from other sources")
	}
	return binary.BigEndian.Uint64(from)
}

// sources returns a sum of all that cards are made from: the sources of the
// searched program without their comments, the language's version, and those of
// the modules that it needs.
func sources(t *testing.T) []byte {
	t.Helper()
	const each = `{{if and .Module .Module.Main}}go@{{.Module.GoVersion}}
{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$dir}}/{{.}}
{{end}}{{range .SFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{else if .Module}}{{.Module.Path}}@{{.Module.Version}}{{with .Module.Replace}}=>{{.Path}}@{{.Version}}{{end}}
{{end}}`
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", each, ".").Output()
	if err != nil {
		t.Fatal("list what is needed: ", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, line := range slices.Compact(slices.Sorted(strings.FieldsSeq(string(list)))) {
		if !filepath.IsAbs(line) {
			fmt.Fprintln(sum, line)
			continue
		}
		if filepath.Base(line) == "cards.jsonl.gz" {
			continue
		}
		text, err := os.ReadFile(line)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(line) == ".go" {
			text = uncommented(text)
		}
		name, err := filepath.Rel(here, line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(text))
	}
	return sum.Sum(nil)
}

// uncommented returns the words of a Go file one by one, and of its comments
// those that the compiler reads.
func uncommented(text []byte) []byte {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	var words []byte
	for {
		_, kind, word := s.Scan()
		switch {
		case kind == token.EOF:
			return words
		case kind != token.COMMENT, strings.HasPrefix(word, "//go:"):
			words = fmt.Appendf(words, "%s %q\n", kind, word)
		}
	}
}

// searched makes a lock's card: every cell of it, or a sample of every so manyth after
// first and those of some names, and compares them with the bundled ones unless these are made again.
func searched(t *testing.T, protocol string, first int, every bool, names []string) *card.Card {
	t.Helper()
	n := first
	wanted := map[string]bool{}
	made, err := card.Make(t.Context(), scenario.Lock{Protocol: protocol}, card.Options{Delays: card.Delays, Only: func(name string) bool {
		n++
		wanted[name] = every || n%sampled == 0 || slices.Contains(names, name)
		return wanted[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		return made
	}
	old, err := card.Of(protocol)
	if err != nil {
		t.Fatal(err)
	}
	kept := *old
	kept.Cells = slices.DeleteFunc(slices.Clone(old.Cells), func(c *card.Cell) bool { return !wanted[c.Name()] })
	if diff := cmp.Diff(&kept, made, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(card.Card{})); diff != "" {
		t.Errorf("%s (make generate):\n%s", protocol, diff)
	}
	return made
}

func TestACommentIsNoSource(t *testing.T) {
	const plain = "package a\n\nvar b = `c`\n"
	same := []string{"// Package a.\npackage a\n\nvar b = `c` // b\n", "package a /* a */\n\n\nvar b = `c`"}
	others := []string{"package a\n\nvar b = `d`\n", "package a\n\n//go:embed c\nvar b = `c`\n", "package a\n\nvar b = `//c`\n"}
	for _, other := range same {
		if !bytes.Equal(uncommented([]byte(other)), uncommented([]byte(plain))) {
			t.Errorf("%q is another program than %q", other, plain)
		}
	}
	for _, other := range others {
		if bytes.Equal(uncommented([]byte(other)), uncommented([]byte(plain))) {
			t.Errorf("%q is the program %q", other, plain)
		}
	}
}

// TestExamplesShowWhatTheirCellsSay plays the examples as a scenario's schedule.
func TestExamplesShowWhatTheirCellsSay(t *testing.T) {
	cards, err := card.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	n, every := int(drawn(t)%sampled), !testing.Short()
	for _, c := range cards {
		for _, cell := range append([]*card.Cell{c.Without}, c.Cells...) {
			if n++; !every && n%sampled != 0 && cell != c.Without {
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
