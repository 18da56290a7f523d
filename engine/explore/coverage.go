package explore

import (
	"regexp"
	"strings"

	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Unreached is the lines of a script that hold a command and that no schedule of
// a search came by.
type Unreached struct {
	Script string // its file name
	Lines  []Line
}

// Line is one line of a script.
type Line struct {
	Number int // from 1
	Source string
}

// calls matches a command in a script.
var calls = regexp.MustCompile(`redis\.p?call\(`)

// lineSet has a bit for each line of the lock's scripts.
type lineSet []uint64

func (b lineSet) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

func (b lineSet) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b lineSet) add(o lineSet) {
	for i := range o {
		b[i] |= o[i]
	}
}

// book says which bit is which line of the lock's scripts.
type book struct {
	scripts []protocol.Script
	first   map[string]int // by script: the bit of its line 0, which there is not
	size    int
	sc      *scenario.Scenario
	fit     ownlock.Fit // of a lock's own scripts
}

func newBook(sc *scenario.Scenario) book {
	b := book{sc: sc, scripts: sc.Lock.Implementation().Scripts, first: map[string]int{}}
	for _, s := range b.scripts {
		b.first[s.Name] = b.size
		b.size += strings.Count(s.Source, "\n") + 2
	}
	return b
}

// passed is what runs have come by.
type passed struct {
	lines lineSet         // of the scripts
	most  map[string]int  // by script: the most commands that one run of it has sent
	shown verdict.Witness // by all of them together
	seen  *ownlock.Seen   // of a lock's own scripts
}

func (b book) empty() passed {
	return passed{lines: make(lineSet, (b.size+63)/64), most: map[string]int{}, seen: ownlock.NewSeen(b.sc, b.fit)}
}

func (p *passed) add(o passed) {
	p.lines.add(o.lines)
	for script, n := range o.most {
		p.most[script] = max(p.most[script], n)
	}
	p.shown.Join(&o.shown)
	p.seen.Join(o.seen)
}

// note notes what a run came by.
func (b book) note(into *passed, events []trace.Event) {
	type once struct { // a script runs in one step
		step         int
		thread, name string
		late         bool
	}
	var now once
	sent := 0
	for i := range events {
		into.seen.See(events[i])
		c, _ := events[i].Body.(trace.Command)
		first, ok := b.first[c.Script]
		if !ok {
			continue
		}
		if c.Line > 0 {
			into.lines.set(first + c.Line)
		}
		if one := (once{events[i].Step, events[i].Thread, c.Script, c.Late}); one != now {
			now, sent = one, 0
		}
		sent++
		into.most[c.Script] = max(into.most[c.Script], sent)
	}
}

// unreached returns what is not in reached, in the order of the calls.
func (b book) unreached(reached lineSet) []Unreached {
	var list []Unreached
	for _, s := range b.scripts {
		u := Unreached{Script: s.Name}
		number := 0
		for line := range strings.Lines(s.Source) {
			number++
			code, _, _ := strings.Cut(line, "--")
			if calls.MatchString(code) && !reached.has(b.first[s.Name]+number) {
				u.Lines = append(u.Lines, Line{number, strings.TrimSpace(code)})
			}
		}
		if len(u.Lines) > 0 {
			list = append(list, u)
		}
	}
	return list
}

// Unreached returns the lines with a command of the lock's scripts that no
// schedule came by that was seen, in the order of the scripts' calls. A lock
// without scripts has none.
func (s *Space) Unreached() []Unreached { return s.search.book.unreached(s.search.passed.lines) }

// Most returns the most commands that one run of a call's script has sent in any
// schedule that was seen, 0 where the call has no script or never came.
func (s *Space) Most(call string) int {
	for _, script := range s.search.book.scripts {
		if script.Call == call {
			return s.search.passed.most[script.Name]
		}
	}
	return 0
}

// Notes says what the scripts of an own lock did otherwise than its file says, in any
// schedule that was seen.
func (s *Space) Notes() []ownlock.Note { return s.search.passed.seen.Notes() }

// Struck reports whether a fault struck in any schedule that was seen.
func (s *Space) Struck() bool { return len(s.search.passed.shown.Struck) > 0 }
