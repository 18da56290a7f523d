package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/explore/mend"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/verdict"
	"relock/web/export"
	"relock/web/page"
)

const mendSynopsis phrase.Text = `playground mend [-delays N] [-faults a,b] [-max-faults N] [-max-states N] [-json | -post-mortem] [-lang TAG] FILE

What would mend it? Tries each change of a scenario that breaks a rule: another
script, another lock, each also with its watchdog, a longer lease, a watchdog, a limit
to it, waiting for replicas, stopping when the lock is lost, and checks at the resource that it protects. Searches each in every order within
the same bounds, like "playground explore", and prints its counts as soon as it
knows them; the end lists the best first. If a change only outlasts a pause, it
is tried with a longer one, too. Without -delays, the limit is the most delays
with which the search of the unchanged scenario still finishes.

Exit codes: 0 something mends it, or no rule is broken, or what the lock protects
is safe anyway; 1 no change that was tried mends it; 2 bad input or usage; 4 no rule is
broken, but it saw too little to judge (nobody was inside, not all orders were tried, …). "-" reads standard input.`

func mending(ctx context.Context, args []string, env environment) int {
	var o mendOptions
	fs := flag.NewFlagSet("mend", flag.ContinueOnError)
	o.add(fs, env, searchHelp{
		faults:    "the `kinds` of faults that may strike, with commas between them, or all (default: those of the scenario's own moves)",
		maxFaults: "at most `N` faults in a schedule, 0 to %d (default: 1 with -faults, else as many as the scenario's own moves have)",
		maxStates: "give up one change beyond `N` states, 1 to %d", states: mend.States,
	})
	fs.BoolVar(&o.report, "post-mortem", false, env.say("print a post-mortem in Markdown instead: what happened, why and what mends it, and the run that breaks a rule as a table"))
	if code, done := parse(fs, args, env, env.say(mendSynopsis)); done {
		return code
	}
	if o.json && o.report {
		return env.refuse("-json and -post-mortem: allowed: one of them")
	}
	if fs.NArg() != 1 {
		return env.refuse("mend takes one scenario file, or - for standard input; given %d", fs.NArg())
	}
	if code, ok := o.check(fs, env); !ok {
		return code
	}
	scenarios, ok := readScenarios(*o.language, fs.Args(), seedFlag{}, env)
	if !ok {
		return exitUsage
	}
	ctx, endBox := withBox(ctx, env, *o.language, locksOf(scenarios)...)
	defer endBox()
	sc, b, own := scenarios[0], o.bounds, mend.BoundsOf(scenarios[0])
	o.narrow = !o.given["delays"]
	if o.narrow {
		b.Delays = own.Delays
	}
	b.Kinds = kindsOf(sc, o.faults)
	if !o.given["faults"] && !o.given["max-faults"] {
		b.Kinds, b.MaxFaults = own.Kinds, own.MaxFaults
	}
	if _, err := b.Check(sc); err != nil {
		return env.refuseWhy(err, fs.Arg(0))
	}
	return o.mend(ctx, fs.Arg(0), sc, b, env)
}

// mendOptions are the flags of mend.
type mendOptions struct {
	searchFlags

	narrow bool // fewer delays do where the search would not end
	report bool // print a post-mortem
}

// mend tries the changes of a scenario and prints what comes of them.
func (o mendOptions) mend(ctx context.Context, name string, sc *scenario.Scenario, b explore.Bounds, env environment) int {
	bar := progressBar{env: env, l: *o.language, most: b.MaxStates}
	tell := func(env environment, sc *scenario.Scenario, r *mend.Report, c *mend.Cure, over bool) error {
		return o.print(context.WithoutCancel(ctx), env, sc, r, c, over)
	}
	switch {
	case o.report:
		tell = func(_ environment, _ *scenario.Scenario, r *mend.Report, _ *mend.Cure, over bool) error {
			if !over {
				return nil
			}
			return o.postMortem(context.WithoutCancel(ctx), env, sc, r)
		}
	case o.json:
		tell = printMendJSON
	}
	var failed error
	found := func(r *mend.Report, c *mend.Cure) {
		bar.clear()
		if failed == nil {
			failed = tell(env, sc, r, c, false)
		}
	}
	r, err := mend.Search(ctx, sc, b, mend.Options{Narrow: o.narrow, Workers: o.workers, Found: found, Searching: bar.show})
	bar.clear()
	if err == nil {
		err = failed
	}
	if err == nil {
		err = tell(env, sc, r, nil, true)
	}
	if err != nil {
		env.tellWhy(err, name)
		return exitUnexpected
	}
	switch {
	case r.Best() == nil && !r.Protected() && (r.Broken() || r.Stopped):
		return exitUnexpected
	case !r.Broken() && r.Before.Judgement.Verdict == verdict.Unjudged:
		return exitUnjudged
	default:
		return exitOK
	}
}

