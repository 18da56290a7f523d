package view

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"relock/engine"
	"relock/engine/lock"
	"relock/engine/run"
)

// Play is the page on which a scenario is stepped.
type Play struct {
	Page     Page
	Examples []Examples
	Scenario string // what to open, as a link; "" leaves it to the address
	Faults   []FaultKind
	Locks    []string // that can be compared
	Problem  string   // why what was asked for is not shown
}

// FaultKind is a fault that can be struck by hand.
type FaultKind struct {
	Do     string
	Label  string
	Thread bool // it happens to a thread
	At     bool // at its next call of a kind
	For    bool // for a length of time
	By     bool // by a length of time
	Behind bool // so many writes
	Keep   bool // with its data
}

// FaultKinds lists them, those of threads first.
func FaultKinds() []FaultKind {
	return []FaultKind{
		{Do: "pause", Label: "pause a thread", Thread: true, For: true},
		{Do: "crash", Label: "crash a thread", Thread: true},
		{Do: "stall", Label: "its work hangs", Thread: true},
		{Do: "panic", Label: "its work panics", Thread: true},
		{Do: "lose-request", Label: "lose its next request", Thread: true, At: true},
		{Do: "lose-reply", Label: "lose its next reply", Thread: true, At: true},
		{Do: "delay", Label: "delay its next request", Thread: true, At: true, For: true},
		{Do: "skip-unlock", Label: "it forgets its next unlock", Thread: true},
		{Do: "extra-unlock", Label: "it unlocks once too often", Thread: true},
		{Do: "evict", Label: "Redis evicts the key"},
		{Do: "restart", Label: "Redis restarts", Keep: true},
		{Do: "fail-over", Label: "a replica takes over", Behind: true},
		{Do: "clock-jump", Label: "the clock of Redis jumps", By: true},
		{Do: "script-flush", Label: "Redis forgets its scripts"},
		{Do: "down", Label: "Redis stops answering"},
		{Do: "up", Label: "Redis answers again"},
	}
}

// Option is what a thread would do next, or why it cannot move.
type Option struct {
	Thread     string `json:"thread"`
	Background bool   `json:"background,omitempty"`
	Can        bool   `json:"can"` // when it is its turn
	Choice     int    `json:"choice"`
	Does       string `json:"does"`
	Why        string `json:"why,omitempty"`
	Armed      string `json:"armed,omitempty"` // faults that wait for their moment
}

// NewOptions words what every thread would do.
func NewOptions(list []run.Option) []Option {
	out := make([]Option, 0, len(list))
	ready := slices.ContainsFunc(list, func(o run.Option) bool { return o.Choice >= 0 })
	first := time.Duration(-1)
	for _, o := range list {
		if (o.Why == run.Waits || o.Why == run.IsPaused) && o.Next != run.NextNothing && (first < 0 || o.At < first) {
			first = o.At
		}
	}
	for _, o := range list {
		next := Option{Thread: o.Thread, Background: o.Background, Choice: o.Choice, Does: does(o), Why: whyNot(o)}
		if len(o.Armed) > 0 {
			next.Armed = "⚡ waiting to strike: " + strings.Join(o.Armed, ", ")
		}
		next.Can = o.Choice >= 0 || !ready && o.At == first && o.Next != run.NextNothing
		out = append(out, next)
	}
	return out
}

func does(o run.Option) string {
	call := o.Call.String()
	if o.First != "" {
		call = fmt.Sprintf("%s … in %s, level %d", o.First, o.Call.Name, o.Call.Level)
	}
	if o.Call.GivesBack {
		call = givesBack + ": " + call
	}
	switch o.Next {
	case run.NextStart:
		return "starts: " + call
	case run.NextRetry:
		if o.Call.Name == lock.CallLock {
			return fmt.Sprintf("retry %d of %d: %s", o.Call.Attempt-1, o.Retries, call)
		}
		return "tries again: " + call
	case run.NextWork:
		return "ends its work: " + call
	case run.NextCall:
		return call
	case run.NextRenew:
		return "watchdog: " + o.First + " … in renew"
	case run.NextArrive:
		return "a delayed request arrives"
	default:
		return ""
	}
}

