package logs

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"relock/engine/bound"
	"relock/engine/pause"
)

// Redisson logs, at TRACE, each command as it sends it ("channel: [id: …] message: " and RESP)
// and each answer ("reply: " and RESP, "channel: [id: …]"), see its CommandEncoder and
// CommandDecoder. The rest of a program's log is passed over.
var (
	sent     = regexp.MustCompile(`channel: \[id: (0x[0-9a-f]+)[^\]]*\] message: \*`)
	replied  = regexp.MustCompile(`\breply: [-+:$*]`)
	channel  = regexp.MustCompile(`, channel: \[id: (0x[0-9a-f]+)`)
	loggedAt = regexp.MustCompile(`(?:(\d{4})-(\d\d)-(\d\d)[ T])?(\d\d):(\d\d):(\d\d)[.,](\d{1,9})`)
)

func isRedisson(ctx context.Context, lines []line) (bool, error) {
	for _, l := range lines {
		if err := pause.Here(ctx); err != nil {
			return false, err
		}
		if sent.MatchString(l.text) {
			return true, nil
		}
	}
	return false, nil
}

func readRedisson(ctx context.Context, lines []line) (*Log, error) {
	l := &Log{Timed: true}
	pending := map[string][]int{} // of a channel, the entries without an answer, oldest first
	last := map[string]string{}   // of a channel, the text of the last answers
	nth := map[string]int{}       // how often in a row
	for i := 0; i < len(lines); i++ {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		text := lines[i].text
		if m := sent.FindStringSubmatchIndex(text); m != nil {
			id := text[m[2]:m[3]]
			raw := rawFrom(text[m[1]-1:], lines[i+1:])
			args, ok := command(raw)
			if !ok {
				head := raw[:min(len(raw), 4096)]
				if lines[i].cut || len(lines)-i < 4 && lines[len(lines)-1].cut {
					l.Cut = true
					break
				}
				if strings.Contains(head, "(password masked)") || strings.Contains(head, "\uFFFD") || strings.Contains(head, "�") { // a secret, or bytes that are no text
					pending[id] = append(pending[id], -1)
					continue
				}
				return nil, wrong(lines[i].n, "the command that Redisson sent is incomplete: RESP must follow the word message, each part with its length")
			}
			e := Entry{Line: lines[i].n, Client: id, Args: args}
			e.At, ok = logged(text[:m[0]])
			l.Timed = l.Timed && ok
			l.add(e)
			pending[id] = append(pending[id], len(l.Entries)-1)
			continue
		}
		m := replied.FindStringIndex(text)
		if m == nil {
			continue
		}
		raw := rawFrom(text[m[1]-1:], lines[i+1:])
		c := channel.FindStringSubmatchIndex(raw)
		if c == nil {
			continue
		}
		id := raw[c[2]:c[3]]
		list := pending[id]
		if len(list) == 0 { // a message to who has subscribed
			continue
		}
		answers := raw[:c[0]]
		if last[id] == answers {
			nth[id]++
		} else {
			last[id], nth[id] = answers, 0
		}
		values := answersOf(answers)
		pending[id] = list[1:]
		if list[0] < 0 || len(values) == 0 {
			continue
		}
		told := values[min(nth[id], len(values)-1)]
		told.Value = readableReply(told.Value)
		l.Entries[list[0]].Reply = &told
		if len(values) == 1 {
			last[id] = ""
		}
	}
	return l, nil
}

// mostRaw is how many lines RESP may take.
const mostRaw = 400

// rawFrom joins what follows, up to the next command or answer.
func rawFrom(first string, rest []line) string {
	var b strings.Builder
	b.WriteString(first)
	for _, l := range rest[:min(len(rest), mostRaw)] {
		if sent.MatchString(l.text) || replied.MatchString(l.text) {
			break
		}
		b.WriteString("\n")
		b.WriteString(l.text)
	}
	return b.String()
}

// logged reads the instant at a log line's beginning.
func logged(text string) (time.Duration, bool) {
	m := loggedAt.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v } // digits, or ""
	frac, _ := strconv.Atoi((m[7] + "000000000")[:9])
	year, month, day := 1970, 1, 2
	if m[1] != "" {
		year, month, day = n(1), n(2), n(3)
	}
	at := time.Date(year, time.Month(month), day, n(4), n(5), n(6), frac, time.UTC)
	return time.Duration(at.UnixNano()), at.Year() > 1969 && at.Year() < 2200
}

// number reads a line with a length.
func number(text string) (n int, rest string, ok bool) {
	line, rest, ok := strings.Cut(text, "\n")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(line, "\r"))
	return n, rest, err == nil && n >= -1 && n <= maxLine
}

// part reads a text with its length before it.
func part(text string) (s, rest string, ok bool) {
	if text == "" || text[0] != '$' {
		return "", "", false
	}
	n, rest, ok := number(text[1:])
	if !ok || n < 0 || n > len(rest) {
		return "", "", false
	}
	s, rest = rest[:n], rest[n:]
	rest = strings.TrimPrefix(rest, "\r")
	if rest != "" && rest[0] != '\n' {
		return "", "", false
	}
	return s, strings.TrimPrefix(rest, "\n"), true
}

// command reads RESP's list of texts.
func command(text string) ([]string, bool) {
	n, rest, ok := number(text[1:])
	if !ok || n < 1 || n > 10_000 {
		return nil, false
	}
	var args []string
	for range n {
		var s string
		if s, rest, ok = part(rest); !ok {
			return nil, false
		}
		args = append(args, s)
	}
	return args, args[0] != ""
}

// answersOf reads all answers of a text; those after one that cannot be read are left out.
func answersOf(text string) []Reply {
	var list []Reply
	for text != "" && len(list) < 1000 {
		r, rest, ok := answer(text, 0)
		if !ok {
			break
		}
		list, text = append(list, r), rest
	}
	return list
}

func answer(text string, deep int) (r Reply, rest string, ok bool) {
	if text == "" || deep > bound.Depth {
		return r, "", false
	}
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	switch text[0] {
	case '+':
		return Reply{Value: line[1:]}, rest, true
	case '-':
		return Reply{Err: line[1:]}, rest, true
	case ':':
		n, err := strconv.ParseInt(line[1:], 10, 64)
		return Reply{Value: n}, rest, err == nil
	case '$':
		if line == "$-1" {
			return Reply{}, rest, true
		}
		s, rest, ok := part(text)
		return Reply{Value: s}, rest, ok
	case '*':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n > 100_000 {
			return r, "", false
		}
		if n < 0 {
			return Reply{}, rest, true
		}
		values := []any{}
		for range n {
			var one Reply
			if one, rest, ok = answer(rest, deep+1); !ok {
				return r, "", false
			}
			if one.Err != "" {
				one.Value = one.Err
			}
			values = append(values, one.Value)
		}
		return Reply{Value: values}, rest, true
	}
	return r, "", false
}
