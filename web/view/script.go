package view

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// Script is what a call of a lock runs: one of its Lua scripts or, where it
// has none for the call, the commands that it sends one by one, written as a
// script would be. A lock that asks no Redis has one without lines.
type Script struct {
	Name  string // "lock.lua"; of plain commands the call, "lock"; or the lock
	Plain bool   // it is no script: its commands are sent one by one
	Note  string // what there is to say of it, or ""
	Lines []ScriptLine

	flow *flow
}

// ScriptLine is a line of a script.
type ScriptLine struct {
	Number int // from 1
	Tokens []Token
}

// Token is a piece of a line that is drawn in one colour.
type Token struct {
	Class string // "k" keyword, "f" function, "r" Redis command, "v" argument, "s" string, "m" number, "c" comment, or ""
	Text  string
}

// ScriptMoment is where one run of a script stands right after one of its
// commands. Line numbers are in order, each once.
type ScriptMoment struct {
	Script  string `json:"script"`
	Line    int    `json:"line"`    // line of the command that ran last, 0 if there is none or it is not known
	Ran     []int  `json:"ran"`     // lines whose commands have run
	Next    int    `json:"next"`    // line of the next command, 0 if there is none or it is not known
	Untaken []int  `json:"untaken"` // lines that this run of the script has passed by for certain
}

// At says where a run of s stands whose commands were ran, in their order, and
// whose next one is on the line next: 0 if there is none, or none is known.
// Over says that the run has ended with the last of ran.
//
// A line is untaken only if no way through the script with these commands and
// answers comes by it. What cannot be known (which of two branches without a
// command was taken, by an argument) is left open, and so is everything where a
// line is unknown, 0.
func (s Script) At(ran []Ran, next int, over bool) ScriptMoment {
	m := ScriptMoment{Script: s.Name, Ran: []int{}, Next: next, Untaken: []int{}}
	for _, one := range ran {
		m.Line = one.Line
		if one.Line > 0 {
			m.Ran = append(m.Ran, one.Line)
		}
	}
	seen := slices.Clone(ran)
	if next > 0 {
		seen, over = append(seen, Ran{Line: next}), false
	}
	if s.flow != nil && len(m.Ran) == len(ran) {
		m.Untaken = s.flow.passed(seen, over)
	}
	slices.Sort(m.Ran)
	m.Ran = slices.Compact(m.Ran)
	return m
}

// LineOf is the line of s that a command was on, 0 if that is not known.
func (s Script) LineOf(c trace.Command) int {
	if !s.Plain {
		return c.Line
	}
	for _, l := range s.flow.lines {
		if len(c.Args) > 0 && slices.Contains(l.commands, strings.ToUpper(c.Args[0])) {
			return l.number
		}
	}
	return 0
}

// scriptOf is the one of list that a command is part of.
func scriptOf(list []Script, c trace.Command) (Script, bool) {
	for _, s := range list {
		if s.Name == c.Script || c.Script == "" && s.Plain && s.Name == c.Call {
			return s, true
		}
	}
	return Script{}, false
}

// highlighted are the scripts of each lock in each language, once they were
// asked for: they never change.
var highlighted sync.Map //nolint:gochecknoglobals // a cache

// Scripts are what the calls of a scenario's lock run, lock first. The caller
// must not change them.
func Scripts(l words.Language, sc *scenario.Scenario) []Script {
	key := [3]string{l.Code(), sc.Kind, sc.Lock.Protocol}
	if made, ok := highlighted.Load(key); ok {
		return made.([]Script) //nolint:forcetypeassert // the only type there
	}
	made := scripts(l, sc)
	highlighted.Store(key, made)
	return made
}

func scripts(l words.Language, sc *scenario.Scenario) []Script {
	known := exhibit.Named(sc.Lock.Protocol)
	switch {
	case sc.Kind == scenario.KindHeartbeat:
		return []Script{plain(l, callBeat, beatSource), plain(l, callLook, lookSource)}
	case known.Guard == protocol.Nothing:
		return []Script{{Name: known.Name, Note: l.Say("Without a lock nothing is asked of Redis: there is no script to read.")}}
	case known.Guard == protocol.InProcess:
		return []Script{{Name: known.Name, Note: l.Say("A spin lock asks no Redis: it compares and swaps a word in the memory of its process.")}}
	}
	var list []Script
	if source := known.Plain[lock.CallLock]; source != "" {
		list = append(list, plain(l, lock.CallLock, source))
	}
	for _, s := range known.Scripts {
		list = append(list, readScript(s.Name, s.Source))
	}
	for _, call := range []string{lock.CallUnlock, lock.CallRenew} {
		if source := known.Plain[call]; source != "" {
			list = append(list, plain(l, call, source))
		}
	}
	return list
}

