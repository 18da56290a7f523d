package course

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/engine/trial"
)

// arrangeKind are scripts to be put together of their lines.
var arrangeKind = kind{name: Arrange, needs: []string{"script"}, minutes: 2, task: func() task { return new(Ordering) }}

type (
	orderYAML struct {
		Script scriptYAML `yaml:"script"`
	}
	scriptYAML struct {
		Lines  linesYAML   `yaml:",inline"`
		Strays []linesYAML `yaml:"strays"`
		Cases  []struct {
			Before [][]string `yaml:"before"`
			Args   []string   `yaml:"args"`
		} `yaml:"cases"`
		Then placed `yaml:"then"`
	}
	linesYAML struct {
		Lock   placed   `yaml:"lock"`
		Name   string   `yaml:"name"`
		Pieces []placed `yaml:"pieces"`
	}
)

// Ordering is a script to be put together.
type Ordering struct {
	Pieces []Piece // of the lock's script, in their order, then the strays

	item   *Item
	own    int // the pieces that are the script's
	cases  []trial.Case
	then   *scenario.Scenario
	wanted []trial.Outcome // what the lock's script does in each case
}

// Piece is some lines of a script, to be put in their place.
type Piece struct {
	Lua   string
	Stray bool // of another script
}

var (
	lineRange = regexp.MustCompile(`^(\d+)(?:-(\d+))?$`)
	// loops are refused: a script that was put together wrongly must end, too.
	loops = regexp.MustCompile(`\b(for|while|repeat|goto|function)\b`)
)

// isCode reports whether a line of Lua does something.
func isCode(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "--")
}

func (o *Ordering) read(r *itemReader) {
	o.item = r.i
	y := r.y.Script
	own, last := r.pieces(y.Lines, false)
	o.Pieces, o.own = own, len(own)
	if lines, err := trial.Lines(y.Lines.Lock.Text, y.Lines.Name); err == nil {
		for n := last; n < len(lines); n++ {
			if isCode(lines[n]) {
				r.at(y.Lines.Lock.Line, "script: line %d belongs to no piece", n+1)
			}
		}
	}
	for _, s := range y.Strays {
		strays, _ := r.pieces(s, true)
		o.Pieces = append(o.Pieces, strays...)
	}
	for _, c := range y.Cases {
		one := trial.Case{Args: c.Args}
		for _, command := range c.Before {
			command = slices.Clone(command)
			for n, word := range command {
				if word == "key" {
					command[n] = r.i.Scenario.Lock.Key
				}
			}
			one.Before = append(one.Before, command)
		}
		if len(c.Args) == 0 {
			r.at(y.Lines.Lock.Line, "cases: args begin with the owner")
		}
		o.cases = append(o.cases, one)
	}
	r.lacks(o.own < 3, "a script of three pieces or more")
	r.lacks(len(o.cases) == 0, "cases in which the script is tried")
	if y.Then.Text == "" {
		r.at(y.Lines.Lock.Line, "script: then is a scenario that shows it at work")
		return
	}
	base, err := r.bundled(y.Then.Text)
	if err == nil {
		o.then, err = scenario.Parse(base)
	}
	if err != nil {
		r.at(y.Then.Line, "%s: %s", "then", err)
	}
}

// pieces reads lines of a script. Of those that are not strays no line of code
// may be left out, and last is how many lines of the script they reach to.
func (r *itemReader) pieces(y linesYAML, stray bool) (list []Piece, last int) {
	lines, err := trial.Lines(y.Lock.Text, y.Name)
	if err != nil {
		r.at(y.Lock.Line, "%s: %s", "script", phrase.Say("the lock %q has no script %q", y.Lock.Text, y.Name))
		return nil, 0
	}
	for _, p := range y.Pieces {
		m := lineRange.FindStringSubmatch(p.Text)
		if m == nil {
			r.at(p.Line, "pieces: given %q, allowed: a line of the script, or some: 6-8", p.Text)
			continue
		}
		from, _ := strconv.Atoi(m[1]) // digits
		to, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
		if from < 1 || to < from || to > len(lines) || from <= last && !stray {
			r.at(p.Line, "pieces: given %q, allowed: lines up to %d, in their order", p.Text, len(lines))
			continue
		}
		for n := last; !stray && n < from-1; n++ {
			if isCode(lines[n]) {
				r.at(p.Line, "pieces: line %d belongs to none", n+1)
			}
		}
		last = to
		text := strings.Join(lines[from-1:to], "\n")
		if !slices.ContainsFunc(lines[from-1:to], isCode) {
			r.at(p.Line, "pieces: %q is a comment", p.Text)
		}
		if loops.MatchString(text) {
			r.at(p.Line, "pieces: %q would go round for ever in the wrong place", p.Text)
		}
		list = append(list, Piece{Lua: dedented(text), Stray: stray})
	}
	return list, last
}

