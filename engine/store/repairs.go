package store

import (
	"math"
	"slices"
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
		"HEXPIRE": {5, 0, fieldExpire("hexpire", 1000, false)}, "HPEXPIRE": {5, 0, fieldExpire("hpexpire", 1, false)},
		"HEXPIREAT": {5, 0, fieldExpire("hexpireat", 1000, true)}, "HPEXPIREAT": {5, 0, fieldExpire("hpexpireat", 1, true)},
		"HTTL": {3, 0, fieldsLeft(1000, false)}, "HPTTL": {3, 0, fieldsLeft(1, false)},
		"HEXPIRETIME": {3, 0, fieldsLeft(1000, true)}, "HPEXPIRETIME": {3, 0, fieldsLeft(1, true)},
		"HSETEX": {0, 0, fieldsExpire}, "HSET": {3, 0, fieldsStay(2)}, "HMSET": {3, 0, fieldsStay(2)}, "HDEL": {2, 0, fieldsStay(1)},
	}
}

// mends reports whether a command is one of repairs, with as many arguments as it takes.
func mends(verb string, args []string) bool {
	fix, ok := repairs[verb]
	return ok && len(args) >= fix.least && (fix.most == 0 || len(args) <= fix.most) && (verb != "SCRIPT" || keeps(args))
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

// counts is a lease in milliseconds that miniredis can count: of 292 years at most.
func counts(ms int64) string {
	return strconv.FormatInt(min(ms, math.MaxInt64/int64(time.Millisecond)), 10)
}

// endless reports whether a lease of so many milliseconds ends at no instant that Redis
// can count.
func (r running) endless(ms int64) bool { return ms > math.MaxInt64-max(r.m.millis(), 0) }

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
	if n <= 0 && !past || n > math.MaxInt64/unit || !at && r.endless(n*unit) {
		return 0, "ERR invalid expire time in '" + verb + "' command"
	}
	return n * unit, ""
}

// options are the options of SET or GETEX.
type options struct {
	word   string   // how the key is to live: EX, PX, EXAT, PXAT, KEEPTTL or PERSIST; or ""
	text   string   // what follows that word, the last time
	others []string // the other words
	nx, xx bool
}

// optionsOf reads options as Redis does, and reports whether they are well made.
func optionsOf(args []string, allowed string) (o options, ok bool) {
	for i := 0; i < len(args); i++ {
		word := strings.ToUpper(args[i])
		if !strings.Contains(allowed, " "+word+" ") {
			return o, false
		}
		switch word {
		case "NX", "XX", "GET":
			o.nx, o.xx = o.nx || word == "NX", o.xx || word == "XX"
			o.others = append(o.others, word)
			continue
		case "KEEPTTL", "PERSIST":
		default:
			if i++; i == len(args) {
				return o, false
			}
			o.text = args[i]
		}
		if o.word != "" && o.word != word {
			return o, false
		}
		o.word = word
	}
	return o, !o.nx || !o.xx
}

// lease is how long the key is to live from now, in milliseconds, not more than 0 if that
// is over; or Redis' error.
func (o options) lease(r running, verb string) (ms int64, failed string) {
	unit := int64(1)
	if strings.HasPrefix(o.word, "E") {
		unit = 1000
	}
	at := strings.HasSuffix(o.word, "AT")
	ms, failed = r.lease(verb, o.text, unit, at)
	if at {
		ms -= r.m.millis()
	}
	return ms, failed
}

// set is SET. An IFEQ or IFNE, of Redis 8.4, is a look at the value before. An instant that is past leaves no key, and nothing of its lease; one that is
// now leaves a key for this millisecond.
func set(r running, args []string) []byte {
	if at := conditionOf(args); at > 0 {
		return setIf(r, args, at)
	}
	o, ok := optionsOf(args[2:], " NX XX GET EX PX EXAT PXAT KEEPTTL ")
	if !ok {
		return failure(syntax)
	}
	if o.text == "" && (o.word == "" || o.word == "KEEPTTL") {
		return nil
	}
	ms, failed := o.lease(r, "set")
	if failed != "" {
		return failure(failed)
	}
	command := append([]string{"SET", args[0], args[1]}, o.others...)
	if ms >= 0 {
		return r.do(append(command, "PX", counts(max(ms, 1)))...)
	}
	before, _ := r.ask("EXISTS", args[0])
	raw := r.do(command...)
	if taken := before == 0 && !o.xx || before == 1 && !o.nx; taken && raw[0] != '-' {
		r.do("DEL", args[0])
	}
	return raw
}

// conditions of SET that look at the value.
var conditions = []string{"IFEQ", "IFNE"}

// conditionOf returns where a SET has one, or 0.
func conditionOf(args []string) int {
	for at := 2; at < len(args); at++ {
		switch word := strings.ToUpper(args[at]); {
		case slices.Contains(conditions, word):
			return at
		case slices.Contains([]string{"EX", "PX", "EXAT", "PXAT"}, word):
			at++
		}
	}
	return 0
}

// setIf is SET with a condition. If that does not hold, the option with which SET does
// nothing takes its place, so that the answer is miniredis' own.
func setIf(r running, args []string, at int) []byte {
	if at+1 == len(args) {
		return failure(syntax)
	}
	rest := slices.Concat(args[:at], args[at+2:])
	exclusive := func(word string) bool { return slices.Contains([]string{"NX", "XX"}, strings.ToUpper(word)) }
	if conditionOf(rest) > 0 || slices.ContainsFunc(rest[2:], exclusive) {
		return failure(syntax)
	}
	have, err := r.ask("GET", args[0])
	if err != nil {
		return failure(err.Error())
	}
	value, there := have.(string)
	same := there && value == args[at+1]
	switch {
	case same == strings.EqualFold(args[at], "IFEQ"):
	case there:
		rest = append(rest, "NX")
	default:
		rest = append(rest, "XX")
	}
	return r.command(append([]string{"SET"}, rest...))
}

// getex is GETEX with an option.
func getex(r running, args []string) []byte {
	o, ok := optionsOf(args[1:], " EX PX EXAT PXAT PERSIST ")
	if !ok {
		return failure(syntax)
	}
	raw := r.do("GET", args[0])
	if v, err := r.ask("GET", args[0]); err != nil || v == nil {
		return raw
	}
	if o.word == "PERSIST" {
		r.do("PERSIST", args[0])
		return raw
	}
	ms, failed := o.lease(r, "getex")
	switch {
	case failed != "":
		return failure(failed)
	case ms > 0:
		r.do("PEXPIRE", args[0], counts(ms))
	default:
		r.do("DEL", args[0])
	}
	return raw
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
		return r.do("PSETEX", args[0], counts(ms), args[2])
	}
}

// expire is EXPIRE and its variants.
func expire(verb string, unit int64, at bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		for _, option := range args[2:] {
			if !slices.Contains([]string{"NX", "XX", "GT", "LT"}, strings.ToUpper(option)) {
				return failure("ERR Unsupported option " + option)
			}
		}
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
		case at && ms < math.MinInt64/2:
			ms = -1 // as long over as can be
		case at:
			ms -= r.m.millis()
		case r.endless(ms):
			return invalid
		}
		return r.do(append([]string{"PEXPIRE", args[0], counts(max(ms, -1))}, args[2:]...)...)
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
