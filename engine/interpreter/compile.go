package interpreter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Chunk is how Redis calls a script in its errors.
const Chunk = "user_script"

// known are the texts that were compiled. Code is shared by all interpreters: it does
// not change when it runs.
var known = struct {
	sync.Mutex

	compiled map[source]compiled
	size     int // bytes of the texts
}{compiled: map[source]compiled{}}

// source is a text, and how it is compiled.
type source struct {
	text     string
	framed   bool
	followed bool // it says which of its statements begin
}

// compiled is a text's code, or what is wrong with it.
type compiled struct {
	code  *lua.FunctionProto
	begun []int // lines on which statements begin, sorted, of code that is followed
	fault *Fault
}

// maxCompiled is how many bytes of texts are kept compiled. A scenario has a few
// scripts.
const maxCompiled = 4 << 20

// Check compiles a text. It fails with a [*Fault] of ErrSyntax. It is safe for
// concurrent use.
func Check(text string) error {
	_, err := compile(source{text: text})
	return err
}

// compile returns a text's code. It fails with a *Fault.
func compile(s source) (compiled, error) {
	known.Lock()
	defer known.Unlock()
	c, ok := known.compiled[s]
	if !ok {
		if known.size+len(s.text) > maxCompiled {
			clear(known.compiled)
			known.size = 0
		}
		c = s.compile()
		known.compiled[s] = c
		known.size += len(s.text)
	}
	if c.fault != nil {
		f := *c.fault
		return compiled{}, &f
	}
	return c, nil
}

func (s source) compile() (c compiled) {
	defer func() {
		if p := recover(); p != nil { // the parser and the compiler give up by panics
			c = compiled{fault: &Fault{Kind: ErrSyntax, What: fmt.Sprint(p)}}
		}
	}()
	tree, err := parse.Parse(strings.NewReader(s.text), Chunk)
	if err != nil {
		return compiled{fault: syntax(s.text, err)}
	}
	a := &adapter{source: s}
	if line := a.list(&tree); line > 0 {
		return compiled{fault: &Fault{Kind: ErrSyntax, Lines: Lines{line}, What: "Redis' Lua, 5.1, has no goto and no labels"}}
	}
	slices.Sort(a.begun)
	c.begun = slices.Compact(a.begun)
	if c.code, err = lua.Compile(tree, Chunk); err != nil {
		return compiled{fault: syntax(s.text, err)}
	}
	return c
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

// adapter makes Lua 5.1 of what gopher-lua has parsed.
type adapter struct {
	source
	begun []int // lines on which statements begin
}

// list adapts statements, and returns the line of the first goto or label, or 0: Lua
// 5.1 has neither.
func (a *adapter) list(list *[]ast.Stmt) int {
	for _, s := range *list {
		line := 0
		switch s := s.(type) {
		case *ast.GotoStmt, *ast.LabelStmt:
			line = max(s.Line(), 1)
		case *ast.DoBlockStmt:
			line = a.list(&s.Stmts)
		case *ast.WhileStmt:
			line = max(a.in(s.Condition), a.list(&s.Stmts))
		case *ast.RepeatStmt:
			line = max(a.list(&s.Stmts), a.in(s.Condition))
		case *ast.IfStmt:
			line = max(a.in(s.Condition), a.list(&s.Then), a.list(&s.Else))
		case *ast.NumberForStmt:
			line = max(a.in(s.Init, s.Limit, s.Step), a.list(&s.Stmts))
		case *ast.GenericForStmt:
			line = max(a.in(s.Exprs...), a.list(&s.Stmts))
		case *ast.FuncDefStmt:
			line = a.in(s.Func)
		case *ast.AssignStmt:
			line = max(a.in(s.Lhs...), a.in(s.Rhs...))
			for _, to := range s.Lhs {
				if to, ok := to.(*ast.AttrGetExpr); ok {
					to.Key = a.bounded(to.Key)
				}
			}
		case *ast.LocalAssignStmt:
			line = a.in(s.Exprs...)
		case *ast.FuncCallStmt:
			line = a.in(s.Expr)
		case *ast.ReturnStmt:
			line = a.in(s.Exprs...)
			if a.framed {
				keepFrame(s)
			}
		}
		if line > 0 {
			return line
		}
	}
	if a.followed {
		*list = a.begin(*list)
	}
	return 0
}

// keepFrame makes return redis.call(…) an ordinary call: a tail call would leave
// no frame, and nobody could say on which line it is. It returns one value either
// way.
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

// in is list for the functions in expressions.
func (a *adapter) in(list ...ast.Expr) int {
	for _, e := range list {
		line := 0
		switch e := e.(type) {
		case *ast.FunctionExpr:
			if e != nil {
				line = a.list(&e.Stmts)
			}
		case *ast.FuncCallExpr:
			line = max(a.in(e.Func, e.Receiver), a.in(e.Args...))
		case *ast.TableExpr:
			for _, f := range e.Fields {
				line = max(line, a.in(f.Key, f.Value))
				f.Key = a.bounded(f.Key)
			}
		case *ast.AttrGetExpr:
			line = a.in(e.Object, e.Key)
		case *ast.LogicalOpExpr:
			line = a.in(e.Lhs, e.Rhs)
		case *ast.RelationalOpExpr:
			line = a.in(e.Lhs, e.Rhs)
		case *ast.StringConcatOpExpr:
			line = a.in(e.Lhs, e.Rhs)
			e.Lhs, e.Rhs = joined(e.Lhs), joined(e.Rhs)
		case *ast.ArithmeticOpExpr:
			line = a.in(e.Lhs, e.Rhs)
		case *ast.UnaryMinusOpExpr:
			line = a.in(e.Expr)
		case *ast.UnaryNotOpExpr:
			line = a.in(e.Expr)
		case *ast.UnaryLenOpExpr:
			line = a.in(e.Expr)
		}
		if line > 0 {
			return line
		}
	}
	return 0
}

// Globals by which a number becomes the text that .. joins, a statement tells that it
// begins, and an index is bounded. No script can write them.
const (
	joinedName = "\x00joined"
	begunName  = "\x00begun"
	indexName  = "\x00index"
)

// joined is an operand of .. that is a text if it is a number: gopher-lua would
// write it in full, and Lua with 14 digits.
func joined(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return e
	}
	return through(joinedName, e.Line(), e)
}

// through calls one of the globals above, as on a line.
func through(global string, line int, arg ast.Expr) *ast.FuncCallExpr {
	name := &ast.IdentExpr{Value: global}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{arg}, AdjustRet: true}
	for _, at := range []ast.PositionHolder{name, call} {
		at.SetLine(line)
		at.SetLastLine(line)
	}
	return call
}

// join is the function of that name.
func (r *Interpreter) join(l *lua.LState) int {
	v := l.Get(1)
	if n, ok := v.(lua.LNumber); ok {
		v = lua.LString(number(n, digitsOfText))
	}
	if text, ok := v.(lua.LString); ok && r.following != nil && len(text) > maxFollowed {
		r.large(l, "a text of ..")
	}
	l.Push(v)
	return 1
}