func whyNot(o run.Option) string {
	switch o.Why {
	case "":
		return ""
	case run.Waits:
		return "at " + Instant(o.At)
	case run.IsPaused:
		return "paused until " + Instant(o.At)
	case run.Hangs:
		return "hangs for ever"
	case run.AwaitsOwn:
		return "waits for its watchdog"
	default:
		if o.Ended == "" {
			return "ended with the run"
		}
		return "ended: " + string(o.Ended)
	}
}

// Instant words a time since the run began, or its length.
func Instant(d time.Duration) string {
	return Millis(float64(d.Round(time.Microsecond)/time.Microsecond) / 1000)
}

// Refused is the sentence for a command that was not carried out, and whether
// the error is of that kind at all.
func Refused(err error) (string, bool) {
	var refused *run.Refusal
	for _, known := range []error{engine.ErrBranches, engine.ErrMoves, engine.ErrNoBranch, engine.ErrNoMove, run.ErrDiverged} {
		if errors.Is(err, known) {
			return Sentence(err.Error()), true
		}
	}
	if errors.As(err, &refused) {
		text := refused.Error()
		if refused.Thread != "" && strings.HasPrefix(text, refused.Thread) {
			return text + ".", true // a name is written as it is
		}
		return Sentence(text), true
	}
	return "", false
}

// Sentence makes an error's text one.
func Sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// Compared is two branches row by row.
type Compared struct {
	Left, Right Side
	Threads     []Thread
	Key         string
	Same        int // rows at the start that are equal
	Rows        []ComparedRow
}

// NewCompared puts two branches beside each other.
func NewCompared(s Scenario, left, right Side) Compared {
	c := Compared{Left: left, Right: right, Threads: s.Threads, Key: s.Key, Rows: compare(left.Rows, right.Rows)}
	for c.Same < len(c.Rows) && c.Rows[c.Same].Equal {
		c.Same++
	}
	return c
}

// Side is a branch that is compared.
type Side struct {
	Name string
	Rows []Row
	Over bool // its run has ended
}

// Missing says why a side has no row where the other has one.
func (s Side) Missing() string {
	if s.Over {
		return "has ended before"
	}
	return "not stepped that far"
}

// BranchName is what a branch is called.
func BranchName(id int) string {
	if id == 0 {
		return "main"
	}
	return "branch " + strconv.Itoa(id)
}

// ComparedRow is one T in both branches. A side that has ended before has no
// row.
type ComparedRow struct {
	Time        string
	Left, Right *Row
	Equal       bool
	Differs     []bool // cell by cell; the last is the key's
}

func compare(left, right []Row) []ComparedRow {
	var out []ComparedRow
	for i := range max(len(left), len(right)) {
		c := ComparedRow{Time: "T" + strconv.Itoa(i+1)}
		if i < len(left) {
			c.Left = &left[i]
		}
		if i < len(right) {
			c.Right = &right[i]
		}
		c.Differs = differs(c.Left, c.Right)
		c.Equal = c.Left != nil && c.Right != nil && c.Left.At == c.Right.At && !slices.Contains(c.Differs, true)
		out = append(out, c)
	}
	return out
}

func differs(a, b *Row) []bool {
	some := a
	if some == nil {
		some = b
	}
	out := make([]bool, len(some.Cells)+1)
	for i := range some.Cells {
		out[i] = a == nil || b == nil || !sameCell(a, b, i)
	}
	out[len(some.Cells)] = a == nil || b == nil || !sameKey(a.Key, b.Key)
	return out
}

func sameCell(a, b *Row, i int) bool {
	x, y := a.Cells[i], b.Cells[i]
	return a.Event == b.Event && x.Title == y.Title && x.Acting == y.Acting && x.Inside == y.Inside && x.Parted == y.Parted &&
		slices.Equal(x.Lines, y.Lines) && slices.Equal(x.Notes, y.Notes) && slices.Equal(a.Violations, b.Violations)
}

func sameKey(a, b Key) bool {
	return a.Type == b.Type && a.Lease == b.Lease && slices.Equal(a.Holds, b.Holds)
}
