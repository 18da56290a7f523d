package interpreter

import (
	"fmt"
	"slices"
)

// Bounds of a text, as in Lua 5.1.
const (
	maxNested   = 200 // of syntax
	maxLocals   = 200 // of a function
	maxUpvalues = 60
)

// code is a function's.
type code struct {
	chunk    string
	line     int // where it begins; 0 of a whole text
	params   []*variable
	slots    int // of its variables
	dots     bool
	arg      *variable // the table of further arguments
	named    bool      // by ..., and so there is no such table
	body     []statement
	upvalues []upvalue
	weight   int // how deep its syntax is nested
}

// upvalue is where a function finds a variable of those around it.
type upvalue struct {
	name  string
	local *variable // of the function around it; or nil
	outer int       // an upvalue of that function
}

// variable is a local one.
type variable struct {
	name     string
	slot     int
	captured bool // by a function within: it is in a cell
}

// statement is one, and the line on which it begins.
type statement struct {
	line int
	do   doer
}

// scope is a function that is being read.
type scope struct {
	*code

	around *scope
	active []*variable
	zeros  []*constant // one is written for all: the first, as 0 is -0
	loops  int
	elses  int // that are open
	depth  int
}

// parser reads a text, and makes of it what runs.
type parser struct {
	reader

	token, ahead token
	looked       bool
	last         int // line of the token before
	scope        *scope
	framed       bool
	begun        []int // lines on which statements begin
}

// read reads a text. It gives up by a panic with a mistake.
func read(text, chunk string, framed bool) (*code, []int) {
	p := &parser{reader: reader{text: text, line: 1, chunk: chunk}, framed: framed}
	p.scope = &scope{code: &code{chunk: chunk, dots: true}}
	p.advance()
	p.scope.body = p.block()
	p.scope.unite()
	if p.token.kind != atEnd {
		p.expected(atEnd)
	}
	slices.Sort(p.begun)
	return p.scope.code, slices.Compact(p.begun)
}

func (p *parser) advance() {
	p.last = p.token.line
	if p.looked {
		p.token, p.looked = p.ahead, false
		return
	}
	p.token = p.next()
}

// lookAhead is the token behind this one.
func (p *parser) lookAhead() token {
	if !p.looked {
		p.ahead, p.looked = p.next(), true
	}
	return p.ahead
}

// near fails at the token.
func (p *parser) near(what string) {
	p.line = p.token.line
	p.fail(what, p.shown(p.token))
}

func (p *parser) expected(kind string) { p.near("'" + kind + "' expected") }

func (p *parser) is(kind string) bool { return p.token.kind == kind }

// take passes a token if it is of a kind.
func (p *parser) take(kind string) bool {
	if p.token.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) check(kind string) {
	if !p.take(kind) {
		p.expected(kind)
	}
}

