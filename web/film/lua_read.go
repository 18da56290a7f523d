package film

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// lexeme is a token of Lua with its source text, and the blanks and comments
// before it, which a scanner drops.
type lexeme struct {
	ast.Token

	before, text string
	class        string // see Token
}

// scan splits a source into lexemes. The last is the end, which has only a
// before.
func scan(source string) []lexeme {
	starts := []int{0} // of the lines
	for i, c := range []byte(source) {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	var list []lexeme
	scanner := parse.NewScanner(strings.NewReader(source), "script")
	for end := 0; ; {
		t, err := scanner.Scan(&parse.Lexer{})
		switch {
		case err != nil: // of somebody's own: what follows has no colours
			list = append(list, lexeme{Token: ast.Token{Type: parse.EOF}, before: source[end:]})
			classify(list)
			return list
		case t.Type == parse.EOF:
			list = append(list, lexeme{Token: t, before: source[end:]})
			classify(list)
			return list
		}
		// Columns count from 1, and the scanner reports the token's last byte.
		from, to := starts[t.Pos.Line-1]+t.Pos.Column-1, starts[scanner.Pos.Line-1]+scanner.Pos.Column
		list = append(list, lexeme{Token: t, before: source[end:from], text: source[from:to]})
		end = to
	}
}

// classify gives each lexeme its class. It goes backwards, because what a name
// is depends on what follows.
func classify(list []lexeme) {
	next := lexeme{}
	for i := len(list) - 1; i >= 0; i-- {
		l := &list[i]
		called := next.text == "(" || next.text == "." && next.class == "f"
		switch {
		case l.Type == parse.TString && i > 3 && list[i-1].text == "(" && list[i-4].text == "redis" && strings.HasSuffix(list[i-2].text, "call"):
			l.class = "r"
		case l.Type == parse.TString:
			l.class = "s"
		case l.Type == parse.TNumber:
			l.class = "m"
		case l.text == "KEYS" || l.text == "ARGV":
			l.class = "v"
		case l.Type == parse.TIdent && called && isCommand(l.text):
			l.class = "r"
		case l.Type == parse.TIdent && called, l.text == "." && next.class == "f":
			l.class = "f"
		case l.Type >= parse.TAnd && l.Type <= parse.TWhile:
			l.class = "k"
		}
		next = *l
	}
}

// isCommand reports whether a function is a Redis command sent without a
// script.
func isCommand(name string) bool { return name != "" && name == strings.ToUpper(name) }

// Coloured returns lines of Lua, of which some may be missing, in their colours.
func Coloured(source string) []ScriptLine { return coloured(scan(source)) }

// coloured arranges lexemes in lines, merging neighbours of the same class.
func coloured(list []lexeme) []ScriptLine {
	lines := []ScriptLine{{Number: 1}}
	add := func(class, text string) {
		if text == "" {
			return
		}
		line := &lines[len(lines)-1]
		if last := len(line.Tokens) - 1; last >= 0 && line.Tokens[last].Class == class {
			line.Tokens[last].Text += text
			return
		}
		line.Tokens = append(line.Tokens, ScriptToken{class, text})
	}
	for _, l := range list {
		for i, text := range strings.Split(l.before, "\n") {
			if i > 0 {
				lines = append(lines, ScriptLine{Number: len(lines) + 1})
			}
			blank, comment, is := strings.Cut(text, "--")
			add("", blank)
			if is {
				add("c", "--"+comment)
			}
		}
		for i, text := range strings.Split(l.text, "\n") { // of a long string
			if i > 0 {
				lines = append(lines, ScriptLine{Number: len(lines) + 1})
			}
			add(l.class, text)
		}
	}
	if last := len(lines) - 1; len(lines[last].Tokens) == 0 {
		lines = lines[:last]
	}
	return lines
}
