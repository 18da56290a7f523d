package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/number"

	"relock/engine"
	"relock/engine/phrase"
	"relock/engine/store"
	"relock/web/words"
)

// languageOf is the language of a command: the one that -lang names among its arguments
// or, without it, the one that the environment names as for any program of POSIX. It must
// be known before the flags are read, because their mistakes are reported in it. A -lang
// that names no language is refused when the flags are read.
func languageOf(args []string, getenv func(string) string) words.Language {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, tag, joined := strings.Cut(arg, "=")
		if name != "-lang" && name != "--lang" {
			continue
		}
		if !joined && i+1 < len(args) {
			tag = args[i+1]
		}
		if l, ok := words.BuiltIn().Find(tag); ok {
			return l
		}
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} { // the first that is set counts
		if locale := getenv(name); locale != "" {
			tag, _, _ := strings.Cut(locale, ".") // zh_CN.UTF-8
			tag, _, _ = strings.Cut(tag, "@")
			return words.Match(tag)
		}
	}
	return words.English
}

// languageFlag adds -lang, the language of a command's output.
func languageFlag(fs *flag.FlagSet, env environment) *words.Language {
	var codes []string
	for _, l := range words.All() {
		codes = append(codes, l.Code())
	}
	allowed, chosen := strings.Join(codes, ", "), env.speaks()
	fs.Func("lang", env.say("print in the language of this `TAG`: %s (default: from $LC_ALL or $LANG, else en)", allowed), func(tag string) error {
		l, ok := words.BuiltIn().Find(tag)
		if !ok {
			return errors.New(env.say("allowed: %s", allowed))
		}
		chosen = l
		return nil
	})
	return &chosen
}

// speaks is the language of what the command says beside its output.
func (e environment) speaks() words.Language {
	if e.l == (words.Language{}) {
		return words.English
	}
	return e.l
}

// say is a text in the command's language; errors among its arguments are in it, too.
func (e environment) say(text phrase.Text, args ...any) string {
	said := make([]any, len(args))
	for i, a := range args {
		if err, ok := a.(error); ok {
			a = told(e.speaks(), err)
		}
		said[i] = a
	}
	return e.speaks().Say(text, said...)
}

// tell says what is wrong.
func (e environment) tell(text phrase.Text, args ...any) {
	fmt.Fprintln(e.err, "playground: "+e.say(text, args...))
}

// tellWhy tells an error, and what it is about.
func (e environment) tellWhy(err error, about ...string) {
	text := told(e.speaks(), err)
	for _, one := range slices.Backward(about) {
		text = e.say("%s: %s", one, text)
	}
	fmt.Fprintln(e.err, "playground: "+text)
}

// refuse says what is wrong with the input, and returns the exit code of that.
func (e environment) refuse(text phrase.Text, args ...any) int {
	e.tell(text, args...)
	return exitUsage
}

// refuseWhy is refuse for an error.
func (e environment) refuseWhy(err error, about ...string) int {
	e.tellWhy(err, about...)
	return exitUsage
}

// causes are errors that cannot tell themselves in any language, in their own words: what
// the operating system refuses most often, and a Redis that does not answer.
var causes = map[error]phrase.Text{
	store.ErrUnreachable: "no Redis answers",
	store.ErrURL:         "bad Redis URL: it cannot be understood; allowed: redis://, rediss:// or unix://, as in redis://127.0.0.1:6379, with special characters of a password escaped",
	engine.ErrRedis:      "no Redis serves the run any more",

	context.DeadlineExceeded: "context deadline exceeded",
	io.EOF:                   "EOF",
	os.ErrDeadlineExceeded:   "i/o timeout",
	exec.ErrNotFound:         "executable file not found in $PATH",

	syscall.ENOENT:        "no such file or directory",
	syscall.EACCES:        "permission denied",
	syscall.EPERM:         "operation not permitted",
	syscall.EROFS:         "read-only file system",
	syscall.ENOSPC:        "no space left on device",
	syscall.ENOEXEC:       "exec format error",
	syscall.EISDIR:        "is a directory",
	syscall.ENOTDIR:       "not a directory",
	syscall.EADDRINUSE:    "address already in use",
	syscall.EADDRNOTAVAIL: "cannot assign requested address",
	syscall.ECONNREFUSED:  "connection refused",
	syscall.ECONNRESET:    "connection reset by peer",
}

