package interpreter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/interpreter"
)

func TestLexemes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []interpreter.Lexeme
	}{
		{"", []interpreter.Lexeme{{Line: 1}}},
		{"if x--y\r\n == [[\n]]\t0x1", []interpreter.Lexeme{
			{Kind: "if", Line: 1, Text: "if"},
			{Kind: interpreter.KindName, Line: 1, Before: " ", Text: "x"},
			{Kind: "==", Line: 2, Before: "--y\r\n ", Text: "=="},
			{Kind: interpreter.KindText, Line: 2, Before: " ", Text: "[[\n]]"},
			{Kind: interpreter.KindNumber, Line: 3, Before: "\t", Text: "0x1"},
			{Line: 3},
		}},
		{"x\ry 'z", []interpreter.Lexeme{
			{Kind: interpreter.KindName, Line: 1, Text: "x"},
			{Kind: interpreter.KindName, Line: 2, Before: "\r", Text: "y"},
			{Line: 2, Before: " 'z"},
		}},
	} {
		if diff := cmp.Diff(c.want, interpreter.Lexemes(c.text)); diff != "" {
			t.Errorf("%q (want -, got +):\n%s", c.text, diff)
		}
	}
}

// What Lua says of a text, word for word.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"return --\n'a'\n'b'": "line 3: the script does not compile: '<eof>' expected near ''b''",
		"local a for i = 1, 2 do local f = function() a end end": "line 1: the script does not compile: '=' expected near 'end'",
	} {
		if err := interpreter.Check(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
