package logs

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/trace"
)

// A MONITOR line is 1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v"; a script's
// command has lua in place of the address. Redis and Valkey print them alike since 2.6.
// Programs that collect the output of containers write a prefix on each line.

// isMonitor reports whether any line is MONITOR's: there may be others, of other programs or a
// person's.
func isMonitor(ctx context.Context, lines []line) (bool, error) {
	answered, idle := false, true // MONITOR's own answer, and nothing came
	for _, l := range lines {
		if err := pause.Here(ctx); err != nil {
			return false, err
		}
		if monitorAt(l.text) >= 0 {
			return true, nil
		}
		answered = answered || strings.HasSuffix(l.text, "OK")
		idle = idle && (monitorIdle(l.text) || comment(l.text))
	}
	return answered && idle, nil
}

// monitorIdle reports whether a line says nothing: MONITOR's own answer is one.
func monitorIdle(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "OK" || text == "+OK"
}

// comment reports whether a line is a person's.
func comment(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") }

// mostPrefix is how long a prefix may be: names of containers and pods have at most 253 characters.
const mostPrefix = 1000

// monitorAt returns where in a line MONITOR's own begins, behind any prefix; -1 if nowhere.
func monitorAt(text string) int {
	if _, ok := monitorHead(text); ok {
		return 0
	}
	end := min(len(text), mostPrefix)
	for from := 0; ; {
		i := strings.Index(text[from:end], " [") // behind the instant
		if i < 0 {
			return -1
		}
		i += from
		from = i + 2
		at := len(strings.TrimRight(text[:i], "0123456789.+"))
		if head, ok := monitorHead(text[at:]); ok && (prefixEnd.MatchString(text[:at]) || numbered.MatchString(text[:at]) && i-at >= epoch) && monitorClient.MatchString(head.rest) {
			return at
		}
	}
}

// prefixEnd is how a prefix ends: an instant in the prefix has other characters there.
var prefixEnd = regexp.MustCompile(`[ \t|>)\]]$|\x1b\[[0-9;]*m$`)

// numbered is a prefix that ends with a line's number.
var numbered = regexp.MustCompile(`^([^\s:]+:)?\d+:$`)

// epoch is how many characters an instant of this century has, with its microseconds.
const epoch = len("1000000000.000000")

// monitorClient is the part between the instant and the command.
var monitorClient = regexp.MustCompile(`^\[\d{1,9} [^"\]]+(\]:\d+)?\] "`)

// clocks are the instants in a prefix: the rest of it says whose the line is.
var clocks = regexp.MustCompile(`\x1b\[[0-9;]*m|\b\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?|\b[A-Z][a-z]{2} [ \d]\d\b|[ \t|]+`)

// whose returns the name in a prefix, say a container's; "" if it has none.
func whose(prefix string) string { return clocks.ReplaceAllString(prefix, "") }

// monitorHead reads the instant at a line's beginning.
func monitorHead(text string) (head struct {
	at   time.Duration
	rest string
}, ok bool,
) {
	text = strings.TrimPrefix(text, "+")
	seconds, rest, ok := strings.Cut(text, ".")
	if !ok {
		return head, false
	}
	micros, rest, ok := strings.Cut(rest, " ")
	if !ok || len(seconds) > 11 || len(micros) != 6 || !digits(seconds) || !digits(micros) {
		return head, false
	}
	s, _ := strconv.ParseInt(seconds, 10, 64) // digits, and few
	us, _ := strconv.ParseInt(micros, 10, 64)
	head.at, head.rest = time.Duration(s)*time.Second+time.Duration(us)*time.Microsecond, rest
	return head, head.at > 0 && strings.HasPrefix(rest, "[")
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

const allowedMonitor = `1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v"`

func readMonitor(ctx context.Context, lines []line) (*Log, error) {
	l := &Log{Timed: true}
	scripts := map[string]int{} // by server, the entry of which lua's lines are
	longest, shortest, blank := 0, mostPrefix, 0
	for _, one := range lines {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		if comment(one.text) {
			l.note(trace.NoteComments, one.n)
			continue
		}
		if strings.TrimSpace(one.text) == "" {
			blank++
		}
		if monitorIdle(one.text) {
			continue
		}
		e := Entry{Line: one.n}
		from := monitorAt(one.text)
		ok := from >= 0
		if ok {
			head, _ := monitorHead(one.text[from:])
			e.At = head.at
			ok = e.monitor(head.rest)
		}
		damaged := !ok && (strings.Contains(one.text, `] "`) || monitorPart(one.text))
		switch {
		case ok:
		case one.cut && len(l.Entries) > 0:
			l.Cut = true
		case len(l.Entries) == 0 && !l.Begun && (damaged || strings.Contains(one.text, `" "`)): // a log that was cut begins anywhere
			l.Begun = true
		case damaged:
			return nil, wrong(one.n, "it is not a line of MONITOR; allowed: %s", allowedMonitor)
		case !strings.HasSuffix(one.text, " OK"): // MONITOR's answer
			l.note(trace.NoteElse, one.n)
		}
		if !ok {
			continue
		}
		prefix := one.text[:from]
		longest, shortest = max(longest, utf8.RuneCountInString(prefix)), min(shortest, utf8.RuneCountInString(prefix))
		e.server = whose(prefix)
		if e.Client == "lua" {
			l.Inside = true
			script, runs := scripts[e.server]
			if e.Client = ""; runs && sameScript(l.Entries[script], e, l.Entries[script].DB == e.DB && script == len(l.Entries)-1) {
				l.Entries[script].Inner = append(l.Entries[script].Inner, redacted(readable(e.Args)))
				continue
			}
			e.part = true
			l.add(e)
			continue
		}
		l.add(e)
		if isScript(e.Args) {
			scripts[e.server] = len(l.Entries) - 1
		}
	}
	l.dropNumbers()
	l.noteMonitor(blank, longest, shortest)
	return l, nil
}

// lineNumber is a line's number in the name of a server: behind nothing, or a file's name.
var lineNumber = regexp.MustCompile(`^(|.*:)(\d+)[:.)]?$`)

// dropNumbers takes the lines' own numbers out of the names of servers: those that rise with each line.
func (l *Log) dropNumbers() {
	stems := make([]string, len(l.Entries))
	last := map[string]int{}
	for i, e := range l.Entries {
		m := lineNumber.FindStringSubmatch(e.server)
		if m == nil {
			return
		}
		n, err := strconv.Atoi(m[2])
		if before, seen := last[m[1]]; err != nil || seen && n <= before {
			return
		}
		stems[i], last[m[1]] = m[1], n
	}
	for i := range l.Entries {
		l.Entries[i].server = stems[i]
	}
}

// noteMonitor notes what was not read of a log of MONITOR: how many blank lines, and how long
// the shortest and the longest text before a line's time is.
func (l *Log) noteMonitor(blank, longest, shortest int) {
	for i := range l.notes {
		if l.notes[i].What == trace.NoteComments { // a page sends blank lines for those that it keeps
			l.notes[i].Count += blank
		}
	}
	switch longest {
	case 0:
	case shortest:
		l.notes = append(l.notes, trace.LogNote{What: trace.NotePrefix, Count: longest})
	default:
		l.notes = append(l.notes, trace.LogNote{What: trace.NotePrefixes, Count: longest})
	}
}

// sameScript reports whether a command can belong to a script: a script may select another
// database, and commands that are refused while it runs can come in between.
func sameScript(script, inner Entry, next bool) bool {
	return next || inner.At-script.At < time.Second && inner.At >= script.At
}

// monitorPart reports whether a line without an end can be the beginning of one.
func monitorPart(text string) bool {
	text = strings.TrimPrefix(text, "+")
	at := strings.IndexByte(text, ' ')
	if at < 0 {
		at = len(text)
	}
	return strings.Trim(text[:at], "0123456789.") == "" && (at == len(text) || strings.HasPrefix(text[at+1:], "["))
}

// monitor reads what follows the instant.
func (e *Entry) monitor(rest string) bool {
	end := strings.Index(rest, `] "`)
	if end < 0 {
		return false
	}
	db, client, ok := strings.Cut(rest[1:end], " ")
	if !ok || len(db) > 9 || !digits(db) || client == "" {
		return false
	}
	e.DB, _ = strconv.Atoi(db) // digits, and few
	e.Client = client
	e.Args, ok = quoted(rest[end+2:])
	return ok
}

// quoted reads words between quotes, one space between, as sdscatrepr writes them.
func quoted(text string) ([]string, bool) {
	var list []string
	for {
		if text == "" || text[0] != '"' {
			return nil, false
		}
		word, rest, ok := unquoted(text[1:])
		if !ok {
			return nil, false
		}
		list = append(list, word)
		if rest == "" {
			return list, list[0] != ""
		}
		if rest[0] != ' ' {
			return nil, false
		}
		text = rest[1:]
	}
}

// unquoted reads up to the quote that ends a word.
func unquoted(text string) (word, rest string, ok bool) {
	if i := strings.IndexAny(text, `"\`); i >= 0 && text[i] == '"' {
		return text[:i], text[i+1:], true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			i++
			if i == len(text) {
				return "", "", false
			}
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case 'a':
				b.WriteByte('\a')
			case 'b':
				b.WriteByte('\b')
			case 'x':
				if i+2 < len(text) {
					if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
						b.WriteByte(byte(n))
						i += 2
						continue
					}
				}
				b.WriteByte('x')
			default:
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// isScript reports whether a command runs a script.
func isScript(args []string) bool {
	switch infer.Verb(args) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	}
	return false
}
