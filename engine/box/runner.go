package box

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Redis' name of a script
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"relock/engine/clock"
	"relock/engine/store"
)

// runner is the child's Redis, and its Lua. Each question gets an interpreter of
// its own. It is not safe for concurrent use.
type runner struct {
	redis     *store.Embedded
	listeners *store.Listeners
	compiled  map[string]compiled // by text
	size      int                 // bytes of these texts
	lib       library

	// of the question that is answered now
	session *store.Session
	sha     string
	ctx     context.Context // ends with the script's time
	end     func()          // of it
	fault   *Fault          // why it must end
	trace   string          // of the last error
	message string          // its text, or ""
	dice    dice
	deep    int // calls from Go into Lua
	steps   int // of its patterns

	addresses map[lua.LValue]int // of what was told of, in that order
}

// compiled is a text's code, or what is wrong with it.
type compiled struct {
	code  *lua.FunctionProto
	fault *Fault
}

// maxCompiled is how many bytes of texts are kept compiled. A judgement has a
// few scripts.
const maxCompiled = 4 << 20

func newRunner() *runner {
	lua.MaxArrayIndex = 1 << 20 // from there a table hashes: else t[2^26] = 1 is an array of a gigabyte
	redis := store.NewEmbedded(clock.Epoch)
	r := &runner{redis: redis, listeners: redis.NewListeners(), compiled: map[string]compiled{}}
	r.lib = r.library()
	return r
}

// Close ends the Redis.
func (r *runner) Close() error {
	r.listeners.Close()
	return r.redis.Close()
}

// chunk is how Redis calls a script in its errors.
const chunk = "user_script"

// compile returns a text's code. It fails with a *Fault.
func (r *runner) compile(text string) (*lua.FunctionProto, error) {
	c, ok := r.compiled[text]
	if !ok {
		if r.size+len(text) > maxCompiled {
			clear(r.compiled)
			r.size = 0
		}
		c.code, c.fault = compile(text)
		r.compiled[text] = c
		r.size += len(text)
	}
	if c.fault != nil {
		return nil, c.fault
	}
	return c.code, nil
}

func compile(text string) (code *lua.FunctionProto, fault *Fault) {
	defer func() {
		if p := recover(); p != nil { // the parser and the compiler give up by panics
			fault = &Fault{Kind: ErrSyntax, What: fmt.Sprint(p)}
		}
	}()
	tree, err := parse.Parse(strings.NewReader(text), chunk)
	if err != nil {
		return nil, syntax(text, err)
	}
	if line := adapt(tree); line > 0 {
		return nil, &Fault{Kind: ErrSyntax, Lines: Lines{line}, What: "Redis' Lua, 5.1, has no goto and no labels"}
	}
	if code, err = lua.Compile(tree, chunk); err != nil {
		return nil, syntax(text, err)
	}
	return code, nil
}

// syntax is what the parser or the compiler says, and where.
func syntax(text string, err error) *Fault {
	f := &Fault{Kind: ErrSyntax}
	var parsing *parse.Error
	var compiling *lua.CompileError
	switch {
	case errors.As(err, &parsing):
		f.What = parsing.Message
		if parsing.Token != "" {
			f.What += " near '" + parsing.Token + "'"
		}
		if parsing.Pos.Line > 0 { // at the end it is -1
			f.Lines = Lines{parsing.Pos.Line}
		} else {
			f.Lines = Lines{1 + strings.Count(strings.TrimRight(text, "\n"), "\n")}
			f.What += " at the end"
		}
	case errors.As(err, &compiling):
		f.What, f.Lines = compiling.Message, Lines{compiling.Line}
	default:
		f.What = err.Error()
	}
	if len(f.What) > 200 {
		f.What = strings.ToValidUTF8(f.What[:200], "") + "…"
	}
	return f
}

