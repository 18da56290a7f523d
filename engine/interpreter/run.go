package interpreter

import (
	"math"
	"strings"
)

// value is nil, a bool, a float64, a string, or one of those below.
type value = any

// function is one of the script, or a native one.
type function struct {
	code     *code
	upvalues []*cell
	native   func(c *call)
	id       uint64
}

// cell has a variable that functions share.
type cell struct{ v value }

// light is a value of C's that is nothing but itself.
type light struct{}

// null is cjson.null.
var null = &light{}

// frame is a call of a function of the script.
type frame struct {
	r        *Interpreter
	fn       *function
	slots    []value
	more     []value // arguments behind its parameters
	line     int
	calling  *calling // what it calls
	tails    int      // calls that have left no frame
	results  []value
	next     value // what it ends with calling, with results
	watching bool  // each statement is noted
}

// signal is how a statement ends.
type signal int

const (
	onward signal = iota
	leaves
	returns
	tails
)

type (
	// doer is what a statement does.
	doer interface{ exec(f *frame) signal }
	// expression comes to one value.
	expression interface{ eval(f *frame) value }
	// many comes to any number of values.
	many interface {
		expression
		all(f *frame) []value
	}
)

func isMany(e expression) bool { _, ok := e.(many); return ok }

func truth(v value) bool { return v != nil && v != false }

func first(list []value) value {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// values are those of a list of expressions: of the last one all.
func (f *frame) values(list []expression) []value {
	if len(list) == 0 {
		return nil
	}
	last := len(list) - 1
	out := make([]value, last, last+1)
	for n, e := range list[:last] {
		out[n] = e.eval(f)
	}
	if m, ok := list[last].(many); ok {
		if last == 0 {
			return m.all(f)
		}
		return append(out, m.all(f)...)
	}
	return append(out, list[last].eval(f))
}

// run runs statements.
func (f *frame) run(list []statement) signal {
	for n := range list {
		s := &list[n]
		f.line = s.line
		f.r.step(1)
		if f.watching {
			f.r.following.ran[s.line] = true
		}
		if signal := s.do.exec(f); signal != onward {
			return signal
		}
	}
	return onward
}

// Variables.

func (f *frame) declare(v *variable, to value) {
	if v.captured {
		to = &cell{to}
	}
	f.slots[v.slot] = to
}

type local struct{ v *variable }

func (e *local) eval(f *frame) value {
	v := f.slots[e.v.slot]
	if e.v.captured {
		return v.(*cell).v
	}
	return v
}

type outer struct {
	name string
	n    int
}

func (e *outer) eval(f *frame) value { return f.fn.upvalues[e.n].v }

type global struct {
	name string
	hash uint32
}

func (e *global) eval(f *frame) value {
	if v := f.r.global.text(e.name, e.hash); v != nil {
		return v
	}
	return f.r.index(f.r.global, e.name, nil)
}

// field is what a table has under a name.
type field struct {
	of   expression
	name string
	hash uint32
	line int
}

func (e *field) eval(f *frame) value {
	of := e.of.eval(f)
	if t, ok := of.(*table); ok {
		if v := t.text(e.name, e.hash); v != nil || t.meta == nil {
			return v
		}
	}
	f.line = e.line
	return f.r.index(of, e.name, e.of)
}

// element is what a table has under a key.
type element struct {
	of, key expression
	line    int
}

func (e *element) eval(f *frame) value {
	of, key := f.two(e.of, e.key)
	if t, ok := of.(*table); ok {
		if v := t.get(key); v != nil || t.meta == nil {
			return v
		}
	}
	f.line = e.line
	return f.r.index(of, key, e.of)
}

// two are two operands. A variable is read when both are known: it lies in its place.
func (f *frame) two(a, b expression) (x, y value) {
	if v, ok := a.(*local); ok {
		y = b.eval(f)
		return v.eval(f), y
	}
	x = a.eval(f)
	return x, b.eval(f)
}

type constant struct{ v value }

func (e *constant) eval(*frame) value { return e.v }

// single is the first of many values.
type single struct{ e expression }

func (e *single) eval(f *frame) value { return e.e.eval(f) }

type dots struct{}

func (*dots) eval(f *frame) value  { return first(f.more) }
func (*dots) all(f *frame) []value { f.r.step(len(f.more)); return f.more[:len(f.more):len(f.more)] }

type closure struct{ code *code }

func (e *closure) eval(f *frame) value {
	fn := &function{code: e.code, id: f.r.identity()}
	if len(e.code.upvalues) > 0 {
		fn.upvalues = make([]*cell, len(e.code.upvalues))
		for n, u := range e.code.upvalues {
			if u.local != nil {
				fn.upvalues[n] = f.slots[u.local.slot].(*cell)
			} else {
				fn.upvalues[n] = f.fn.upvalues[u.outer]
			}
		}
	}
	return fn
}

// Operators.

type and struct{ a, b expression }

func (e *and) eval(f *frame) value {
	if v := e.a.eval(f); !truth(v) {
		return v
	}
	return e.b.eval(f)
}

type or struct{ a, b expression }

func (e *or) eval(f *frame) value {
	if v := e.a.eval(f); truth(v) {
		return v
	}
	return e.b.eval(f)
}

type not struct{ e expression }

func (e *not) eval(f *frame) value { return !truth(e.e.eval(f)) }

type length struct {
	e    expression
	line int
}

func (e *length) eval(f *frame) value {
	switch v := e.e.eval(f).(type) {
	case string:
		return float64(len(v))
	case *table:
		return float64(v.length())
	default:
		f.line = e.line
		f.r.wrongType(e.e, v, "get length of")
		return nil
	}
}

type arithmetic struct {
	op   byte // _ is the minus of one
	a, b expression
	line int
}

func (e *arithmetic) eval(f *frame) value {
	var a, b value
	if e.op == '_' {
		a = e.a.eval(f)
		b = a
	} else {
		a, b = f.two(e.a, e.b)
	}
	x, ok := a.(float64)
	y, too := b.(float64)
	if ok && too {
		return calculated(e.op, x, y)
	}
	f.line = e.line
	x, ok = numeric(a)
	y, too = numeric(b)
	if ok && too {
		return calculated(e.op, x, y)
	}
	if tm := f.r.either(a, b, events[e.op]); tm != nil {
		return f.r.call1(tm, a, b)
	}
	if ok {
		f.r.wrongType(e.b, b, "perform arithmetic on")
	}
	f.r.wrongType(e.a, a, "perform arithmetic on")
	return nil
}

var events = map[byte]string{'+': "__add", '-': "__sub", '*': "__mul", '/': "__div", '%': "__mod", '^': "__pow", '_': "__unm"}

func calculated(op byte, a, b float64) float64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	case '%':
		return a - float64(math.Floor(a/b)*b)
	case '^':
		return signed(math.Pow, a, b)
	default:
		return -a
	}
}