// told is an error in a language: what its causes can say in it, they say in it, each in
// the order of that language.
func told(l words.Language, err error) string {
	if l == words.English {
		return err.Error()
	}
	about := func(what string, err error) string { return l.Say("%s: %s", what, told(l, err)) }
	switch err := err.(type) { //nolint:errorlint // each cause for itself
	case phrase.Speaker:
		return l.Clause(err.Says().Causes(func(cause error) string { return told(l, cause) }))
	case *store.Unreachable:
		return l.Say("no Redis answers at %s (%s)", err.At, told(l, err.Cause))
	case *fs.PathError: // without the system's call
		return about(err.Path, err.Err)
	case *exec.Error:
		return about(err.Name, err.Err)
	case *net.OpError: // who asks has named the address
		return told(l, err.Err)
	case *net.AddrError:
		return l.Say("it must be a host and a port, such as 127.0.0.1:8080")
	case *net.DNSError:
		if err.IsNotFound {
			return l.Say("%s: %s", err.Name, l.Say("there is no such host"))
		}
	case *os.SyscallError:
		return told(l, err.Err)
	case *url.Error:
		return about(err.URL, err.Err)
	}
	text := err.Error()
	for cause, says := range causes {
		if text == cause.Error() && errors.Is(err, cause) {
			return l.Say(says)
		}
	}
	if says, ok := saidIn(ofCertificates, text); ok {
		return l.Clause(says)
	}
	for _, cause := range unwrapped(err) {
		if before, ok := strings.CutSuffix(text, ": "+cause.Error()); ok {
			return about(reworded(l, before, err), cause)
		}
	}
	return reworded(l, text, err)
}

// reworded is a text with an error's causes.
func reworded(l words.Language, text string, err error) string {
	for _, cause := range unwrapped(err) {
		text = strings.ReplaceAll(text, cause.Error(), told(l, cause))
	}
	return text
}

// unwrapped are the errors that one wraps.
func unwrapped(err error) []error {
	switch err := err.(type) { //nolint:errorlint // one level of it
	case interface{ Unwrap() error }:
		if cause := err.Unwrap(); cause != nil {
			return []error{cause}
		}
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	}
	return nil
}

// sentence is one of a package whose errors are nothing else: its parts come again in the
// text, in this order.
type sentence struct {
	is   *regexp.Regexp
	says phrase.Text
}

// saidIn finds the first sentence of a list that a text is.
func saidIn(list []sentence, text string) (phrase.Wording, bool) {
	for _, one := range list {
		if m := one.is.FindStringSubmatch(text); m != nil {
			args := make([]any, len(m)-1)
			for i := range args {
				args[i] = m[i+1]
			}
			return phrase.Say(one.says, args...), true
		}
	}
	return phrase.Wording{}, false
}

// ofCertificates are the sentences of packages tls, x509 and asn1 about a certificate and
// its key.
var ofCertificates = []sentence{
	{regexp.MustCompile(`^tls: failed to find any PEM data in certificate input$`), "the certificate's file has no PEM"},
	{regexp.MustCompile(`^tls: failed to find any PEM data in key input$`), "the key's file has no PEM"},
	{regexp.MustCompile(`^tls: failed to find certificate PEM data in certificate input, but did find a private key;`), "the certificate's file has a private key: the two files are the wrong way round"},
	{regexp.MustCompile(`^tls: found a certificate rather than a key in the PEM for the private key$`), "the key's file has a certificate: the two files are the wrong way round"},
	{regexp.MustCompile(`^tls: failed to find "CERTIFICATE" PEM block in certificate input after .*: \[(.*)\]$`), "the certificate's file has no PEM block CERTIFICATE, but: %s"},
	{regexp.MustCompile(`^tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after .*: \[(.*)\]$`), "the key's file has no PEM block that ends in PRIVATE KEY, but: %s"},
	{regexp.MustCompile(`^tls: private key (?:type )?does not match public key(?: type)?$`), "the key does not belong to the certificate"},
	{regexp.MustCompile(`^tls: (?:failed to parse private key|found unknown private key type in PKCS#8 wrapping)$`), "the key cannot be read"},
	{regexp.MustCompile(`^(?:x509|asn1): `), "the certificate cannot be read"},
	{regexp.MustCompile(`^tls: unknown public key algorithm$`), "the certificate is of a kind that nobody here knows"},
}

