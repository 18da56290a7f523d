package film

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/parse"

	"relock/engine/interpreter"
	"relock/engine/trace"
)

// ScriptMoment is the position of a script's run right after one of its commands.
// Line numbers are sorted and unique.
type ScriptMoment struct {
	Script  string `json:"script"`
	Line    int    `json:"line"`    // line of the command that ran last, 0 if none or unknown
	Ran     []int  `json:"ran"`     // lines whose commands have run
	Next    int    `json:"next"`    // line of the next command, 0 if none or unknown
	Untaken []int  `json:"untaken"` // lines that this run does not reach, as far as that is known
}

// parts are a script's lines and what decides whether each was reached.
type parts struct {
	blank []bool // there is only a comment or nothing; by index
	// heads are lines that only close or separate blocks, each with the line that must
	// be reached for it to count as reached.
	heads map[int]int
}

// partsOf reads a script's lexemes.
func partsOf(source string, list []lexeme) parts {
	p := parts{blank: slices.Repeat([]bool{true}, strings.Count(source, "\n")+1), heads: map[int]int{}}
	var open []int // the lines of the blocks around
	first := 0     // the last line that a lexeme began
	for i, l := range list[:len(list)-1] {
		line := l.Pos.Line
		for n := range 1 + strings.Count(l.text, "\n") {
			p.blank[line-1+n] = false
		}
		begins := line > first
		first = max(first, line)
		switch l.Type {
		case parse.TIf, parse.TDo, parse.TRepeat:
			open = append(open, line)
		case parse.TFunction:
			open = append(open, bodyOf(list[i:]))
		case parse.TElse:
			if begins {
				p.heads[line] = list[i+1].Pos.Line // reached with what follows it
			}
		case parse.TEnd, parse.TUntil:
			if len(open) == 0 {
				return p
			}
			if begins {
				p.heads[line] = open[len(open)-1]
			}
			open = open[:len(open)-1]
		}
	}
	return p
}

// bodyOf is the line of the first statement in a function, which is reached when it is
// called.
func bodyOf(list []lexeme) int {
	for i, l := range list[:len(list)-1] {
		if l.text == ")" && i+1 < len(list)-1 {
			return list[i+1].Pos.Line
		}
	}
	return list[0].Pos.Line
}

// passed returns the lines that a run has not reached, with what belongs to them.
func (s Script) passed(path interpreter.Path) []int {
	out := make([]bool, len(s.parts.blank)+2) // by number
	for i, blank := range s.parts.blank {
		_, head := s.parts.heads[i+1]
		_, ran := slices.BinarySearch(path.Ran, i+1)
		_, not := slices.BinarySearch(path.Passed, i+1)
		out[i+1] = !blank && !head && !ran && (not || out[i]) // or it goes on with what is above
	}
	for n := len(s.parts.blank); n > 0; n-- {
		if of, ok := s.parts.heads[n]; ok {
			out[n] = out[of]
		} else if s.parts.blank[n-1] { // a comment belongs to what is below it
			out[n] = out[n+1]
		}
	}
	list := []int{}
	for n := range len(s.Lines) {
		if out[n+1] {
			list = append(list, n+1)
		}
	}
	return list
}

// LineOf returns the line of s that a command was on, 0 if unknown.
func (s Script) LineOf(c trace.Command) int {
	if !s.Plain {
		return c.Line
	}
	for _, l := range s.Lines {
		if l.sends(c.Arg(0)) {
			return l.Number
		}
	}
	return 0
}

// sends reports whether a line of plain commands has this one; with "", any.
func (l ScriptLine) sends(verb string) bool {
	return slices.ContainsFunc(l.Tokens, func(t ScriptToken) bool {
		return t.Class == "r" && (verb == "" || strings.EqualFold(t.Text, verb))
	})
}

// FindScript returns the script of list that a command belongs to.
func FindScript(list []Script, c trace.Command) (Script, bool) {
	for _, s := range list {
		if s.Name == c.Script || c.Script == "" && s.Plain && s.Name == c.Call {
			return s, true
		}
	}
	return Script{}, false
}

// luaMarks says where the scripts of a trace's calls stand. It is not safe for concurrent
// use.
type luaMarks struct {
	scripts []Script
	calls   map[calling]*underWay
	now     []*underWay // of the current row
	moments map[string]*ScriptMoment
	passed  map[string][]int // by what a call was and was answered: many are alike
	key     []byte           // of these
	left    int              // instructions of scripts that are run again
}

// calling is a thread in a call, of which it has one at a time. Its watchdog's
// are others, and so is what arrives late.
type calling struct {
	thread, call string
	late         bool
}

// underWay is how far a call has come in its script.
type underWay struct {
	script               Script
	level, attempt, node int
	eval                 *trace.Eval // nil where nobody noted it
	ran                  []trace.Command
	over                 bool // of plain commands: the call has its outcome
	before               int  // how many of ran are in earlier rows
	inside               []int
}

// mostRan is how many commands of a call are followed: a script of ours runs some
// dozens. It does not say where it is after that.
const mostRan = 256

// mostFollowed is how many instructions of scripts are run again for one film: those of
// some thousand calls.
const mostFollowed = 1 << 22

// mostPassed is how many runs of scripts are remembered: some kilobytes each.
const mostPassed = 1 << 10

func newLuaMarks(scripts []Script) *luaMarks {
	return &luaMarks{scripts: scripts, calls: map[calling]*underWay{}, moments: map[string]*ScriptMoment{}, passed: map[string][]int{}, left: mostFollowed}
}