type concatenation struct {
	list []expression
	line int
}

func (e *concatenation) eval(f *frame) value {
	var few [8]value
	values := few[:0]
	for _, one := range e.list {
		values = append(values, one.eval(f))
	}
	f.line = e.line
	for last := len(values) - 1; ; {
		from, size := last+1, 0 // of those that are texts or numbers
		for from > 0 && isText(values[from-1]) {
			from--
		}
		if last-from >= 1 {
			var out strings.Builder
			for _, v := range values[from : last+1] {
				text, _ := written(v)
				if size += len(text); size > f.r.longest() {
					f.r.large("a text of ..")
				}
				out.WriteString(text)
			}
			values[from] = out.String()
			last = from
		}
		if last == 0 {
			return values[0]
		}
		a, b := values[last-1], values[last]
		tm := f.r.either(a, b, "__concat")
		if tm == nil {
			if isText(a) {
				f.r.wrongType(e.list[last], b, "concatenate")
			}
			f.r.wrongType(e.list[last-1], a, "concatenate")
		}
		last--
		values[last] = f.r.call1(tm, a, b)
	}
}

type equality struct {
	a, b  expression
	equal bool
	line  int
}

func (e *equality) eval(f *frame) value {
	a, b := f.two(e.a, e.b)
	if a == b {
		return e.equal
	}
	x, ok := a.(*table)
	y, too := b.(*table)
	if !ok || !too || x.meta == nil || y.meta == nil {
		return !e.equal
	}
	f.line = e.line
	tm := x.meta.get("__eq")
	if tm == nil || tm != y.meta.get("__eq") {
		return !e.equal
	}
	return truth(f.r.call1(tm, a, b)) == e.equal
}

type comparison struct {
	a, b   expression
	less   bool // or equal too
	line   int
	turned bool // it is written the other way round
}

func (e *comparison) eval(f *frame) value {
	a, b := f.two(e.a, e.b)
	if e.turned {
		a, b = b, a
	}
	x, ok := a.(float64)
	y, too := b.(float64)
	switch {
	case ok && too && e.less:
		return x < y
	case ok && too:
		return x <= y
	}
	f.line = e.line
	return f.r.before(a, b, !e.less)
}

