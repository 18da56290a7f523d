package box

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lined is a line whose clock and whose record a test sets.
type lined struct {
	*testing.T

	line

	record record
	now    time.Time
	asked  map[string]*waiter // by judgement
	turns  []string           // judgements that got a place
}

func newLined(t *testing.T, children int, proven ...string) *lined {
	t.Helper()
	l := &lined{T: t, record: newRecord(), now: time.Unix(1000, 0), asked: map[string]*waiter{}}
	l.line = newLine(children, l.record)
	for _, whose := range proven {
		l.record.ran(whose, "before", nil, l.now)
		l.record.over("before")
	}
	return l
}

// ask has judgements wait; a judgement's name begins with whose it is.
func (l *lined) ask(judgements ...string) {
	for _, by := range judgements {
		if at := l.own(by, l.now); at != nil {
			l.turns = append(l.turns, by)
			continue
		}
		whose, _, _ := strings.Cut(by, " ")
		l.asked[by] = l.wait(whose, by, true, l.now)
		l.grants()
	}
}

func (l *lined) grants() {
	l.grant(l.now)
	for _, by := range slices.Sorted(func(yield func(string) bool) {
		for by := range l.asked {
			if !yield(by) {
				return
			}
		}
	}) {
		select {
		case at := <-l.asked[by].granted:
			if at != nil {
				at.child = &child{}
				l.turns = append(l.turns, by)
			}
			delete(l.asked, by)
		default:
		}
	}
}

// answered has a judgement's question answered, and time pass.
func (l *lined) answered(by string, after time.Duration) {
	l.Helper()
	l.now = l.now.Add(after)
	for _, one := range l.of(by) {
		one.busy, one.free = false, l.now
		l.grants()
		return
	}
	l.Fatalf("%s has no place", by)
}

func (l *lined) want(what string, turns ...string) {
	l.Helper()
	if !slices.Equal(l.turns, turns) {
		l.Errorf("%s: turns went to %v, want %v", what, l.turns, turns)
	}
	l.turns = nil
}

// However many judgements of an address wait, another address gets a child at once, and
// if all children are taken, the turns go round the addresses.
func TestAddressesTakeTurns(t *testing.T) {
	l := newLined(t, 2, "a", "b", "c")
	for n := range 10 {
		l.ask(fmt.Sprint("a ", n))
	}
	l.want("one address", "a 0")
	l.ask("b 0")
	l.want("another one does not wait", "b 0")
	l.ask("c 0", "b 1")
	l.want("two are taken")
	l.answered("a 0", slice)
	l.want("the address that has waited for longest", "a 1")
	l.answered("a 1", slice)
	l.want("then the others, each in turn", "c 0")
	l.answered("b 0", slice)
	l.want("then the others, each in turn", "b 1")
	l.answered("b 1", slice)
	l.want("and again", "a 2")
}

// A judgement keeps its child from one question to the next, until somebody has
// waited for a slice who could have it.
func TestAJudgementKeepsItsChild(t *testing.T) {
	l := newLined(t, 2, "a", "b", "c")
	l.ask("a 0", "b 0")
	l.answered("a 0", 0)
	l.ask("c 0")
	l.ask("a 0")
	l.want("it goes on while another one has just come", "a 0", "b 0", "a 0")
	l.answered("a 0", slice)
	l.want("the other one has waited", "c 0")
	l.ask("a 0", "b 1")
	l.answered("b 0", 0)
	l.want("b's child is for a, before b's next", []string{}...)
	l.now = l.now.Add(slice)
	l.grants()
	l.want("once it has waited", "a 0")
}

// All children but one are for those whose scripts finish.
func TestUnprovenScriptsShareAChild(t *testing.T) {
	l := newLined(t, 2, "good")
	for n := range 50 {
		l.ask(fmt.Sprintf("new%02d 0", n))
	}
	l.want("fifty addresses", "new00 0")
	l.ask("good 0")
	l.want("one that is known", "good 0")
	l.answered("good 0", slice)
	l.answered("new00 0", slice)
	l.want("the next of the fifty", "new01 0")
	l.record.ran("new01", "new01 0", nil, l.now)
	l.grants()
	l.want("one has proven itself: the idle child is for the next", "new02 0")
}

// Work for nobody in particular has all children.
func TestWorkForNobodyInParticular(t *testing.T) {
	l := newLined(t, 2)
	l.ask(" 0", " 1", " 2")
	l.want("three judgements", " 0", " 1")
}

// After three unfinished scripts the next has to wait, and longer with each further one,
// up to a bound; a good one makes up for that.
func TestEndlessScriptsHaveToWait(t *testing.T) {
	r, now := newRecord(), time.Unix(1000, 0)
	wait := func(by any) time.Duration {
		var s *SuspendedError
		if err := r.suspended("a", by, now); err != nil && !errors.As(err, &s) {
			t.Fatal(err)
		}
		if s == nil {
			return 0
		}
		return s.Wait
	}
	endless := &Fault{Kind: ErrEndless}
	for n, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 30, 30} {
		r.ran("a", n, endless, now)
		if got := wait("next"); got != want*time.Second {
			t.Errorf("after %d endless scripts: %v, want %v s", n+1, got, want)
		}
	}
	if r.suspended("b", "next", now) != nil || r.suspended("", "next", now) != nil {
		t.Error("others have to wait, too")
	}
	now = now.Add(longWait)
	if wait("next") != 0 {
		t.Error("the wait does not end")
	}
	r.ran("a", "bad lock", nil, now)
	r.ran("a", "bad lock", &Fault{Kind: ErrSteps}, now)
	if wait("next") != longWait {
		t.Errorf("a good script of a judgement that ends badly makes good: %v", wait("next"))
	}
	r.over("bad lock")
	now = now.Add(longWait)
	r.ran("a", "good lock", nil, now)
	r.ran("a", "another", &Fault{Kind: ErrTooLarge}, now)
	if wait("next") != longWait || wait("good lock") != 0 {
		t.Errorf("one that goes on well waits for %v", wait("good lock"))
	}
	r.over("good lock")
	if wait("next") != 0 || !r.proven("a") {
		t.Error("a good judgement does not make good")
	}
	for range patience {
		r.ran("a", "last", endless, now)
	}
	now = now.Add(forgotten)
	if r.ran("a", "long", nil, now); !r.proven("a") {
		t.Error("a judgement that goes on well is not believed after a long time")
	}
	for range patience {
		r.ran("a", "last", endless, now)
	}
	if r.forget(now.Add(forgotten)); wait("next") != 0 || len(r.of) != 0 {
		t.Error("it is never forgotten")
	}
}

// If others' scripts have not ended, those who wait in line are refused, and take no
// child.
func TestWhoWaitsIsRefused(t *testing.T) {
	l := newLined(t, 2)
	l.ask("a 0", "a 1", "a 2")
	waiting := l.asked["a 1"]
	for range patience {
		l.record.ran("a", "a 0", &Fault{Kind: ErrEndless}, l.now)
	}
	l.answered("a 0", slice)
	l.want("those who wait", "a 0")
	if s := (*SuspendedError)(nil); !errors.As(waiting.refused, &s) || s.Row != patience || l.waits() {
		t.Errorf("who waits is told %v", waiting.refused)
	}
}
