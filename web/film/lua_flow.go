package film

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// flow is a script whose executions can be followed, to tell which of its lines
// cannot be reached given the commands that ran and their answers.
type flow struct {
	lines []codeLine
	body  []ast.Stmt
	// heads are the lines that only close or separate blocks, each with the
	// line that must be reached for it to count as reached.
	heads map[int]int
}

// codeLine is the code on a line.
type codeLine struct {
	number   int
	blank    bool     // there is only a comment or nothing
	commands []string // on this line
}

// newFlow parses a source and its lexemes. It panics if the source is not Lua:
// sources are built in, so that is a programming error.
func newFlow(source string, list []lexeme) *flow {
	body, err := parse.Parse(strings.NewReader(source), "script")
	if err != nil {
		panic("film: a script is not understood: " + err.Error())
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
		case l.Type == parse.TElse: // reached with what follows it
			f.heads[l.Pos.Line] = list[i+1].Pos.Line
		}
	}
	f.close(body)
	return f
}

// close records the ends of the blocks in a list.
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
					f.heads[fn.LastLine()] = fn.Stmts[0].Line() // reached when it is called
					f.close(fn.Stmts)
				}
			}
		}
	}
}
