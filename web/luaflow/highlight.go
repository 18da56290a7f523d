package luaflow

import (
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// lexer knows as much Lua as the scripts here are written in. Chroma's own
// lexer of Lua comes only with those of all other languages, which would be
// 5 MB of the program.
var lexer = sync.OnceValue(func() chroma.Lexer { //nolint:gochecknoglobals // built in
	return chroma.MustNewLexer(&chroma.Config{Name: "Lua"}, func() chroma.Rules {
		return chroma.Rules{"root": {
			{Pattern: `--[^\n]*`, Type: chroma.Comment},
			{Pattern: `(?<=redis\.call\()'[A-Z]+'`, Type: chroma.NameBuiltin},
			{Pattern: `[A-Z]{3,}(?=\()`, Type: chroma.NameBuiltin},
			{Pattern: `'[^'\n]*'`, Type: chroma.LiteralString},
			{Pattern: `\b(and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|return|then|true|while)\b`, Type: chroma.Keyword},
			{Pattern: `\b(KEYS|ARGV)\b`, Type: chroma.NameVariable},
			{Pattern: `[A-Za-z_][\w.]*(?=\()`, Type: chroma.NameFunction},
			{Pattern: `[A-Za-z_]\w*`, Type: chroma.Name},
			{Pattern: `\d+`, Type: chroma.LiteralNumber},
			{Pattern: `\s+`, Type: chroma.Text},
			{Pattern: `.`, Type: chroma.Punctuation},
		}}
	})
})

// class is what a kind of token is called in style sheets.
func class(t chroma.TokenType) string {
	switch t { //nolint:exhaustive // those that the lexer above makes
	case chroma.Comment:
		return "c"
	case chroma.Keyword:
		return "k"
	case chroma.NameFunction:
		return "f"
	case chroma.NameBuiltin:
		return "r"
	case chroma.NameVariable:
		return "v"
	case chroma.LiteralString:
		return "s"
	case chroma.LiteralNumber:
		return "m"
	default:
		return ""
	}
}

// highlight cuts a source into lines of tokens.
func highlight(source string) []Line {
	tokens, err := lexer().Tokenise(nil, strings.TrimSuffix(source, "\n"))
	if err != nil {
		panic("luaflow: highlight: " + err.Error()) // the sources are built in
	}
	lines := []Line{{Number: 1}}
	for _, t := range tokens.Tokens() {
		for i, text := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines = append(lines, Line{Number: len(lines) + 1})
			}
			if text == "" {
				continue
			}
			line := &lines[len(lines)-1]
			if last := len(line.Tokens) - 1; last >= 0 && line.Tokens[last].Class == class(t.Type) {
				line.Tokens[last].Text += text
				continue
			}
			line.Tokens = append(line.Tokens, Token{class(t.Type), text})
		}
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return l.Number == len(lines) && len(l.Tokens) == 0 })
}
