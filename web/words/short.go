package words

import "strings"

// Short is a text of at most that many bytes, whole characters, and a sign that
// there was more.
func Short(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