// postMortem writes the run that breaks a rule, and what mends it, as Markdown.
func (o mendOptions) postMortem(ctx context.Context, env environment, sc *scenario.Scenario, r *mend.Report) error {
	cured, err := engine.Cured(ctx, sc, r)
	if err != nil {
		return fmt.Errorf("cannot run it: %w", err)
	}
	text, err := export.PostMortem(ctx, *o.language, titleOf(*o.language, sc.Title), r, cured)
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if _, err := fmt.Fprint(env.out, text); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// print writes what is known: before anything was tried, of a change, or at the end.
func (o mendOptions) print(ctx context.Context, env environment, sc *scenario.Scenario, r *mend.Report, c *mend.Cure, over bool) error {
	l := *o.language
	const countWidth = 34
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	t.widths = []int{t.width - countWidth - gap, countWidth}
	paragraph := func(text, style string) {
		for _, part := range wrap(text, t.width) {
			t.line(part, style)
		}
	}
	switch {
	case over:
		cured, err := engine.Cured(ctx, sc, r)
		if err != nil {
			return fmt.Errorf("cannot run it: %w", err)
		}
		o.ranking(t, r, cured, paragraph)
	case c == nil:
		t.line(titleOf(l, sc.Title), bold)
		paragraph(page.MendBefore(l, r), "")
		if r.Changes > 0 {
			paragraph(l.Say("One change each, and all orders again:"), faint)
			fmt.Fprintln(t.w)
			t.row([][]styled{{{l.Say("Change"), bold}}, {{l.Say("Orders that break"), bold}}})
			t.rule()
		}
	default:
		change := []styled{{l.Clause(c.Title), ""}}
		for _, part := range []string{page.CureNote(l, c), page.CureNew(l, c)} {
			if part != "" {
				change = append(change, styled{part, faint})
			}
		}
		var counts []styled
		for _, b := range r.Before.Rules {
			left := c.After.Of(b.Rule)
			style := green
			if left.Sign() > 0 {
				style = red
			}
			counts = append(counts, styled{fmt.Sprintf("%s %s → %s/%s", b.Rule, page.Grouped(b.Orders), page.Grouped(left), page.Grouped(c.After.Orders)), style})
			if c.Longer != nil && c.Longer.Of(b.Rule).Sign() > 0 {
				counts = append(counts, styled{indent + l.Say("with a pause of %[1]s: %[2]s", l.Duration(c.Longer.Pause), page.Grouped(c.Longer.Of(b.Rule))), red})
			}
		}
		if !c.After.All {
			counts = append(counts, styled{indent + l.Say("cut short: %s", l.Clause(c.After.Why)), faint})
		}
		t.row([][]styled{change, counts})
	}
	return nil
}

// ranking writes the changes that are better than nothing, the best first, and what
// follows.
func (o mendOptions) ranking(t table, r *mend.Report, cured []engine.Played, paragraph func(text, style string)) {
	l := t.l
	n := 0
	var byRule []string // of changes that leave every order broken
	for i := range r.Cures {
		c := &r.Cures[i]
		if c.Verdict == mend.Nothing {
			if says := page.CureByRule(l, r, c); says != "" {
				byRule = append(byRule, l.Say("%[1]s (%[2]s). %[3]s.", l.Clause(c.Title), c.Name, says))
			}
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(t.w)
			paragraph(page.CureOrder(l), bold)
		}
		style := ""
		if c.Verdict == mend.Mends || c.Verdict == mend.Protects {
			style = green
		}
		for i, part := range wrap(l.Say("%[1]d. %[2]s (%[3]s). %[4]s", n, l.Clause(c.Title), c.Name, page.CureSays(l, c)), t.width-len(indent)) {
			t.line(strings.Repeat(indent, min(i, 1))+part, style)
		}
		if says := page.CureByRule(l, r, c); says != "" {
			for _, part := range wrap(says, t.width-2*len(indent)) {
				t.line(indent+indent+part, "")
			}
		}
		for _, part := range wrap(page.NewCureWhy(l, cured[0], cured[i+1], c).Says, t.width-2*len(indent)) {
			t.line(indent+indent+part, faint)
		}
	}
	if len(byRule) > 0 {
		fmt.Fprintln(t.w)
		t.line(l.Say("For one rule, where others stay broken:"), bold)
		for _, says := range byRule {
			for i, part := range wrap("– "+says, t.width-len(indent)) {
				t.line(strings.Repeat(indent, min(i, 1))+part, "")
			}
		}
	}
	fmt.Fprintln(t.w)
	style := bold
	switch {
	case r.Best() != nil || r.Protected() || !r.Broken() && r.Before.All:
		style = green
	case r.Broken():
		style = red
	}
	paragraph(page.MendEnding(l, r), style)
	if !r.Broken() {
		for _, says := range unjudged(l, r.Before.Judgement) {
			paragraph(says, "")
		}
	}
}

// The lines of -json.
type (
	countForm struct {
		Orders string            `json:"orders"`
		Broken string            `json:"broken"`
		Stands string            `json:"by_standing_still"` // of the broken
		All    bool              `json:"all"`               // every order within the bounds was tried
		Why    string            `json:"why,omitempty"`     // not all were
		Rules  map[string]string `json:"rules"`
		Still  map[string]string `json:"rules_by_standing_still,omitempty"`
	}
	beforeForm struct {
		Mend  int    `json:"mend"` // the version
		Title string `json:"title"`
		boundsForm
		MaxStates int `json:"max_states"`
		Changes   int `json:"changes"`
		countForm
		verdict.Judgement
	}
	cureForm struct {
		Change  string       `json:"change"`
		Kind    mend.Kind    `json:"kind"`
		Verdict mend.Verdict `json:"verdict"`
		countForm
		Delays   int             `json:"delays"`
		Cured    []string        `json:"cured"`
		Gone     []string        `json:"gone"`
		Left     []string        `json:"left"`
		New      []string        `json:"new"`
		Lacks    int             `json:"lacks,omitempty"` // faults that this lock cannot have
		Longer   *longerForm     `json:"longer,omitempty"`
		Scenario json.RawMessage `json:"scenario"`
	}
	longerForm struct {
		Pause string `json:"pause"`
		countForm
	}
	mendedForm struct {
		Tried         int                 `json:"tried"`
		Stopped       bool                `json:"stopped,omitempty"`
		Best          []string            `json:"best"`  // the changes' names, the best first
		Cures         map[string][]string `json:"cures"` // by rule: the changes that cure it, the best first
		Mended        bool                `json:"mended"`
		NeedsResource bool                `json:"needs_resource"`
	}
)

func newCountForm(c *mend.Count) countForm {
	f := countForm{Orders: c.Orders.String(), Broken: c.Broken.String(), All: c.All, Why: c.Why.String(), Rules: map[string]string{}, Still: map[string]string{}, Stands: "0"}
	if c.Standing != nil {
		f.Stands = c.Standing.String()
	}
	if c.All {
		f.Why = ""
	}
	for _, b := range c.Rules {
		f.Rules[b.Rule] = b.Orders.String()
		if b.Standing != nil && b.Standing.Sign() > 0 {
			f.Still[b.Rule] = b.Standing.String()
		}
	}
	return f
}

// printMendJSON is print as JSON Lines.
func printMendJSON(env environment, sc *scenario.Scenario, r *mend.Report, c *mend.Cure, over bool) error {
	var line any
	switch {
	case over:
		f := mendedForm{Tried: r.Tried, Stopped: r.Stopped, Best: []string{}, Cures: map[string][]string{}, Mended: r.Best() != nil, NeedsResource: r.NeedsResource()}
		for i := range r.Cures {
			for _, rule := range r.Cures[i].Cured {
				f.Cures[rule] = append(f.Cures[rule], r.Cures[i].Name)
			}
			if r.Cures[i].Verdict != mend.Nothing {
				f.Best = append(f.Best, r.Cures[i].Name)
			}
		}
		line = f
	case c == nil:
		line = beforeForm{1, sc.Title, newBoundsForm(r.Bounds), r.Bounds.MaxStates, r.Changes, newCountForm(&r.Before), r.Before.Judgement}
	default:
		text, err := c.Scenario.Compact()
		if err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
		f := cureForm{
			Change: c.Name, Kind: c.Kind, Verdict: c.Verdict, countForm: newCountForm(&c.After), Lacks: c.Lacks, Scenario: text,
			Delays: c.After.Delays, Cured: append([]string{}, c.Cured...), Gone: append([]string{}, c.Gone...), Left: append([]string{}, c.Left...), New: append([]string{}, c.New...),
		}
		if c.Longer != nil {
			f.Longer = &longerForm{phrase.Duration(c.Longer.Pause), newCountForm(&c.Longer.Count)}
		}
		line = f
	}
	enc := json.NewEncoder(env.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}
