// Command playground shows how a reentrant Redis lock works and fails: it
// serves the playground page, and runs scenarios in the terminal.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9" //nolint:depguard // the client's log is the process's
	"golang.org/x/term"

	"relock/engine/strict"
	"relock/engine/verdict"
	"relock/web/words"
)

// Exit codes.
const (
	exitOK          = 0
	exitUnexpected  = 1 // a rule is broken, something is not as the scenario expects, or the command failed
	exitUsage       = 2 // bad input or usage
	exitUnreachable = 3 // no Redis answers
	exitUnjudged    = 4 // no rule is broken, but it cannot tell whether one can be
	exitLate        = 5 // not as expected, but this machine was late
)

// byGravity are the exit codes of a run: of several runs, the gravest counts.
var byGravity = []int{exitOK, exitLate, exitUnjudged, exitUnexpected, exitUsage, exitUnreachable}

// graver is the graver of two exit codes.
func graver(a, b int) int {
	if slices.Index(byGravity, a) < slices.Index(byGravity, b) {
		return b
	}
	return a
}

// exitOf is the exit code of a verdict.
func exitOf(v verdict.Verdict) int {
	switch v {
	case verdict.Broken:
		return exitUnexpected
	case verdict.Unjudged:
		return exitUnjudged
	default:
		return exitOK
	}
}

func main() { os.Exit(realMain()) }

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis.SetLogger(silent{})
	return command(ctx, os.Args[1:], environment{
		getenv: os.Getenv, in: until{ctx, os.Stdin}, out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		columns: terminalColumns(os.Stdout),
	})
}

// until reads until ctx is done, also where nothing comes: the signal that ends a command
// ends its reading. Anything read then is lost, and so is the reader.
type until struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (u until) Read(b []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	own, done := make([]byte, len(b)), make(chan read, 1)
	go func() {
		n, err := u.in.Read(own)
		done <- read{n, err}
	}()
	select {
	case r := <-done:
		copy(b, own[:r.n])
		return r.n, r.err
	case <-u.ctx.Done():
		return 0, context.Cause(u.ctx)
	}
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
	l           words.Language
	pages       func(context.Context) string // says where the playground is served, or ""; nil where links are of no use
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

// command runs one subcommand and returns its exit code.
func command(ctx context.Context, args []string, env environment) int {
	env.l = languageOf(args, env.getenv)
	name, rest := "serve", args
	switch {
	case len(args) == 0:
	case !strings.HasPrefix(args[0], "-"):
		name, rest = args[0], args[1:]
	case args[0] == "-h" || args[0] == "-help" || args[0] == "--help":
		return help(ctx, args, env)
	case args[0] == "-version" || args[0] == "--version":
		name, rest = "version", args[1:]
	}
	if c, ok := subcommandNamed(name); ok {
		return c.run(ctx, rest, env)
	}
	given := env.l.Clause(strict.Meant(strict.Quoted(name), name, subcommandNames()))
	return env.refuse("unknown command %[1]s; allowed: %[2]s", given, strings.Join(subcommandNames(), ", "))
}

// parse reads flags; done means that the command has nothing more to do.
func parse(fs *flag.FlagSet, args []string, env environment, synopsis string) (code int, done bool) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		env.printHelp(env.say("Usage: %s", synopsis) + "\n")
		env.printFlags(env.out, fs)
		return exitOK, true
	case err != nil:
		return env.refuse("%[1]s; \"playground %[2]s -h\" says what is allowed", env.mistaken(err), fs.Name()), true
	}
	for _, arg := range fs.Args() {
		if len(arg) > 1 && strings.HasPrefix(arg, "-") && !slices.Contains(args, "--") {
			return env.refuse("given %q after a file; allowed: flags before the files (and ./%s for a file of that name)", arg, arg), true
		}
	}
	return 0, false
}
