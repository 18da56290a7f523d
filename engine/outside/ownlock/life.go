package ownlock

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
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

// guess is which argument of a script may be the lease.
type guess struct {
	n    int            // of ARGV
	word string         // of args:
	args []protocol.Arg // what would make it so, nil where that is not known
	call string
}

var (
	argument = regexp.MustCompile(`\bARGV\s*\[\s*(\d)\s*\]`)
	locals   = regexp.MustCompile(`(?m)\blocal\s+([\w\s,]+?)\s*=\s*(.+)$`)
	isOne    = regexp.MustCompile(`^(?:tonumber\s*\(\s*)?ARGV\s*\[\s*(\d)\s*\]`)
	times    = regexp.MustCompile(`\]\s*\)?\s*([*/])\s*(?:1000|1e3)\b`)
)

// guessed returns which argument of a script is the time that a command on a line gives a
// key, at a level, if it can tell: the line has it, directly or by a name, or the
// argument has this value.
func guessed(script protocol.Script, l lease, line, level int) (guess, bool) {
	source := comment.ReplaceAllString(script.Source, "")
	code := lineOf(source, line)
	for _, m := range locals.FindAllStringSubmatch(source, -1) {
		values := strings.Split(m[2], ",")
		for i, name := range strings.Split(m[1], ",") {
			if i >= len(values) {
				break
			}
			if is := isOne.FindStringSubmatch(strings.TrimSpace(values[i])); is != nil {
				code = regexp.MustCompile(`\b`+regexp.QuoteMeta(strings.TrimSpace(name))+`\b`).ReplaceAllLiteralString(code, "ARGV["+is[1]+"]")
			}
		}
	}
	for _, quote := range []string{"'", `"`} { // the time comes after the word
		if at := strings.Index(strings.ToUpper(code), quote+l.by+quote); at >= 0 {
			code = code[at:]
			break
		}
	}
	var named []int
	for _, m := range argument.FindAllStringSubmatch(code, -1) {
		n, _ := strconv.Atoi(m[1])
		named = append(named, n)
	}
	if len(named) == 0 && level > 0 {
		for i, arg := range script.Args() {
			if arg.Word == protocol.ArgLevel && l.text == strconv.Itoa(level) {
				named = append(named, i+1)
			}
		}
	}
	if len(named) == 0 {
		return guess{}, false
	}
	g := guess{n: named[0], word: protocol.ArgLeaseMS, call: script.Call}
	seconds := l.unit == time.Second
	if m := times.FindStringSubmatch(code); m != nil {
		seconds = m[1] == "*"
	}
	switch {
	case l.at && seconds:
		return guess{}, false // there is no word for it
	case l.at:
		g.word = protocol.ArgDeadline
	case seconds:
		g.word = protocol.ArgLeaseS
	}
	if args := script.Args(); g.n <= len(args) && args[g.n-1].Word == g.word {
		return guess{}, false // its file says so
	}
	g.args = suggested(script, source, g)
	return g, true
}

// lineOf is the nth line of a text, from 1; "" where there is none.
func lineOf(text string, n int) string {
	lines := strings.Split(text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// suggested returns the arguments that a script may want: as many as it names, with
// the guess at its place, and the owner at another one where it was there.
func suggested(script protocol.Script, source string, g guess) []protocol.Arg {
	args := script.Args()
	if args == nil {
		return nil
	}
	most := g.n
	for _, m := range argument.FindAllStringSubmatch(source, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	list := make([]protocol.Arg, most)
	for i := range list {
		list[i] = protocol.Arg{Word: protocol.ArgOwner}
		if i < len(args) {
			list[i] = args[i]
		}
	}
	was := list[g.n-1]
	list[g.n-1] = protocol.Arg{Word: g.word}
	if was.Word != protocol.ArgOwner {
		return list
	}
	if i := slices.IndexFunc(list, func(a protocol.Arg) bool { return a.Word != g.word }); i >= 0 {
		list[i] = was
	}
	return list
}

// listed writes arguments with commas between.
func listed(args []protocol.Arg) string {
	words := make([]string, len(args))
	for i, one := range args {
		words[i] = one.String()
	}
	return strings.Join(words, ", ")
}

// says is the guess as a question.
func (g guess) says() phrase.Wording {
	var ask phrase.Wording
	switch g.word {
	case protocol.ArgLeaseS:
		ask = phrase.Say("is ARGV[%d] the lease in seconds?", g.n)
	case protocol.ArgDeadline:
		ask = phrase.Say("is ARGV[%d] the lease's end in milliseconds?", g.n)
	default:
		ask = phrase.Say("is ARGV[%d] the lease in milliseconds?", g.n)
	}
	if g.args == nil {
		return phrase.Say("%s args: says what it is", ask)
	}
	return phrase.Say("%[1]s args: {%[2]s: [%[3]s]}", ask, g.call, listed(g.args))
}

// Seen is what the scripts of an own lock did otherwise than its file says, in the
// orders that were played. Only NewSeen makes one. It is not safe for concurrent use.
type Seen struct {
	sc      *scenario.Scenario
	scripts map[string]protocol.Script // by file name
	keys    []string
	lives   map[string]life // by call
	beside  map[string]int  // by call: the first line that asks for a key that is not among KEYS
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

// NewSeen returns what the scripts of sc's lock have done before anything was played;
// of a lock that is no own one it notes nothing.
func NewSeen(sc *scenario.Scenario) *Seen {
	s := &Seen{sc: sc, scripts: map[string]protocol.Script{}, lives: map[string]life{}, beside: map[string]int{}}
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
		if _, ok := beside(b.Args, s.keys); ok && (s.beside[script.Call] == 0 || b.Line < s.beside[script.Call]) {
			s.beside[script.Call] = max(b.Line, 1)
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

// Meant returns, by call, the arguments with which a script's key may live as long as the file
// says, where that can be told.
func (s *Seen) Meant() map[string][]protocol.Arg {
	meant := map[string][]protocol.Arg{}
	for call, l := range s.lives {
		if g, ok := guessed(s.scripts[call+".lua"], l.given, l.line, l.level); ok && g.args != nil {
			meant[call] = g.args
		}
	}
	return meant
}

func (s *Seen) says(call string, l life) phrase.Wording {
	file := phrase.Duration(s.sc.Lock.Lease)
	if l.pttl < 0 {
		return phrase.Say("The key never expires, where the file says %s: the script gives it no time.", file)
	}
	lives := phrase.Say("The key lives %[1]s, where the file says %[2]s", phrase.Duration(time.Duration(l.pttl)*time.Millisecond), file)
	if g, ok := guessed(s.scripts[call+".lua"], l.given, l.line, l.level); ok {
		return phrase.Say("%[1]s: %[2]s", lives, g.says())
	}
	return phrase.Say("%[1]s: line %[2]d says %[3]s.", lives, l.line, l.given.text)
}
