package luaflow

import (
	"regexp"
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

// codeLine is a line without its comment.
type codeLine struct {
	number   int
	text     string   // "" where there is only a comment
	commands []string // that are on it
}

// newFlow reads a source. One that is no Lua is a programming error, as the
// sources are built in, and panics.
func newFlow(source string) *flow {
	body, err := parse.Parse(strings.NewReader(source), "script")
	if err != nil {
		panic("luaflow: a script is not understood: " + err.Error())
	}
	f := &flow{body: body, heads: map[int]int{}}
	elses := 0 // without a statement yet
	for i, text := range strings.Split(strings.TrimSuffix(source, "\n"), "\n") {
		l := newCodeLine(i+1, text)
		f.lines = append(f.lines, l)
		switch {
		case l.text == "":
		case elses > 0:
			f.heads[elses], elses = l.number, 0
		}
		if l.text == "else" {
			elses = l.number
		}
	}
	f.close(body)
	return f
}

func newCodeLine(number int, text string) codeLine {
	text, _, _ = strings.Cut(text, "--")
	l := codeLine{number: number, text: strings.TrimSpace(text)}
	for _, m := range commandIn.FindAllStringSubmatch(l.text, -1) {
		l.commands = append(l.commands, m[1]+m[2]) // one of them is empty
	}
	return l
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

// commandIn finds the commands in a line: in a script, or sent without one.
var commandIn = regexp.MustCompile(`redis\.call\('([A-Z]+)'|\b([A-Z]{3,})\(`)
