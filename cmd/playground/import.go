package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"relock/engine"
	"relock/engine/outside/infer"
	"relock/engine/outside/logs"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/export"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/words"
)

const importSynopsis phrase.Text = `playground import [flags] FILE …

Makes a trace of a log: what "redis-cli monitor" printed, Redisson's log with its
commands and replies (TRACE of org.redisson.client.handler), spans of
OpenTelemetry as lines of OTLP/JSON (what "run -format otel" and an Observer of the
lock write), or a trace of Relock. "-" reads standard input.
The commands that name the lock's key run again on an embedded Redis at their
instants and are read by their effects: the table shows the key after each, its
lease, which thread believed that it held it, and which rules were broken. A span
without commands runs again as an attempt of the reentrant lock. The import
recomputes what the log lacks, and says so. It never shows passwords.

A log may be packed as collectors do it: gzip, an object of JSON a line, CSV, a
prefix or a number on each line. Comments (#) and lines of other programs are left
out. Several files are the MONITOR logs of a lock's servers, each of its own, and so
are the lines of several containers in one file: a thread holds the lock while its
value stands on more than half of the servers.

Of a log with more than 200 rows the table has the first and the last ones, and those
beside the first places of each broken rule; -all prints all.

Exit codes: 0 no rule is broken, and nothing is missing that a judgement needs;
1 broken; 2 bad input; 4 no rule is broken, but it cannot tell whether
one can be: it says why, and what helps.`

func importLog(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("import", flag.ContinueOnError)
	var o logs.Options
	lockFlags(fs, env, &o.Key, &o.Kind, &o.Also, "of the keys that could be locks, the one that most commands name")
	fs.StringVar(&o.Threads, "threads", "", env.say("who is a thread, `WHO`: %s (default: what the key says of its holder, else the connection)", strings.Join(logs.Threads(), ", ")))
	fs.StringVar(&o.Resource, "resource", "", env.say("the `key` of what the lock protects: its GETs and SETs are reads and writes"))
	fs.IntVar(&o.Nodes, "nodes", 0, env.say("how many servers the lock is on (default: as many as there are files); without its log, nobody knows what a server did"))
	asJSON := fs.Bool("json", false, env.say("print the trace as JSON Lines"))
	all := fs.Bool("all", false, env.say("print all rows of a long log, not only those beside a broken rule"))
	var r report
	r.flag(fs, env, string(export.HTML))
	l := languageFlag(fs, env)
	if code, done := parse(fs, args, env, env.say(importSynopsis)+kindsOfLocks(env)); done {
		return code
	}
	refuse := func(err error) int {
		return env.refuseWhy(err, "import")
	}
	if *asJSON && r.wanted() {
		return env.refuse("-json and -format %s; allowed: one of both", r.format)
	}
	if fs.NArg() < 1 || fs.NArg() > scenario.MaxNodes {
		return refuse(phrase.New("it takes a file, or - for standard input, or the logs of up to %d servers; given %d", scenario.MaxNodes, fs.NArg()))
	}
	if err := infer.Judges(infer.Lock{Key: o.Key, Kind: o.Kind, Also: o.Also}, max(fs.NArg(), o.Nodes)); err != nil {
		return refuse(err)
	}
	var files []logs.File
	for _, name := range fs.Args() {
		in := env.in
		if name != "-" {
			file, err := os.Open(name) //nolint:gosec // the file the user named
			if err != nil {
				return refuse(err)
			}
			defer func() { _ = file.Close() }()
			in, name = until{ctx, file}, filepath.Base(name)
			o.Title = strings.TrimPrefix(o.Title+", "+name, ", ")
		}
		files = append(files, logs.File{Name: name, Reader: site.Unpacked(in)})
	}
	found, err := importedFiles(ctx, files, o)
	if err != nil {
		return refuse(err)
	}
	if r.format == string(export.HTML) {
		if err := printRun(ctx, found.Scenario, found.Header, found.Events, runFlags{format: export.HTML, language: l}, env); err != nil {
			env.tellWhy(err)
			return exitUnexpected
		}
		return exitOf(found.Judgement.Verdict)
	}
	if *asJSON {
		if err := trace.Write(env.out, found.Header, found.Events); err != nil {
			env.tell("cannot write: %s", err)
			return exitUnexpected
		}
		return exitOf(found.Judgement.Verdict)
	}
	s := subject{name: strings.Join(fs.Args(), ", "), file: fs.Arg(0), kind: found.Scenario.Lock.Kind, judgement: found.Judgement}
	for _, e := range found.Events {
		v, ok := e.Body.(trace.Violation)
		if !ok || slices.Contains(s.rules, v.Rule) {
			continue
		}
		if len(s.rules) == 0 {
			_, s.line = found.Where(e.Step)
		}
		s.rules = append(s.rules, v.Rule)
	}
	return r.write(env, fs.Name(), r.add(env, s, func(env environment) int {
		printImported(env, *l, found, *all)
		return exitOf(found.Judgement.Verdict)
	}))
}

