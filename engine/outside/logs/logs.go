// Package logs reads what other programs have recorded of a Redis, and makes a
// trace of it: MONITOR, Redisson's TRACE, spans of OpenTelemetry. It runs the
// commands again on an embedded Redis at their instants and reads them by their
// effects, like the lab (package effects), and so shows the lock's key, its lease,
// and which thread believes that it holds it. It recomputes what a log lacks, and
// says so.
package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Limits of a log.
const (
	MaxBytes = 64 << 20 // of a file
	maxLine  = 1 << 20  // bytes of a line: a script's are some thousand; a line of spans has no such limit
)

// Entry is a command as a log has it.
type Entry struct {
	Line   int           // of the file, from 1
	At     time.Duration // of a timed log: since an instant that all its entries share
	DB     int           // the database
	Client string        // an address, or what else tells connections apart; "" where nobody knows
	Args   []string      // at least one; secrets are left out
	Inner  [][]string    // of a script: the commands that it ran, where the log tells them
	Reply  *Reply        // nil where the log does not tell it

	server  string   // whose its line is, by its prefix
	notes   []string // the notes on it
	own     bool     // it runs a script of our reentrant lock: nobody's text
	late    bool     // nobody waited for its answer
	part    bool     // a script ran it whose own line is not there: nobody knows who called it
	exact   bool     // Inner is what ran: its script is not run again
	source  string   // of an exact entry: the script's text, where it is known
	lines   []int    // of an exact entry: of the script, for each of Inner
	replies []*Reply // of an exact entry: the answers, for each of Inner; nil if the log has none
	keys    []string // that it names, once each
}

// Reply is what Redis answered.
type Reply struct {
	Value any    // as traces have it
	Err   string // Redis' error, or ""
}

// Log is a parsed log. It does not change.
type Log struct {
	Format  string // of Formats
	Entries []Entry
	Timed   bool // it has instants
	Inside  bool // it tells what scripts ran
	Cut     bool // its last line was not whole, and is left out
	Begun   bool // its first line was not whole, and is left out
	names   map[string]string
	missing []missing
	notes   []trace.LogNote
	nodes   []*Log                // of several servers, whose entries are theirs
	name    string                // of one of these
	first   int                   // its first line, where the lines of several files are counted through
	keys    map[string]*candidate // that its commands name
	locks   []trace.LogKey
}

// missing is what a log has, and cannot be run again.
type missing struct {
	key  string // the lock's; "": of any
	what string // the note that says so
	line int
}

// Formats of logs.
const (
	Monitor  = "monitor"
	Redisson = "redisson"
	OTLP     = "otlp"
)

// format is one that can be read.
type format struct {
	name string
	is   func(ctx context.Context, lines []line) (bool, error)
	read func(ctx context.Context, lines []line) (*Log, error)
}

// formats are all formats, in the order in which they are tried.
func formats() []format {
	return []format{
		{Redisson, isRedisson, readRedisson},
		{OTLP, isOTLP, readOTLP},
		{Monitor, isMonitor, readMonitor},
	}
}

// line is one of a file.
type line struct {
	n    int // from 1
	text string
	cut  bool // it has no end
}

// LineError says what is wrong with a line of a log. It quotes nothing: a log may have
// secrets.
type LineError struct {
	Line int
	Why  phrase.Wording
}

// Error implements error.
func (e *LineError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *LineError) Says() phrase.Wording { return phrase.Say("line %d: %s", e.Line, e.Why) }

func wrong(n int, why phrase.Text, args ...any) error { return &LineError{n, phrase.Say(why, args...)} }

// Read reads a log up to the end of r, whichever format it has. It fails with a *LineError,
// with one sentence if it is not a log, with r's error, or with what pause.Here says.
func Read(ctx context.Context, r io.Reader) (*Log, error) {
	l, _, err := read(ctx, r, 0)
	return l, err
}

func tooLarge() error {
	return phrase.New("the log has more than %d MB; allowed: that much, or the part of it that names the key", MaxBytes>>20)
}

// read is Read of a file before which there are so many lines of others; n is how many it has.
func read(ctx context.Context, r io.Reader, before int) (l *Log, n int, err error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, 0, fmt.Errorf("logs: read: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, 0, tooLarge()
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, 0, phrase.New("the log is empty")
	}
	lines, err := split(ctx, data)
	if err != nil {
		return nil, 0, err
	}
	n = len(lines)
	if lines, err = unwrapped(ctx, lines); err != nil {
		return nil, 0, err
	}
	if l, err = parse(ctx, lines, before); err != nil {
		return nil, 0, err
	}
	return l, n, nil
}

