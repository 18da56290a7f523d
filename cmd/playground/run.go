package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"relock/engine"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/lessons"
	"relock/web/export"
	"relock/web/film"
	"relock/web/page"
	"relock/web/static"
	"relock/web/words"
)

const runUsage phrase.Text = `playground run [-json | -format F] [-lang TAG] [-redis URL] [-seed N] FILE…

Runs each scenario and prints its T-table, or with -json its trace as JSON
Lines. "-" reads standard input. Exit codes: 0 as the scenario expects or, where
it expects nothing, no rule is broken; 1 not so; 2 bad input; 3 no Redis answers;
4 no rule is broken, but this order shows too little to judge the lock; 5 not as
expected, but timers on this machine were late by a tenth of the lease or more.`

type runFlags struct {
	format   export.Format
	language *words.Language
	redis    string
	seed     seedFlag
}

// tableFormat is the terminal's own format.
const tableFormat export.Format = "table"

// runSynopsis is the usage line with the formats.
func runSynopsis(env environment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", env.say(runUsage), env.say("Formats:"))
	fmt.Fprintf(&b, "  %-15s %s", tableFormat, env.say("the T-table for a terminal (default)"))
	for _, f := range export.Formats() {
		single := ""
		if f.Single() {
			single = env.say("; one FILE only")
		}
		fmt.Fprintf(&b, "\n  %-15s %s%s", f, env.say(f.Summary()), single)
	}
	return b.String()
}

// formatFlag reads -format.
func formatFlag(into *export.Format, env environment) func(string) error {
	return func(name string) error {
		f, err := export.ParseFormat(name)
		if err != nil && name != string(tableFormat) {
			return errors.New(env.say("allowed: %s", string(tableFormat)+", "+export.Allowed()))
		}
		if err != nil {
			f = tableFormat
		}
		*into = f
		return nil
	}
}

// seedInstead is what the flag does where a scenario has a seed.
const seedInstead phrase.Text = "use seed `N` instead of the scenario's"

// seedFlag is an optional number.
type seedFlag struct {
	set   bool
	value uint64
}

// add adds the flag -seed.
func (f *seedFlag) add(fs *flag.FlagSet, env environment, usage phrase.Text) {
	fs.Func("seed", env.say(usage), func(s string) error {
		n, err := scenario.ParseSeed(s)
		f.set, f.value = err == nil, n
		return toldError(env, err)
	})
}

func runFiles(ctx context.Context, args []string, env environment) int {
	var f runFlags
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	traces := fs.Bool("json", false, env.say("print the trace as JSON Lines"))
	fs.Func("format", env.say("print in this format `F`: %s, %s", string(tableFormat), export.Allowed()), formatFlag(&f.format, env))
	f.language = languageFlag(fs, env)
	fs.StringVar(&f.redis, "redis", "", env.say("run on the Redis at this `URL`, on the wall clock, instead of the embedded one"))
	f.seed.add(fs, env, seedInstead)
	if code, done := parse(fs, args, env, runSynopsis(env)); done {
		return code
	}
	if fs.NArg() == 0 {
		return env.refuse("run needs at least one scenario file, or - for standard input")
	}
	if *traces && f.format != "" && f.format != export.JSONL {
		return env.refuse("-json and -format %s are two formats; give one of them", f.format)
	}
	if *traces {
		f.format = export.JSONL
	}
	f.format = cmp.Or(f.format, tableFormat)
	if f.format.Single() && fs.NArg() > 1 {
		return env.refuse("-format %s takes one scenario file, given %d", f.format, fs.NArg())
	}
	scenarios, ok := readScenarios(*f.language, fs.Args(), f.seed, env)
	if !ok {
		return exitUsage
	}
	ctx, endBox := withBox(ctx, env, *f.language, locksOf(scenarios)...)
	defer endBox()
	var o engine.Options
	if f.redis != "" {
		external, err := store.Connect(ctx, f.redis)
		if err != nil {
			return redisFailed(err, env)
		}
		defer func() { _ = external.Close() }()
		o.External = external
	}
	worst := exitOK
	for i, sc := range scenarios {
		if i > 0 && f.format != export.JSONL {
			fmt.Fprintln(env.out)
		}
		worst = graver(worst, runOne(ctx, fs.Arg(i), sc, o, f, env))
	}
	return worst
}

