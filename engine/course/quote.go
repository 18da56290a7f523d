package course

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"relock/engine/phrase"
)

// quoted is a text with functions in it: the result of a function replaces what is
// between "{{" and "}}".
type quoted []piece

// piece is plain text, or a call.
type piece struct {
	text string
	name string // "" of plain text
	args []reflect.Value
	line int // of a call, from 0
}

// quotation is a call: a name and its arguments, strings as Go writes them and
// whole numbers.
var (
	quotation = regexp.MustCompile(`^\s*([a-z]+)((?:\s+(?:"(?:[^"\\\n]|\\.)*"|-?\d+))*)\s*$`)
	argument  = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|-?\d+`)
)

// readQuoted reads a text that calls these functions; each returns a value and
// an error. It fails with the line, from 0, of the first
// mistake.
func readQuoted(source string, functions map[string]any) (list quoted, line int, err error) {
	for {
		before, rest, some := strings.Cut(source, "{{")
		list = append(list, piece{text: before})
		line += strings.Count(before, "\n")
		if !some {
			return list, 0, nil
		}
		inner, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, line, phrase.New("{{ without a }} after it")
		}
		call, err := readCall(inner, functions)
		if err != nil {
			return nil, line, err
		}
		call.line = line
		list = append(list, call)
		line += strings.Count(inner, "\n")
		source = after
	}
}

func readCall(text string, functions map[string]any) (piece, error) {
	m := quotation.FindStringSubmatch(text)
	if m == nil {
		return piece{}, phrase.New("{{%s}} is no call: a name, then strings in quotes and whole numbers", text)
	}
	f, known := functions[m[1]]
	if !known {
		return piece{}, phrase.New("function %q not defined", m[1])
	}
	call, of := piece{name: m[1]}, reflect.TypeOf(f)
	words := argument.FindAllString(m[2], -1)
	if n := of.NumIn(); len(words) != n && (!of.IsVariadic() || len(words) < n-1) {
		return piece{}, phrase.New("wrong number of args for %s: want %d got %d", m[1], n, len(words))
	}
	for i, word := range words {
		in := of.In(min(i, of.NumIn()-1))
		if of.IsVariadic() && i >= of.NumIn()-1 {
			in = in.Elem()
		}
		arg, err := argumentOf(word, in.Kind())
		if err != nil {
			return piece{}, phrase.New("argument %d of %s: %s", i+1, m[1], err)
		}
		call.args = append(call.args, arg)
	}
	return call, nil
}

func argumentOf(word string, kind reflect.Kind) (reflect.Value, error) {
	quoted := strings.HasPrefix(word, `"`)
	switch {
	case quoted && (kind == reflect.String || kind == reflect.Interface):
		text, err := strconv.Unquote(word)
		if err != nil {
			return reflect.Value{}, phrase.New("%s is no string", word)
		}
		return reflect.ValueOf(text), nil
	case !quoted && (kind == reflect.Int || kind == reflect.Interface):
		n, err := strconv.Atoi(word)
		if err != nil {
			return reflect.Value{}, phrase.New("%s is no number", word)
		}
		return reflect.ValueOf(n), nil
	}
	if kind == reflect.Int {
		return reflect.Value{}, phrase.New("given %s, allowed: %s", word, phrase.Say("a whole number"))
	}
	return reflect.Value{}, phrase.New("given %s, allowed: %s", word, phrase.Say("a text in quotes"))
}

// say is the text with what the functions return. It fails with the line, from
// 0, of the first call that does.
func (q quoted) say(functions map[string]any) (text string, line int, err error) {
	var b strings.Builder
	for _, p := range q {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		out := reflect.ValueOf(functions[p.name]).Call(p.args)
		if err, failed := out[1].Interface().(error); failed {
			return "", p.line, phrase.New("%s: %s", p.name, err)
		}
		fmt.Fprint(&b, out[0].Interface())
	}
	return b.String(), 0, nil
}
