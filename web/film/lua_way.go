package film

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// passed returns the lines that no execution with exactly these commands can
// have reached. If over, nothing ran after them.
func (f *flow) passed(seen []Ran, over bool) []int {
	w := way{flow: f, seen: seen, over: over}
	live := w.live()
	if live == nil && over {
		w.stopped = true
		live = w.live()
	}
	if live == nil {
		return []int{} // not this script's commands: nothing is known
	}
	out, following := []int{}, false
	for _, l := range slices.Backward(f.lines) {
		head, parts := f.heads[l.number]
		switch {
		case l.blank: // a comment belongs to what is below it
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

// way is one execution of a script. At a condition of unknown value it takes
// one branch; live makes it take all of them in turn.
type way struct {
	flow    *flow
	seen    []Ran
	over    bool // nothing ran after them
	stopped bool // the script ended with the last command, because its client died

	choices []bool // at conditions of unknown value, in order
	chosen  int    // how many were used so far
	ran     int    // how many of seen have run
	steps   int
	lines   []bool // reached lines, by number
	value   any    // the value returned
	is      stand
}

// stand is the state of an execution.
type stand int

const (
	going    stand = iota
	returned       // from the function or the script
	ended          // fits the commands, and goes no further
	astray         // does not fit the commands
)

// Bounds of the search. It says nothing about a script that exceeds them.
const (
	mostWays  = 4096
	mostSteps = 2048
)

// live returns the lines reached by any execution that fits, or nil if none
// does.
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

// choose returns the branch to take at an unknown condition: at first always
// true.
func (w *way) choose() bool {
	if w.chosen == len(w.choices) {
		w.choices = append(w.choices, true)
	}
	w.chosen++
	return w.choices[w.chosen-1]
}

// open reports whether the execution is past the known commands.
func (w *way) open() bool { return !w.over && w.ran == len(w.seen) }

// scope holds the variables of a block.
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

// set assigns to a variable where it was declared, if anywhere.
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
	return unknown{} // KEYS, ARGV, and arguments of plain commands
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
			w.is = ended // the loop continues: see loop
		}
	case *ast.NumberForStmt:
		from, ok := w.eval(one.Init, s).(int)
		to, known := w.eval(one.Limit, s).(int)
		step, even := 1, true
		if one.Step != nil {
			step, even = w.eval(one.Step, s).(int)
		}
		w.loop(s, one.Stmts, func(n int, inner *scope) bool {
			at := from + n*step
			inner.declare(one.Name, at)
			return ok && known && even && at <= to
		})
	case *ast.GenericForStmt:
		w.loop(s, one.Stmts, func(int, *scope) bool { return w.choose() })
	default:
		panic(fmt.Sprintf("film: line %d of a script is not understood: %T", one.Line(), one))
	}
}

// loop repeats while more says so. Past the known commands once is enough: that
// shows every line.
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

// locals declares variables. In every script, level, number and rest, the level
// that is left, describe the call and are known from its commands.
func (w *way) locals(one *ast.LocalAssignStmt, s *scope) {
	for i, v := range w.values(one.Exprs, len(one.Names), s) {
		if v == (unknown{}) && len(w.seen) > 0 {
			switch level := w.seen[0].level; {
			case one.Names[i] == "level" && level > 0:
				v = level
			case one.Names[i] == "rest" && level > 0:
				v = level - 1
			case one.Names[i] == "number":
				v = 0 // see sinceCall
			}
		}
		s.declare(one.Names[i], v)
	}
}

// values returns n values of a list of expressions.
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

// holds evaluates a condition. For an unknown variable it remembers the branch
// taken.
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
		panic(fmt.Sprintf("film: line %d of a script is not understood: %T", e.Line(), e))
	}
}

// function is a function defined by a script.
type function struct {
	*ast.FunctionExpr

	scope *scope // where it was defined
}

func (w *way) call(e *ast.FuncCallExpr, s *scope) any {
	args := w.values(e.Args, len(e.Args), s)
	name := ""
	switch f := e.Func.(type) {
	case *ast.IdentExpr:
		name = f.Value
	case *ast.AttrGetExpr:
		object, _ := f.Object.(*ast.IdentExpr)
		key, _ := f.Key.(*ast.StringExpr)
		if object != nil && key != nil {
			name = object.Value + "." + key.Value
		}
		if object != nil && object.Value == "redis" {
			return w.command(e.Line(), name == "redis.pcall")
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
	case name == "type" && len(args) > 0:
		return kind(args[0])
	case name == "string.match" && len(args) > 1 && args[1] == "^%d+":
		return args[0] // a number of a call, see sinceCall
	case isCommand(name):
		return w.command(e.Line(), false)
	default:
		return unknown{}
	}
}

// command runs a command on a line, which must be the next one that ran. If its error is
// caught, the script goes on, and has it as a table.
func (w *way) command(line int, caught bool) any {
	switch {
	case w.is != going, w.open():
		return unknown{}
	case w.ran == len(w.seen) || w.seen[w.ran].Line != line:
		w.is = astray
		return unknown{}
	}
	one := w.seen[w.ran]
	w.ran++
	if last := w.ran == len(w.seen); one.failed && !caught || w.stopped && last {
		w.is = map[bool]stand{true: ended, false: astray}[last]
	}
	switch {
	case !one.heard:
		return unknown{}
	case one.failed:
		return []any{}
	default:
		return one.answer
	}
}
