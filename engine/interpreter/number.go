package interpreter

import (
	"math"
	"strconv"
	"strings"
)

// How many digits a number is written with.
const (
	digitsOfText     = 14 // by Lua's tostring: C's %.14g
	digitsOfArgument = 17 // by redis.call: C's %.17g
)

// space is what C's isspace has.
const space = " \t\n\v\f\r"

// number writes a number as C's printf does.
func number(f float64, digits int) string {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && f != 0 && digits >= digitsOfText:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

func isText(v value) bool {
	switch v.(type) {
	case string, float64:
		return true
	}
	return false
}

// written is a text or a number as Lua writes it.
func written(v value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return number(v, digitsOfText), true
	default:
		return "", false
	}
}

// numeric is a number, or a text that reads as one.
func numeric(v value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		return parsed(v)
	default:
		return 0, false
	}
}

// parsed reads a number as Lua 5.1 does in C, with space around it.
func parsed(text string) (float64, bool) {
	text, _, _ = strings.Cut(text, "\x00")
	text = strings.TrimLeft(text, space)
	n, size := leading(text)
	return n, size > 0 && strings.Trim(text[size:], space) == ""
}

// leading is the number that a text begins with, and how long it is, as C's strtod has
// it: decimal, in hexadecimal, or in words.
func leading(text string) (n float64, size int) {
	digitsOf := func(at int, is func(byte) bool) int {
		from := at
		for at < len(text) && is(text[at]) {
			at++
		}
		return at - from
	}
	at := 0
	if at < len(text) && (text[at] == '+' || text[at] == '-') {
		at++
	}
	sign, minus := at, at > 0 && text[0] == '-'
	signed := func(n float64, size int) (float64, int) {
		if minus {
			n = -n
		}
		return n, size
	}
	begins := func(word string) bool {
		return len(text) >= sign+len(word) && strings.EqualFold(text[sign:sign+len(word)], word)
	}
	switch {
	case begins("infinity"):
		return signed(math.Inf(1), sign+8)
	case begins("inf"):
		return signed(math.Inf(1), sign+3)
	case begins("nan"):
		return signed(math.NaN(), sign+3)
	}
	is, exponent := digit, byte('e')
	hex := begins("0x") && digitsOf(sign+2, hexadecimal)+digitsOf(min(sign+3, len(text)), hexadecimal) > 0
	if hex {
		if digitsOf(sign+2, hexadecimal) == 0 && (sign+2 >= len(text) || text[sign+2] != '.') {
			hex = false
		} else {
			at, is, exponent = sign+2, hexadecimal, 'p'
		}
	}
	whole := digitsOf(at, is)
	at += whole
	if at < len(text) && text[at] == '.' {
		if part := digitsOf(at+1, is); whole+part > 0 {
			whole += part
			at += 1 + part
		}
	}
	if whole == 0 {
		return 0, 0
	}
	number := text[sign:at]
	if at < len(text) && text[at]|0x20 == exponent {
		end := at + 1
		if end < len(text) && (text[end] == '+' || text[end] == '-') {
			end++
		}
		if digits := digitsOf(end, digit); digits > 0 {
			at = end + digits
			number = text[sign:at]
		}
	}
	if hex && !strings.ContainsAny(number, "pP") {
		number += "p0"
	}
	n, _ = strconv.ParseFloat(number, 64) // too large is infinite
	return signed(n, at)
}

func hexadecimal(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
