package film

import (
	"time"

	"relock/engine/phrase"
	"relock/web/words"
)

// saying says texts in a language, and keeps what it has said: from row to row a stage
// says the same again. It is not safe for concurrent use.
type saying struct {
	words.Language
	texts   map[said]string
	lengths map[time.Duration]string
}

// said is a text with its arguments, of which it has at most three.
type said struct {
	text phrase.Text
	args [3]argument
}

// argument is a text, or a number.
type argument struct {
	text   string
	number int64
	is     rune // 's', 'd', or 0 for none
}

func (a argument) value() any {
	if a.is == 'd' {
		return a.number
	}
	return a.text
}

// mostKept is how many texts are kept, so that a long run does not fill the memory.
const mostKept = 4096

// Say is the language's Say, for texts with at most three arguments, strings or whole
// numbers; it panics at others. It repeats a text without an allocation, which is why it
// takes its arguments apart: none of them may outlive the call.
func (s saying) Say(text phrase.Text, args ...any) string {
	key := said{text: text}
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			key.args[i] = argument{text: v, is: 's'}
		case int:
			key.args[i] = argument{number: int64(v), is: 'd'}
		case int64:
			key.args[i] = argument{number: v, is: 'd'}
		default:
			panic("film: a stage says strings and whole numbers")
		}
	}
	out, known := s.texts[key]
	if !known {
		again := []any{key.args[0].value(), key.args[1].value(), key.args[2].value()}
		out = s.Language.Say(text, again[:len(args)]...)
		if len(s.texts) >= mostKept {
			clear(s.texts)
		}
		s.texts[key] = out
	}
	return out
}

// Duration is the language's Duration.
func (s saying) Duration(d time.Duration) string {
	out, known := s.lengths[d]
	if !known {
		out = s.Language.Duration(d)
		if len(s.lengths) >= mostKept {
			clear(s.lengths)
		}
		s.lengths[d] = out
	}
	return out
}