// adapt has each return keep its frame, and returns the line of the first goto or
// label, or 0: Lua 5.1 has neither.
func adapt(list []ast.Stmt) int {
	for _, s := range list {
		line := 0
		switch s := s.(type) {
		case *ast.GotoStmt, *ast.LabelStmt:
			line = max(s.Line(), 1)
		case *ast.DoBlockStmt:
			line = adapt(s.Stmts)
		case *ast.WhileStmt:
			line = max(adaptIn(s.Condition), adapt(s.Stmts))
		case *ast.RepeatStmt:
			line = max(adapt(s.Stmts), adaptIn(s.Condition))
		case *ast.IfStmt:
			line = max(adaptIn(s.Condition), adapt(s.Then), adapt(s.Else))
		case *ast.NumberForStmt:
			line = max(adaptIn(s.Init, s.Limit, s.Step), adapt(s.Stmts))
		case *ast.GenericForStmt:
			line = max(adaptIn(s.Exprs...), adapt(s.Stmts))
		case *ast.FuncDefStmt:
			line = adaptIn(s.Func)
		case *ast.AssignStmt:
			line = max(adaptIn(s.Lhs...), adaptIn(s.Rhs...))
		case *ast.LocalAssignStmt:
			line = adaptIn(s.Exprs...)
		case *ast.FuncCallStmt:
			line = adaptIn(s.Expr)
		case *ast.ReturnStmt:
			line = adaptIn(s.Exprs...)
			keepFrame(s)
		}
		if line > 0 {
			return line
		}
	}
	return 0
}

// keepFrame makes return redis.call(…) an ordinary call: a tail call would leave
// no frame, and the journal could not say on which line it is. It returns one
// value either way.
func keepFrame(s *ast.ReturnStmt) {
	if len(s.Exprs) != 1 {
		return
	}
	call, ok := s.Exprs[0].(*ast.FuncCallExpr)
	if !ok {
		return
	}
	if of, ok := call.Func.(*ast.AttrGetExpr); ok {
		if name, ok := of.Object.(*ast.IdentExpr); ok && name.Value == "redis" {
			call.AdjustRet = true
		}
	}
}

// adaptIn is adapt in the functions of expressions.
func adaptIn(list ...ast.Expr) int {
	for _, e := range list {
		line := 0
		switch e := e.(type) {
		case *ast.FunctionExpr:
			if e != nil {
				line = adapt(e.Stmts)
			}
		case *ast.FuncCallExpr:
			line = max(adaptIn(e.Func, e.Receiver), adaptIn(e.Args...))
		case *ast.TableExpr:
			for _, f := range e.Fields {
				line = max(line, adaptIn(f.Key, f.Value))
			}
		case *ast.AttrGetExpr:
			line = adaptIn(e.Object, e.Key)
		case *ast.LogicalOpExpr:
			line = adaptIn(e.Lhs, e.Rhs)
		case *ast.RelationalOpExpr:
			line = adaptIn(e.Lhs, e.Rhs)
		case *ast.StringConcatOpExpr:
			line = adaptIn(e.Lhs, e.Rhs)
		case *ast.ArithmeticOpExpr:
			line = adaptIn(e.Lhs, e.Rhs)
		case *ast.UnaryMinusOpExpr:
			line = adaptIn(e.Expr)
		case *ast.UnaryNotOpExpr:
			line = adaptIn(e.Expr)
		case *ast.UnaryLenOpExpr:
			line = adaptIn(e.Expr)
		}
		if line > 0 {
			return line
		}
	}
	return 0
}

// run answers a question. It fails with a *Fault.
func (r *runner) run(q Question) (Answer, error) {
	code, err := r.compile(q.Script)
	if err != nil {
		return Answer{}, err
	}
	if err := r.redis.Fill(q.Now, q.Items); err != nil {
		return Answer{}, fmt.Errorf("box: %w", err)
	}
	r.listeners.Set(q.Channels)
	sum := sha1.Sum([]byte(q.Script)) //nolint:gosec // Redis' name of a script
	r.session, r.sha, r.fault, r.trace, r.message, r.deep, r.steps = r.redis.NewSession(), hex.EncodeToString(sum[:]), nil, "", "", 0, 0
	r.addresses = map[lua.LValue]int{}

	ctx, end := context.WithCancel(context.Background())
	defer end()
	r.ctx, r.end = ctx, end
	stop := r.watch(end)
	a, err := r.eval(code, q.Keys, q.Args)
	stop()
	if r.fault != nil {
		return Answer{}, r.fault
	}
	if err != nil {
		return Answer{}, err
	}
	a.Lines = r.lines()
	if a.Items, err = r.redis.Contents(); err != nil {
		return Answer{}, &Fault{Kind: ErrContents, What: err.Error()}
	}
	return a, nil
}

