package film

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// Script is what a call of a lock runs: a Lua script or, if it has none for the
// call, its plain commands written as a script. For a lock that does not use
// Redis it has no lines.
type Script struct {
	Name  string // "lock.lua"; for plain commands the call, "lock"; or the lock
	Plain bool   // not a script: its commands are sent one by one
	Note  string // a remark, or ""
	Lines []ScriptLine

	source   string
	deciders []int // see the function
}

// ScriptLine is a line of a script.
type ScriptLine struct {
	Number int // from 1
	Tokens []ScriptToken
}

// Text returns the line without colours.
func (l ScriptLine) Text() string {
	var b strings.Builder
	for _, t := range l.Tokens {
		b.WriteString(t.Text)
	}
	return b.String()
}

// Remark tells whether there is nothing but a comment in the line.
func (l ScriptLine) Remark() bool {
	rest := slices.DeleteFunc(slices.Clone(l.Tokens), func(t ScriptToken) bool { return strings.TrimSpace(t.Text) == "" })
	return len(rest) > 0 && !slices.ContainsFunc(rest, func(t ScriptToken) bool { return t.Class != "c" })
}

// ScriptToken is a piece of a line in one colour.
type ScriptToken struct {
	Class string // "k" keyword, "f" function, "r" Redis command, "v" argument, "s" string, "m" number, "c" comment, or ""
	Text  string
}

// highlighted caches the scripts of each lock in each language: they never
// change.
var highlighted sync.Map

// scriptsOf is what the scripts of a lock depend on.
type scriptsOf struct {
	language       words.Language
	kind, protocol string
	wait           scenario.Sync
}

// Scripts returns what the calls of a scenario's lock run, lock first. The
// caller must not change them.
func Scripts(l words.Language, sc *scenario.Scenario) []Script {
	if sc.Lock.Own() { // there is no end of them
		return scripts(l, sc)
	}
	key := scriptsOf{l, sc.Kind, sc.Lock.Protocol, sc.Lock.Wait}
	if made, ok := highlighted.Load(key); ok {
		return made.([]Script)
	}
	made := scripts(l, sc)
	highlighted.Store(key, made)
	return made
}

func scripts(l words.Language, sc *scenario.Scenario) []Script {
	known := sc.Lock.Implementation()
	switch {
	case sc.Kind == scenario.KindHeartbeat:
		return []Script{plainScript(l, trace.CallBeat, beatSource), plainScript(l, trace.CallLook, lookSource)}
	case known.Guard == protocol.Nothing:
		return []Script{{Name: known.Name, Note: l.Say("Without a lock Redis is not asked: there is no script to read.")}}
	case known.Guard == protocol.InProcess:
		return []Script{{Name: known.Name, Note: l.Say("A spin lock asks no Redis: it compares and swaps a word in the memory of its process.")}}
	}
	var list []Script
	calls := []string{lock.CallLock, lock.CallUnlock, lock.CallRenew}
	if source := known.Plain[lock.CallLock]; source != "" && !slices.ContainsFunc(known.Scripts, func(s protocol.Script) bool { return s.Call == lock.CallLock }) {
		list = append(list, plainScript(l, lock.CallLock, source))
		calls = calls[1:]
	}
	for _, s := range known.Scripts {
		if sc.Lock.Own() {
			list = append(list, ownScript(s.Name, s.Source))
			continue
		}
		list = append(list, commented(l.Plain(), readScript(s.Name, s.Source)))
	}
	for _, call := range calls {
		if source := known.Plain[call]; source != "" && slices.ContainsFunc(known.Scripts, func(s protocol.Script) bool { return s.Call == call }) {
			after := plainScript(l, call, source)
			after.Note = l.Say("After the script, on the same connection: other clients' commands can come between.")
			list = append(list, after)
		} else if source != "" {
			list = append(list, plainScript(l, call, source))
		}
	}
	return list
}

// commented is a script of ours with its comments in a language: what runs, and what the
// lines are, is the same.
func commented(l words.Language, s Script) Script {
	s.Lines = slices.Clone(s.Lines)
	for i, line := range s.Lines {
		last := len(line.Tokens) - 1
		if last < 0 || line.Tokens[last].Class != "c" {
			continue
		}
		mark, english := protocol.Comment(line.Tokens[last].Text)
		s.Lines[i].Tokens = slices.Clone(line.Tokens)
		s.Lines[i].Tokens[last].Text = mark + l.Say(phrase.Text(english))
	}
	return s
}

// ScriptsOf is Scripts for a trace: one of a lab or a log brings its clients' own.
func ScriptsOf(l words.Language, sc *scenario.Scenario, h trace.Header) []Script {
	texts, theirs := h.Scripts()
	if !theirs {
		return Scripts(l, sc)
	}
	var list []Script
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, ownScript(name, texts[name]))
	}
	return list
}

// ownScript is somebody's own: it is not cached.
func ownScript(name, source string) Script {
	list := scan(source)
	return Script{Name: name, Lines: coloured(list), source: source, deciders: deciders(list)}
}

// Plain commands, written as a script.
const (
	beatSource = `SET(key, owner, 'PX', lease)`
	lookSource = `EXISTS(key)`
)

func plainScript(l words.Language, call, source string) Script {
	s := readScript(call, source)
	s.Plain = true
	s.Note = l.Say("No script: the lock sends its commands one by one, and other clients' commands can come between them.")
	if len(s.Lines) == 1 {
		s.Note = l.Say("No script: the call is a single command.")
	}
	return s
}

// read caches the scripts by name and source.
var read sync.Map

func readScript(name, source string) Script {
	key := [2]string{name, source}
	if s, ok := read.Load(key); ok {
		return s.(Script)
	}
	s := ownScript(name, source)
	read.Store(key, s)
	return s
}