// What is sent without a script, written as one.
const (
	beatSource = `SET(key, owner, 'PX', lease)`
	lookSource = `EXISTS(key)`
)

func plain(l words.Language, call, source string) Script {
	s := readScript(call, source)
	s.Plain = true
	s.Note = l.Say("No script: the commands are sent one by one, and those of others can come between them.")
	if len(s.Lines) == 1 {
		s.Note = l.Say("No script: the call is a single command.")
	}
	return s
}

// read are the scripts that were read, by name and source.
var read sync.Map //nolint:gochecknoglobals // a cache of what is built in

func readScript(name, source string) Script {
	key := [2]string{name, source}
	if s, ok := read.Load(key); ok {
		return s.(Script) //nolint:forcetypeassert // only they are stored
	}
	s := Script{Name: name, Lines: highlight(source), flow: newFlow(source)}
	read.Store(key, s)
	return s
}

// lexer knows as much Lua as the scripts here are written in. Chroma's own
// lexer of Lua comes only with those of all other languages, which would be
// 5 MB of the program.
var lexer = sync.OnceValue(func() chroma.Lexer { //nolint:gochecknoglobals // built in
	return chroma.MustNewLexer(&chroma.Config{Name: "Lua"}, func() chroma.Rules {
		return chroma.Rules{"root": {
			{Pattern: `--[^\n]*`, Type: chroma.Comment},
			{Pattern: `(?<=redis\.call\()'[A-Z]+'`, Type: chroma.NameBuiltin},
			{Pattern: `[A-Z]{3,}(?=\()`, Type: chroma.NameBuiltin},
			{Pattern: `'[^'\n]*'`, Type: chroma.LiteralString},
			{Pattern: `\b(and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|return|then|true|while)\b`, Type: chroma.Keyword},
			{Pattern: `\b(KEYS|ARGV)\b`, Type: chroma.NameVariable},
			{Pattern: `[A-Za-z_][\w.]*(?=\()`, Type: chroma.NameFunction},
			{Pattern: `[A-Za-z_]\w*`, Type: chroma.Name},
			{Pattern: `\d+`, Type: chroma.LiteralNumber},
			{Pattern: `\s+`, Type: chroma.Text},
			{Pattern: `.`, Type: chroma.Punctuation},
		}}
	})
})

// class is what a kind of token is called in style sheets.
func class(t chroma.TokenType) string {
	switch t { //nolint:exhaustive // those that the lexer above makes
	case chroma.Comment:
		return "c"
	case chroma.Keyword:
		return "k"
	case chroma.NameFunction:
		return "f"
	case chroma.NameBuiltin:
		return "r"
	case chroma.NameVariable:
		return "v"
	case chroma.LiteralString:
		return "s"
	case chroma.LiteralNumber:
		return "m"
	default:
		return ""
	}
}

// highlight cuts a source into lines of tokens.
func highlight(source string) []ScriptLine {
	tokens, err := lexer().Tokenise(nil, strings.TrimSuffix(source, "\n"))
	if err != nil {
		panic("view: highlight: " + err.Error()) // the sources are built in
	}
	lines := []ScriptLine{{Number: 1}}
	for _, t := range tokens.Tokens() {
		for i, text := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines = append(lines, ScriptLine{Number: len(lines) + 1})
			}
			if text == "" {
				continue
			}
			line := &lines[len(lines)-1]
			if last := len(line.Tokens) - 1; last >= 0 && line.Tokens[last].Class == class(t.Type) {
				line.Tokens[last].Text += text
				continue
			}
			line.Tokens = append(line.Tokens, Token{class(t.Type), text})
		}
	}
	return slices.DeleteFunc(lines, func(l ScriptLine) bool { return l.Number == len(lines) && len(l.Tokens) == 0 })
}

// commandIn finds the commands in a line: in a script, or sent without one.
var commandIn = regexp.MustCompile(`redis\.call\('([A-Z]+)'|\b([A-Z]{3,})\(`)