func redisFailed(err error, env environment) int {
	env.tellWhy(err)
	if errors.Is(err, store.ErrUnreachable) {
		return exitUnreachable
	}
	return exitUsage
}

// readScenarios reads all files before running any, and reports all mistakes.
func readScenarios(l words.Language, names []string, seed seedFlag, env environment) ([]*scenario.Scenario, bool) {
	scenarios := make([]*scenario.Scenario, 0, len(names))
	ok := true
	for _, name := range names {
		data, err := readFile(name, env.in)
		if err != nil {
			env.tellWhy(err)
			ok = false
			continue
		}
		sc, err := scenario.Parse(data)
		switch {
		case err == nil:
		case isTrace(data):
			fmt.Fprintf(env.err, "%s: %s\n", name, l.Say("this is a trace and not a scenario; playground import reads it"))
			ok = false
			continue
		default:
			var mistakes scenario.Mistakes
			if !errors.As(err, &mistakes) {
				fmt.Fprintf(env.err, "%s: %s\n", name, told(l, err))
			}
			for _, m := range mistakes {
				fmt.Fprintf(env.err, "%s: %s\n", name, l.Clause(m.Says()))
			}
			ok = false
			continue
		}
		if seed.set {
			sc.Seed = seed.value
		}
		scenarios = append(scenarios, sc)
	}
	return scenarios, ok
}

// isTrace reports whether a file begins with the header of a trace.
func isTrace(data []byte) bool {
	var h trace.Header
	return json.NewDecoder(bytes.NewReader(data)).Decode(&h) == nil && h.Relock > 0
}

// errScenario is a file that cannot be read.
var errScenario = phrase.New("cannot read the scenario")

// readFile reads one byte more than a scenario may have, so that the parser
// notices when it is too long.
func readFile(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the file the user named
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errScenario, err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, scenario.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errScenario, name, err)
	}
	return data, nil
}

func runOne(ctx context.Context, name string, sc *scenario.Scenario, o engine.Options, f runFlags, env environment) int {
	run, err := engine.Start(ctx, sc, o)
	if err != nil {
		return env.refuseWhy(err, name)
	}
	err = run.Wait()
	if errors.Is(err, engine.ErrDiverged) {
		return env.refuseWhy(err, name)
	}
	events, _ := run.Log().Since(0)
	if werr := printRun(context.WithoutCancel(ctx), sc, run.Header(), events, f, env); werr != nil {
		env.tellWhy(werr, name)
		return exitUnexpected
	}
	if ownMistake(ctx, env, *f.language, name, sc, err) {
		return exitUsage
	}
	return concluded(ctx, sc, name, events, err, f, env)
}

// concluded says what came of a run that ended with err, and returns the exit code.
func concluded(ctx context.Context, sc *scenario.Scenario, name string, events []trace.Event, err error, f runFlags, env environment) int {
	lateness, late := engine.Late(sc, events)
	says := film.Lateness(*f.language, lateness)
	var code int
	switch differences := engine.Unexpected(sc.Expect, events); {
	case errors.Is(err, engine.ErrRedis):
		code = exitUnreachable
	case err != nil:
		code = exitUnexpected
	case len(differences) > 0:
		for _, d := range differences {
			env.tell("%s: not as expected: %s", name, env.speaks().Clause(d))
		}
		if code = exitUnexpected; late {
			code = exitLate
		}
	case f.format == tableFormat:
		for _, line := range conclusion(*f.language, sc, name, events) {
			for _, part := range wrap(line, env.width()) {
				fmt.Fprintln(env.out, part)
			}
		}
		for _, note := range page.NotesOnRun(ctx, *f.language, sc, events) {
			for _, part := range wrap(note, env.width()) {
				fmt.Fprintln(env.out, part)
			}
		}
		if late {
			fmt.Fprintln(env.out, f.language.Sentence(phrase.Plain(says)))
		}
		return exitOfRun(sc, events)
	default:
		for _, note := range page.NotesOnRun(ctx, *f.language, sc, events) {
			fmt.Fprintln(env.err, note)
		}
		code = exitOfRun(sc, events)
	}
	if err != nil {
		env.tellWhy(err, name)
	}
	if late {
		fmt.Fprintf(env.err, "playground: %s: %s\n", name, says)
	}
	return code
}

