package facts

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/trace"
)

// Put is which threads' commands put what the lock's key holds: who put it there owns
// it, whatever it says. The zero value is that of no key, or of what nobody is known to
// have put. Its map must not be changed.
type Put struct {
	Value  string            // of a string: the thread; "" if that is not known, or for a count that is at 0
	Fields map[string]string // of a hash: the thread of each field, where it is known

	name string // the key's, as the command that made it has it
}

// Threads returns the threads, by name.
func (p Put) Threads() []string {
	var list []string
	if p.Value != "" {
		list = append(list, p.Value)
	}
	for _, thread := range p.Fields {
		list = append(list, thread)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// by reports whether the thread is among them.
func (p Put) by(thread string) bool {
	for _, who := range p.Fields {
		if who == thread {
			return true
		}
	}
	return p.Value == thread
}

// next returns it after an event, given the key just before. Of several nodes it knows
// nothing.
func (p Put) next(before trace.KeyState, e trace.Event) Put {
	if !e.Key.Exists() || len(e.Nodes) > 0 {
		return Put{}
	}
	switch b := e.Body.(type) {
	case trace.Fault:
		if b.Do == fault.FailOver || b.Do == fault.Restart || b.Do == fault.OneMaster { // it may be older data
			return Put{}
		}
	case trace.Command:
		if len(b.Args) == 0 || b.OldMaster || b.Call == trace.CallBeat {
			break
		}
		if !before.Exists() {
			p.name = b.Arg(1)
		}
		p.Value, p.Fields = p.value(before, e, b), p.fields(before, e, b)
	}
	return p
}

// value returns who put the value of a string. A count that goes on stays whose it is.
func (p Put) value(before trace.KeyState, e trace.Event, b trace.Command) string {
	now := e.Key.Value
	switch {
	case now == nil:
		return ""
	case before.Value != nil && *before.Value == *now && b.Reply == *now: // it heard that this is there, and has changed nothing
		return p.Value
	case b.Arg(1) == p.name && sets(b.Args[0]) && b.Error == "" && journal.Wrote(b.Args, b.Reply):
		return e.Thread
	case before.Value != nil && *before.Value == *now:
		return p.Value
	}
	is, counted := number(now)
	was, goesOn := number(before.Value)
	switch {
	case counted && is <= 0 && counts(b.Args[0]):
		return ""
	case counted && goesOn && was > 0:
		return p.Value
	}
	return e.Thread
}

// fields returns who put each field of a hash.
func (p Put) fields(before trace.KeyState, e trace.Event, b trace.Command) map[string]string {
	list, own := p.Fields, false
	change := func() {
		if !own {
			list, own = maps.Clone(list), true
		}
		if list == nil {
			list = map[string]string{}
		}
	}
	for field := range list {
		if _, stands := e.Key.Fields[field]; !stands {
			change()
			delete(list, field)
		}
	}
	for field, now := range e.Key.Fields {
		was, stood := before.Fields[field]
		if field == trace.Mode || stood && was == now || list[field] == e.Thread {
			continue
		}
		_, counted := number(&now)
		_, goesOn := number(&was)
		if stood && counted && goesOn && !(sets(b.Args[0]) && b.Arg(1) == p.name) {
			continue
		}
		change()
		list[field] = e.Thread
	}
	return list
}

// append writes all on which it depends who puts what, as Facts.AppendState does.
func (p Put) append(b []byte, as func(thread string) string) []byte {
	if p.Value != "" {
		b = append(append(b, as(p.Value)...), ' ')
	}
	for _, field := range slices.Sorted(maps.Keys(p.Fields)) {
		b = append(append(append(append(b, field...), '='), as(p.Fields[field])...), ' ')
	}
	return b
}

// sets reports whether a command writes a value or a field, whatever stood there.
func sets(verb string) bool {
	switch strings.ToUpper(verb) {
	case "SET", "SETEX", "PSETEX", "SETNX", "GETSET", "HSET", "HMSET":
		return true
	}
	return false
}

// counts reports whether a command counts a string up or down.
func counts(verb string) bool {
	switch strings.ToUpper(verb) {
	case "INCR", "INCRBY", "DECR", "DECRBY":
		return true
	}
	return false
}

// number returns the whole number that a text is, and whether it is one.
func number(text *string) (int, bool) {
	if text == nil {
		return 0, false
	}
	n, err := strconv.Atoi(*text)
	return n, err == nil
}
