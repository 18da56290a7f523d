package infer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/journal"
)

// sets reports whether a command has written the value of a key, whatever it was before.
func sets(r Record, key string) bool {
	return (len(r.Tx) > 0 || r.Err == "" && r.Script == "") && slices.ContainsFunc(r.ran(false), func(e journal.Entry) bool {
		switch Verb(e.Args) {
		case "SET", "SETEX", "PSETEX", "SETNX", "GETSET":
			return len(e.Args) > 2 && e.Args[1] == key && journal.Wrote(e.Args, e.Reply) && e.Reply != e.Args[2]
		}
		return false
	})
}

// Of a script: a command in it that counts, and one that sets a value.
var (
	counting = regexp.MustCompile(`(?i)["'](incr|decr)(by)?["']`)
	setting  = regexp.MustCompile(`(?i)["'](p?setn?x|psetex|getset|set)["']`)
)

// rewrites reports whether a thread replaces its own value with another, and from which
// level to which: the number at the end of both, if the rest is the same.
func (j *Reading) rewrites(r Record) (old, now int, is bool) {
	if r.Before.Value == nil || r.After.Value == nil || j.checker.Put().Value != r.Thread || j.belief[r.Thread] == 0 || len(j.ids) == 0 {
		return 0, 0, false
	}
	a, b := *r.Before.Value, *r.After.Value
	stem := func(v string) (string, int) {
		rest := strings.TrimRight(v, "0123456789")
		n, err := strconv.Atoi(v[len(rest):])
		if err != nil || rest == "" {
			return v, 0
		}
		return rest, n
	}
	x, n := stem(a)
	y, m := stem(b)
	if x == y && n < 100 && m < 100 {
		return n, m, true
	}
	return 0, 0, true
}

// overAtOnce reports whether a command was granted a lock whose lease was over by then, as
// one is that ends at an instant of another clock: SET NX has answered OK, and left no key.
func overAtOnce(r Record) bool {
	if r.Before.Exists() || r.After.Exists() {
		return false
	}
	granted := func(args []string, reply any) bool {
		return Verb(args) == "SET" && MakesLock(args) && reply == "OK"
	}
	keys := Touches(r.Args).Keys
	return granted(r.Args, r.Reply) || slices.ContainsFunc(r.Inner, func(e journal.Entry) bool {
		return !e.Key.Exists() && granted(e.Args, e.Reply) && len(keys) > 0 && keys[0] == e.Args[1]
	})
}

// deadline is the instant that a value is, in seconds or milliseconds of Unix, and whether it is one.
func deadline(value string) (time.Time, bool) {
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
	case n > 1e9 && n < 1e10:
		return time.UnixMilli(int64(n * 1000)), true
	case n > 1e12 && n < 1e13:
		return time.UnixMilli(int64(n)), true
	}
	return time.Time{}, false
}

// digits are the parts of a text that may be an instant.
var digits = regexp.MustCompile(`[0-9]+`)

// Instants are the instants of Unix, in seconds, milliseconds or microseconds, that stand in
// a text and lie within a day of now.
func Instants(text string, now time.Time) []time.Time {
	var list []time.Time
	for _, part := range digits.FindAllString(text, -1) {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			continue
		}
		for _, at := range []time.Time{time.Unix(n, 0), time.UnixMilli(n), time.UnixMicro(n)} {
			if at.Sub(now).Abs() <= 24*time.Hour {
				list = append(list, at)
			}
		}
	}
	return list
}

func isDeadline(value string) bool { _, is := deadline(value); return is }

// stands reports whether a command that writes its value regardless heard in the answer that
// another's lock is there: a value that it does not hold, and no deadline that is over.
func (j *Reading) stands(r Record) bool {
	swaps := Verb(r.Args) == "GETSET" || Verb(r.Args) == "SET" && !MakesLock(r.Args) && slices.ContainsFunc(r.Args, func(a string) bool { return strings.EqualFold(a, "GET") })
	was, _ := r.Reply.(string)
	return swaps && was != "" && was != "0" && (j.checker.Put().Value != r.Thread || j.belief[r.Thread] == 0) && !j.takesOver()
}

// takesOver reports whether the last command put another value in the place of a deadline
// that may be over: that is how such a lock is taken.
func (j *Reading) takesOver() bool {
	over := func(value string) bool {
		until, is := deadline(value)
		return is && (j.began.IsZero() || !until.After(j.began.Add(j.at)))
	}
	if j.last.Value != nil {
		return over(*j.last.Value)
	}
	return false
}

// SetStart says from which instant the records count.
func (j *Reading) SetStart(t time.Time) { j.began = t }
