package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/trace"
)

// Types of a Jepsen operation's entries.
const (
	ednInvoke = "invoke"
	ednOK     = "ok"
	ednFail   = "fail"
	ednInfo   = "info" // whether it took place is not known
)

// history is a Jepsen history of a lock as it is written: one map a line, so that programs
// that read a line at a time read it too.
type history struct {
	b       *bound.Buffer
	index   *int              // of the next line, of all locks
	lock    string            // of several, its key
	process map[string]int    // of a thread, now
	threads int               // of all locks
	before  map[string]int    // what was believed before an event
	open    map[string]string // a thread's operation under way, "" for none
	held    map[string]bool   // when it began, the thread believed that it held the lock
	leaving map[string]int    // a thread's calls of release under way
}

// writeEDN writes what the callers of the lock saw as a Jepsen history: acquire and
// release of the outermost level, invoked and then ok, fail or info. A reentrant
// lock's inner levels are not in it, so that a checker's plain mutex is its model.
//
// If a caller does not know the outcome, that is info, and its process never speaks
// again, as Jepsen wants it: the thread goes on under another number. Sending an attempt
// again is not a separate operation: its call ends with the last one's outcome. Redis,
// not the caller, ends a lease; so if a thread leaves its critical section without its
// own release (it crashed, it heard that the lock is lost), that is written as a release
// at an unknown moment. Faults are the nemesis'.
//
// With several locks each has its own history: its operations have the lock's key as
// their value, as Jepsen's independent wants it, and their own processes.
func writeEDN(b *bound.Buffer, r Run) error {
	calls, err := r.calls(b)
	if err != nil {
		return err
	}
	index := 0
	var locks []*history
	for n := range r.Scenario.Keys() {
		h := &history{
			b: b, index: &index, process: map[string]int{}, threads: len(r.Scenario.Threads) * len(r.Scenario.Keys()),
			open: map[string]string{}, held: map[string]bool{}, leaving: map[string]int{}, before: map[string]int{},
		}
		if r.Scenario.Locks != nil {
			h.lock = r.Scenario.Locks[n]
		}
		for i, t := range r.Scenario.Threads {
			h.process[t.Name] = i + n*len(r.Scenario.Threads)
		}
		locks = append(locks, h)
	}
	begins, ends := make([][]call, len(r.Events)), make([][]call, len(r.Events))
	for _, c := range calls {
		if operation(c) != "" {
			begins[c.from()] = append(begins[c.from()], c)
			ends[c.to()] = append(ends[c.to()], c)
		}
	}
	return r.each(b, func(i int, e trace.Event) error {
		if len(e.Locks) < len(locks) || r.Scenario.Locks == nil {
			locks[0].add(r, e, begins[i], ends[i], true)
			return nil
		}
		for n, h := range locks {
			one := e
			one.Belief = e.Locks[n].Belief
			h.add(r, one, begins[i], ends[i], n == 0)
		}
		return nil
	})
}

// add adds an event, with the calls that begin and end with it. First: no other lock's
// history has it already.
func (h *history) add(r Run, e trace.Event, begins, ends []call, first bool) {
	mine := func(list []call) []call {
		return slices.DeleteFunc(slices.Clone(list), func(c call) bool { return c.lock != h.lock })
	}
	begins, ends = mine(begins), mine(ends)
	before := h.before
	for _, c := range begins {
		h.invoke(c.thread, operation(c), before[c.thread] > 0, e)
		if operation(c) == opRelease {
			h.leaving[c.thread]++
		}
	}
	for _, thread := range e.Leaving {
		if before[thread] > 0 && h.open[thread] == "" {
			h.invoke(thread, opRelease, true, e)
		}
	}
	if f, ok := e.Body.(trace.Fault); ok && first {
		h.nemesis(f, e)
	}
	for _, c := range ends {
		kind, rest := ending(c, h.held[c.thread]), ""
		if o := c.last().outcome; o != nil && kind == ednOK {
			if o.Token > 0 {
				rest += " :token " + strconv.FormatInt(o.Token, 10)
			}
			if c.name != fault.AtLock && c.name != fault.AtUnlock {
				rest += " :result " + ednKeyword(string(o.Result))
			}
		}
		if h.open[c.thread] == operation(c) {
			h.write(kind, c.thread, operation(c), e, rest)
		}
	}
	for _, t := range r.Scenario.Threads {
		if before[t.Name] > 0 && e.Belief[t.Name] == 0 && h.leaving[t.Name] == 0 {
			h.invoke(t.Name, opRelease, true, e)
			h.write(ednInfo, t.Name, opRelease, e, "")
		}
	}
	for _, c := range ends {
		if operation(c) == opRelease {
			h.leaving[c.thread]--
		}
	}
	h.before = e.Belief
}

// Operations of a lock.
const (
	opAcquire = "acquire"
	opRelease = "release"
)

// operation is what a call is in a history, "" if nothing.
func operation(c call) string {
	switch {
	case c.name == fault.AtLock && (c.level <= 1 || c.lock != ""):
		return opAcquire
	case c.name == fault.AtUnlock && (c.level <= 1 || c.lock != "") && !c.givesBack:
		return opRelease
	case c.name == trace.CallBeat || c.name == trace.CallLook:
		return c.name
	default:
		return ""
	}
}

// ending is how a call ends in a history. Held: its caller believed that it held
// the lock.
func ending(c call, held bool) string {
	switch result := c.result(); {
	case result == trace.Acquired, result == trace.Released, result == trace.Online, result == trace.Offline:
		return ednOK
	case c.name == fault.AtUnlock && (held || !c.heard()):
		return ednInfo // not held any more: it was released, but when is not known
	case c.heard():
		return ednFail
	default:
		return ednInfo
	}
}

// invoke begins an operation, if it has not begun. Another that is under way is over,
// and nobody knows how.
func (h *history) invoke(thread, what string, held bool, e trace.Event) {
	if under := h.open[thread]; under == what {
		return
	} else if under != "" {
		h.write(ednInfo, thread, under, e, "")
	}
	h.held[thread] = held
	h.write(ednInvoke, thread, what, e, "")
}

func (h *history) write(kind, thread, what string, e trace.Event, rest string) {
	value := "nil"
	if h.lock != "" {
		value = "[" + ednText(h.lock) + " nil]"
	}
	fmt.Fprintf(h.b, "{:type :%s :process %d :f %s :value %s :time %d :index %d :thread %s%s}\n",
		kind, h.process[thread], ednKeyword(what), value, e.At.Duration().Nanoseconds(), *h.index, ednText(thread), rest)
	*h.index++
	h.open[thread] = ""
	switch kind {
	case ednInvoke:
		h.open[thread] = what
	case ednInfo:
		h.process[thread] += h.threads
	}
}

func (h *history) nemesis(f trace.Fault, e trace.Event) {
	value := "nil"
	if e.Thread != "" {
		value = ednText(e.Thread)
	}
	fmt.Fprintf(h.b, "{:type :info :process :nemesis :f %s :value %s :time %d :index %d}\n",
		ednKeyword(f.Do), value, e.At.Duration().Nanoseconds(), *h.index)
	*h.index++
}

// ednKeyword returns a word as a keyword, without what a keyword cannot have.
func ednKeyword(word string) string {
	return ":" + strings.Map(func(c rune) rune {
		if c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, cmp.Or(word, "_"))
}

// ednText returns a string of EDN, in ASCII.
func ednText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c >= ' ' && c < 0x7f:
			b.WriteRune(c)
		default:
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
