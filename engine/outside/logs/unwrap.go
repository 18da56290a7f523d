package logs

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"relock/engine/pause"
)

// Programs that collect logs pack what a program printed: into an object of JSON a line, CSV, or behind a prefix on each line. Whatever the fields are called, the one is meant in which
// a line of a known log stands.

// known reports whether a text is a line of a log that can be read.
func known(text string) bool {
	return monitorAt(text) >= 0 || sent.MatchString(text) || replied.MatchString(text)
}

// unwrapped returns lines as the program printed them.
func unwrapped(ctx context.Context, lines []line) ([]line, error) {
	if list, is, err := fromCSV(ctx, lines); is || err != nil {
		return list, err
	}
	if slices.ContainsFunc(lines, isObject) {
		var list []line
		for _, l := range lines {
			if err := pause.Here(ctx); err != nil {
				return nil, err
			}
			list = append(list, fromJSON(l)...)
		}
		lines = list
	}
	return withoutPrefix(ctx, lines)
}

// split returns the lines of a text that stood in one line of the file, behind its prefix.
func (l line) split(prefix, text string) []line {
	var list []line
	for _, part := range strings.Split(strings.TrimRight(text, "\r\n"), "\n") {
		list = append(list, line{n: l.n, text: prefix + strings.TrimSuffix(part, "\r"), cut: l.cut})
		prefix = ""
	}
	return list
}

// isObject reports whether a line can be an object in which a line of a log is packed.
func isObject(l line) bool {
	return strings.HasPrefix(strings.TrimLeft(l.text, " \t"), "{") && !spans.MatchString(l.text)
}

// fromJSON returns the lines in an object of JSON, or the line as it is.
func fromJSON(l line) []line {
	var object map[string]any
	if !isObject(l) || json.Unmarshal([]byte(l.text), &object) != nil {
		return []line{l}
	}
	message, at, from := "", "", ""
	each(object, "", func(name, value string) {
		switch {
		case message == "" && known(value):
			message = value
		case at == "" && loggedAt.FindStringIndex(value) != nil && len(value) < 64:
			at = value
		case source.MatchString(name):
			from = cmp.Or(from, value)
		}
	})
	switch {
	case message == "":
		return []line{l}
	case monitorAt(message) >= 0 && from != "":
		return l.split(from+" | ", message)
	case monitorAt(message) >= 0:
		return l.split("", message)
	}
	return l.split(at+" ", message)
}

// source is a field that says whose a line is, where several programs' lines are collected.
var source = regexp.MustCompile(`(?i)^(pod|container|host)_?(name)?$`)

// each calls f with the texts in a value of JSON, fields in the order of their names.
func each(v any, name string, f func(name, value string)) {
	switch v := v.(type) {
	case string:
		f(name, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			each(v[key], key, f)
		}
	case []any:
		for _, one := range v {
			each(one, name, f)
		}
	}
}

// header is the first line of CSV: the names of fields.
var header = regexp.MustCompile(`^"?[@\w. ]+"?(,"?[@\w. ]+"?)+$`)

// fromCSV returns the lines in the fields of CSV, and reports whether it is that.
func fromCSV(ctx context.Context, lines []line) (list []line, is bool, err error) {
	if len(lines) < 2 || !header.MatchString(lines[0].text) {
		return nil, false, nil
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.text + "\n")
	}
	r := csv.NewReader(strings.NewReader(text.String()))
	for {
		if err := pause.Here(ctx); err != nil {
			return nil, false, err
		}
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return list, is, nil
		case err != nil:
			return nil, false, nil //nolint:nilerr // it is not CSV
		}
		n, _ := r.FieldPos(0)
		l := lines[n-1]
		if i := slices.IndexFunc(record, known); i >= 0 {
			is = true
			list = append(list, l.split("", record[i])...)
		} else {
			list = append(list, l)
		}
	}
}

// goesOn is the second line of a command that Redisson sent, behind a prefix.
var goesOn = regexp.MustCompile(`^(.*[\s|>\])])\$\d+$`)

// withoutPrefix returns the lines of Redisson's log without what stands before each. What goes on
// over several lines is put together: those of other programs, by their prefixes, came in between.
func withoutPrefix(ctx context.Context, lines []line) ([]line, error) {
	var prefix *regexp.Regexp
	for i, l := range lines[:max(len(lines)-1, 0)] {
		if !sent.MatchString(l.text) {
			continue
		}
		if m := goesOn.FindStringSubmatch(lines[i+1].text); m != nil {
			prefix = likePrefix(m[1])
			break
		}
	}
	if prefix == nil {
		return lines, nil
	}
	var whole [][]line
	last := map[string]int{} // of a program
	for _, l := range lines {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		at := prefix.FindString(l.text)
		l.text = l.text[len(at):]
		nth, seen := last[whose(at)]
		if !seen || loggedAt.MatchString(l.text) || known(l.text) {
			nth = len(whole)
			last[whose(at)], whole = nth, append(whole, nil)
		}
		whole[nth] = append(whole[nth], l)
	}
	return slices.Concat(whole...), nil
}

// likePrefix returns a pattern of the prefixes that have as many words as one.
func likePrefix(one string) *regexp.Regexp {
	words := strings.Fields(one)
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]"):
			words[i] = `\[[^\]]*\]`
		case strings.Trim(word, "|>") == "":
			words[i] = regexp.QuoteMeta(word)
		default:
			words[i] = `[^\s|]+`
		}
	}
	return regexp.MustCompile(`^\s*` + strings.Join(words, `\s+`) + `\s?`)
}