// exitOfRun is the exit code of a run that ended, and of which nothing is other than its
// scenario expects.
func exitOfRun(sc *scenario.Scenario, events []trace.Event) int {
	if sc.Expect != nil && sc.Expect.Violations != nil {
		return exitOK
	}
	return exitOf(verdict.OfRun(sc, events).Verdict)
}

// conclusion says what came of a run: as its scenario expects, or, where that expects
// nothing, which rules were broken and what tells more.
func conclusion(l words.Language, sc *scenario.Scenario, name string, events []trace.Event) []string {
	if sc.Expect != nil {
		return []string{l.Say("As the scenario expects.")}
	}
	var broken []string
	for _, rule := range engine.Broken(events) {
		broken = append(broken, l.Clause(sc.Lock.Kind.Title(rule)))
	}
	var gaveUp []string
	for _, e := range events {
		if end, ok := e.Body.(trace.End); ok && e.Thread != "" && end.Result == trace.Exhausted {
			gaveUp = append(gaveUp, e.Thread)
		}
	}
	says := []string{l.Say("Broken: %[1]s. What would mend it: playground mend %[2]s", l.List(broken), name)}
	if len(broken) == 0 {
		says = []string{l.Say("No rule was broken in this order. All of them: playground explore %s", name)}
		if len(gaveUp) > 0 {
			says = append(says, l.Say("These never got the lock: %s", l.List(gaveUp)))
		}
	}
	return append(says, unjudged(l, verdict.OfRun(sc, events))...)
}

func printRun(ctx context.Context, sc *scenario.Scenario, h trace.Header, events []trace.Event, f runFlags, env environment) error {
	l := *f.language
	if f.format == tableFormat {
		printTable(env, l, film.NewScenario(l, sc), h, events, true)
		return nil
	}
	r := export.Run{Header: h, Events: events, Scenario: sc, Title: l.Clause(lessons.Title(sc.Title)), Language: l}
	if f.format == export.SVG {
		files, err := static.New()
		if err != nil {
			return err
		}
		r.Style = files.PictureStyle()
	}
	data, err := export.Render(ctx, f.format, r)
	if err != nil {
		return err
	}
	if _, err := env.out.Write(data); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

func protocols(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("protocols", flag.ContinueOnError)
	long := fs.Bool("long", false, env.say("also say what each guarantees, where it fails, and where it comes from"))
	l := languageFlag(fs, env)
	if code, done := parse(fs, args, env, env.say("playground protocols [-long] [-lang TAG]\n\nLists the locks that a scenario can name, one on each line.")); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("%s takes no arguments, given %q", fs.Name(), fs.Args())
	}
	texts, err := lessons.Protocols()
	if err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	width := 0
	for _, p := range exhibit.All() {
		width = max(width, len(p.Name))
	}
	for i, p := range exhibit.All() {
		fmt.Fprintf(env.out, "%-*s %s\n", width, p.Name, l.Say(p.Summary))
		if !*long {
			continue
		}
		explain(env, l.Say("Guarantees"), l.Each(texts[i].Guarantees))
		explain(env, l.Say("Holes"), l.Each(texts[i].Holes))
		explain(env, "("+l.Say(texts[i].Source)+")", nil)
	}
	return exitOK
}

// explain prints lines under a heading.
func explain(env environment, heading string, lines []string) {
	const margin = "    "
	for _, part := range wrap(heading, env.width()-len(margin)) {
		fmt.Fprintln(env.out, margin+part)
	}
	for _, line := range lines {
		for _, part := range wrap("- "+line, env.width()-len(margin)) {
			fmt.Fprintln(env.out, margin+part)
		}
	}
}
