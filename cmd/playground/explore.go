package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/verdict"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/words"
)

const exploreSynopsis phrase.Text = `playground explore [-delays N] [-faults a,b] [-max-faults N] [-max-states N] [-json | -format F] [-lang TAG] FILE…

Searches every schedule of each scenario within bounds: a limit on delays (no
thread moves although one could) and on faults. Says how many break a rule, and
prints the smallest schedule that does. A search that is cut short says so, and
claims nothing about untried orders; beyond -max-states it draws orders at
random. If a scenario has "expect: explore:", its bounds apply unless flags give
others. "-" reads standard input. Exit codes: 0 as the scenario expects or, where it
expects nothing of these bounds, no rule is broken; 1 not so; 2 bad input; 4 no rule is
broken, but it cannot tell whether one can be: it says why.

A lock with "protocol: own" has Lua scripts of yours: lock gets the key as
KEYS[1], and owner, level and lease in ms as ARGV; unlock owner and level; renew
owner and lease. They return {1, hold count}, {0, 0} refused or {-1, 0} not held,
or just 1, 0 and -1. "args:", "keys:" and "replies:" of the lock say otherwise (SCENARIOS).
"like: mutex" takes all other calls from that lock.`

// exploreFlags are the flags of explore.
type exploreFlags struct {
	searchFlags

	second *recall.Second
	report report
}

func exploration(ctx context.Context, args []string, env environment) int {
	var f exploreFlags
	fs := flag.NewFlagSet("explore", flag.ContinueOnError)
	f.add(fs, env, searchHelp{
		faults:    "the `kinds` of faults that may strike, with commas between them, or all",
		maxFaults: "at most `N` faults in a schedule, 0 to %d (default: 1 with -faults, else 0)",
		maxStates: "give up beyond `N` states, 1 to %d", states: explore.DefaultStates,
	})
	check := checkFlag(fs, env)
	f.report.flag(fs, env)
	if code, done := parse(fs, args, env, env.say(exploreSynopsis)); done {
		return code
	}
	if f.json && f.report.wanted() {
		return env.refuse("-json and -format %s; allowed: one of both", f.report.format)
	}
	if code, ok := f.check(fs, env); !ok {
		return code
	}
	if fs.NArg() == 0 {
		return env.refuse("explore needs at least one scenario file, or - for standard input")
	}
	scenarios, ok := readScenarios(*f.language, fs.Args(), seedFlag{}, env)
	if !ok {
		return exitUsage
	}
	searches := make([][]task, len(scenarios))
	for i, sc := range scenarios { // all are refused before one is searched
		var err error
		if searches[i], err = f.tasks(sc); err != nil {
			return env.refuseWhy(err, fs.Arg(i))
		}
	}
	ctx, endBox := withBox(ctx, env, *f.language, locksOf(scenarios)...)
	defer endBox()
	ctx, second, endSecond := withSecond(ctx, env, *check)
	defer endSecond()
	f.second = second
	worst := exitOK
	for i := range scenarios {
		for _, t := range searches[i] {
			worst = graver(worst, f.search(ctx, fs.Arg(i), t, env))
		}
	}
	return f.report.write(env, fs.Name(), worst)
}

// task is one search, and its expected result, if there is one.
type task struct {
	sc     *scenario.Scenario
	bounds explore.Bounds
	claim  *scenario.Explored
}

