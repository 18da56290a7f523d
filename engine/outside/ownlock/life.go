package ownlock

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"relock/engine/journal"
	"relock/engine/lock/protocol"
	"relock/engine/outside/infer"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// lease is the time that a command gives a key.
type lease struct {
	text string // as the command has it
	by   string // the word that says what it is: the command, or its option
	unit time.Duration
	at   bool // it is an instant, and no length
}

// given are the words by which commands give a key a time.
var given = map[string]lease{
	"EX": {unit: time.Second}, "PX": {unit: time.Millisecond}, "EXAT": {unit: time.Second, at: true}, "PXAT": {unit: time.Millisecond, at: true},
	"EXPIRE": {unit: time.Second}, "PEXPIRE": {unit: time.Millisecond}, "EXPIREAT": {unit: time.Second, at: true}, "PEXPIREAT": {unit: time.Millisecond, at: true},
	"SETEX": {unit: time.Second}, "PSETEX": {unit: time.Millisecond},
}

// lifeOf returns the time that a command gives a key, if it gives one.
func lifeOf(args []string) (lease, bool) {
	verb, at := infer.Verb(args), 2
	if verb == "SET" || verb == "GETEX" {
		for at = 3; at < len(args); at++ {
			if option := strings.ToUpper(args[at-1]); len(option) <= 4 && given[option].unit > 0 {
				verb = option
				break
			}
		}
	}
	l, ok := given[verb]
	if !ok || at >= len(args) {
		return lease{}, false
	}
	l.text, l.by = args[at], verb
	return l, true
}

var argument = regexp.MustCompile(`\bARGV\s*\[\s*(\d)\s*\]`)

// listed writes arguments with commas between.
func listed(args []protocol.Arg) string {
	words := make([]string, len(args))
	for i, one := range args {
		words[i] = one.String()
	}
	return strings.Join(words, ", ")
}

// Seen is what the scripts of an own lock did otherwise than its file says, in the
// orders that were played. Only NewSeen makes one. It is not safe for concurrent use.
type Seen struct {
	sc      *scenario.Scenario
	scripts map[string]protocol.Script // by file name
	keys    []string
	lives   map[string]life // by call
	beside  map[string]int  // by call: the first line that asks for a key that is not among KEYS
	fit     Fit
}

// life is how long a key lives, in milliseconds; -1 for ever.
type life struct {
	level, line int
	pttl        int64
	given       lease
}

// before orders findings, so that the result is the same whichever came first.
func (l life) before(o life) bool {
	return cmp.Or(cmp.Compare(l.level, o.level), cmp.Compare(l.line, o.line), cmp.Compare(l.pttl, o.pttl), cmp.Compare(l.given.text, o.given.text)) < 0
}

// NewSeen returns what the scripts of sc's lock have done before anything was played, where
// Try has found how they are to be called; of a lock that is no own one it notes nothing.
func NewSeen(sc *scenario.Scenario, fit Fit) *Seen {
	s := &Seen{sc: sc, fit: fit, scripts: map[string]protocol.Script{}, lives: map[string]life{}, beside: map[string]int{}}
	if !sc.Lock.Own() {
		return s
	}
	how := sc.Lock.Implementation()
	s.keys = how.Keys(sc.Lock.Key)
	for _, script := range how.Scripts {
		if slices.Contains(sc.Lock.Scripts.Calls(), script.Call) {
			s.scripts[script.Name] = script
		}
	}
	return s
}

// inexact is how far a key's life may be from the lease: two commands of a script may
// be in two milliseconds of a Redis, and a deadline is by the client's clock.
const inexact = 10 // milliseconds

// See takes the next event of an order.
func (s *Seen) See(e trace.Event) {
	if len(s.scripts) == 0 {
		return
	}
	switch b := e.Body.(type) {
	case trace.Command:
		script, own := s.scripts[b.Script]
		if !own || b.Error != "" || b.OldMaster || len(b.Args) == 0 {
			return
		}
		if _, ok := beside(b.Args, s.keys); ok && !s.sc.Lock.Convention.OfOwners() && b.Line > 0 && (s.beside[script.Call] == 0 || b.Line < s.beside[script.Call]) {
			s.beside[script.Call] = b.Line
		}
		given, ok := lifeOf(b.Args)
		if !ok || b.Arg(1) != s.sc.Lock.Key || !e.Key.Exists() || !journal.Wrote(b.Args, b.Reply) {
			return
		}
		if off := e.Key.PTTL - s.sc.Lock.Lease.Milliseconds(); off < -inexact || off > inexact {
			s.note(script.Call, life{b.Level, b.Line, e.Key.PTTL, given})
		}
	case trace.Outcome:
		if _, own := s.scripts[b.Call+".lua"]; own && b.Call == protocol.CallLock && b.Result == trace.Acquired && e.Key.Exists() && e.Key.PTTL == -1 {
			s.note(b.Call, life{level: b.Level, pttl: -1})
		}
	}
}

func (s *Seen) note(call string, l life) {
	if known, ok := s.lives[call]; !ok || l.before(known) {
		s.lives[call] = l
	}
}

// Join adds what was seen in other orders of the same scenario.
func (s *Seen) Join(o *Seen) {
	for call, l := range o.lives {
		s.note(call, l)
	}
	for call, line := range o.beside {
		if s.beside[call] == 0 || line < s.beside[call] {
			s.beside[call] = line
		}
	}
}

// Notes says what was seen, in the order of the calls.
func (s *Seen) Notes() []Note {
	var list []Note
	said := false // once is enough
	for _, call := range s.sc.Lock.Scripts.Calls() {
		if l, ok := s.lives[call]; ok {
			list = append(list, Note{call, s.says(call, l)})
		}
		if line, ok := s.beside[call]; ok && !said {
			said = true
			list = append(list, Note{call, phrase.Say("Line %d asks for a key that is made of its KEYS and is none of them. A Redis alone runs that, a cluster may refuse it: name the key in keys:, if it has no owner in it.", line)})
		}
	}
	return list
}

func (s *Seen) says(call string, l life) phrase.Wording {
	file := phrase.Duration(s.sc.Lock.Lease)
	if l.pttl < 0 {
		return phrase.Say("The key never expires, where the file says %s: the script gives it no time.", file)
	}
	lives := phrase.Say("The key lives %[1]s, where the file says %[2]s", phrase.Duration(time.Duration(l.pttl)*time.Millisecond), file)
	if args := s.fit.Args[call]; args != nil {
		return phrase.Say("%[1]s: args: {%[2]s: [%[3]s]} would make it so.", lives, call, listed(args))
	}
	if l.line == 0 { // which a real Redis does not tell of a tail call
		return phrase.Say("%[1]s: it says %[2]s.", lives, l.given.text)
	}
	return phrase.Say("%[1]s: line %[2]d says %[3]s.", lives, l.line, l.given.text)
}