// Calls.

type calling struct {
	fn     expression
	method string // of the value, or ""
	hash   uint32
	args   []expression
	line   int
}

// ofRedis reports whether it is one of the functions of redis.
func (e *calling) ofRedis() bool {
	of, ok := e.fn.(*field)
	if !ok {
		return false
	}
	_, name := described(of.of)
	return name == "redis" && e.method == ""
}

// begin are the function and its arguments.
func (e *calling) begin(f *frame) (fn value, args []value) {
	fn = e.fn.eval(f)
	if e.method != "" {
		of := fn
		f.line = e.line
		fn = f.r.index(of, e.method, e.fn)
		args = append(make([]value, 0, 1+len(e.args)), of)
		args = append(args, f.values(e.args)...)
	} else {
		args = f.values(e.args)
	}
	f.line = e.line
	f.calling = e
	return fn, args
}

func (e *calling) all(f *frame) []value {
	fn, args := e.begin(f)
	return f.r.call(fn, args, e)
}

func (e *calling) eval(f *frame) value { return first(e.all(f)) }

type evaluation struct{ e *calling }

func (s *evaluation) exec(f *frame) signal {
	s.e.all(f)
	return onward
}

// constructor makes a table.
type constructor struct {
	items         []item
	keyed, listed int
	line          int
}

type item struct {
	key, value expression
	many       bool
}

// flushed is how many values Lua holds until it puts them into a table.
const flushed = 50

func (e *constructor) eval(f *frame) value {
	t := f.r.newTable(rounded(e.listed), rounded(e.keyed))
	if len(e.items) == 0 {
		return t
	}
	var some [8]value
	held, before := some[:0], 0
	for _, i := range e.items {
		switch {
		case i.many:
			held = append(held, i.value.(many).all(f)...)
		case i.key != nil:
			key := i.key.eval(f)
			v := i.value.eval(f)
			f.line = e.line
			f.r.setIndex(t, key, v, nil)
		default:
			if len(held) == flushed {
				t.fill(before, held)
				before, held = before+flushed, held[:0]
			}
			held = append(held, i.value.eval(f))
		}
	}
	t.fill(before, held)
	return t
}

// Statements.

type block struct{ list []statement }

func (s *block) exec(f *frame) signal { return f.run(s.list) }

type conditional struct {
	condition       expression
	then, otherwise []statement
}

func (s *conditional) exec(f *frame) signal {
	if truth(s.condition.eval(f)) {
		return f.run(s.then)
	}
	return f.run(s.otherwise)
}

type while struct {
	condition expression
	body      []statement
}

func (s *while) exec(f *frame) signal {
	line := f.line
	for truth(s.condition.eval(f)) {
		f.r.step(1)
		if signal := f.run(s.body); signal == leaves {
			break
		} else if signal != onward {
			return signal
		}
		f.line = line
	}
	return onward
}

type repeat struct {
	body  []statement
	until expression
	line  int
}

func (s *repeat) exec(f *frame) signal {
	for {
		if signal := f.run(s.body); signal == leaves {
			return onward
		} else if signal != onward {
			return signal
		}
		f.line = s.line
		f.r.step(1)
		if truth(s.until.eval(f)) {
			return onward
		}
	}
}

// counting is the for with numbers.
type counting struct {
	v            *variable
	from, to, by expression
	body         []statement
}

func (s *counting) exec(f *frame) signal {
	line, by := f.line, value(1.0)
	from, to := s.from.eval(f), s.to.eval(f)
	if s.by != nil {
		by = s.by.eval(f)
	}
	f.line = line
	n, ok := numeric(from)
	if !ok {
		f.r.fail("'for' initial value must be a number")
	}
	last, ok := numeric(to)
	if !ok {
		f.r.fail("'for' limit must be a number")
	}
	step, ok := numeric(by)
	if !ok {
		f.r.fail("'for' step must be a number")
	}
	for n -= step; ; {
		n += step
		if step > 0 && !(n <= last) || !(step > 0) && !(last <= n) {
			return onward
		}
		f.line = line
		f.r.step(1)
		f.declare(s.v, n)
		if signal := f.run(s.body); signal == leaves {
			return onward
		} else if signal != onward {
			return signal
		}
	}
}

// going is the for with a function.
type going struct {
	vars []*variable
	list []expression
	body []statement
	line int
}

var generator = &calling{fn: &local{&variable{name: "(for generator)"}}}

