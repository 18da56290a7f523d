package infer

import (
	"strconv"
	"strings"

	"relock/engine/journal"
	"relock/engine/trace"
)

// resource is what the lock protects, as commands have left it.
type resource struct {
	key            string // "" where it is not known
	once           bool   // see Lock.Once
	version, value int
	read           map[string]int // the version a thread has read, by thread
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
	number := func(v any) int {
		switch v := v.(type) {
		case int64:
			return int(v)
		case string:
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
		return 0
	}
	reads := func() {
		s.read[thread] = s.version
		tell(trace.Resource{Op: trace.OpRead, Value: s.value, Version: s.version})
	}
	writes := func(value int) {
		based, seen := s.read[thread]
		if !seen { // what it has never read it cannot have seen change
			based = s.version
		}
		delete(s.read, thread)
		s.version++
		s.value = value
		tell(trace.Resource{Op: trace.OpWrite, Value: value, Version: s.version, Based: based})
	}
	switch v := Verb(args); v {
	case "GET":
		s.value = number(reply)
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
			writes(number(args[at]))
		}
	case "GETSET":
		reads()
		if len(args) > 2 {
			writes(number(args[2]))
		}
	case "INCR", "DECR", "INCRBY", "DECRBY":
		reads()
		writes(number(reply))
	case "RPUSH":
		if !s.once {
			return
		}
		s.version++
		tell(trace.Resource{Op: trace.OpWrite, Effect: true, Value: number(reply), Version: s.version, Based: s.version - 1})
	}
}
