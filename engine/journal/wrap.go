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

// Above is how many lines Wrap puts above a script's own.
const Above = 1

// Wrap returns the script that runs body and answers {journal, reply}; see
// Decode.
func Wrap(body string) string {
	return prelude + "\n" + strings.TrimSuffix(body, "\n") + "\nend) return journal(ok, reply)"
}