// look is how often a script that runs on is looked at.
const look = 10 * time.Millisecond

// watch ends a script that has had its time. A busy machine takes none of it:
// what counts is what this process has run. It ends the process when its memory
// is used up, where the kernel does not. The returned function ends watching.
func (r *runner) watch(end func()) (stop func()) {
	began := processor()
	ready := make(chan struct{})
	var timer *time.Timer
	timer = time.AfterFunc(look, func() {
		<-ready
		if heap() > maxMemory {
			os.Exit(exitLarge)
		}
		if processor()-began > busy {
			end()
			return
		}
		timer.Reset(look)
	})
	close(ready)
	return func() { timer.Stop() }
}

// heap is how many bytes are in use.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// eval runs code in a new interpreter.
func (r *runner) eval(code *lua.FunctionProto, keys, args []string) (Answer, error) {
	l := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: maxCalls, MinimizeStackMemory: true,
		RegistrySize: 1 << 10, RegistryMaxSize: 1 << 18, RegistryGrowStep: 1 << 10,
	})
	defer l.Close()
	r.open(l, keys, args)
	l.SetContext(r.ctx)
	l.Push(l.NewFunctionFromProto(code))
	if err := l.PCall(0, 1, nil); err != nil {
		r.note(err)
		if r.ended() {
			return Answer{}, nil
		}
		return Answer{Err: cut(r.uncaught(thrown(err)), maxError)}, nil
	}
	out := replier{l: l, left: maxFrame}
	reply := out.value(l.Get(-1), 0)
	switch {
	case out.large:
		r.fault = &Fault{Kind: ErrTooLarge, What: "its reply"}
		return Answer{}, nil
	case out.failed != "":
		return Answer{Err: out.failed}, nil
	}
	return Answer{Reply: reply}, nil
}

// ended reports whether the script must end, whatever it has caught.
func (r *runner) ended() bool { return r.fault != nil || r.ctx.Err() != nil }

// positions are those of a traceback, or of an error's text.
var positions = regexp.MustCompile(`\b` + chunk + `:(\d+):`)

// note remembers where an error was raised: that of the clock, which a script
// must not catch, or the last of any other.
func (r *runner) note(err error) {
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		return
	}
	if r.ended() {
		if r.fault == nil {
			r.fault = &Fault{Kind: ErrEndless}
		}
		if r.fault.Lines == nil {
			r.fault.Lines = lines(raised.StackTrace)
		}
		return
	}
	r.trace, r.message = raised.StackTrace, ""
	if text, ok := raised.Object.(lua.LString); ok {
		r.message = cut(string(text), 200)
	}
}

// lines are those of the last error.
func (r *runner) lines() Lines {
	list := lines(r.trace)
	if at := lines(r.message); len(at) > 0 && !slices.Contains(list, at[0]) {
		list = slices.Insert(list, 0, at[0]) // error may have named one farther out
	}
	return list
}

func cut(text string, n int) string { return text[:min(n, len(text))] }

func lines(text string) (list Lines) {
	for _, m := range positions.FindAllStringSubmatch(text, 20) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// thrown is the value of an error.
func thrown(err error) lua.LValue {
	var raised *lua.ApiError
	if errors.As(err, &raised) && raised.Object != nil && raised.Object != lua.LNil {
		return raised.Object
	}
	if raised != nil && raised.Object == nil {
		return lua.LString(err.Error())
	}
	return lua.LNil
}

// uncaught is what Redis answers to an error that nobody caught.
func (r *runner) uncaught(v lua.LValue) string {
	at := ""
	if list := r.lines(); len(list) > 0 {
		at = fmt.Sprintf(" script: %s, on @%s:%d.", r.sha, chunk, list[0])
	}
	if t, ok := v.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return oneLine(string(text)) + at
		}
		return "ERR unknown error" + at
	}
	if s, ok := v.(lua.LString); ok {
		return oneLine("ERR "+string(s)) + at
	}
	return "ERR unknown error" + at
}