// importedFiles reads a log or a trace of ours, or the logs of several servers.
func importedFiles(ctx context.Context, files []logs.File, o logs.Options) (*logs.Imported, error) {
	if len(files) > 1 {
		log, err := logs.ReadFiles(ctx, files)
		if err != nil {
			return nil, err
		}
		return log.Trace(ctx, o)
	}
	data, err := io.ReadAll(io.LimitReader(files[0], logs.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return imported(ctx, data, o)
}

// imported reads a log, or a trace of ours.
func imported(ctx context.Context, data []byte, o logs.Options) (*logs.Imported, error) {
	if !runs.IsTrace(data) {
		log, err := logs.Read(ctx, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return log.Trace(ctx, o)
	}
	if o.Key != "" || o.Threads != "" || o.Resource != "" || o.Nodes != 0 {
		return nil, phrase.New("a trace already has its key and its threads; allowed: no -key, -threads, -resource or -nodes")
	}
	h, events, sc, err := runs.ReadTrace(ctx, data)
	if err != nil {
		return nil, err
	}
	found := &logs.Imported{Events: events, Scenario: sc}
	found.Header, found.Judgement = verdict.Judged(h, sc, events)
	return found, nil
}

// printImported prints the table, of a long log only a part unless all are asked for, the verdict, and what the log does not say.
func printImported(env environment, l words.Language, found *logs.Imported, all bool) {
	printTable(env, l, film.NewScenario(l, found.Scenario), found.Header, found.Events, all)
	t := table{w: env.out, width: env.width(), colour: env.colour(), l: l}
	say := func(style, text string) {
		for _, part := range wrap(text, t.width) {
			t.line(part, style)
		}
	}
	fmt.Fprintln(t.w)
	sayBroken(say, l, found)
	for _, text := range unjudged(l, found.Judgement) {
		say("", text)
	}
	if lateness, late := engine.Late(found.Scenario, found.Events); late {
		say("", l.Sentence(phrase.Plain(film.Lateness(l, lateness))))
	}
	from := found.Header.Log
	if from == nil {
		return
	}
	fmt.Fprintln(t.w)
	say("", page.LogLine(l, from))
	for _, text := range page.LogServers(l, from) {
		say(faint, text)
	}
	for _, one := range from.Threads {
		who := strings.Join(append(slices.Clone(one.Owners), one.Clients...), ", ")
		say(faint, l.Say("Thread %s: %s.", one.Name, cmp.Or(who, "?")))
	}
	for _, note := range page.LogNotes(l, from) {
		say(faint, note)
	}
	if len(from.Others) > 0 {
		var keys []string
		for _, k := range from.Others[:min(len(from.Others), 8)] {
			keys = append(keys, fmt.Sprintf("%s (%d)", shortKey(k.Key), k.Commands))
		}
		say("", l.Say("Other keys that could be locks, for -key, and how many commands name each: %s.", strings.Join(keys, ", ")))
	}
}

func shortKey(key string) string { return middle(key, scenario.MaxKey) }

// sayBroken says which rules were broken, how often, and where first.
func sayBroken(say func(style, text string), l words.Language, found *logs.Imported) {
	if found.Judgement.Verdict == verdict.Unbroken {
		say(green, l.Say("No rule is broken in it."))
	}
	first, times := map[string]trace.Event{}, map[string]int{}
	var order []string
	for _, e := range found.Events {
		v, ok := e.Body.(trace.Violation)
		if !ok {
			continue
		}
		if times[v.Rule]++; times[v.Rule] == 1 {
			first[v.Rule] = e
			order = append(order, v.Rule)
		}
	}
	for _, rule := range order {
		e := first[rule]
		file, line := found.Where(e.Step)
		named := film.RuleOf(l, found.Scenario.Lock.Kind, rule)
		switch {
		case file != "":
			say(red, l.Say("%s, first at T%d, line %d of %s. Times in all: %d.", named, e.Step, line, file, times[rule]))
		case line > 0:
			say(red, l.Say("%s, first at T%d, line %d of the log. Times in all: %d.", named, e.Step, line, times[rule]))
		default:
			say(red, l.Say("%s, first at T%d. Times in all: %d.", named, e.Step, times[rule]))
		}
	}
}
