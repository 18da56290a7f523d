package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"relock/engine/explore/card"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/verdict"
	"relock/web/export"
	"relock/web/page"
	"relock/web/static"
	"relock/web/words"
)

const cardSynopsis phrase.Text = `playground card [-delays N] [-example CELL | -json | -svg] [-lang TAG] LOCK [LOCK]

Prints a lock's report card, or two locks' in one: what one fault, at each place
of a small scenario, can do at worst, in any order of the moves. LOCK is the name
of a bundled lock, or a scenario's file with your own scripts. The bundled cards
are made in advance; with -delays, or for your own lock, it searches now.
-example prints the scenario of a cell, such as pause@A.work.1 or evict@redis,
with the schedule that shows it: "playground card -example pause@A.work.1 mutex | playground run -".
-svg prints the card as a picture: "playground card -svg mutex > mutex.svg".`

// mostCardDelays keeps a card from taking hours.
const mostCardDelays = 2

func reportCard(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("card", flag.ContinueOnError)
	delays := fs.Int("delays", -1, env.say("search now, with at most `N` delays, 0 to %d (default: the ready-made card, with %d)", mostCardDelays, card.Delays))
	example := fs.String("example", "", env.say("print the scenario of this `CELL` instead"))
	lines := fs.Bool("json", false, env.say("print JSON Lines, one for each lock"))
	picture := fs.Bool("svg", false, env.say("print a picture, an SVG file"))
	check := checkFlag(fs, env)
	l := languageFlag(fs, env)
	if code, done := parse(fs, args, env, env.say(cardSynopsis)); done {
		return code
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "delays" })
	switch {
	case fs.NArg() < 1 || fs.NArg() > page.MostCards:
		return env.refuse("card needs one lock or two, given %d; \"playground protocols\" lists them", fs.NArg())
	case given && (*delays < 0 || *delays > mostCardDelays):
		return env.refuse("-delays %d: allowed: 0 to %d", *delays, mostCardDelays)
	case *example != "" && fs.NArg() > 1:
		return env.refuse("-example takes one lock, given %d", fs.NArg())
	case *example != "" && (*lines || *picture) || *lines && *picture:
		return env.refuse("-example, -json and -svg print different things: name one of them")
	case fs.NArg() == page.MostCards && fs.Arg(0) == fs.Arg(1):
		return env.refuse("%s is named twice", fs.Arg(0))
	}
	locks, of, ok := namedLocks(fs.Args(), *l, env)
	if !ok {
		return exitUsage
	}
	ctx, closeBox := withBox(ctx, env, *l, locks...)
	defer closeBox()
	ctx, second, endSecond := withSecond(ctx, env, *check && slices.ContainsFunc(locks, func(lock scenario.Lock) bool { return *delays >= 0 || lock.Own() }))
	defer endSecond()
	var cards []*card.Card
	var checked []string
	code := exitOK
	for i, lock := range locks {
		c, err := cardOf(ctx, lock, *delays, *l, env)
		if ownMistake(ctx, env, *l, fs.Arg(i), of[i], err) {
			return exitUsage
		}
		if err != nil {
			env.tellWhy(err)
			return exitUnexpected
		}
		cards = append(cards, c)
		told := second.Says(sourcesOf(locks[i]))
		same, differs := told.Same, told.Differs
		if !differs.IsZero() {
			same, code = differs, exitOf(verdict.Unjudged)
		}
		if !same.IsZero() {
			checked = append(checked, l.Clause(same))
		}
	}
	var err error
	switch {
	case *example != "":
		cell := cards[0].Named(*example)
		if cell == nil {
			return env.refuse("the card of %s has no cell %q; -json lists them, as fault@thread.place.level or fault@redis", cards[0].Protocol, *example)
		}
		err = printExample(env, cards[0], cell)
	case *lines:
		enc := json.NewEncoder(env.out)
		enc.SetEscapeHTML(false)
		for _, c := range cards {
			if err == nil {
				err = enc.Encode(c)
			}
		}
	case *picture:
		err = printCardPicture(ctx, env, *l, page.NewCardTable(*l, cards...))
	default:
		printCard(env, *l, page.NewCardTable(*l, cards...))
		for _, says := range checked {
			for _, part := range wrap(says, env.width()) {
				fmt.Fprintln(env.out, part)
			}
		}
	}
	if err != nil {
		env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	return code
}

// namedLocks are bundled locks by their names, and those of scenarios by their files, each
// with its scenario. It reports false once it has said what is wrong.
func namedLocks(names []string, l words.Language, env environment) (locks []scenario.Lock, of []*scenario.Scenario, ok bool) {
	locks, of = make([]scenario.Lock, len(names)), make([]*scenario.Scenario, len(names))
	for i, name := range names {
		locks[i].Protocol = name
		if slices.Contains(exhibit.Names(), name) {
			continue
		}
		if _, err := os.Stat(name); err != nil && name != "-" {
			env.refuse("there is no lock and no file %q; allowed: a scenario's file, %s", name, strings.Join(exhibit.Names(), ", "))
			return nil, nil, false
		}
		scenarios, ok := readScenarios(l, []string{name}, seedFlag{}, env)
		if !ok {
			return nil, nil, false
		}
		of[i], locks[i] = scenarios[0], scenarios[0].Lock
	}
	return locks, of, true
}

