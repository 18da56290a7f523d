package infer

import (
	"strconv"
	"strings"

	"relock/engine/journal"
	"relock/engine/trace"
)

// resource is what the lock protects, as commands have left it.
type resource struct {
	key     string // "" where it is not known
	once    bool   // see Lock.Once
	version int
	last    written
	read    map[string]int // the version a thread has read, by thread
}

// written is a number or, where it is none, the beginning of a text, in quotes.
type written struct {
	number int
	text   string
}

// mostWritten is how many bytes of a text are told.
const mostWritten = 64

// writtenOf is what a reply or an argument says. Where nothing is, it is 0.
func writtenOf(v any) written {
	switch v := v.(type) {
	case int64:
		return written{number: int(v)}
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err == nil {
			return written{number: n}
		}
		return written{text: strconv.Quote(strings.ToValidUTF8(v[:min(len(v), mostWritten)], ""))}
	}
	return written{}
}

// as is an event about it.
func (w written) as(b trace.Resource) trace.Resource {
	b.Value, b.Text = w.number, w.text
	return b
}

// take tells the reads and writes of what the lock protects.
func (s *resource) take(r Record, tell func(trace.Body)) {
	if s.key == "" || r.Err != "" {
		return
	}
	for _, e := range r.ran(true) {
		s.touch(r.Thread, e.Args, e.Reply, tell)
	}
}

func (s *resource) touch(thread string, args []string, reply any, tell func(trace.Body)) {
	if len(args) < 2 || args[1] != s.key {
		return
	}
	reads := func() {
		s.read[thread] = s.version
		tell(s.last.as(trace.Resource{Op: trace.OpRead, Version: s.version}))
	}
	writes := func(now any) {
		based, seen := s.read[thread]
		if !seen { // what it has never read it cannot have seen change
			based = s.version
		}
		delete(s.read, thread)
		s.version++
		s.last = writtenOf(now)
		tell(s.last.as(trace.Resource{Op: trace.OpWrite, Version: s.version, Based: based}))
	}
	switch v := Verb(args); v {
	case "GET":
		s.last = writtenOf(reply)
		reads()
	case "SET", "SETEX", "PSETEX", "SETNX":
		if !journal.Wrote(args, reply) {
			return
		}
		at := 2
		if strings.HasSuffix(v, "EX") {
			at = 3
		}
		if at < len(args) {
			writes(args[at])
		}
	case "GETSET":
		reads()
		if len(args) > 2 {
			writes(args[2])
		}
	case "INCR", "DECR", "INCRBY", "DECRBY":
		reads()
		writes(reply)
	case "RPUSH":
		if !s.once {
			return
		}
		s.version++
		tell(writtenOf(reply).as(trace.Resource{Op: trace.OpWrite, Effect: true, Version: s.version, Based: s.version - 1}))
	}
}