// dedented is a text without the spaces that all of its lines begin with.
func dedented(text string) string {
	lines := strings.Split(text, "\n")
	least := len(text)
	for _, line := range lines {
		least = min(least, len(line)-len(strings.TrimLeft(line, " ")))
	}
	for n := range lines {
		lines[n] = lines[n][least:]
	}
	return strings.Join(lines, "\n")
}

func (o *Ordering) make(ctx context.Context, i *Item, m *Made) error {
	var err error
	if o.wanted, err = trial.Run(ctx, assembled(o.Pieces[:o.own]), i.Scenario.Lock.Key, o.cases); err != nil {
		return i.wrong(0, "%s", err)
	}
	for n, one := range o.wanted {
		if one.Err != "" {
			return i.wrong(0, "case %d: %s", n+1, one.Err)
		}
	}
	if m.Solved, err = play(ctx, o.then); err != nil {
		return i.wrong(0, "%s: %s", "then", err)
	}
	return nil
}

func assembled(list []Piece) string {
	lines := make([]string, len(list))
	for n, p := range list {
		lines[n] = p.Lua
	}
	return strings.Join(lines, "\n")
}

// Tried is what came of a script that somebody has put together.
type Tried struct {
	Solved bool
	Twice  int    // a place that two pieces were given, 0 for none; then nothing was tried
	Err    string // why Redis could not run it in some case, or ""
	Cases  []TriedCase
}

// TriedCase is one case in which a script was tried: clauses.
type TriedCase struct {
	Owner            string // who calls it
	Was, Wanted, Got phrase.Wording
	WantedReply      string
	GotReply         string // "" where Redis could not run it
	Right            bool
}

// Try runs the script that the places make, 0 for pieces that are left out:
// the order counts, and not the numbers. Places has an entry for each of the
// item's pieces that was given one.
func (o *Ordering) Try(ctx context.Context, places map[int]int) (*Tried, error) {
	var given []int
	for n := range o.Pieces {
		if places[n] > 0 {
			given = append(given, n)
		}
	}
	slices.SortStableFunc(given, func(a, b int) int { return places[a] - places[b] })
	for n := 1; n < len(given); n++ {
		if place := places[given[n]]; place == places[given[n-1]] {
			return &Tried{Twice: place}, nil
		}
	}
	list := make([]Piece, len(given))
	for n, p := range given {
		list[n] = o.Pieces[p]
	}
	got, err := trial.Run(ctx, assembled(list), o.item.Scenario.Lock.Key, o.cases)
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	t := &Tried{Solved: true}
	for n, c := range o.cases {
		want := o.wanted[n]
		one := TriedCase{
			Owner: c.Args[0], Was: heldBy(want.Was), Wanted: heldBy(want.Key), Got: heldBy(got[n].Key),
			WantedReply: want.Reply, GotReply: got[n].Reply, Right: got[n].Equal(want),
		}
		t.Solved = t.Solved && one.Right
		t.Err = cmp.Or(t.Err, got[n].Err)
		t.Cases = append(t.Cases, one)
	}
	return t, nil
}

// heldBy says who has the key; owners go by their own names.
func heldBy(key trace.KeyState) phrase.Wording {
	owners := facts.Owners{}
	for name := range key.Fields {
		owners[name] = name
	}
	if key.Value != nil {
		owners[*key.Value] = *key.Value
	}
	return sayKey(key, owners, owners.Holders(key))
}

// Shuffled is an order of the pieces that tells nothing, and is always the
// same.
func (o *Ordering) Shuffled() []int {
	list := make([]*Option, len(o.Pieces))
	for n := range list {
		list[n] = &Option{ID: strconv.Itoa(n), line: n}
	}
	shuffle(o.item.Path(), list)
	out := make([]int, len(list))
	for at, one := range list {
		out[at] = one.line
	}
	return out
}
