package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// flow is the ways through a script, as far as the scripts here need: ifs,
// loops, and functions that are called by name, one statement a line.
type flow struct {
	lines []codeLine
	nodes []node
	entry int
	// ends are the lines that only close or part blocks, each with the lines
	// one of which must have been passed for it to count.
	ends map[int][]int
}

// codeLine is a line without its comment.
type codeLine struct {
	number   int
	text     string   // "" where there is only a comment
	commands []string // that are on it
	sure     bool     // they run whenever the line does
}

// node is a place on a way: a line, and from where one can go.
type node struct {
	line     int
	min, max int // commands that run there
	next     []int
}

// exit is where every way ends.
const exit = -1

// statement is a line, or a block with its lines.
type statement struct {
	line     codeLine
	branches []branch    // of an if
	body     []statement // of a loop or a function
	kind     statementKind
	end      int // line of its end
}

// branch is one of an if: its condition's line, or that of its else.
type branch struct {
	line codeLine
	last bool // else
	body []statement
}

type statementKind int

const (
	isLine statementKind = iota
	isReturn
	isIf
	isLoop     // may be left only from within
	isEach     // a loop over a list
	isFunction // runs where it is called
)

// newFlow reads a source. One that it does not understand is a programming
// error, as the sources are built in, and panics.
func newFlow(source string) *flow {
	f := &flow{ends: map[int][]int{}}
	for i, text := range strings.Split(strings.TrimSuffix(source, "\n"), "\n") {
		f.lines = append(f.lines, newCodeLine(i+1, text))
	}
	r := reader{lines: slices.DeleteFunc(slices.Clone(f.lines), func(l codeLine) bool { return l.text == "" })}
	body := r.block()
	if len(r.lines) > 0 {
		panic(fmt.Sprintf("view: a script does not end where its blocks do: line %d", r.lines[0].number))
	}
	w := weaver{flow: f, functions: map[string][]statement{}}
	f.entry = w.block(body, exit, exit)
	return f
}

func newCodeLine(number int, text string) codeLine {
	text, _, _ = strings.Cut(text, "--")
	l := codeLine{number: number, text: strings.TrimSpace(text), sure: true}
	first := -1
	for _, m := range commandIn.FindAllStringSubmatchIndex(l.text, -1) {
		if first < 0 {
			first = m[0]
		}
		if m[2] >= 0 {
			l.commands = append(l.commands, l.text[m[2]:m[3]])
		} else {
			l.commands = append(l.commands, l.text[m[4]:m[5]])
		}
	}
	if first >= 0 && (strings.Contains(l.text[:first], " and ") || strings.Contains(l.text[:first], " or ")) {
		l.sure = false
	}
	return l
}

// reader makes statements of lines.
type reader struct{ lines []codeLine }

func (r *reader) take() codeLine {
	if len(r.lines) == 0 {
		panic("view: a script ends within a block")
	}
	l := r.lines[0]
	r.lines = r.lines[1:]
	return l
}

// block reads to the line that ends or parts the block, or to the end.
func (r *reader) block() []statement {
	var body []statement
	for len(r.lines) > 0 {
		word, _, _ := strings.Cut(r.lines[0].text, " ")
		if word == "end" || word == "else" || word == "elseif" {
			break
		}
		body = append(body, r.statement(word))
	}
	return body
}

func (r *reader) statement(word string) statement {
	s := statement{line: r.take()}
	switch {
	case word == "if":
		s.kind = isIf
		head := branch{line: s.line}
		for {
			head.body = r.block()
			s.branches = append(s.branches, head)
			l := r.take()
			if l.text == "end" {
				s.end = l.number
				return s
			}
			head = branch{line: l, last: l.text == "else"}
		}
	case word == "while", word == "for", functionHead.MatchString(s.line.text):
		s.kind = map[string]statementKind{"while": isLoop, "for": isEach}[word]
		if s.kind == isLine {
			s.kind = isFunction
		}
		s.body = r.block()
		s.end = r.take().number
	case word == "return":
		s.kind = isReturn
	}
	return s
}

// functionHead matches the line that begins a function, and its name.
var functionHead = regexp.MustCompile(`^local function (\w+)\(`)

// weaver makes nodes of statements, from the last to the first.
type weaver struct {
	*flow

	functions map[string][]statement
}

func (w *weaver) add(n node) int {
	w.nodes = append(w.nodes, n)
	return len(w.nodes) - 1
}

// block returns where a block begins that goes on at next, and whose returns
// go to back.
func (w *weaver) block(body []statement, next, back int) int {
	for _, s := range body { // a function is known from its line on
		if s.kind == isFunction {
			w.functions[functionHead.FindStringSubmatch(s.line.text)[1]] = s.body
		}
	}
	for _, s := range slices.Backward(body) {
		next = w.statement(s, next, back)
	}
	return next
}

