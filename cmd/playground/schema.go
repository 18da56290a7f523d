package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"relock/engine/course"
	"relock/engine/scenario"
)

const schemaSynopsis = `playground schema [scenario | chapter]

Prints the JSON Schema (draft-07) of a scenario, or of a chapter of a course, for
editors. Without an argument it is a scenario's. A line at the top of a file,
# yaml-language-server: $schema=FILE, tells an editor's YAML server where it is.`

// schema prints a JSON Schema.
func schema(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("schema", flag.ContinueOnError)
	if code, done := parse(fs, args, env, schemaSynopsis); done {
		return code
	}
	made := scenario.Schema
	switch what := fs.Arg(0); {
	case fs.NArg() > 1:
		fmt.Fprintf(env.err, "playground: schema takes one argument, given %q\n", fs.Args())
		return exitUsage
	case what == "chapter":
		made = course.Schema
	case what != "" && what != "scenario":
		fmt.Fprintf(env.err, "playground: there is no schema %q; allowed: scenario, chapter\n", what)
		return exitUsage
	}
	enc := json.NewEncoder(env.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(made()); err != nil {
		fmt.Fprintf(env.err, "playground: cannot write: %v\n", err)
		return exitUnexpected
	}
	return exitOK
}
