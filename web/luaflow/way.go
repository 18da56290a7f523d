package luaflow

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// passed are the lines that are on no way on which these commands ran: nothing
// else before them and, if over, nothing after.
func (f *flow) passed(seen []Ran, over bool) []int {
	w := way{flow: f, seen: seen, over: over}
	live := w.live()
	if live == nil && over {
		w.stopped = true
		live = w.live()
	}
	if live == nil {
		return []int{} // the commands are not this script's: nothing is known
	}
	out, following := []int{}, false
	for _, l := range slices.Backward(f.lines) {
		head, parts := f.heads[l.number]
		switch {
		case l.blank: // a comment goes with what it stands above
		case parts:
			following = !live[head]
		default:
			following = !live[l.number]
		}
		if following {
			out = append(out, l.number)
		}
	}
	slices.Reverse(out)
	return out
}

// way follows a script. Where a condition is not known it takes one of two
// ways, and live has it take all of them, one after the other.
type way struct {
	flow    *flow
	seen    []Ran
	over    bool // nothing ran after them
	stopped bool // and the script ended with the last of them: its client died

	choices []bool // at conditions that are not known, in their order
	chosen  int    // of them, on this way so far
	ran     int    // of seen
	steps   int
	lines   []bool // that it has come by, by number
	value   any    // that is returned
	is      stand
}

// stand is how far a way has come.
type stand int

const (
	going    stand = iota
	returned       // from the function, or the script
	ended          // it fits, and goes no further
	astray         // it is not the one that was taken
)

// Bounds of the search. A script that has more is said nothing of.
const (
	mostWays  = 4096
	mostSteps = 2048
)

// live are the lines of all ways that fit, or nil where there is none.
func (w *way) live() []bool {
	var live []bool
	w.choices = nil
	for range mostWays {
		w.chosen, w.ran, w.steps, w.is = 0, 0, 0, going
		w.lines = make([]bool, len(w.flow.lines)+1)
		w.block(w.flow.body, &scope{})
		if w.is != astray && w.ran == len(w.seen) {
			if live == nil {
				live = make([]bool, len(w.lines))
			}
			for i, on := range w.lines {
				live[i] = live[i] || on
			}
		}
		w.choices = w.choices[:w.chosen]
		for len(w.choices) > 0 && !w.choices[len(w.choices)-1] {
			w.choices = w.choices[:len(w.choices)-1]
		}
		if len(w.choices) == 0 {
			return live
		}
		w.choices[len(w.choices)-1] = false
	}
	return nil
}

// choose takes the way that is looked at: first every one that begins with
// true.
func (w *way) choose() bool {
	if w.chosen == len(w.choices) {
		w.choices = append(w.choices, true)
	}
	w.chosen++
	return w.choices[w.chosen-1]
}

// open tells whether what comes now is beyond what is known.
func (w *way) open() bool { return !w.over && w.ran == len(w.seen) }

// scope are the variables of a block.
type scope struct {
	outer *scope
	vars  map[string]any
}

func (s *scope) declare(name string, v any) {
	if s.vars == nil {
		s.vars = map[string]any{}
	}
	s.vars[name] = v
}

// set changes a variable where it was declared, if it was.
func (s *scope) set(name string, v any) {
	for ; s != nil; s = s.outer {
		if _, ok := s.vars[name]; ok {
			s.vars[name] = v
			return
		}
	}
}

func (s *scope) get(name string) any {
	for ; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return unknown{} // KEYS, ARGV, and what plain commands are given
}

func (w *way) block(list []ast.Stmt, s *scope) {
	for _, one := range list {
		if w.is != going {
			return
		}
		if w.steps++; w.steps > mostSteps {
			w.is = astray
			return
		}
		w.statement(one, s)
	}
}

func (w *way) statement(one ast.Stmt, s *scope) {
	w.lines[one.Line()] = true
	switch one := one.(type) {
	case *ast.LocalAssignStmt:
		w.locals(one, s)
	case *ast.AssignStmt:
		for i, v := range w.values(one.Rhs, len(one.Lhs), s) {
			if to, ok := one.Lhs[i].(*ast.IdentExpr); ok {
				s.set(to.Value, v)
			}
		}
	case *ast.FuncCallStmt:
		w.eval(one.Expr, s)
	case *ast.ReturnStmt:
		values := w.values(one.Exprs, len(one.Exprs), s)
		if w.is == going {
			w.is, w.value = returned, append(values, nil)[0]
		}
	case *ast.IfStmt:
		if w.holds(one.Condition, s) {
			w.block(one.Then, &scope{outer: s})
		} else {
			w.block(one.Else, &scope{outer: s})
		}
	case *ast.WhileStmt:
		w.loop(s, one.Stmts, func(int, *scope) bool { return w.holds(one.Condition, s) })
		if _, endless := one.Condition.(*ast.TrueExpr); endless && w.is == going {
			w.is = ended // it goes round again: see loop
		}
	case *ast.NumberForStmt:
		from, ok := w.eval(one.Init, s).(int)
		to, known := w.eval(one.Limit, s).(int)
		w.loop(s, one.Stmts, func(n int, inner *scope) bool {
			inner.declare(one.Name, from+n)
			return ok && known && from+n <= to
		})
	case *ast.GenericForStmt:
		w.loop(s, one.Stmts, func(int, *scope) bool { return w.choose() })
	default:
		panic(fmt.Sprintf("luaflow: line %d of a script is not understood: %T", one.Line(), one))
	}
}

