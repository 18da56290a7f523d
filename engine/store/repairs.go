package store

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// repair answers a command as Redis does.
type repair struct {
	least, most int // arguments; a most of 0 is no limit. With others, miniredis refuses the command
	// do returns the answer, or nil where miniredis' own is right.
	do func(r running, args []string) []byte
}

// repairs are the commands that are mended, by name.
var repairs map[string]repair

func init() { // they run commands, which are looked up here
	repairs = map[string]repair{
		"EVAL": {2, 0, eval(false)}, "EVAL_RO": {2, 0, eval(true)},
		"EVALSHA": {2, 0, evalSHA(false)}, "EVALSHA_RO": {2, 0, evalSHA(true)},
		"SCRIPT": {1, 0, script},
		"SET":    {3, 0, set}, "GETEX": {2, 0, getex},
		"SETEX": {3, 3, setex(1000)}, "PSETEX": {3, 3, setex(1)},
		"EXPIRE": {2, 0, expire("expire", 1000, false)}, "PEXPIRE": {2, 0, expire("pexpire", 1, false)},
		"EXPIREAT": {2, 0, expire("expireat", 1000, true)}, "PEXPIREAT": {2, 0, expire("pexpireat", 1, true)},
		"TTL": {1, 1, rounded("PTTL")}, "EXPIRETIME": {1, 1, rounded("PEXPIRETIME")},
		"INCR":    {1, 1, func(r running, args []string) []byte { return count(r, args[0], "1", false) }},
		"DECR":    {1, 1, func(r running, args []string) []byte { return count(r, args[0], "1", true) }},
		"INCRBY":  {2, 2, func(r running, args []string) []byte { return count(r, args[0], args[1], false) }},
		"DECRBY":  {2, 2, func(r running, args []string) []byte { return count(r, args[0], args[1], true) }},
		"HINCRBY": {3, 3, hincrby},
	}
}

// Answers of Redis.
const (
	notWhole  = "ERR value is not an integer or out of range"
	overflows = "ERR increment or decrement would overflow"
	syntax    = "ERR syntax error"
)

// wholeNumber reads a number as Redis does: in one way only, with no sign but a minus,
// no space and no zero before it.
func wholeNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// longest is the longest lease in milliseconds that miniredis can count, 292 years.
const longest = math.MaxInt64 / int64(time.Millisecond)

// lease reads how long a key is to live, or until when, as Redis does: in milliseconds.
// It returns Redis' error, or "".
func (r running) lease(verb, text string, unit int64, at bool) (ms int64, failed string) {
	n, ok := wholeNumber(text)
	if !ok {
		return 0, notWhole
	}
	// Redis refuses what is before 1970. A run's clock begins there, so there it is an
	// instant like any other that is past.
	past := at && n <= 0 && r.m.millis() < (24*time.Hour).Milliseconds()
	if n <= 0 && !past || n > math.MaxInt64/unit || !at && n*unit > math.MaxInt64-r.m.millis() {
		return 0, "ERR invalid expire time in '" + verb + "' command"
	}
	return n * unit, ""
}

// option is how a key is to live, of SET and GETEX.
type option struct {
	word     string // EX, PX, EXAT, PXAT, KEEPTTL or PERSIST; "" is none
	text     string // that follows it
	at       int    // of the word in the arguments
	nx, xx   bool
	wellMade bool
}

// options reads those of SET, or of GETEX, as Redis does.
func options(args []string, allowed string) option {
	var o option
	for i := 0; i < len(args); i++ {
		word := strings.ToUpper(args[i])
		if !strings.Contains(allowed, " "+word+" ") {
			return o
		}
		switch word {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GET":
		default:
			if o.word != "" {
				return o
			}
			o.word, o.at = word, i
			if word != "KEEPTTL" && word != "PERSIST" {
				if i++; i == len(args) {
					return o
				}
				o.text = args[i]
			}
		}
	}
	o.wellMade = !o.nx || !o.xx
	return o
}

// lease is that of the option, in milliseconds, whether it is an instant, and Redis' error.
func (o option) lease(r running, verb string) (ms int64, at bool, failed string) {
	unit := int64(1)
	if strings.HasPrefix(o.word, "E") {
		unit = 1000
	}
	at = strings.HasSuffix(o.word, "AT")
	ms, failed = r.lease(verb, o.text, unit, at)
	return ms, at, failed
}

// lived returns arguments with the option in a form that miniredis can count.
func (o option) lived(args []string, ms int64) []string {
	args = append([]string{}, args...)
	args[o.at], args[o.at+1] = "PX", strconv.FormatInt(min(ms, longest), 10)
	return args
}

