package interpreter

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
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
	Steps  int   // how many instructions it took, at most [MostSteps]
}

// ErrAstray is returned by Follow for a script that sends other commands than were
// answered, or that uses what it has not here.
var ErrAstray = errors.New("the script sends other commands")

// Bounds of Follow. Who sends a trace has written its scripts, and here they run in this
// process: what they can take is the product of these.
const (
	MostSteps        = 8 << 10  // instructions; the longest script of ours takes some hundreds
	maxFollowed      = 16 << 10 // bytes of the script, and of each text that goes in or is made
	maxIndex         = 4 << 10  // of a table: a list is as long as its last index
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
	c, err := compile(source{text: text, followed: true})
	if err != nil {
		return Path{}, err
	}
	r := interpreters.Get().(*Interpreter)
	defer interpreters.Put(r)
	r.begin(Script{Text: text})
	f := &following{Context: context.Background(), left: MostSteps, answers: answers, ran: map[int]bool{}}
	r.following, r.ctx, r.end, r.steps = f, f, func() { f.left = -1 }, Steps-followedSteps
	_, err = r.eval(c.code, keys, argv)
	p := Path{Steps: MostSteps - max(f.left, 0)}
	switch {
	case err != nil:
		return p, err
	case f.astray || len(f.answers) > 0:
		return p, ErrAstray
	case r.fault != nil:
		return p, r.fault
	}
	p.Ran = slices.Sorted(maps.Keys(f.ran))
	p.Passed = slices.DeleteFunc(slices.Clone(c.begun), func(line int) bool { return f.ran[line] })
	return p, nil
}

// following is a run that is followed. It is the run's context, which Lua asks before each
// instruction whether it is done.
type following struct {
	context.Context

	left    int        // instructions
	answers []Answered // that come next
	astray  bool
	ran     map[int]bool // lines
}

// over is the channel of a context that is done.
var over = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done counts an instruction.
func (f *following) Done() <-chan struct{} {
	if f.left--; f.left < 0 {
		return over
	}
	return nil
}

// Err tells whether there is no instruction left.
func (f *following) Err() error {
	if f.left < 0 {
		return context.Canceled
	}
	return nil
}

// answered is what the script's next command was answered, as Lua has it, or Redis' error.
func (r *Interpreter) answered(l *lua.LState, args []string) (lua.LValue, string) {
	f := r.following
	if len(f.answers) == 0 || !same(f.answers[0].Args, args) {
		return nil, r.stray(l)
	}
	a := f.answers[0]
	if f.answers = f.answers[1:]; a.Error != "" {
		return nil, a.Error
	}
	return recorded(l, a.Reply, isStatus(args[0], a.Reply)), ""
}

// stray ends a run that is not the recorded one.
func (r *Interpreter) stray(l *lua.LState) string {
	r.following.astray = true
	r.end()
	l.RaiseError("astray")
	return ""
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
func recorded(l *lua.LState, v any, status bool) lua.LValue {
	switch v := v.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		if status {
			t := l.CreateTable(0, 1)
			t.RawSetString("ok", lua.LString(v))
			return t
		}
		return lua.LString(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for n, one := range v {
			t.RawSetInt(n+1, recorded(l, one, false))
		}
		return t
	default:
		return lua.LFalse
	}
}

// longest is how many bytes one text has that a script makes.
func (r *Interpreter) longest() int {
	if r.following != nil {
		return maxFollowed
	}
	return maxText
}

// openFollowed gives a script that is followed what it is compiled with, and takes from
// it what its bounds do not hold for.
func (r *Interpreter) openFollowed(l *lua.LState) {
	global := l.G.Global
	for name, f := range map[string]lua.LGFunction{
		begunName: func(l *lua.LState) int { r.following.ran[l.CheckInt(1)] = true; return 0 },
		indexName: func(l *lua.LState) int {
			if n, ok := l.Get(1).(lua.LNumber); ok && n > maxIndex {
				r.large(l, "a table")
			}
			l.SetTop(1)
			return 1
		},
	} {
		global.RawSetString(name, l.NewFunction(f))
	}
	gone, none := l.NewTable(), l.NewFunction(func(l *lua.LState) int { r.stray(l); return 0 })
	gone.RawSetString("__index", none)
	gone.RawSetString("__call", none)
	for _, name := range []string{"rawset", "coroutine", "cjson", "cmsgpack", "struct"} {
		t := l.NewTable()
		t.Metatable = gone
		global.RawSetString(name, t)
	}
	insert := global.RawGetString("table").(*lua.LTable).RawGetString("insert").(*lua.LFunction).GFunction
	global.RawGetString("table").(*lua.LTable).RawSetString("insert", l.NewFunction(func(l *lua.LState) int {
		if n, ok := l.Get(2).(lua.LNumber); ok && l.GetTop() > 2 && n > maxIndex {
			r.large(l, "a table")
		}
		return insert(l)
	}))
}

// begin has each statement tell that it begins.
func (a *adapter) begin(list []ast.Stmt) []ast.Stmt {
	told := make([]ast.Stmt, 0, 2*len(list))
	for _, s := range list {
		a.begun = append(a.begun, s.Line())
		line := &ast.NumberExpr{Value: strconv.Itoa(s.Line())}
		line.SetLine(s.Line())
		tell := &ast.FuncCallStmt{Expr: through(begunName, s.Line(), line)}
		tell.SetLine(s.Line())
		told = append(told, tell, s)
	}
	return told
}

// bounded is an index of a table that is written to.
func (a *adapter) bounded(key ast.Expr) ast.Expr {
	if _, name := key.(*ast.StringExpr); !a.followed || key == nil || name {
		return key
	}
	return through(indexName, key.Line(), key)
}
