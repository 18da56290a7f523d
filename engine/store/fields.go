package store

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/trace"
)

// fieldsOf reads FIELDS, how many, and their names. It returns Redis' error, or "", and
// none as what Redis says to a number that is none.
func fieldsOf(args []string, none string) (fields []string, failed string) {
	if len(args) == 0 || !strings.EqualFold(args[0], "FIELDS") {
		return nil, "ERR Mandatory argument FIELDS is missing or not at the right position"
	}
	n, ok := int64(0), len(args) > 1
	if ok {
		n, ok = wholeNumber(args[1])
	}
	switch {
	case !ok || n < 1:
		return nil, none
	case n != int64(len(args)-2):
		return nil, "ERR The `numfields` parameter must match the number of arguments"
	}
	return args[2:], ""
}

// longestField is the last instant at which a field can expire, in milliseconds.
const longestField = 1<<46 - 1

// fieldExpire is HEXPIRE and its variants.
func fieldExpire(verb string, unit int64, at bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		if raw := r.do("HLEN", args[0]); raw[0] == '-' {
			return raw
		}
		n, ok := wholeNumber(args[1])
		now := r.m.millis()
		from := now
		if at {
			from = 0
		}
		switch {
		case !ok:
			return failure(notWhole)
		case n < 0:
			return failure("ERR invalid expire time, must be >= 0")
		case n > longestField/unit || n*unit > longestField-from:
			return failure("ERR invalid expire time in '" + verb + "' command")
		}
		left := n*unit + from - now
		when, rest := strings.ToUpper(args[2]), args[3:]
		if !slices.Contains([]string{"NX", "XX", "GT", "LT"}, when) {
			when, rest = "", args[2:]
		}
		fields, failed := fieldsOf(rest, "ERR Parameter `numFields` should be greater than 0")
		if failed != "" {
			return failure(failed)
		}
		var out []int64
		for _, f := range fields {
			out = append(out, r.expireField(args[0], f, left, when))
		}
		return numbers(out)
	}
}

// expireField gives a field so many milliseconds to live, if the condition holds, and
// returns what Redis says of that.
func (r running) expireField(key, field string, left int64, when string) int64 {
	had, there := r.fieldLeft(key, field)
	switch {
	case !there:
		return -2
	case when == "NX" && had >= 0, when == "XX" && had < 0, when == "GT" && (had < 0 || left <= had), when == "LT" && had >= 0 && left >= had:
		return 0
	case left <= 0:
		r.command([]string{"HDEL", key, field})
		return 2
	}
	value, err := r.ask("HGET", key, field)
	if text, ok := value.(string); err == nil && ok {
		r.m.fields = true
		r.do("HSETEX", key, "PX", strconv.FormatInt(min(left, math.MaxInt64/int64(time.Millisecond)), 10), "FIELDS", "1", field, text)
	}
	return 1
}

// fieldLeft returns how many milliseconds a field has left, -1 if it has no expiry, and
// whether it is there.
func (r running) fieldLeft(key, field string) (ms int64, there bool) {
	v, err := r.ask("HPTTL", key, "FIELDS", "1", field)
	list, ok := v.([]any)
	if err != nil || !ok || len(list) != 1 {
		return 0, false
	}
	n, _ := list[0].(int)
	return int64(n), n != -2
}

// fieldsLeft is HTTL and its variants, or HEXPIRETIME's if it tells the instant.
func fieldsLeft(unit int64, at bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		if raw := r.do("HLEN", args[0]); raw[0] == '-' {
			return raw
		}
		fields, failed := fieldsOf(args[1:], "ERR Number of fields must be a positive integer")
		if failed != "" {
			return failure(failed)
		}
		var out []int64
		for _, f := range fields {
			ms, there := r.fieldLeft(args[0], f)
			switch {
			case !there:
				ms = -2
			case ms >= 0 && at:
				ms = (ms + r.m.millis() + unit - 1) / unit
			case ms >= 0:
				ms = (ms + unit - 1) / unit
			}
			out = append(out, ms)
		}
		return numbers(out)
	}
}

// expire notes that fields have expiries, if they do.
func (m *mended) expire(they bool) {
	m.Lock()
	m.fields = m.fields || they
	m.Unlock()
}

// fieldsExpire notes that fields may have expiries.
func fieldsExpire(r running, _ []string) []byte {
	r.m.fields = true
	return nil
}

// fieldsStay is HSET or HDEL, whose fields are every so many arguments: what they had of
// an expiry is gone.
func fieldsStay(every int) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		if !r.m.fields {
			return nil
		}
		for i := 1; i < len(args); i += every {
			if ms, there := r.fieldLeft(args[0], args[i]); there && ms >= 0 {
				r.do("HPERSIST", args[0], "FIELDS", "1", args[i])
			}
		}
		return nil
	}
}

// numbers is an answer that is a list of numbers.
func numbers(list []int64) []byte {
	b := []byte("*" + strconv.Itoa(len(list)) + "\r\n")
	for _, n := range list {
		b = append(b, integer(n)...)
	}
	return b
}

// ends returns how much time is left until something of a key is gone, and until all of
// it is, which a hash can lose by its fields. 0 is never.
func (m *mended) ends(key string) (first, last time.Duration) {
	first = max(m.TTL(key), 0)
	last = first
	m.Lock()
	expire := m.fields
	m.Unlock()
	if !expire || m.Type(key) != trace.TypeHash {
		return first, last
	}
	fields, _ := m.HKeys(key) // known to be a hash
	longest, all := time.Duration(0), true
	for _, f := range fields {
		ttl := m.HTTL(key, f)
		if ttl <= 0 {
			all = false
			continue
		}
		if first == 0 || ttl < first {
			first = ttl
		}
		longest = max(longest, ttl)
	}
	if all && (last == 0 || longest < last) {
		last = longest
	}
	return first, last
}
