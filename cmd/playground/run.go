package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/view"
	"relock/web/words"
)

const runSynopsis = `playground run [-json] [-redis URL] [-seed N] FILE…

Runs each scenario and prints its T-table, or with -json its trace as JSON
Lines. "-" reads standard input. Where a scenario says what it expects, the
exit code is 1 if it came out otherwise.`

type runFlags struct {
	json  bool
	redis string
	seed  seedFlag
}

// seedFlag is an optional number.
type seedFlag struct {
	set   bool
	value uint64
}

func (f *seedFlag) String() string { return "" }

func (f *seedFlag) Set(s string) error {
	n, err := scenario.ParseSeed(s)
	if err != nil {
		return err
	}
	f.set, f.value = true, n
	return nil
}

func runFiles(ctx context.Context, args []string, env environment) int {
	var f runFlags
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.BoolVar(&f.json, "json", false, "print the trace as JSON Lines")
	fs.StringVar(&f.redis, "redis", "", "run on the Redis at this `URL`, on the wall clock, instead of the embedded one")
	fs.Var(&f.seed, "seed", "use this seed `N` instead of the scenario's")
	if code, done := parse(fs, args, env, runSynopsis); done {
		return code
	}
	if fs.NArg() == 0 {
		fmt.Fprintln(env.err, "playground: run needs at least one scenario file, or - for standard input")
		return exitUsage
	}
	scenarios, ok := readScenarios(fs.Args(), f.seed, env)
	if !ok {
		return exitUsage
	}
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
		if i > 0 && !f.json {
			fmt.Fprintln(env.out)
		}
		worst = max(worst, runOne(ctx, fs.Arg(i), sc, o, f, env))
	}
	return worst
}

func redisFailed(err error, env environment) int {
	fmt.Fprintf(env.err, "playground: %v\n", err)
	if errors.Is(err, store.ErrUnreachable) {
		return exitUnreachable
	}
	return exitUsage
}

// readScenarios reads all files before any is run, and names all mistakes.
func readScenarios(names []string, seed seedFlag, env environment) ([]*scenario.Scenario, bool) {
	scenarios := make([]*scenario.Scenario, 0, len(names))
	ok := true
	for _, name := range names {
		if len(name) > 1 && strings.HasPrefix(name, "-") {
			fmt.Fprintf(env.err, "playground: given %q after a file; allowed: flags before the files (and ./%s for a file of that name)\n", name, name)
			ok = false
			continue
		}
		data, err := readFile(name, env.in)
		if err != nil {
			fmt.Fprintf(env.err, "playground: %v\n", err)
			ok = false
			continue
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				fmt.Fprintf(env.err, "%s: %s\n", name, strings.TrimSuffix(line, "\n"))
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

// readFile reads one byte more than a scenario may have, so that the parser
// sees that it is too long.
func readFile(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the file that the person named
		if err != nil {
			return nil, fmt.Errorf("cannot read the scenario: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, scenario.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario %s: %w", name, err)
	}
	return data, nil
}

func runOne(ctx context.Context, name string, sc *scenario.Scenario, o engine.Options, f runFlags, env environment) int {
	run, err := engine.Start(ctx, sc, o)
	if err != nil {
		fmt.Fprintf(env.err, "playground: %s: %v\n", name, err)
		return exitUsage
	}
	err = run.Wait()
	if errors.Is(err, engine.ErrDiverged) {
		fmt.Fprintf(env.err, "playground: %s: %v\n", name, err)
		return exitUsage
	}
	events, _ := run.Log().Since(0)
	if f.json {
		if werr := trace.Write(env.out, run.Header(), events); werr != nil {
			fmt.Fprintf(env.err, "playground: %v\n", werr)
			return exitUnexpected
		}
	} else {
		printTable(env, view.NewScenario(words.English, sc), run.Header(), events)
	}
	if err != nil {
		fmt.Fprintf(env.err, "playground: %s: %v\n", name, err)
		return exitUnexpected
	}
	differences := engine.Unexpected(sc.Expect, events)
	for _, d := range differences {
		fmt.Fprintf(env.err, "playground: %s: not as expected: %s\n", name, d)
	}
	if len(differences) > 0 {
		return exitUnexpected
	}
	if sc.Expect != nil && !f.json {
		fmt.Fprintln(env.out, "As the scenario expects.")
	}
	return exitOK
}

func protocols(args []string, env environment) int {
	fs := flag.NewFlagSet("protocols", flag.ContinueOnError)
	long := fs.Bool("long", false, "also say what each guarantees, where it fails, and where it comes from")
	chinese := fs.Bool("zh", false, "say it in Chinese")
	if code, done := parse(fs, args, env, "playground protocols [-long] [-zh]\n\nLists the locks that a scenario can name, a line each."); done {
		return code
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(env.err, "playground: protocols takes no arguments, given %q\n", fs.Args())
		return exitUsage
	}
	texts, err := lessons.Protocols()
	if err != nil {
		fmt.Fprintf(env.err, "playground: %v\n", err)
		return exitUnexpected
	}
	for i, p := range scenario.Protocols() {
		summary := p.Summary
		if *chinese {
			summary = texts[i].Summary
		}
		fmt.Fprintf(env.out, "%-18s %s\n", p.Name, summary)
		if !*long && !*chinese {
			continue
		}
		lines := texts[i].English
		if *chinese {
			lines = texts[i].Chinese
		}
		for _, line := range append(slices.Clone(lines), "("+texts[i].Source+")") {
			for _, part := range wrap(line, env.width()-4) {
				fmt.Fprintln(env.out, "    "+part)
			}
		}
	}
	return exitOK
}
