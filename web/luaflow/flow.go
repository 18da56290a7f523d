package luaflow

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// flow is a script that can be followed: it tells which of its lines belong to
// no way on which these commands ran with these answers.
type flow struct {
	lines []codeLine
	body  []ast.Stmt
	// heads are the lines that only close or part blocks, each with the line
	// that must be on a way for it to count.
	heads map[int]int
}

// codeLine is what is on a line, but for its comment.
type codeLine struct {
	number   int
	blank    bool     // there is nothing else
	commands []string // that are on it
}

// newFlow reads a source that was cut into lexemes. One that is no Lua is a
// programming error, as the sources are built in, and panics.
func newFlow(source string, list []lexeme) *flow {
	body, err := parse.Parse(strings.NewReader(source), "script")
	if err != nil {
		panic("luaflow: a script is not understood: " + err.Error())
	}
	f := &flow{body: body, heads: map[int]int{}}
	for range strings.Lines(source) {
		f.lines = append(f.lines, codeLine{number: len(f.lines) + 1, blank: true})
	}
	for i, l := range list[:len(list)-1] {
		line := &f.lines[l.Pos.Line-1]
		line.blank = false
		switch {
		case l.class == "r":
			line.commands = append(line.commands, l.Str)
		case l.Type == parse.TElse: // it counts with what follows it
			f.heads[l.Pos.Line] = list[i+1].Pos.Line
		}
	}
	f.close(body)
	return f
}

// close notes the ends of the blocks of a list.
func (f *flow) close(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IfStmt:
			f.heads[s.LastLine()] = s.Line()
			f.close(s.Then)
			f.close(s.Else)
		case *ast.WhileStmt:
			f.heads[s.LastLine()] = s.Line()
			f.close(s.Stmts)
		case *ast.NumberForStmt:
			f.heads[s.LastLine()] = s.Line()
			f.close(s.Stmts)
		case *ast.GenericForStmt:
			f.heads[s.LastLine()] = s.Line()
			f.close(s.Stmts)
		case *ast.LocalAssignStmt:
			for _, e := range s.Exprs {
				if fn, ok := e.(*ast.FunctionExpr); ok {
					f.heads[fn.LastLine()] = fn.Stmts[0].Line() // it ends where it was called
					f.close(fn.Stmts)
				}
			}
		}
	}
}
