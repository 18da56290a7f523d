package film

import (
	"encoding/binary"
	"strconv"
	"strings"

	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// Ran is a command that a script ran, or will run next.
type Ran struct {
	Line int // of the script, 0 if unknown

	level  int  // entered or left by its call, 0 if unknown
	heard  bool // its answer is known
	failed bool // with an error, which ends the script
	answer any  // as a Lua value
}

// NewRan returns a command that ran on a line.
func NewRan(line int, c trace.Command) Ran {
	r := Ran{Line: line, level: c.Level, heard: true, failed: c.Error != ""}
	list, _ := c.Reply.([]any)
	switch key, verb := c.Arg(1), strings.ToUpper(c.Arg(0)); {
	case verb == "HMGET":
		answers := make([]any, len(list))
		for i, one := range list {
			answers[i] = luaValue(one)
			if trace.IsNumber(c.Arg(i + 2)) {
				answers[i] = sinceCall(one, c.Number)
			}
		}
		r.answer = answers
	case verb == "HGET" && protocol.IsOver(key):
		r.answer = sinceCall(c.Reply, c.Number)
	default:
		r.answer = luaValue(c.Reply)
	}
	return r
}

// appendTo appends what we know about the command to a map key.
func (r Ran) appendTo(key []byte) []byte {
	key = binary.AppendVarint(key, int64(r.Line))
	key = binary.AppendVarint(key, int64(r.level))
	key = strconv.AppendBool(key, r.heard)
	key = strconv.AppendBool(key, r.failed)
	return appendValue(key, r.answer)
}

func appendValue(key []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(key, 'n')
	case int:
		return binary.AppendVarint(append(key, 'i'), int64(v))
	case string:
		return append(append(append(key, 's'), v...), 0)
	case some:
		return append(key, '+')
	case []any:
		key = binary.AppendVarint(append(key, 'l'), int64(len(v)))
		for _, one := range v {
			key = appendValue(key, one)
		}
		return key
	default:
		return append(key, '?')
	}
}
