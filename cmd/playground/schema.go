package main

import (
	"context"
	"encoding/json"
	"flag"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/engine/scenario"
)

const schemaSynopsis phrase.Text = `playground schema [scenario | chapter]

Prints the JSON Schema (draft-07) of a scenario, or of a chapter of a course, for
editors. Without an argument it is a scenario's. A line at the top of a file,
# yaml-language-server: $schema=FILE, tells an editor's YAML server where it is.`

// schema prints a JSON Schema.
func schema(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("schema", flag.ContinueOnError)
	if code, done := parse(fs, args, env, env.say(schemaSynopsis)); done {
		return code
	}
	made := scenario.Schema
	switch what := fs.Arg(0); {
	case fs.NArg() > 1:
		return env.refuse("schema takes one argument, given %q", fs.Args())
	case what == "chapter":
		made = course.Schema
	case what != "" && what != "scenario":
		return env.refuse("there is no schema %q; allowed: scenario, chapter", what)
	}
	enc := json.NewEncoder(env.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(made()); err != nil {
		env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	return exitOK
}
