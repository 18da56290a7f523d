package words

import "strings"

// Short cuts a text to so many bytes at most, at a whole character, and marks
// the cut.
func Short(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
