package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/phrase"
	"relock/web/page"
	"relock/web/words"
)

const compareSynopsis phrase.Text = `playground compare -protocols a,b[,c[,d]] [-lang TAG] [-seed N] FILE

Runs one scenario, with its schedule, on two to four locks, and prints what
each thread does on each of them, aligned by the thread's own progress.
◇ marks what differs, ◆ the first difference. "-" reads standard input.`

func comparison(ctx context.Context, args []string, env environment) int {
	var seed seedFlag
	var names string
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	fs.StringVar(&names, "protocols", "", env.say("the `locks`, with commas between them; \"playground protocols\" lists them"))
	l := languageFlag(fs, env)
	seed.add(fs, env, seedInstead)
	if code, done := parse(fs, args, env, env.say(compareSynopsis)); done {
		return code
	}
	if fs.NArg() != 1 {
		return env.refuse("compare needs one scenario file, or - for standard input; given %d", fs.NArg())
	}
	scenarios, ok := readScenarios(*l, fs.Args(), seed, env)
	if !ok {
		return exitUsage
	}
	var protocols []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			protocols = append(protocols, name)
		}
	}
	ctx, endBox := withBox(ctx, env, *l, locksOf(scenarios)...)
	defer endBox()
	played, err := engine.Compare(ctx, scenarios[0], protocols)
	if err != nil {
		return env.refuseWhy(err)
	}
	printAligned(env, *l, page.AlignLocks(*l, played))
	return exitOK
}

// whatWidth fits "lock, level 2 (12)" and a mark.
const whatWidth = 22

// rulesIn returns the rules' names for people.
func rulesIn(l words.Language, rules []string) string {
	titles := make([]string, len(rules))
	for i, rule := range rules {
		titles[i] = l.Clause(check.Title(rule))
	}
	return strings.Join(titles, l.Say(", "))
}

func printAligned(env environment, l words.Language, a page.Aligned) {
	t := table{w: env.out, width: env.width(), colour: env.colour(), widths: []int{whatWidth}}
	head := [][]styled{{}}
	broken := [][]styled{{{l.Say("rules broken"), bold}}}
	notes := [][]styled{{}}
	noted := false
	for _, c := range a.Columns {
		t.widths = append(t.widths, (t.width-whatWidth-gap*len(a.Columns))/len(a.Columns))
		head = append(head, []styled{{c.Protocol, bold}})
		rules := styled{l.Say("none"), green}
		if len(c.Broken) > 0 {
			rules = styled{rulesIn(l, c.Broken), red}
		}
		broken = append(broken, []styled{rules})
		notes = append(notes, []styled{{c.Note, faint}})
		noted = noted || c.Note != ""
	}
	t.line(titleOf(l, a.Title), bold)
	fmt.Fprintln(t.w)
	t.row(head)
	t.rule()
	for _, thread := range a.Threads {
		t.row([][]styled{{{l.Say("Thread %s", thread.Name), bold}}})
		for _, r := range thread.Rows {
			mark := "  "
			switch {
			case r.First:
				mark = "◆ "
			case r.Differs:
				mark = "◇ "
			}
			row := [][]styled{{{mark + r.What, ""}}}
			for _, c := range r.Cells {
				lines := []styled{{c.Text + " · " + c.At, style(c.Tone)}}
				switch {
				case c.Text == "":
					lines = []styled{{"·", style(c.Tone)}}
				case columns(lines[0].text) > t.widths[1]:
					lines = []styled{{c.Text, style(c.Tone)}, {indent + c.At, style(c.Tone)}}
				}
				row = append(row, lines)
			}
			t.row(row)
		}
	}
	t.rule()
	t.row(broken)
	if noted {
		t.row(notes)
	}
}