// command takes a command that is shown at a place inside the current row.
func (m *luaMarks) command(thread string, b trace.Command, at int) {
	s, ok := FindScript(m.scripts, b)
	if !ok {
		return
	}
	who := calling{thread, b.Call, b.Late}
	u := m.calls[who]
	here := slices.Contains(m.now, u)
	if u == nil || b.Eval != nil || u.script.Name != s.Name || u.level != b.Level || u.attempt != b.Attempt || u.node != b.Node || (b.Late || !s.Plain) && !here {
		u, here = &underWay{script: s, level: b.Level, attempt: b.Attempt, node: b.Node, eval: b.Eval}, false
		m.calls[who] = u
	}
	if len(u.ran) == mostRan {
		return
	}
	if !here {
		u.before, u.inside = len(u.ran), nil
		m.now = append(m.now, u)
	}
	u.ran, u.inside = append(u.ran, b), append(u.inside, at)
}

// outcome ends a call: what its plain commands have passed by is certain now.
func (m *luaMarks) outcome(thread, call string) {
	who := calling{thread, call, false}
	if u := m.calls[who]; u != nil {
		u.over = true
	}
	delete(m.calls, who)
}

// mark puts the moments into the current row.
func (m *luaMarks) mark(row *Row) {
	last := -1
	for _, u := range m.now {
		untaken := m.untaken(u)
		lines := make([]int, len(u.ran))
		for i, c := range u.ran {
			lines[i] = u.script.LineOf(c)
		}
		for i, at := range u.inside {
			n := u.before + i
			one := ScriptMoment{Script: u.script.Name, Line: lines[n], Ran: []int{}, Untaken: untaken(n)}
			if n+1 < len(lines) {
				one.Next = lines[n+1]
			}
			one.Ran = append(one.Ran, lines[:n+1]...)
			slices.Sort(one.Ran)
			one.Ran = slices.DeleteFunc(slices.Compact(one.Ran), func(line int) bool { return line == 0 })
			row.Inside[at].Lua = m.one(one)
			if at > last {
				last, row.Lua = at, row.Inside[at].Lua
			}
		}
	}
}

// end ends the current row.
func (m *luaMarks) end() { m.now = nil }

// one is a moment like this: a script comes to the same few again and again.
func (m *luaMarks) one(of ScriptMoment) *ScriptMoment {
	key := appendTexts(m.key[:0], of.Script)
	for _, list := range [][]int{{of.Line, of.Next}, of.Ran, of.Untaken} {
		key = binary.AppendVarint(key, int64(len(list)))
		for _, n := range list {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	m.key = key
	if m.moments[string(key)] == nil {
		m.moments[string(key)] = &of
	}
	return m.moments[string(key)]
}

// untaken tells which lines a call does not reach, as known after the nth of its commands.
func (m *luaMarks) untaken(u *underWay) func(n int) []int {
	if u.script.Plain {
		return u.skipped
	}
	list := []int{}
	if u.eval != nil && len(u.ran) < mostRan {
		m.key = u.appendTo(m.key[:0])
		known, ok := m.passed[string(m.key)]
		if !ok {
			if known = m.follow(u); len(m.passed) == mostPassed {
				clear(m.passed)
			}
			m.passed[string(m.key)] = known
		}
		list = known
	}
	return func(int) []int { return list }
}

// follow runs the script of a call again, and returns the lines that it does not reach, none
// where that cannot be known.
func (m *luaMarks) follow(u *underWay) []int {
	if m.left <= 0 {
		return []int{}
	}
	answers := make([]interpreter.Answered, len(u.ran))
	for i, c := range u.ran {
		answers[i] = interpreter.Answered{Args: c.Args, Reply: c.Reply, Error: c.Error}
	}
	path, err := interpreter.Follow(u.script.source, u.eval.Keys, u.eval.Argv, answers)
	if m.left -= path.Steps; err != nil {
		return []int{}
	}
	return u.script.passed(path)
}

// appendTo appends what decides where a call's script goes to a map key.
func (u *underWay) appendTo(key []byte) []byte {
	key = appendTexts(appendTexts(appendTexts(key, u.script.Name), u.eval.Keys...), u.eval.Argv...)
	for _, c := range u.ran {
		key = appendValue(appendTexts(appendTexts(key, c.Args...), c.Error), c.Reply)
	}
	return key
}

func appendTexts(key []byte, list ...string) []byte {
	key = binary.AppendVarint(key, int64(len(list)))
	for _, s := range list {
		key = append(binary.AppendVarint(key, int64(len(s))), s...)
	}
	return key
}

func appendValue(key []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return binary.AppendVarint(append(key, 'i'), v)
	case string:
		return appendTexts(append(key, 's'), v)
	case []any:
		key = binary.AppendVarint(append(key, 'l'), int64(len(v)))
		for _, one := range v {
			key = appendValue(key, one)
		}
		return key
	default:
		return append(key, 'n')
	}
}

// skipped are the lines of plain commands, each of which has one, that have not run though
// a later one has, or though the call is over.
func (u *underWay) skipped(n int) []int {
	list, last := []int{}, 0
	for _, c := range u.ran[:n+1] {
		last = max(last, u.script.LineOf(c))
	}
	for _, l := range u.script.Lines {
		ran := slices.ContainsFunc(u.ran[:n+1], func(c trace.Command) bool { return u.script.LineOf(c) == l.Number })
		if l.sends("") && !ran && (l.Number < last || u.over && n == len(u.ran)-1) {
			list = append(list, l.Number)
		}
	}
	return list
}