func (s *going) exec(f *frame) signal {
	list := f.values(s.list)
	var by [3]value
	copy(by[:], list)
	state, control := by[1], by[2]
	pairs, _ := by[0].(*function)
	quick := pairs != nil && pairs == f.r.next // asks nobody
	for {
		var k, v value
		var results []value
		f.line = s.line
		f.r.step(1)
		if t, ok := state.(*table); ok && quick {
			var is bool
			if k, v, is = t.next(control); !is {
				f.r.fail("invalid key to 'next'")
			}
		} else {
			f.calling = generator
			over := f.r.deeper()
			results = f.r.call(by[0], []value{state, control}, nil)
			over()
			k = first(results)
			if len(results) > 1 {
				v = results[1]
			}
		}
		if control = k; k == nil {
			return onward
		}
		f.declare(s.vars[0], k)
		for n, one := range s.vars[1:] {
			switch {
			case n == 0:
				f.declare(one, v)
			case n+1 < len(results):
				f.declare(one, results[n+1])
			default:
				f.declare(one, nil)
			}
		}
		if signal := f.run(s.body); signal == leaves {
			return onward
		} else if signal != onward {
			return signal
		}
	}
}

type leave struct{}

func (leave) exec(*frame) signal { return leaves }

type giving struct{ list []expression }

func (s *giving) exec(f *frame) signal {
	f.results = f.values(s.list)
	return returns
}

// tail is the call that a function ends with: one of the script's functions takes the
// frame's place.
type tail struct{ e *calling }

func (s *tail) exec(f *frame) signal {
	fn, args := s.e.begin(f)
	if own, ok := fn.(*function); ok && own.code != nil {
		f.next, f.results = fn, args
		return tails
	}
	f.results = f.r.call(fn, args, s.e)
	return returns
}

type locals struct {
	vars []*variable
	list []expression
}

func (s *locals) exec(f *frame) signal {
	if len(s.vars) == 1 && len(s.list) == 1 {
		f.declare(s.vars[0], s.list[0].eval(f))
		return onward
	}
	list := f.values(s.list)
	for n, v := range s.vars {
		if n < len(list) {
			f.declare(v, list[n])
		} else {
			f.declare(v, nil)
		}
	}
	return onward
}

type localFunction struct {
	v    *variable
	code *code
}

func (s *localFunction) exec(f *frame) signal {
	f.declare(s.v, nil)
	f.assign(&local{s.v}, (&closure{s.code}).eval(f))
	return onward
}

type assignment struct {
	targets, list []expression
	line          int
}

func (s *assignment) exec(f *frame) signal {
	if len(s.targets) == 1 && len(s.list) == 1 {
		switch t := s.targets[0].(type) {
		case *field:
			of, v := f.two(t.of, s.list[0])
			f.line = s.line
			f.r.setIndex(of, t.name, v, t.of)
		case *element:
			var of, key, v value
			if _, ok := t.of.(*local); ok {
				key, v = f.two(t.key, s.list[0])
				of = t.of.eval(f)
			} else {
				of = t.of.eval(f)
				key, v = f.two(t.key, s.list[0])
			}
			f.line = s.line
			f.r.setIndex(of, key, v, t.of)
		default:
			v := s.list[0].eval(f)
			f.line = s.line
			f.assign(t, v)
		}
		return onward
	}
	type place struct{ of, key value }
	places := make([]place, len(s.targets))
	for n, t := range s.targets {
		switch t := t.(type) {
		case *field:
			places[n] = place{t.of.eval(f), t.name}
		case *element:
			of := t.of.eval(f)
			places[n] = place{of, t.key.eval(f)}
		}
	}
	list := f.values(s.list)
	f.line = s.line
	for n := len(s.targets) - 1; n >= 0; n-- {
		var v value
		if n < len(list) {
			v = list[n]
		}
		switch t := s.targets[n].(type) {
		case *field:
			f.r.setIndex(places[n].of, places[n].key, v, t.of)
		case *element:
			f.r.setIndex(places[n].of, places[n].key, v, t.of)
		default:
			f.assign(t, v)
		}
	}
	return onward
}

// assign sets a variable.
func (f *frame) assign(to expression, v value) {
	switch t := to.(type) {
	case *local:
		if t.v.captured {
			f.slots[t.v.slot].(*cell).v = v
		} else {
			f.slots[t.v.slot] = v
		}
	case *outer:
		f.fn.upvalues[t.n].v = v
	case *global:
		f.r.setIndex(f.r.global, t.name, v, nil)
	}
}