// ofFlags are the sentences of package flag, which has no others for a program.
var ofFlags = []sentence{
	{regexp.MustCompile(`^flag provided but not defined: (-\S+)$`), "there is no flag %s"},
	{regexp.MustCompile(`^flag needs an argument: (-\S+)$`), "the flag %s needs a value"},
	{regexp.MustCompile(`^invalid (?:boolean )?value (".*") for flag (-\S+): parse error$`), "%s is no value for the flag %s"},
	{regexp.MustCompile(`^invalid (?:boolean )?value (".*") for flag (-\S+): value out of range$`), "%s is no value for the flag %s"},
	{regexp.MustCompile(`^invalid boolean value (".*") for (-\S+): parse error$`), "%s is no value for the flag %s"},
	{regexp.MustCompile(`(?s)^invalid value (".*") for flag (-\S+): (.*)$`), "%s is no value for the flag %s: %s"},
	{regexp.MustCompile(`^bad flag syntax: (.*)$`), "%s is no flag"},
}

// mistaken is what package flag says of arguments, in the command's language.
func (e environment) mistaken(err error) string {
	says, ok := saidIn(ofFlags, err.Error())
	if !ok || e.speaks() == words.English {
		return err.Error()
	}
	for i, one := range says.Args {
		part, _ := one.(string)
		if allowed, ok := strings.CutPrefix(part, "allowed: "); ok {
			says.Args[i] = e.say("allowed: %s", allowed)
		}
	}
	return e.speaks().Clause(says)
}

// flowed has a line for each paragraph: the lines that one is written in are no lines of the
// terminal's.
func flowed(text string) []string {
	const short = 60 // columns: who ends a line before that means it
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		last := len(list) - 1
		if last >= 0 && line != "" && line[0] != ' ' && columns(list[last]) >= short && list[last][0] != ' ' && !strings.HasSuffix(list[last], "。") {
			list[last] += " " + line
			continue
		}
		list = append(list, line)
	}
	return list
}

// printHelp prints a text of lines that the terminal may be too narrow for.
func (e environment) printHelp(text string) {
	for _, line := range flowed(text) {
		if strings.HasPrefix(line, " ") { // of a table
			fmt.Fprintln(e.out, line)
			continue
		}
		for _, part := range wrapped(line, e.width(), "") {
			fmt.Fprintln(e.out, part)
		}
	}
}

// typed is a number as somebody types it: a bound stands beside a default, which has no commas.
func typed(n int) any { return number.Decimal(n, number.NoSeparator()) }

// printFlags is fs.PrintDefaults in the command's language.
func (e environment) printFlags(w io.Writer, fs *flag.FlagSet) {
	fs.VisitAll(func(f *flag.Flag) {
		name, usage := flag.UnquoteUsage(f)
		line := "  -" + strings.TrimSpace(f.Name+" "+name)
		if len(line) <= len("  -x") { // one letter: its description is beside it
			line += "\t"
		} else {
			line += "\n    \t"
		}
		line += strings.ReplaceAll(usage, "\n", "\n    \t")
		value := f.DefValue
		if getter, ok := f.Value.(flag.Getter); ok {
			if _, is := getter.Get().(string); is {
				value = fmt.Sprintf("%q", value)
			}
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "-1":
		default:
			line += e.say(" (default %s)", value)
		}
		fmt.Fprintln(w, line)
	})
}

// toldError is an error that package flag puts into its own, told; nil is nil.
func toldError(env environment, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(told(env.speaks(), err))
}