// parse reads the lines of a file.
func parse(ctx context.Context, lines []line, before int) (*Log, error) {
	for _, f := range formats() {
		is, err := f.is(ctx, lines)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		l, err := f.read(ctx, lines)
		if err != nil {
			return nil, err
		}
		if l.Format = f.name; len(l.Entries) == 0 {
			return nil, phrase.New("the log has no command")
		}
		for i := range l.Entries {
			l.Entries[i].Line += before
		}
		for i := range l.notes {
			if l.notes[i].Line > 0 {
				l.notes[i].Line += before
			}
		}
		if l, err = l.apart(ctx, before); err != nil || l.nodes != nil {
			return l, err
		}
		return l, l.index(ctx)
	}
	if err := whyUnread(ctx, lines); err != nil {
		return nil, err
	}
	first := 1
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" {
			first = l.n
			break
		}
	}
	return nil, wrong(first, "no known log has such a line; allowed: the output of redis-cli monitor, Redisson's TRACE of its commands and replies, spans of OpenTelemetry as OTLP/JSON lines, and a trace of Relock; with any client, this beside it writes one: %s", record)
}

// Is reports whether data looks like a log: one that can be read, or of which Read says
// why not.
func Is(data []byte) bool {
	ctx := context.Background() // so little takes no time
	lines, err := split(ctx, data[:min(len(data), 64<<10)])
	if err != nil {
		return false
	}
	if lines, err = unwrapped(ctx, lines); err != nil {
		return false
	}
	return whyUnread(ctx, lines) != nil || slices.ContainsFunc(formats(), func(f format) bool {
		is, err := f.is(ctx, lines)
		return is && err == nil
	})
}

func split(ctx context.Context, data []byte) ([]line, error) {
	data = bytes.TrimPrefix(narrow(data), []byte("\xef\xbb\xbf"))
	var lines []line
	for n := 1; len(data) > 0; n++ {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		one, rest, ended := bytes.Cut(data, []byte("\n"))
		if len(one) > maxLine && !spans.Match(one) {
			return nil, wrong(n, "it has more than %d bytes", maxLine)
		}
		lines = append(lines, line{n, strings.TrimSuffix(string(one), "\r"), !ended})
		data = rest
	}
	return lines, nil
}

// narrow returns a text in UTF-8: a shell of Windows writes what a program prints as UTF-16.
func narrow(data []byte) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xff\xfe")):
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for data = data[2:]; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return []byte(string(utf16.Decode(units)))
}

// readable returns words with no bytes that a terminal would obey, or that are no text: those are written as MONITOR
// writes them. A script is left as it is.
func readable(args []string) []string {
	script := -1
	switch {
	case isScript(args):
		script = 1
	case infer.Verb(args) == "SCRIPT":
		script = 2
	}
	for i, a := range args {
		if i != script {
			args[i] = readableText(a)
		}
	}
	return args
}

func readableText(text string) string {
	obeyed := func(r rune) bool { return r < ' ' || r == 0x7f }
	valid := utf8.ValidString(text)
	if valid && strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case obeyed(rune(c)) || !valid && c >= utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// readableReply is readable for an answer.
func readableReply(v any) any {
	switch v := v.(type) {
	case string:
		return readableText(v)
	case []any:
		for i := range v {
			v[i] = readableReply(v[i])
		}
	}
	return v
}

// note counts a note on the log, with its first line.
func (l *Log) note(what string, line int) {
	for i := range l.notes {
		if l.notes[i].What == what {
			l.notes[i].Count++
			return
		}
	}
	l.notes = append(l.notes, trace.LogNote{What: what, Line: line, Count: 1})
}

// add appends a command without what nobody must see.
func (l *Log) add(e Entry) {
	e.Args = redacted(readable(e.Args))
	if name := named(e.Args); name != "" && e.Client != "" {
		if l.names == nil {
			l.names = map[string]string{}
		}
		l.names[e.Client] = name
	}
	if e.Reply != nil {
		e.Reply.Value = readableReply(e.Reply.Value)
	}
	l.Entries = append(l.Entries, e)
}

// named returns the name that a command gives its connection, or "".
func named(args []string) string {
	switch verb := infer.Verb(args); {
	case verb == "CLIENT" && len(args) == 3 && strings.EqualFold(args[1], "SETNAME"):
		return args[2]
	case verb == "HELLO" && len(args) > 3 && strings.EqualFold(args[len(args)-2], "SETNAME"):
		return args[len(args)-1]
	}
	return ""
}

// Redacted replaces a secret.
const Redacted = "(redacted)"

// redacted returns a command without passwords.
func redacted(args []string) []string {
	hide := func(from, n int) []string {
		list := append([]string{}, args...)
		for i := from; i < min(from+n, len(list)); i++ {
			list[i] = Redacted
		}
		return list
	}
	all := len(args)
	second := ""
	if all > 1 {
		second = strings.ToUpper(args[1])
	}
	switch infer.Verb(args) {
	case "AUTH":
		return hide(1, all)
	case "HELLO", "MIGRATE":
		for i, a := range args {
			switch up := strings.ToUpper(a); {
			case i > 0 && up == "AUTH2", i > 0 && up == "AUTH" && infer.Verb(args) == "HELLO":
				return hide(i+1, 2)
			case i > 0 && up == "AUTH":
				return hide(i+1, 1)
			}
		}
	case "ACL":
		if second == "SETUSER" {
			return hide(3, all)
		}
	case "CONFIG", "SENTINEL":
		if second == "SET" || second == "CONFIG" {
			return hide(3, all)
		}
	}
	return args
}
