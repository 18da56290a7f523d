// Command playground shows how a reentrant Redis lock works and fails: it
// serves the playground page, and runs scenarios in the terminal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9" //nolint:depguard // the client's log is the process's
	"golang.org/x/term"
)

// Exit codes, as defined by SCENARIO.md.
const (
	exitOK          = 0
	exitUnexpected  = 1 // the run did not end as the scenario expects, or serving failed
	exitUsage       = 2 // bad input or usage
	exitUnreachable = 3 // no Redis answers
	exitLate        = 5 // not as expected, but this machine was late
)

// byGravity are the exit codes of a run: of several runs, the gravest counts.
var byGravity = []int{exitOK, exitLate, exitUnexpected, exitUsage, exitUnreachable}

// graver is the graver of two exit codes.
func graver(a, b int) int {
	if slices.Index(byGravity, a) < slices.Index(byGravity, b) {
		return b
	}
	return a
}

func main() { os.Exit(realMain()) }

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis.SetLogger(silent{})
	return command(ctx, os.Args[1:], environment{
		getenv: os.Getenv, in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		columns: terminalColumns(os.Stdout),
	})
}

// silent swallows go-redis' log: the commands report errors in their own words.
type silent struct{}

// Printf implements go-redis' logger.
func (silent) Printf(context.Context, string, ...any) {}

// environment is what a command may use of its process.
type environment struct {
	getenv      func(string) string
	in          io.Reader
	out, err    io.Writer
	terminal    bool // out is a terminal
	errTerminal bool // err is one
	columns     int  // its width, or 0
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func terminalColumns(f *os.File) int {
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// width returns how wide output may be: the terminal's width or $COLUMNS,
// within readable bounds.
func (e environment) width() int {
	n := e.columns
	if set, err := strconv.Atoi(e.getenv("COLUMNS")); err == nil && set > 0 {
		n = set
	}
	if n <= 0 {
		return maxWidth
	}
	return min(max(n, minWidth), maxWidth)
}

func (e environment) colour() bool { return e.terminal && e.getenv("NO_COLOR") == "" }

const usage = `Relock: see a reentrant Redis lock think.

Usage:
  playground [serve] [flags]        serve the playground page
  playground run [flags] FILE…      run scenarios; "-" reads standard input
  playground compare [flags] FILE   run one scenario on several locks
  playground explore [flags] FILE…  search every order within bounds: can a rule break?
  playground mend [flags] FILE      what would mend it? try each change in every order
  playground lab [flags] -- COMMAND your own lock, unmodified: every order of its commands
  playground import [flags] FILE    make a trace of a log: MONITOR, Redisson's TRACE, redis-cli, OpenTelemetry
  playground card [flags] PROTOCOL  what one fault can do to a lock, at each place; also two locks in one card
  playground protocols [flags]      list the locks, one on each line
  playground schema [chapter]       the JSON Schema of a scenario, or of a course's chapter, for editors
  playground learn -check PATH      check the items of a course
  playground healthcheck            ask the server on this machine whether it is ready
  playground version                print the version and the revision
  playground help [COMMAND]         show this, or a command's flags

Exit codes: 0 as expected, 1 not as expected, 2 bad input or usage,
3 Redis unreachable, or gone in mid-run; or a worker of the lab does not come,
5 not as expected, but this machine was late by a tenth of the lease or more.
`

// command runs one subcommand and returns its exit code.
func command(ctx context.Context, args []string, env environment) int {
	name, rest := "serve", args
	switch {
	case len(args) == 0:
	case !strings.HasPrefix(args[0], "-"):
		name, rest = args[0], args[1:]
	case args[0] == "-h" || args[0] == "-help" || args[0] == "--help":
		name = "help"
	case args[0] == "-version" || args[0] == "--version":
		name, rest = "version", args[1:]
	}
	switch name {
	case "serve":
		return serve(ctx, rest, env)
	case "run":
		return runFiles(ctx, rest, env)
	case "compare":
		return comparison(ctx, rest, env)
	case "explore":
		return exploration(ctx, rest, env)
	case "mend":
		return mending(ctx, rest, env)
	case "lab":
		return laboratory(ctx, rest, env)
	case "import":
		return importLog(ctx, rest, env)
	case "card":
		return reportCard(ctx, rest, env)
	case "protocols":
		return protocols(rest, env)
	case "schema":
		return schema(rest, env)
	case "learn":
		return learning(rest, env)
	case "healthcheck":
		return healthcheck(ctx, rest, env)
	case "version":
		return version(rest, env)
	case "help":
		if len(rest) > 0 && rest[0] != "help" && !strings.HasPrefix(rest[0], "-") {
			return command(ctx, []string{rest[0], "-h"}, env)
		}
		fmt.Fprint(env.out, usage)
		if len(args) > 0 && args[0] != "help" {
			fmt.Fprint(env.out, "\nFlags of serve:\n")
			printServeFlags(env)
		}
		return exitOK
	default:
		fmt.Fprintf(env.err, "playground: unknown command %q; allowed: serve, run, compare, explore, mend, lab, import, card, protocols, schema, learn, healthcheck, version, help\n", name)
		return exitUsage
	}
}

// parse reads flags; done means that the command has nothing more to do.
func parse(fs *flag.FlagSet, args []string, env environment, synopsis string) (code int, done bool) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(env.out, "Usage: %s\n\n", synopsis)
		fs.SetOutput(env.out)
		fs.PrintDefaults()
		return exitOK, true
	case err != nil:
		fmt.Fprintf(env.err, "playground: %v; \"playground %s -h\" tells what is allowed\n", err, fs.Name())
		return exitUsage, true
	}
	for _, arg := range fs.Args() {
		if len(arg) > 1 && strings.HasPrefix(arg, "-") && !slices.Contains(args, "--") {
			fmt.Fprintf(env.err, "playground: given %q after a file; allowed: flags before the files (and ./%s for a file of that name)\n", arg, arg)
			return exitUsage, true
		}
	}
	return 0, false
}