func (w *weaver) statement(s statement, next, back int) int {
	switch s.kind {
	case isReturn:
		return w.line(s.line, back)
	case isIf:
		w.ends[s.end] = []int{s.line.number}
		return w.branches(s.branches, next, back)
	case isLoop, isEach:
		w.ends[s.end] = []int{s.line.number}
		head := w.add(node{line: s.line.number})
		w.nodes[head].next = []int{w.block(s.body, head, back)}
		if s.kind == isEach {
			w.nodes[head].next = append(w.nodes[head].next, next)
		}
		return head
	case isFunction:
		w.ends[s.end] = numbers(s.body)
		return w.line(codeLine{number: s.line.number}, next)
	default:
		return w.line(s.line, next)
	}
}

// line is a node for a line, with the function that it calls within it.
func (w *weaver) line(l codeLine, next ...int) int {
	for name, body := range w.functions {
		if strings.Contains(l.text, name+"(") {
			after := w.add(node{line: l.number, next: next})
			next = []int{w.block(body, after, after)}
		}
	}
	n := node{line: l.number, max: len(l.commands), next: next}
	if l.sure {
		n.min = n.max
	}
	return w.add(n)
}

// branches is where the conditions of an if begin to be looked at.
func (w *weaver) branches(list []branch, next, back int) int {
	if len(list) == 0 {
		return next
	}
	body := w.block(list[0].body, next, back)
	if list[0].last {
		w.ends[list[0].line.number] = numbers(list[0].body)
		return body
	}
	return w.line(list[0].line, body, w.branches(list[1:], next, back))
}

// numbers are the lines at which the statements of a block begin.
func numbers(body []statement) []int {
	var list []int
	for _, s := range body {
		list = append(list, s.line.number)
	}
	return list
}

// place is a node, and how many of the commands that were seen ran before it.
type place struct{ node, seen int }

// walk looks for the ways through a flow on which commands ran as seen.
type walk struct {
	*flow

	seen    []int
	over    bool // nothing ran after them
	stopped bool // and the script ended with the last of them, by an error
	leads   map[place]bool
	steps   map[place][]place
}

// passed are the lines that no way comes by on which the commands on the lines
// seen ran: nothing else before them and, if over, nothing after.
func (f *flow) passed(seen []int, over bool) []int {
	w := walk{flow: f, seen: seen, over: over}
	live := w.live()
	if len(live) == 0 && over {
		w.stopped = true
		live = w.live()
	}
	if len(live) == 0 {
		return []int{} // the commands are not this script's: nothing is known
	}
	out, following := []int{}, false
	for _, l := range slices.Backward(f.lines) {
		switch by, ends := f.ends[l.number]; {
		case l.text == "": // a comment goes with what it stands above
		case ends:
			following = !slices.ContainsFunc(by, func(line int) bool { return live[line] })
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

// live are the lines of all ways that fit.
func (w *walk) live() map[int]bool {
	w.leads, w.steps = map[place]bool{}, map[place][]place{}
	start := place{w.entry, 0}
	reached := []place{start}
	known := map[place]bool{start: true}
	for i := 0; i < len(reached); i++ { // every place that can be reached
		at := reached[i]
		if at.node == exit {
			continue
		}
		w.steps[at] = w.from(at)
		for _, to := range w.steps[at] {
			if !known[to] {
				known[to] = true
				reached = append(reached, to)
			}
		}
	}
	for changed := true; changed; { // and leads on to an end that fits
		changed = false
		for _, at := range reached {
			if !w.leads[at] && (w.fits(at) || slices.ContainsFunc(w.steps[at], func(to place) bool { return w.leads[to] })) {
				w.leads[at], changed = true, true
			}
		}
	}
	lines := map[int]bool{}
	for _, at := range reached {
		if at.node != exit && w.leads[at] {
			lines[w.nodes[at.node].line] = true
		}
	}
	return lines
}

// fits tells whether a way may end at a place, as far as it is known.
func (w *walk) fits(at place) bool {
	if w.over {
		return at.node == exit && at.seen == len(w.seen)
	}
	return at.seen == len(w.seen)
}

// from are the places that one step leads to.
func (w *walk) from(at place) []place {
	n := w.nodes[at.node]
	var out []place
	for ran := n.min; ran <= n.max; ran++ {
		seen := at.seen
		for range ran {
			switch {
			case seen < len(w.seen) && w.seen[seen] == n.line:
				seen++
			case seen == len(w.seen) && !w.over: // it may still come
			default:
				seen = -1
			}
			if seen < 0 {
				break
			}
		}
		if seen < 0 {
			continue
		}
		if w.stopped && seen > at.seen && seen == len(w.seen) {
			out = append(out, place{exit, seen})
			continue
		}
		for _, next := range n.next {
			out = append(out, place{next, seen})
		}
	}
	return out
}
