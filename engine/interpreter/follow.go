package interpreter

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Answered is a command of a script, and what Redis answered.
type Answered struct {
	Args  []string
	Reply any    // nil, int64, string, or a list of these
	Error string // Redis', or ""
}

// Path is where a run of a script went. A line is in neither list if no statement begins
// on it: it has a comment, closes a block, or goes on with what is above.
type Path struct {
	Ran    []int // lines on which a statement began, sorted
	Passed []int // lines on which no statement began that could have, sorted
	Steps  int   // how many it took, at most [MostSteps]
}

// ErrAstray is returned by Follow for a script that sends other commands than were
// answered, or that uses what it has not here.
var ErrAstray = errors.New("the script sends other commands")

// Bounds of Follow. Who sends a trace has written its scripts, and here they run in this
// process: what they can take is the product of these.
const (
	MostSteps        = 8 << 10  // statements, calls, turns of loops; the longest script of ours takes some hundreds
	maxFollowed      = 16 << 10 // bytes of the script, and of each text that goes in or is made
	maxFollowedCalls = 64       // of Lua in Lua
)

// followedSteps are of the patterns of a script that is followed.
const followedSteps = 64 << 10

// interpreters are those that follow.
var interpreters = sync.Pool{New: func() any { return New() }}

// Follow runs a script again on its recorded answers, which it does not change. It fails
// with ErrAstray, and with a [*Fault] where the script does not compile or takes too
// much. It is safe for concurrent use.
func Follow(text string, keys, argv []string, answers []Answered) (Path, error) {
	long := func(s string) bool { return len(s) > maxFollowed }
	if long(text) || slices.ContainsFunc(keys, long) || slices.ContainsFunc(argv, long) {
		return Path{}, &Fault{Kind: ErrTooLarge}
	}
	c, err := compile(source{text: text})
	if err != nil {
		return Path{}, err
	}
	r := interpreters.Get().(*Interpreter)
	defer interpreters.Put(r)
	r.begin(Script{Text: text})
	f := &following{answers: answers, ran: map[int]bool{}}
	r.following, r.left, r.steps = f, MostSteps, Steps-followedSteps
	r.eval(c.code, keys, argv)
	p := Path{Steps: MostSteps - max(r.left, 0)}
	switch {
	case f.astray || len(f.answers) > 0:
		return p, ErrAstray
	case r.fault != nil:
		return p, r.fault
	}
	p.Ran = slices.Sorted(maps.Keys(f.ran))
	p.Passed = slices.DeleteFunc(slices.Clone(c.begun), func(line int) bool { return f.ran[line] })
	return p, nil
}

// following is a run that is followed.
type following struct {
	answers []Answered // that come next
	astray  bool
	ran     map[int]bool // lines
}

// answered is what the script's next command was answered, as Lua has it, or Redis' error.
func (r *Interpreter) answered(args []string) (value, string) {
	f := r.following
	if len(f.answers) == 0 || !same(f.answers[0].Args, args) {
		f.astray = true
		r.stop(&Fault{Kind: ErrAstray})
	}
	a := f.answers[0]
	if f.answers = f.answers[1:]; a.Error != "" {
		return nil, a.Error
	}
	return r.recorded(a.Reply, isStatus(args[0], a.Reply)), ""
}

// same reports whether a command is the recorded one, whose numbers may be written
// otherwise.
func same(recorded, args []string) bool {
	return slices.EqualFunc(recorded, args, func(a, b string) bool {
		if a == b {
			return true
		}
		m, ok := parsed(a)
		n, too := parsed(b)
		return ok && too && number(m, digitsOfText) == number(n, digitsOfText)
	})
}

// isStatus reports whether Redis answered with a status, which a record has as a text.
func isStatus(verb string, reply any) bool {
	switch strings.ToUpper(verb) {
	case "TYPE":
		return true
	case "GET", "GETDEL", "GETEX", "GETSET", "HGET", "LINDEX", "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "LMOVE", "RPOPLPUSH", "GETRANGE", "SUBSTR", "ECHO":
		return false
	default:
		return reply == "OK" || reply == "PONG"
	}
}

// recorded is a recorded answer as Lua has it.
func (r *Interpreter) recorded(v any, status bool) value {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case string:
		if status {
			return r.status(v)
		}
		return v
	case []any:
		t := r.newTable(len(v), 0)
		for n, one := range v {
			t.setAt(n+1, r.recorded(one, false))
		}
		return t
	default:
		return false
	}
}
