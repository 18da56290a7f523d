package film

import (
	"encoding/binary"
	"slices"
	"strings"

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

// deciders has for each line, by its number, another that must be reached for it to count as reached,
// or 0 where its own statement tells, or what it goes on with.
func deciders(list []lexeme) []int {
	by := make([]int, list[len(list)-1].Line+1)
	for n := range by { // without a lexeme: a comment belongs to what is below it
		by[n] = n + 1
	}
	var open []int // those of the blocks around
	for i, l := range list[:len(list)-1] {
		of := 0
		switch l.Text {
		case "if", "do", "repeat":
			open = append(open, l.Line)
		case "function": // its first statement is reached when it is called
			open = append(open, list[i+1+slices.IndexFunc(list[i:], closes)].Line)
		case "else":
			of = list[i+1].Line
		case "end", "until":
			if len(open) == 0 {
				return by
			}
			of, open = open[len(open)-1], open[:len(open)-1]
		}
		if by[l.Line] == l.Line+1 { // it begins the line
			by[l.Line] = of
		}
		for n := range strings.Count(l.Text, "\n") {
			by[l.Line+n+1] = 0
		}
	}
	return by
}

// closes reports whether a lexeme ends what a function is given.
func closes(l lexeme) bool { return l.Text == ")" }

// passed returns the lines that a run has not reached, with what belongs to them.
func (s Script) passed(path interpreter.Path) []int {
	out := make([]bool, len(s.deciders)+1) // by number
	for n, other := range s.deciders {
		_, ran := slices.BinarySearch(path.Ran, n)
		_, not := slices.BinarySearch(path.Passed, n)
		out[n] = other == 0 && !ran && (not || out[n-1]) // or it goes on with what is above
	}
	for n, other := range slices.Backward(s.deciders) {
		if other > 0 {
			out[n] = out[other]
		}
	}
	list := []int{}
	for n, not := range out {
		if not && 0 < n && n <= len(s.Lines) {
			list = append(list, n)
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
