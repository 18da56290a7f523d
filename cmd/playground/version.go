package main

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"

	"relock/engine/phrase"
)

const versionSynopsis phrase.Text = `playground version

Prints the module, its version, the revision that it was built from, and the Go
version.`

func version(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("version", flag.ContinueOnError)
	if code, done := parse(fs, args, env, env.say(versionSynopsis)); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("%s takes no arguments, given %q", fs.Name(), fs.Args())
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		env.tell("this program was built without its module")
		return exitUnexpected
	}
	fmt.Fprint(env.out, describe(info))
	return exitOK
}

// describe returns what we know about a build, one line each.
func describe(info *debug.BuildInfo) string {
	set := settings(info)
	return fmt.Sprintf("module:   %s %s\nrevision: %s\ngo:       %s %s/%s\n",
		info.Main.Path, info.Main.Version, revision(set), info.GoVersion, set["GOOS"], set["GOARCH"])
}

// builtFrom is this program's version and revision in one line.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s (revision %s)", info.Main.Version, revision(settings(info)))
}

func settings(info *debug.BuildInfo) map[string]string {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return set
}

func revision(set map[string]string) string {
	revision := set["vcs.revision"]
	switch {
	case revision == "":
		revision = "unknown"
	case set["vcs.modified"] == "true":
		revision += ", with changes"
	}
	if set["vcs.time"] != "" {
		revision += ", " + set["vcs.time"]
	}
	return revision
}
