package interpreter_test

import (
	"testing"

	"relock/engine/interpreter"
)

// What Lua says of a text, word for word.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"local a for i = 1, 2 do local f = function() a end end": "line 1: the script does not compile: '=' expected near 'end'",
	} {
		if err := interpreter.Check(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
