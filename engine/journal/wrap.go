package journal

import (
	_ "embed" // the prelude
	"strings"
)

//go:embed prelude.lua
var preludeSource string

// prelude is the embedded file on a single line, without comments, so that the
// script's lines below it keep their numbers plus one.
var prelude = oneLine(preludeSource)

func oneLine(source string) string {
	var parts []string
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

// preludeBelow is the prelude below a line that names an engine.
var preludeBelow = strings.Replace(prelude, "level, above = 2, 1", "level, above = 2, 2", 1)

// Above is how many lines Wrap puts above a script's own.
const Above = 1

// Wrap returns the script that runs body and answers {journal, reply}; see
// Decode. A first line of body that names its engine stays the first.
func Wrap(body string) string {
	body = strings.TrimSuffix(body, "\n")
	if head, rest, found := strings.Cut(body, "\n"); found && Shebang(body) {
		return head + "\n" + preludeBelow + "\n" + rest + ending
	}
	return prelude + "\n" + body + ending
}

const ending = "\nend) return journal(ok, reply)"

// Shebang reports whether a script's first line names its engine, as Redis 7 has it.
func Shebang(body string) bool { return strings.HasPrefix(body, "#!") }

// Last is the last line of a wrapped script that is not of its body.
func Last(body string) int {
	if Shebang(body) {
		return Above + 1
	}
	return Above
}
