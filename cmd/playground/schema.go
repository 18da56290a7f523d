package main

import (
	"context"
	"encoding/json"
	"flag"
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/web/catalog"
)

const schemaSynopsis phrase.Text = `playground schema [scenario | chapter | lesson]

Prints the JSON Schema (draft-07) of a scenario, of a chapter of a course, or of a
lesson for a class, for editors. Without an argument it prints a scenario's. A first
line tells an editor's YAML server where the schema of a file is:

  # yaml-language-server: $schema=FILE`

// schema prints a JSON Schema.
func schema(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("schema", flag.ContinueOnError)
	if code, done := parse(fs, args, env, env.say(schemaSynopsis)); done {
		return code
	}
	if fs.NArg() > 1 {
		return env.refuse("schema takes one argument, given %q", fs.Args())
	}
	all := catalog.Schemas()
	at := 0
	if what := fs.Arg(0); what != "" {
		at = slices.IndexFunc(all, func(one catalog.Schema) bool { return one.Name == what })
	}
	if at < 0 {
		var known []string
		for _, one := range all {
			known = append(known, one.Name)
		}
		return env.refuse("there is no schema %q; allowed: %s", fs.Arg(0), strings.Join(known, ", "))
	}
	enc := json.NewEncoder(env.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all[at].Make()); err != nil {
		env.tell("cannot write: %s", err)
		return exitUnexpected
	}
	return exitOK
}
