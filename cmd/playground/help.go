package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/engine/strict"
	"relock/lessons"
	"relock/web/words"
)

// subcommand is a command of the program.
type subcommand struct {
	name string
	form string      // how it is written
	what phrase.Text // it does
	run  func(ctx context.Context, args []string, env environment) int
}

// purpose is what one wants, and the commands for it.
type purpose struct {
	name     phrase.Text
	commands []subcommand
}

// purposes are those of all commands, in the order of the help. Help itself reads them.
func purposes() []purpose {
	return []purpose{
		{"See it:", []subcommand{
			{"serve", "[serve] [flags]", "serve the playground page", serve},
			{"run", "run [flags] FILE…", "run scenarios; \"-\" reads standard input", runFiles},
			{"compare", "compare [flags] FILE", "run one scenario on several locks", comparison},
			{"protocols", "protocols [flags]", "list the locks, one on each line", protocols},
		}},
		{"Search:", []subcommand{
			{"explore", "explore [flags] FILE…", "search every order within bounds: can a rule break?", exploration},
			{"mend", "mend [flags] FILE", "what would mend it? try each change in every order", mending},
			{"card", "card [flags] LOCK [LOCK]", "what one fault can do to a lock, at each place", reportCard},
		}},
		{"Your own lock:", []subcommand{
			{"lab", "lab [flags] -- COMMAND", "your own lock, unmodified: every order of its commands", laboratory},
			{"import", "import [flags] FILE…", "make a trace of a log: MONITOR, Redisson, OpenTelemetry", importLog},
			{"mcp", "mcp [flags]", "serve an agent: run, search and judge locks", agent},
		}},
		{"Write and teach:", []subcommand{
			{"schema", "schema [KIND]", "the JSON Schema of a scenario, for editors", schema},
			{"learn", "learn -ladder DIR", "your lock, level by level; -check PATH: a course you write", learning},
		}},
		{"This program:", []subcommand{
			{"healthcheck", "healthcheck", "ask the server on this machine whether it is ready", healthcheck},
			{"version", "version", "print the version and the revision", version},
			{"help", "help [COMMAND | TOPIC]", "show this, a command's flags, or a document", help},
		}},
	}
}

// subcommands are all of them, in the order of the help.
func subcommands() []subcommand {
	var all []subcommand
	for _, p := range purposes() {
		all = append(all, p.commands...)
	}
	return all
}

func subcommandNames() []string {
	var names []string
	for _, c := range subcommands() {
		names = append(names, c.name)
	}
	return names
}

func subcommandNamed(name string) (subcommand, bool) {
	all := subcommands()
	if at := slices.IndexFunc(all, func(c subcommand) bool { return c.name == name }); at >= 0 {
		return all[at], true
	}
	return subcommand{}, false
}

// topics are the documents that help prints, by the names of their files in small letters.
var topics = []string{"use", "lab", "scenarios", "operate", "teach", "mylock", "work"}

const topicSynopsis phrase.Text = `playground help TOPIC [-lang TAG]

Prints a document, in Markdown.`

// exitCodes explains them.
const exitCodes phrase.Text = `Exit codes: 0 as expected, or no rule is broken; 1 not as expected, or a rule is broken; 2 bad input
or usage; 3 no Redis answers, or a worker of the lab fails; 4 it cannot tell whether a rule can be
broken; 5 not as expected, but this machine was late by a tenth of the lease or more.`

// usage is the program's help.
func usage(env environment) string {
	var b strings.Builder
	fmt.Fprintln(&b, env.say("Relock: see a reentrant Redis lock think."))
	for _, p := range purposes() {
		fmt.Fprintf(&b, "\n%s\n", env.say(p.name))
		for _, c := range p.commands {
			fmt.Fprintf(&b, "  playground %-25s %s\n", c.form, env.say(c.what))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", env.say("Topics of help: %s (the flags of the lab: lab -h)", strings.Join(topics, ", ")))
	return b.String() + "\n" + env.say(exitCodes)
}

// help prints the program's help, a command's flags or a document.
func help(ctx context.Context, args []string, env environment) int {
	asked := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		asked, args = args[0], args[1:]
	}
	_, known := subcommandNamed(asked)
	switch {
	case slices.Contains(topics, asked):
		return document(asked, args, env)
	case known && asked != "help":
		return command(ctx, slices.Concat([]string{asked}, args, []string{"-h"}), env)
	case known || asked == "":
		env.printHelp(usage(env))
		return exitOK
	}
	given := env.l.Clause(strict.Meant(strict.Quoted(asked), asked, slices.Concat(subcommandNames(), topics)))
	return env.refuse("unknown command or topic %[1]s; allowed: the commands %[2]s; the topics %[3]s",
		given, strings.Join(subcommandNames(), ", "), strings.Join(topics, ", "))
}

// document prints the one about a topic, as it is written.
func document(topic string, args []string, env environment) int {
	fs := flag.NewFlagSet("help "+topic, flag.ContinueOnError)
	language := languageFlag(fs, env)
	if code, done := parse(fs, args, env, env.say(topicSynopsis)); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("help takes one command or topic, given %q", append([]string{topic}, fs.Args()...))
	}
	name, folder := strings.ToUpper(topic)+".md", ""
	if *language != words.English {
		folder = language.Code()
	}
	text, err := lessons.Document(name, folder)
	if err == nil {
		_, err = env.out.Write(text)
	}
	if err != nil {
		env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	return exitOK
}