// closing passes the token that ends what another has begun.
func (p *parser) closing(kind, what string, line int) {
	if p.take(kind) {
		return
	}
	if line == p.token.line {
		p.expected(kind)
	}
	p.near(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", kind, what, line))
}

func (p *parser) name() string {
	if !p.is(KindName) {
		p.expected(KindName)
	}
	name := p.token.text
	p.advance()
	return name
}

// deeper counts what is nested; the returned function ends it.
func (p *parser) deeper() func() {
	s := p.scope
	if s.depth++; s.depth > maxNested {
		p.near("chunk has too many syntax levels")
	}
	p.heavy(0)
	return func() { s.depth-- }
}

// heavy notes that so much is nested here without being so in the text, as in 1 + 1 + 1.
func (p *parser) heavy(n int) { p.scope.weight = max(p.scope.weight, p.scope.depth+n) }

// declare makes a variable, which is not active yet.
func (p *parser) declare(name string) *variable { return &variable{name: name, slot: -1} }

func (p *parser) activate(list ...*variable) {
	s := p.scope
	for _, v := range list {
		v.slot = len(s.active)
		if s.active = append(s.active, v); len(s.active) > maxLocals {
			p.near(fmt.Sprintf("%s has more than %d local variables", s.called(), maxLocals))
		}
		s.slots = max(s.slots, len(s.active))
	}
}

// called is how a mistake names a function.
func (s *scope) called() string {
	if s.line == 0 {
		return "main function"
	}
	return fmt.Sprintf("function at line %d", s.line)
}

// unite has all zeros of a function be the first: to Lua 0 is the constant -0.
func (s *scope) unite() {
	for _, c := range s.zeros {
		c.v = s.zeros[0].v
	}
}

func (s *scope) local(name string) *variable {
	for n := len(s.active) - 1; n >= 0; n-- {
		if s.active[n].name == name {
			return s.active[n]
		}
	}
	return nil
}

// outer is the number of an upvalue of the function, or -1 of a global.
func (p *parser) outer(s *scope, name string) int {
	if s.around == nil {
		return -1
	}
	u := upvalue{name: name, local: s.around.local(name)}
	if u.local == nil {
		if u.outer = p.outer(s.around, name); u.outer < 0 {
			return -1
		}
	} else {
		u.local.captured = true
	}
	if n := slices.Index(s.upvalues, u); n >= 0 {
		return n
	}
	if s.upvalues = append(s.upvalues, u); len(s.upvalues) > maxUpvalues {
		p.near(fmt.Sprintf("%s has more than %d upvalues", s.called(), maxUpvalues))
	}
	return len(s.upvalues) - 1
}

// variable is what a name stands for.
func (p *parser) variable(name string) expression {
	if v := p.scope.local(name); v != nil {
		return &local{v}
	}
	if n := p.outer(p.scope, name); n >= 0 {
		return &outer{name, n}
	}
	return &global{name, hashOf(name)}
}

func (p *parser) ends() bool {
	switch p.token.kind {
	case atEnd, "else", "elseif", "end", "until":
		return true
	}
	return false
}

// block reads statements, whose variables end with them.
func (p *parser) block() []statement {
	before := len(p.scope.active)
	list := p.statements()
	p.scope.active = p.scope.active[:before]
	return list
}

func (p *parser) statements() (list []statement) {
	defer p.deeper()()
	for last := false; !last && !p.ends(); {
		line := p.token.line
		p.begun = append(p.begun, line)
		var do doer
		do, last = p.statement()
		p.take(";")
		list = append(list, statement{line, do})
	}
	return list
}

// statement reads one, and reports whether it must be the last.
func (p *parser) statement() (do doer, last bool) {
	line := p.token.line
	switch p.token.kind {
	case "if":
		return p.conditional(line), false
	case "while":
		p.advance()
		s := &while{condition: p.expression()}
		p.check("do")
		s.body = p.loop()
		p.closing("end", "while", line)
		return s, false
	case "do":
		p.advance()
		s := &block{p.block()}
		p.closing("end", "do", line)
		return s, false
	case "for":
		p.advance()
		before := len(p.scope.active)
		s := p.loopOver(line)
		p.scope.active = p.scope.active[:before]
		return s, false
	case "repeat":
		p.advance()
		before := len(p.scope.active)
		p.scope.loops++
		s := &repeat{body: p.statements()}
		p.scope.loops--
		p.closing("until", "repeat", line)
		s.line = p.token.line
		s.until = p.expression()
		p.scope.active = p.scope.active[:before]
		return s, false
	case "function":
		p.advance()
		return p.functionStatement(line), false
	case "local":
		p.advance()
		if p.take("function") {
			v := p.declare(p.name())
			p.activate(v)
			return &localFunction{v, p.function(line, false)}, false
		}
		return p.localStatement(), false
	case "return":
		p.advance()
		return p.returned(), true
	case "break":
		p.advance()
		if p.scope.loops == 0 {
			p.near("no loop to break")
		}
		return leave{}, true
	default:
		return p.expressionStatement(), false
	}
}

// loop is the block of a loop.
func (p *parser) loop() []statement {
	p.scope.loops++
	defer func() { p.scope.loops-- }()
	return p.block()
}

func (p *parser) conditional(line int) doer {
	p.advance()
	p.heavy(p.scope.elses)
	s := &conditional{condition: p.expression()}
	p.check("then")
	s.then = p.block()
	switch at := p.token.line; {
	case p.is("elseif"):
		p.begun = append(p.begun, at)
		p.scope.elses++
		s.otherwise = []statement{{at, p.conditional(line)}}
		p.scope.elses--
		return s
	case p.take("else"):
		s.otherwise = p.block()
	}
	p.closing("end", "if", line)
	return s
}

func (p *parser) loopOver(line int) doer {
	first := p.declare(p.name())
	switch {
	case p.take("="):
		s := &counting{v: first}
		s.from = p.expression()
		p.check(",")
		s.to = p.expression()
		if p.take(",") {
			s.by = p.expression()
		}
		p.check("do")
		p.activate(p.declare("(for index)"), p.declare("(for limit)"), p.declare("(for step)"), first)
		s.body = p.loop()
		p.closing("end", "for", line)
		return s
	case p.is(","), p.is("in"):
		s := &going{vars: []*variable{first}}
		for p.take(",") {
			s.vars = append(s.vars, p.declare(p.name()))
		}
		p.check("in")
		s.line = p.token.line
		s.list = p.list()
		p.check("do")
		p.activate(p.declare("(for generator)"), p.declare("(for state)"), p.declare("(for control)"))
		p.activate(s.vars...)
		s.body = p.loop()
		p.closing("end", "for", line)
		return s
	default:
		p.near("'=' or 'in' expected")
		return nil
	}
}

func (p *parser) functionStatement(line int) doer {
	target := p.variable(p.name())
	method := false
	for !method && (p.is(".") || p.is(":")) {
		method = p.is(":")
		p.advance()
		name := p.name()
		target = &field{target, name, hashOf(name), line}
	}
	return &assignment{[]expression{target}, []expression{&closure{p.function(line, method)}}, line}
}

func (p *parser) localStatement() doer {
	var vars []*variable
	for again := true; again; again = p.take(",") {
		vars = append(vars, p.declare(p.name()))
	}
	var list []expression
	if p.take("=") {
		list = p.list()
	}
	p.activate(vars...)
	return &locals{vars, list}
}

func (p *parser) returned() doer {
	if p.ends() || p.is(";") {
		return &giving{}
	}
	list := p.list()
	if len(list) == 1 {
		if c, ok := list[0].(*calling); ok && !(p.framed && c.ofRedis()) {
			return &tail{c}
		} else if ok {
			list[0] = &single{c}
		}
	}
	return &giving{list}
}

func (p *parser) expressionStatement() doer {
	line := p.token.line
	e := p.suffixed()
	if c, ok := e.(*calling); ok {
		return &evaluation{c}
	}
	targets := []expression{e}
	for p.take(",") {
		targets = append(targets, p.suffixed())
		if len(targets) > maxNested {
			p.near("variables in assignment has more than 200")
		}
	}
	for _, t := range targets {
		switch t.(type) {
		case *local, *outer, *global, *field, *element:
		default:
			p.near("syntax error")
		}
	}
	p.check("=")
	list := p.list()
	if len(targets) == 1 && len(list) == 1 {
		line = p.last
	}
	return &assignment{targets, list, line}
}

// list reads expressions with commas.
func (p *parser) list() []expression {
	list := []expression{p.expression()}
	for p.take(",") {
		list = append(list, p.expression())
	}
	return list
}

// function reads its parameters and its body.
func (p *parser) function(line int, method bool) *code {
	s := &scope{code: &code{chunk: p.chunk, line: line}, around: p.scope, depth: p.scope.depth}
	base := s.depth
	p.scope = s
	p.check("(")
	if method {
		s.params = append(s.params, p.declare("self"))
	}
	for !p.is(")") {
		if p.take("...") {
			s.dots, s.arg = true, p.declare("arg")
			break
		}
		if !p.is(KindName) {
			p.near("<name> or '...' expected")
		}
		s.params = append(s.params, p.declare(p.name()))
		if !p.take(",") {
			break
		}
		if p.is(")") {
			p.near("<name> or '...' expected")
		}
	}
	p.check(")")
	p.activate(s.params...)
	if s.arg != nil {
		p.activate(s.arg)
	}
	s.body = p.block()
	p.closing("end", "function", line)
	s.unite()
	p.scope = s.around
	s.weight -= base
	return s.code
}

// primary reads a name, or what is in parentheses.
func (p *parser) primary() expression {
	switch line := p.token.line; {
	case p.is(KindName):
		return p.variable(p.name())
	case p.take("("):
		e := p.expression()
		p.closing(")", "(", line)
		switch e.(type) {
		case *calling, *dots, *local, *outer, *global, *field, *element:
			return &single{e}
		}
		return e
	default:
		p.near("unexpected symbol")
		return nil
	}
}

// suffixed reads what is indexed and called.
func (p *parser) suffixed() expression {
	e := p.primary()
	for n := 1; ; n++ {
		p.heavy(n)
		line := p.token.line
		switch p.token.kind {
		case ".":
			p.advance()
			name := p.name()
			e = &field{e, name, hashOf(name), p.last}
		case "[":
			p.advance()
			key := p.expression()
			p.check("]")
			e = indexed(e, key, p.last)
		case ":":
			p.advance()
			name := p.name()
			c := &calling{fn: e, method: name, hash: hashOf(name)}
			c.line = p.token.line
			c.args = p.arguments()
			e = c
		case "(", KindText, "{":
			c := &calling{fn: e, line: line}
			c.args = p.arguments()
			e = c
		default:
			return e
		}
	}
}

// indexed is an element, or a field if its key is a text.
func indexed(e, key expression, line int) expression {
	if c, ok := key.(*constant); ok {
		if name, ok := c.v.(string); ok {
			return &field{e, name, hashOf(name), line}
		}
	}
	return &element{e, key, line}
}

func (p *parser) arguments() []expression {
	switch line := p.token.line; p.token.kind {
	case KindText:
		text := p.token.text
		p.advance()
		return []expression{&constant{text}}
	case "{":
		return []expression{p.constructor()}
	case "(":
		if line != p.last {
			p.near("ambiguous syntax (function call x new statement)")
		}
		p.advance()
		if p.take(")") {
			return nil
		}
		list := p.list()
		p.closing(")", "(", line)
		return list
	default:
		p.near("function arguments expected")
		return nil
	}
}

func (p *parser) constructor() expression {
	line := p.token.line
	p.check("{")
	t := &constructor{line: line}
	items := 0
	for !p.is("}") {
		var i item
		switch {
		case p.is(KindName) && p.lookAhead().kind == "=":
			i.key = &constant{p.name()}
			p.advance()
		case p.take("["):
			i.key = p.expression()
			p.check("]")
			p.check("=")
		}
		i.value = p.expression()
		if i.key != nil {
			t.keyed++
		} else {
			items++
		}
		t.items = append(t.items, i)
		if !p.take(",") && !p.take(";") {
			break
		}
	}
	p.closing("}", "{", line)
	if n := len(t.items); n > 0 && t.items[n-1].key == nil && isMany(t.items[n-1].value) {
		t.items[n-1].many = true
		items--
	}
	t.listed = items
	return t
}

// simple reads an expression without operators.
func (p *parser) simple() expression {
	var e expression
	switch t := p.token; t.kind {
	case KindNumber:
		c := &constant{t.number}
		if e = c; t.number == 0 {
			p.scope.zeros = append(p.scope.zeros, c)
		}
	case KindText:
		e = &constant{t.text}
	case "nil":
		e = &constant{}
	case "true", "false":
		e = &constant{t.kind == "true"}
	case "...":
		if !p.scope.dots {
			p.near("cannot use '...' outside a vararg function")
		}
		p.scope.named = true
		e = &dots{}
	case "{":
		return p.constructor()
	case "function":
		p.advance()
		return &closure{p.function(t.line, false)}
	default:
		return p.suffixed()
	}
	p.advance()
	return e
}

// priority is how strongly an operator binds to its left and to its right.
type priority struct{ left, right int }

var priorities = map[string]priority{
	"+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9}, "..": {5, 4},
	"==": {3, 3}, "~=": {3, 3}, "<": {3, 3}, "<=": {3, 3}, ">": {3, 3}, ">=": {3, 3}, "and": {2, 2}, "or": {1, 1},
}

const ofUnary = 8

func (p *parser) expression() expression { return p.operation(0) }

// operation reads operators that bind more strongly than a limit.
func (p *parser) operation(limit int) expression {
	defer p.deeper()()
	var e expression
	switch op := p.token.kind; op {
	case "not", "-", "#":
		p.advance()
		e = p.unary(op, p.operation(ofUnary))
	default:
		e = p.simple()
	}
	for n := 1; ; n++ {
		p.heavy(n)
		op := p.token.kind
		binds, ok := priorities[op]
		if !ok || binds.left <= limit {
			return e
		}
		p.advance()
		e = p.binary(op, e, p.operation(binds.right))
	}
}

func (p *parser) unary(op string, e expression) expression {
	switch op {
	case "not":
		return &not{e}
	case "#":
		return &length{e, p.last}
	default:
		if c, ok := e.(*constant); ok {
			if n, ok := c.v.(float64); ok {
				c.v = -n
				return c
			}
		}
		return &arithmetic{op: '_', a: e, b: e, line: p.last}
	}
}

func (p *parser) binary(op string, a, b expression) expression {
	switch op {
	case "and":
		return &and{a, b}
	case "or":
		return &or{a, b}
	case "..":
		if c, ok := b.(*concatenation); ok {
			c.list = slices.Insert(c.list, 0, a)
			return c
		}
		return &concatenation{[]expression{a, b}, p.last}
	case "==", "~=":
		return &equality{a, b, op == "==", p.last}
	case "<", "<=":
		return &comparison{a, b, op == "<", p.last, false}
	case ">", ">=":
		return &comparison{a, b, op == ">", p.last, true}
	default:
		return &arithmetic{op[0], a, b, p.last}
	}
}