// tasks are the searches of a scenario: of the flags' bounds or, unless they give
// any, of each of the scenario's claims.
func (f exploreFlags) tasks(sc *scenario.Scenario) ([]task, error) {
	var claims []scenario.Explored
	if sc.Expect != nil {
		claims = sc.Expect.Explore
	}
	var list []task
	if f.given["delays"] || f.given["faults"] || f.given["max-faults"] || len(claims) == 0 {
		t := task{sc: sc, bounds: f.bounds}
		t.bounds.Kinds = kindsOf(sc, f.faults)
		for i, c := range claims {
			if c.Delays == t.bounds.Delays && c.MaxFaults == t.bounds.MaxFaults && (c.MaxFaults == 0 || sameKinds(c.Faults, t.bounds.Kinds)) {
				t.claim = &claims[i]
			}
		}
		list = append(list, t)
	} else {
		for i, c := range claims {
			b := explore.Bounds{Delays: c.Delays, Kinds: c.Faults, MaxFaults: c.MaxFaults, MaxStates: f.bounds.MaxStates}
			list = append(list, task{sc, b, &claims[i]})
		}
	}
	for _, t := range list {
		if _, err := t.bounds.Check(sc); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func sameKinds(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// search makes one search and prints what came of it. If the search was stopped, it
// prints what it has found all the same.
func (f *exploreFlags) search(ctx context.Context, name string, t task, env environment) int {
	bar := progressBar{env: env, l: *f.language, most: t.bounds.MaxStates}
	space, err := explore.Search(ctx, t.sc, t.bounds, explore.Options{Workers: f.workers, Progress: bar.show})
	bar.clear()
	if ownMistake(ctx, env, *f.language, name, t.sc, err) {
		return exitUsage
	}
	if err != nil {
		env.tellWhy(err, name)
		return exitUnexpected
	}
	var drawn *explore.Sample
	if space.Ending() == explore.Bound {
		drawn, err = explore.Draw(ctx, t.sc, t.bounds, draws, moves)
	}
	checked := f.second.Says(sourcesOf(t.sc.Lock))
	var unlike []phrase.Wording
	if !checked.Differs.IsZero() {
		unlike = append(unlike, checked.Differs)
	}
	judgement := space.Judgement(drawn, unlike...)
	s := subject{name: titleOf(*f.language, t.sc.Title), file: name, kind: t.sc.Lock.Kind, judgement: judgement}
	for _, r := range space.Rules() {
		s.rules = append(s.rules, r.Name)
	}
	if drawn != nil {
		for _, name := range drawn.Rules {
			if !slices.Contains(s.rules, name) {
				s.rules = append(s.rules, name)
			}
		}
	}
	return f.report.add(env, s, func(env environment) int {
		return f.conclude(ctx, name, t, env, searched{space, drawn, judgement, checked}, err)
	})
}

// searched is what a search found.
type searched struct {
	space     *explore.Space
	drawn     *explore.Sample
	judgement verdict.Judgement
	checked   recall.Checked
}

// conclude prints what was found, unless that failed, and compares it with what the scenario expects.
func (f exploreFlags) conclude(ctx context.Context, name string, t task, env environment, of searched, err error) int {
	space, judgement := of.space, of.judgement
	if told := f.tell(context.WithoutCancel(ctx), env, space, of.drawn, judgement, of.checked); err == nil {
		err = told
	}
	if err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	if t.claim == nil {
		return exitOf(judgement.Verdict)
	}
	if difference := space.Unexpected(*t.claim); !difference.IsZero() {
		env.tell("%s: not as expected: %s", name, env.speaks().Clause(difference))
		return exitUnexpected
	}
	if !f.json {
		fmt.Fprintln(env.out, f.language.Say("As the scenario expects."))
	}
	return exitOK
}

// How much is drawn at random where there are too many orders to search: enough to
// tell 1 % from none, in a few seconds.
const (
	draws = 1000
	moves = 100_000 // in all
)

// tell prints what came of a search, of orders drawn at random or nil, and of asking a
// second Redis.
func (f exploreFlags) tell(ctx context.Context, env environment, space *explore.Space, drawn *explore.Sample, j verdict.Judgement, checked recall.Checked) error {
	if f.json {
		if err := printFound(env, space, j, checked.On); err != nil || drawn == nil {
			return err
		}
		return printDrawn(env, drawn)
	}
	if err := f.print(ctx, env, space); err != nil {
		return err
	}
	out := table{w: env.out, width: env.width(), colour: env.colour(), l: *f.language}
	var paragraphs []string
	if drawn != nil {
		paragraphs = append(paragraphs, page.Drawn(*f.language, drawn))
	}
	paragraphs = append(paragraphs, unjudged(*f.language, j)...)
	if !checked.Same.IsZero() {
		paragraphs = append(paragraphs, f.language.Clause(checked.Same))
	}
	for _, text := range paragraphs {
		for _, part := range wrap(text, out.width) {
			out.line(part, "")
		}
	}
	if space.Scenario().Lock.Own() {
		for _, n := range page.NotesOn(*f.language, space) {
			fmt.Fprintln(env.out, n)
		}
	}
	return nil
}

// foundForm, ruleForm and drawnForm are the lines of -json, as SCENARIOS has them.
type (
	foundForm struct {
		Explore int    `json:"explore"` // the version
		Title   string `json:"title"`
		boundsForm
		Ending    string `json:"ending"`
		Why       string `json:"why,omitempty"` // it was cut short
		States    int    `json:"states"`
		Schedules string `json:"schedules"`
		Broken    string `json:"broken"`
		Standing  string `json:"by_standing_still"`    // of the broken: only after a thread stood still
		CheckedOn string `json:"checked_on,omitempty"` // the version of a Redis of this machine that was asked, too
		verdict.Judgement
	}
	ruleForm struct {
		Rule      string          `json:"rule"`
		Schedules string          `json:"schedules"`
		Standing  string          `json:"by_standing_still"`
		Delays    int             `json:"delays"`
		Faults    int             `json:"faults"`
		Schedule  []scenario.Move `json:"schedule"`
		Smaller   bool            `json:"maybe_smaller,omitempty"` // not all that may be smaller were tried
	}
	drawnForm struct { // where the search came to its bound
		Drawn   int      `json:"drawn"` // at random, to the end
		Broken  int      `json:"broken"`
		Endless int      `json:"endless,omitempty"` // drawn, but to no end
		Rules   []string `json:"rules"`
	}
)

func printFound(env environment, space *explore.Space, j verdict.Judgement, checkedOn string) error {
	enc := json.NewEncoder(env.out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(foundForm{
		Explore: 1, Title: space.Scenario().Title, boundsForm: newBoundsForm(space.Bounds()),
		Ending: string(space.Ending()), Why: space.Why().String(), States: space.States(), Schedules: space.Schedules().String(), Broken: space.Broken().String(),
		Standing: space.ByStandingStill().String(), CheckedOn: checkedOn, Judgement: j,
	})
	for _, r := range space.Rules() {
		if err == nil {
			err = enc.Encode(ruleForm{r.Name, r.Schedules.String(), r.ByStandingStill.String(), r.Delays, r.Faults, r.Schedule, !r.Smallest})
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

func printDrawn(env environment, drawn *explore.Sample) error {
	form := drawnForm{Drawn: drawn.Drawn, Broken: drawn.Broken, Endless: drawn.Endless, Rules: append([]string{}, drawn.Rules...)}
	if err := json.NewEncoder(env.out).Encode(form); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// stepThrough writes where a scenario's moves can be stepped through, where the playground is served.
func (t table) stepThrough(ctx context.Context, env environment, sc *scenario.Scenario) {
	if env.pages == nil {
		return
	}
	path, err := link.PlayAddress(sc, 0)
	if err != nil || path == "" {
		return
	}
	if at := env.pages(ctx); at != "" {
		fmt.Fprintln(t.w, t.l.Say("Step through it: %s", at+path)) // whole: it is copied
	}
}

// print writes a table of the broken rules, the smallest schedule of each as a
// T-table, and how the search ended.
func (f exploreFlags) print(ctx context.Context, env environment, space *explore.Space) error {
	l := *f.language
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	t.line(titleOf(l, space.Scenario().Title), bold)
	for _, part := range wrap(page.Searched(l, space), t.width) {
		t.line(part, faint)
	}
	if len(space.Rules()) > 0 {
		fmt.Fprintln(t.w)
		const sharesWidth, costWidth = 26, 24
		t.widths = []int{t.width - sharesWidth - costWidth - 2*gap, sharesWidth, costWidth}
		broken, smallest := l.Say("Broken in"), l.Say("Smallest")
		if space.Ending() != explore.Exhausted {
			broken = l.Say("Of those tried")
		}
		if !page.AllSmallest(space) {
			smallest = l.Say("Smallest found")
		}
		t.row([][]styled{{{l.Say("Rule"), bold}}, {{broken, bold}}, {{smallest, bold}}})
		t.rule()
		for _, r := range space.Rules() {
			t.row([][]styled{
				{{film.RuleOf(l, space.Scenario().Lock.Kind, r.Name), red}},
				shares(l, r, space),
				{{page.Cost(l, r), ""}},
			})
		}
	}
	for _, r := range space.Rules() {
		fmt.Fprintln(t.w)
		for _, part := range wrap(page.Smallest(l, r), t.width) {
			t.line(part, bold)
		}
		if text, err := json.Marshal(r.Schedule); err == nil {
			for _, part := range wrap("schedule: "+string(text), t.width) {
				t.line(part, faint)
			}
		}
		header, events, err := space.Play(ctx, r)
		if err != nil {
			return err
		}
		fmt.Fprintln(t.w)
		printTable(env, l, film.NewScenario(l, space.Scenario()), header, events, true)
		t.stepThrough(ctx, env, space.Scenario().WithSchedule(r.Schedule))
	}
	t.unreached(space)
	fmt.Fprintln(t.w)
	style := bold
	switch {
	case len(space.Rules()) > 0:
		style = red
	case space.Ending() == explore.Exhausted:
		style = green
	}
	for _, part := range wrap(page.SearchEnding(l, space), t.width) {
		t.line(part, style)
	}
	return nil
}

// shares is in how many orders a rule is broken, and in how many of them by standing still.
func shares(l words.Language, r explore.Rule, space *explore.Space) []styled {
	list := []styled{{page.Share(l, r.Schedules, space.Schedules()), ""}}
	if standing := page.StoodStill(l, r); standing != "" {
		list = append(list, styled{standing, faint})
	}
	return list
}

// progressBar is a line on a terminal that is written over again and again.
type progressBar struct {
	env   environment
	l     words.Language
	most  int
	shown bool
}

func (p *progressBar) show(space *explore.Space) {
	if !p.env.errTerminal {
		return
	}
	const cells = 20
	states, waiting := space.States(), space.Waiting()
	full := cells * states / max(states+waiting, 1)
	text := p.l.Say("%s states, %s options to try", grouped(states), grouped(waiting))
	if n := len(space.Rules()); n > 0 {
		text += ", " + p.l.Say("broken so far: %d", n)
	}
	fmt.Fprintf(p.env.err, "\r\x1b[K%s%s %s", strings.Repeat("█", full), strings.Repeat("░", cells-full), text)
	p.shown = true
}

func (p *progressBar) clear() {
	if p.shown {
		fmt.Fprint(p.env.err, "\r\x1b[K")
	}
}

func grouped(n int) string { return page.Grouped(big.NewInt(int64(n))) }