// cardOf is the bundled card or, with a number of delays, one made now.
func cardOf(ctx context.Context, lock scenario.Lock, delays int, l words.Language, env environment) (*card.Card, error) {
	if delays < 0 && !lock.Own() {
		return card.Of(lock.Protocol)
	}
	if delays < 0 {
		delays = card.Delays
	}
	o := card.Options{Delays: delays}
	if env.errTerminal {
		o.Progress = func(done, all int) {
			fmt.Fprintf(env.err, "\r\x1b[K%s", l.Say("%s: %d of %d cells", lock.Protocol, done, all))
		}
		defer fmt.Fprint(env.err, "\r\x1b[K")
	}
	return card.Make(ctx, lock, o)
}

// printExample writes a cell's scenario, a line of JSON.
func printExample(env environment, c *card.Card, cell *card.Cell) error {
	sc, err := c.Example(cell)
	if err != nil {
		return err
	}
	text, err := sc.Compact()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "%s\n", text)
	return err
}

// printCardPicture writes a card as an SVG file.
func printCardPicture(ctx context.Context, env environment, l words.Language, c page.CardTable) error {
	files, err := static.New()
	if err != nil {
		return err
	}
	title := l.Say("Report card of %s", l.List(phrase.Names(c.Locks)))
	picture, err := export.CardPicture(ctx, l, title, c, files.PictureStyle())
	if err != nil {
		return err
	}
	_, err = env.out.Write(picture)
	return err
}

// tones are the terminal's colours.
var tones = map[page.CardTone]string{page.Good: green, page.Bad: red, page.Neutral: faint}

// printCard writes a card: the places of each thread, the faults of Redis, what
// breaks which rule, and the legend.
func printCard(env environment, l words.Language, c page.CardTable) {
	const faultWidth = 12
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	t.line(l.Say("Report card of %s", l.List(c.Locks)), bold)
	for _, part := range wrap(l.Say("What one fault can do at worst, in every order with %s.", c.Delays), t.width) {
		t.line(part, faint)
	}
	if c.Own {
		for _, part := range wrap(l.Say(page.CardOfOwn), t.width) {
			t.line(part, faint)
		}
	}
	for i, m := range c.Without {
		for _, part := range wrap(l.Say("%s without a fault: %s", c.Locks[i], m.Says), t.width) {
			t.line(part, tones[m.Tone()])
		}
	}
	from := 0
	for _, thread := range c.Threads {
		fmt.Fprintln(t.w)
		t.widths = []int{faultWidth}
		head := [][]styled{{{l.Say("Thread %s", thread.Name), bold}}}
		for _, p := range thread.Places {
			t.widths = append(t.widths, max(columns(p.At), 2*len(c.Locks)-1))
			cell := []styled{{p.At, bold}}
			if p.Level > 0 {
				cell = append(cell, styled{fmt.Sprint(p.Level), bold})
			}
			head = append(head, cell)
		}
		t.row(head)
		t.rule()
		for _, r := range c.Rows {
			row := [][]styled{{{r.Fault, ""}}}
			for _, cell := range r.Cells[from : from+len(thread.Places)] {
				row = append(row, []styled{marks(cell)})
			}
			t.row(row)
		}
		from += len(thread.Places)
	}
	if len(c.Redis) > 0 {
		fmt.Fprintln(t.w)
		t.widths = []int{faultWidth, t.width - faultWidth - gap}
		t.row([][]styled{{{"Redis", bold}}, {{l.Say("at any moment"), bold}}})
		t.rule()
		for _, r := range c.Redis {
			t.row([][]styled{{{r.Fault, ""}}, {marks(r.Cells[0])}})
		}
	}
	for i, name := range c.Locks {
		t.broken(name, c.Broken(l, i))
		if partly := c.Partly(i); len(partly) > 0 {
			fmt.Fprintln(t.w)
			for _, part := range wrap(l.Say("%s: %s", name, l.Say("Not all orders were tried of: %s", strings.Join(partly, ", "))), t.width) {
				t.line(part, faint)
			}
		}
	}
	fmt.Fprintln(t.w)
	for _, e := range page.CardLegend(l) {
		t.line(e.Shape+" "+e.Says, tones[e.Tone])
	}
	if len(c.Locks) > 1 {
		t.line(l.Say("In each cell: first %s, then %s.", c.Locks[0], c.Locks[1]), "")
	}
}

// marks are the marks of a cell beside each other, in the colour of the worst.
func marks(c page.CardCell) styled {
	var shapes []string
	s := tones[page.Neutral]
	for _, m := range c {
		shapes = append(shapes, m.Shape())
		switch style := tones[m.Tone()]; {
		case style == red, s == tones[page.Neutral]:
			s = style
		case s == green:
			s = style
		}
	}
	return styled{strings.Join(shapes, " "), s}
}

// broken writes what breaks which rules of a lock.
func (t table) broken(lock string, list []page.CardFound) {
	for _, f := range list {
		fmt.Fprintln(t.w)
		for _, part := range wrap(t.l.Say("%s: %s", lock, f.Says), t.width) {
			t.line(part, red)
		}
		for _, w := range f.Faults {
			text := t.l.Say("%s: %s", w.Fault, strings.Join(w.Places, t.l.Say(", ")))
			if len(w.Places) == 0 {
				text = t.l.Say("%s: %s", w.Fault, t.l.Say("at any moment"))
			}
			for i, part := range wrap(text, t.width-2*len(indent)) {
				t.line(strings.Repeat(indent, min(i, 1)+1)+part, "")
			}
		}
	}
}