// loop goes round as long as more says so. Beyond what is known it does so
// once: that shows every line.
func (w *way) loop(s *scope, body []ast.Stmt, more func(n int, inner *scope) bool) {
	for n := 0; w.is == going; n++ {
		inner := &scope{outer: s}
		open := w.open()
		if !more(n, inner) {
			return
		}
		if w.block(body, inner); open {
			return
		}
	}
}

// locals declares variables. Those called level and number are what the call
// is about, in every script, and known from its commands.
func (w *way) locals(one *ast.LocalAssignStmt, s *scope) {
	for i, v := range w.values(one.Exprs, len(one.Names), s) {
		if v == (unknown{}) && len(w.seen) > 0 {
			switch level := w.seen[0].level; {
			case one.Names[i] == "level" && level > 0:
				v = level
			case one.Names[i] == "number":
				v = 0 // see sinceCall
			}
		}
		s.declare(one.Names[i], v)
	}
}

// values are n values of a list of expressions.
func (w *way) values(list []ast.Expr, n int, s *scope) []any {
	values := make([]any, n)
	for i, e := range list {
		if v := w.eval(e, s); i < n {
			values[i] = v
		}
		if _, call := e.(*ast.FuncCallExpr); call && i == len(list)-1 {
			for j := i + 1; j < n; j++ {
				values[j] = unknown{}
			}
		}
	}
	return values
}

// holds tells whether a condition is true. Of a variable that is not known, it
// remembers which way was taken.
func (w *way) holds(e ast.Expr, s *scope) bool {
	switch v := w.eval(e, s).(type) {
	case nil:
		return false
	case bool:
		return v
	case unknown:
		yes := w.choose()
		if name, ok := e.(*ast.IdentExpr); ok {
			s.set(name.Value, map[bool]any{true: some{}, false: false}[yes])
		}
		return yes
	default:
		return true
	}
}

func (w *way) eval(e ast.Expr, s *scope) any {
	switch e := e.(type) {
	case *ast.NilExpr:
		return nil
	case *ast.TrueExpr:
		return true
	case *ast.FalseExpr:
		return false
	case *ast.StringExpr:
		return e.Value
	case *ast.NumberExpr:
		n, _ := strconv.Atoi(e.Value)
		return n
	case *ast.IdentExpr:
		return s.get(e.Value)
	case *ast.FunctionExpr:
		return function{e, s}
	case *ast.TableExpr:
		var list []any
		for _, one := range e.Fields {
			list = append(list, w.eval(one.Value, s))
		}
		return list
	case *ast.AttrGetExpr:
		return element(w.eval(e.Object, s), w.eval(e.Key, s))
	case *ast.FuncCallExpr:
		return w.call(e, s)
	case *ast.LogicalOpExpr:
		if yes := w.holds(e.Lhs, s); yes == (e.Operator == "or") {
			return yes
		}
		return w.eval(e.Rhs, s)
	case *ast.UnaryNotOpExpr:
		return !w.holds(e.Expr, s)
	case *ast.UnaryLenOpExpr:
		if list, ok := w.eval(e.Expr, s).([]any); ok {
			return len(list)
		}
		return unknown{}
	case *ast.UnaryMinusOpExpr:
		return arithmetic("-", 0, w.eval(e.Expr, s))
	case *ast.ArithmeticOpExpr:
		return arithmetic(e.Operator, w.eval(e.Lhs, s), w.eval(e.Rhs, s))
	case *ast.RelationalOpExpr:
		return compared(e.Operator, w.eval(e.Lhs, s), w.eval(e.Rhs, s))
	case *ast.StringConcatOpExpr:
		w.eval(e.Lhs, s)
		w.eval(e.Rhs, s)
		return some{}
	default:
		panic(fmt.Sprintf("luaflow: line %d of a script is not understood: %T", e.Line(), e))
	}
}

// function is a function of a script's own.
type function struct {
	*ast.FunctionExpr

	scope *scope // where it was made
}

func (w *way) call(e *ast.FuncCallExpr, s *scope) any {
	args := w.values(e.Args, len(e.Args), s)
	name := ""
	switch f := e.Func.(type) {
	case *ast.IdentExpr:
		name = f.Value
	case *ast.AttrGetExpr:
		if object, ok := f.Object.(*ast.IdentExpr); ok && object.Value == "redis" {
			return w.command(e.Line())
		}
	}
	own, ok := s.get(name).(function)
	switch {
	case w.is != going:
		return unknown{}
	case ok:
		inner := &scope{outer: own.scope}
		for i, name := range own.ParList.Names {
			inner.declare(name, append(args, nil)[min(i, len(args))])
		}
		w.value = nil
		if w.block(own.Stmts, inner); w.is == returned {
			w.is = going
		}
		return w.value
	case name == "tonumber" && len(args) > 0:
		return numeric(args[0])
	case isCommand(name):
		return w.command(e.Line())
	default:
		return unknown{}
	}
}

// command is one on a line, which must be the next that ran.
func (w *way) command(line int) any {
	switch {
	case w.is != going, w.open():
		return unknown{}
	case w.ran == len(w.seen) || w.seen[w.ran].Line != line:
		w.is = astray
		return unknown{}
	}
	one := w.seen[w.ran]
	w.ran++
	if last := w.ran == len(w.seen); one.failed || w.stopped && last {
		w.is = map[bool]stand{true: ended, false: astray}[last]
	}
	if !one.heard {
		return unknown{}
	}
	return one.answer
}
