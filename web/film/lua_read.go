package film

import (
	"slices"
	"strings"
	"unicode"

	"relock/engine/interpreter"
)

// lexeme is one in its colour.
type lexeme struct {
	interpreter.Lexeme

	class string // see ScriptToken
}

// scan splits a source into lexemes, and gives them their classes backwards, because what a name is
// depends on what follows. The last is the end, or what is no Lua and has no colours.
func scan(source string) []lexeme {
	read := interpreter.Lexemes(source)
	list := make([]lexeme, len(read))
	next := lexeme{}
	for i, l := range slices.Backward(read) {
		next = lexeme{l, class(read[:i], l, next)}
		list[i] = next
	}
	return list
}

// class is the class of a lexeme, by those around it.
func class(before []interpreter.Lexeme, l interpreter.Lexeme, next lexeme) string {
	called := next.Text == "(" || next.Text == "." && next.class == "f"
	switch n := len(before); {
	case l.Kind == interpreter.KindText && n > 3 && before[n-1].Text == "(" && before[n-4].Text == "redis" && strings.HasSuffix(before[n-2].Text, "call"):
		return "r"
	case l.Kind == interpreter.KindText:
		return "s"
	case l.Kind == interpreter.KindNumber:
		return "m"
	case l.Text == "KEYS" || l.Text == "ARGV":
		return "v"
	case l.Kind == interpreter.KindName && called && isCommand(l.Text):
		return "r"
	case l.Kind == interpreter.KindName && called, l.Text == "." && next.class == "f":
		return "f"
	case strings.IndexFunc(l.Kind, unicode.IsLetter) == 0: // a word of the language
		return "k"
	default:
		return ""
	}
}

// isCommand reports whether a function is a Redis command sent without a
// script.
func isCommand(name string) bool { return name == strings.ToUpper(name) }

// Coloured returns lines of Lua, of which some may be missing, in their colours.
func Coloured(source string) []ScriptLine { return coloured(scan(source)) }

// coloured arranges lexemes in lines, merging neighbours of the same class.
func coloured(list []lexeme) []ScriptLine {
	lines := []ScriptLine{{Number: 1}}
	add := func(class, text string) {
		for i, piece := range strings.Split(text, "\n") {
			if i > 0 {
				lines = append(lines, ScriptLine{Number: len(lines) + 1})
			}
			line := &lines[len(lines)-1]
			switch last := len(line.Tokens) - 1; {
			case piece == "":
			case last >= 0 && line.Tokens[last].Class == class:
				line.Tokens[last].Text += piece
			default:
				line.Tokens = append(line.Tokens, ScriptToken{class, piece})
			}
		}
	}
	for _, l := range list {
		for text := range strings.SplitAfterSeq(l.Before, "\n") {
			blank, comment, is := strings.Cut(text, "--")
			add("", blank)
			if is {
				add("c", "--"+comment)
			}
		}
		add(l.class, l.Text)
	}
	if last := len(lines) - 1; len(lines[last].Tokens) == 0 {
		lines = lines[:last]
	}
	return lines
}