// without returns arguments without the option.
func (o option) without(args []string) []string {
	return append(append([]string{}, args[:o.at]...), args[o.at+2:]...)
}

// set is SET. An instant that has come leaves no key, and nothing of its lease.
func set(r running, args []string) []byte {
	o := options(args[2:], " NX XX GET EX PX EXAT PXAT KEEPTTL ")
	if !o.wellMade {
		return failure(syntax)
	}
	if o.text == "" {
		return nil
	}
	ms, at, failed := o.lease(r, "set")
	if failed != "" {
		return failure(failed)
	}
	if at {
		ms -= r.m.millis()
	}
	command := append([]string{"SET"}, args[:2]...)
	if ms > 0 {
		return r.do(append(command, o.lived(args[2:], ms)...)...)
	}
	before, _ := r.ask("EXISTS", args[0])
	raw := r.do(append(command, o.without(args[2:])...)...)
	if taken := before == 0 && !o.xx || before == 1 && !o.nx; taken && raw[0] != '-' {
		r.do("DEL", args[0])
	}
	return raw
}

// getex is GETEX with an option.
func getex(r running, args []string) []byte {
	o := options(args[1:], " EX PX EXAT PXAT PERSIST ")
	if !o.wellMade {
		return failure(syntax)
	}
	raw := r.do("GET", args[0])
	if v, err := r.ask("GET", args[0]); err != nil || v == nil {
		return raw
	}
	if o.text == "" {
		return nil
	}
	ms, at, failed := o.lease(r, "getex")
	if failed != "" {
		return failure(failed)
	}
	if at {
		ms -= r.m.millis()
	}
	if ms <= 0 {
		r.do("DEL", args[0])
		return raw
	}
	return r.do(append([]string{"GETEX", args[0]}, o.lived(args[1:], ms)...)...)
}

// setex is SETEX or PSETEX.
func setex(unit int64) func(r running, args []string) []byte {
	verb := "setex"
	if unit == 1 {
		verb = "psetex"
	}
	return func(r running, args []string) []byte {
		ms, failed := r.lease(verb, args[1], unit, false)
		if failed != "" {
			return failure(failed)
		}
		return r.do("PSETEX", args[0], strconv.FormatInt(min(ms, longest), 10), args[2])
	}
}

// expire is EXPIRE and its like.
func expire(verb string, unit int64, at bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		n, ok := wholeNumber(args[1])
		if !ok {
			return failure(notWhole)
		}
		invalid := failure("ERR invalid expire time in '" + verb + "' command")
		if n > math.MaxInt64/unit || n < math.MinInt64/unit {
			return invalid
		}
		ms := n * unit
		switch {
		case at && ms <= math.MinInt64+r.m.millis():
			ms = -1
		case at:
			ms -= r.m.millis()
		case ms > math.MaxInt64-r.m.millis():
			return invalid
		}
		return r.do(append([]string{"PEXPIRE", args[0], strconv.FormatInt(min(max(ms, -1), longest), 10)}, args[2:]...)...)
	}
}

// rounded is the command that counts seconds where another counts milliseconds.
func rounded(exact string) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		ms, err := r.ask(exact, args[0])
		n, ok := ms.(int)
		if err != nil || !ok || n < 0 {
			return nil
		}
		return integer((int64(n) + 500) / 1000)
	}
}

// count is INCRBY, or DECRBY.
func count(r running, key, by string, down bool) []byte {
	n, ok := wholeNumber(by)
	if !ok {
		return failure(notWhole)
	}
	if down {
		if n == math.MinInt64 {
			return failure("ERR decrement would overflow")
		}
		n = -n
	}
	have, err := r.ask("GET", key)
	if err != nil {
		return nil
	}
	return counted(have, n, notWhole)
}

// hincrby is HINCRBY.
func hincrby(r running, args []string) []byte {
	n, ok := wholeNumber(args[2])
	if !ok {
		return failure(notWhole)
	}
	have, err := r.ask("HGET", args[0], args[1])
	if err != nil {
		return nil
	}
	return counted(have, n, "ERR hash value is not an integer")
}

// counted is the error of a number that cannot be counted on, or nil.
func counted(have any, by int64, notWhole string) []byte {
	text, there := have.(string)
	if !there {
		return nil
	}
	value, ok := wholeNumber(text)
	switch {
	case !ok:
		return failure(notWhole)
	case by > 0 && value > math.MaxInt64-by, by < 0 && value < math.MinInt64-by:
		return failure(overflows)
	}
	return nil
}
