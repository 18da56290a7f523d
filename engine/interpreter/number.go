package interpreter

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// How many digits a number is written with.
const (
	digitsOfText     = 14 // by Lua's tostring: C's %.14g
	digitsOfArgument = 17 // by redis.call: C's %.17g
)

// number writes a number as C's printf does.
func number(n lua.LNumber, digits int) string {
	f := float64(n)
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && f != 0:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

// parsed reads a number as Lua 5.1 does in C: decimal, with an exponent, or in
// hexadecimal, with space around it.
func parsed(text string) (lua.LNumber, bool) {
	text = strings.Trim(text, " \t\n\v\f\r")
	if strings.Contains(text, "_") {
		return 0, false
	}
	unsigned := strings.TrimLeft(text, "+-")
	if len(text)-len(unsigned) > 1 {
		return 0, false
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(unsigned), "0x"); ok && !strings.Contains(hex, "p") {
		n, err := strconv.ParseUint(hex, 16, 64)
		if strings.HasPrefix(text, "-") {
			return -lua.LNumber(n), err == nil
		}
		return lua.LNumber(n), err == nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) { // too large is infinite
		return 0, false
	}
	return lua.LNumber(f), true
}