// maxError is how many bytes of an error are told.
const maxError = 64 << 10

// oneLine is a text as it can be on the wire.
func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

// replier turns what a script returns into a reply, as Redis does.
type replier struct {
	l      *lua.LState
	left   int    // bytes
	large  bool   // more than these, or too deep
	failed string // the error that a list begins with or a table is
}

func (p *replier) value(v lua.LValue, deep int) any {
	p.left -= 16
	if p.left < 0 || deep >= maxDeep {
		p.large = true
		return nil
	}
	switch v := v.(type) {
	case lua.LBool:
		if v {
			return int64(1)
		}
		return nil
	case lua.LNumber:
		return whole(v)
	case lua.LString:
		if p.left -= len(v); p.left < 0 {
			p.large = true
			return nil
		}
		return string(v)
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			if deep == 0 {
				p.failed = oneLine(cut(string(text), maxError))
				return nil
			}
			return p.value(lua.LString(oneLine(string(text))), deep+1)
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return p.value(lua.LString(oneLine(string(text))), deep+1)
		}
		list := []any{}
		for n := 1; !p.large; n++ {
			one := v.RawGetInt(n)
			if one == lua.LNil {
				break
			}
			list = append(list, p.value(one, deep+1))
		}
		return list
	default:
		return nil
	}
}

// whole cuts a number as C's cast does on the machines that Redis runs on.
func whole(n lua.LNumber) int64 {
	if math.IsNaN(float64(n)) || n >= 1<<63 || n < -1<<63 {
		return -1 << 63
	}
	return int64(n)
}

// do runs one command of the script, and returns Redis' answer as Lua has it, or
// Redis' error.
func (r *runner) do(l *lua.LState, args []string) (lua.LValue, string) {
	if refused(args) {
		return nil, "ERR This Redis command is not allowed from script"
	}
	if !r.redis.Knows(args[0]) {
		return nil, "ERR Unknown Redis command called from script"
	}
	if filled(args) > maxText {
		r.large(l, "a value in Redis")
	}
	raw := r.session.Do(args)
	if len(raw) > maxText {
		r.large(l, "a reply of Redis")
	}
	v, err := server.ParseReply(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		if strings.HasPrefix(err.Error(), "ERR wrong number of arguments") {
			return nil, "ERR Wrong number of args calling Redis command from script"
		}
		return nil, err.Error()
	}
	return received(l, v), ""
}

// filled is how many bytes a command fills up to the offset that it writes at: few
// bytes ask for many.
func filled(args []string) int64 {
	if len(args) < 3 {
		return 0
	}
	offset, _ := strconv.ParseInt(args[2], 10, 64) // what is no number Redis refuses
	switch strings.ToUpper(args[0]) {
	case "SETRANGE":
		return offset
	case "SETBIT":
		return offset / 8
	default:
		return 0
	}
}

// text is what pcall returns of an error: of a table of Redis' the error alone.
func text(v lua.LValue) lua.LValue {
	if t, ok := v.(*lua.LTable); ok {
		if failed, ok := t.RawGetString("err").(lua.LString); ok {
			return failed
		}
	}
	return v
}

// received is an answer of Redis as Lua has it.
func received(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case server.Simple:
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for n, one := range v {
			if s, ok := one.(server.Simple); ok {
				one = string(s)
			}
			t.RawSetInt(n+1, received(l, one))
		}
		return t
	default:
		return lua.LFalse
	}
}

// large ends the script for good.
func (r *runner) large(l *lua.LState, what string) {
	if r.fault == nil {
		r.fault = &Fault{Kind: ErrTooLarge, What: what}
		r.end()
	}
	l.RaiseError("%s is too large", what)
}
