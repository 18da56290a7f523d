package logs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/effects"
	"relock/engine/pause"
)

// A MONITOR line is 1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v"; of a command of a
// script, lua stands for the address. Redis and Valkey print them alike since 2.6.

func isMonitor(ctx context.Context, lines []line) (bool, error) {
	for _, l := range lines {
		if err := pause.Here(ctx); err != nil {
			return false, err
		}
		if monitorIdle(l.text) {
			continue
		}
		_, ok := monitorHead(l.text)
		return ok, nil
	}
	return slices.ContainsFunc(lines, func(l line) bool { return strings.HasSuffix(l.text, "OK") }), nil // MONITOR's own answer, and nothing came
}

// monitorIdle reports whether a line says nothing: MONITOR's own answer is one.
func monitorIdle(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "OK" || text == "+OK"
}

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
	script := -1 // the entry of which lua's lines are
	for _, one := range lines {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		if monitorIdle(one.text) {
			continue
		}
		head, ok := monitorHead(one.text)
		e := Entry{Line: one.n, At: head.at}
		if ok {
			ok = e.monitor(head.rest)
		}
		if !ok && one.cut && one.n > 1 && monitorPart(one.text) {
			l.Cut = true
			break
		}
		if !ok {
			return nil, wrong(one.n, "it is not a line of MONITOR; allowed: %s", allowedMonitor)
		}
		if e.Client == "lua" {
			l.Inside = true
			if e.Client = ""; script >= 0 && sameScript(l.Entries[script], e, l.Entries[script].DB == e.DB && script == len(l.Entries)-1) {
				l.Entries[script].Inner = append(l.Entries[script].Inner, redacted(readable(e.Args)))
				continue
			}
			l.add(e)
			continue
		}
		l.add(e)
		if isScript(e.Args) {
			script = len(l.Entries) - 1
		}
	}
	return l, nil
}

// sameScript reports whether a command can be of a script: that may select another database, and what others are
// refused while it runs can stand between them.
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
	switch effects.Verb(args) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	}
	return false
}
