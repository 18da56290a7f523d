package export

import (
	"cmp"
	"strconv"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/trace"
)

// Processes of the Chrome form: who asks, and who answers.
const (
	chromeThreads = 1
	chromeRedis   = 2
)

// Tracks of a thread.
const (
	trackCalls = iota // its calls, waits and work
	trackHeld         // what it believes to hold
	trackRenew        // its watchdog
	tracks
)

// chromeEvent is an entry of Chrome's trace event format, which Perfetto reads as a
// legacy form. Times are microseconds.
type chromeEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	At    int64          `json:"ts"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Cat   string         `json:"cat,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// chrome writes slices that nest: each track is a stack, and what ends closes what
// has begun within it.
type chrome struct {
	b     *bound.Buffer
	open  map[int][]string // by track
	named map[slice]int    // how many of them are open
	begun bool
	err   error
}

// slice is a name on a track.
type slice struct {
	track int
	name  string
}

func (c *chrome) write(e chromeEvent) {
	text, err := jsonText(e)
	if err != nil {
		c.err = cmp.Or(c.err, err)
		return
	}
	if c.begun {
		c.b.WriteString(",\n")
	}
	c.begun = true
	c.b.WriteString(text)
}

func (c *chrome) begin(tid int, name string, e trace.Event, args map[string]any) {
	c.open[tid] = append(c.open[tid], name)
	c.named[slice{tid, name}]++
	c.write(chromeEvent{Name: name, Phase: "B", At: micros(e), PID: chromeThreads, TID: tid, Args: args})
}

// end closes the innermost slice with a name, and those within it.
func (c *chrome) end(tid int, name string, e trace.Event, args map[string]any) {
	if c.named[slice{tid, name}] == 0 {
		return
	}
	stack := c.open[tid]
	at := len(stack) - 1
	for stack[at] != name {
		at--
	}
	c.endTo(tid, at, e, args)
}

// endTo closes slices until n are left.
func (c *chrome) endTo(tid, n int, e trace.Event, args map[string]any) {
	for stack := c.open[tid]; len(stack) > n; stack = c.open[tid] {
		last := len(stack) - 1
		one := chromeEvent{Name: stack[last], Phase: "E", At: micros(e), PID: chromeThreads, TID: tid}
		if last == n {
			one.Args = args
		}
		c.open[tid] = stack[:last]
		c.ended(slice{tid, stack[last]})
		c.write(one)
	}
}

// ended counts a slice off.
func (c *chrome) ended(s slice) {
	if c.named[s]--; c.named[s] == 0 {
		delete(c.named, s)
	}
}

// believes writes what a thread believes it holds: a slice for each level, and one for
// all levels that are too deep to be drawn separately.
func (c *chrome) believes(tid, was, is int, e trace.Event) {
	was, is = max(was, 0), max(is, 0)
	if was == is {
		return
	}
	kept := min(was, is, bound.Levels)
	c.endTo(tid, kept, e, nil)
	for n := kept + 1; n <= min(is, bound.Levels); n++ {
		c.begin(tid, "holds, level "+strconv.Itoa(n), e, nil)
	}
	switch first := strconv.Itoa(bound.Levels + 1); {
	case is == bound.Levels+1:
		c.begin(tid, "holds, level "+first, e, nil)
	case is > bound.Levels:
		c.begin(tid, "holds, levels "+first+" to "+strconv.Itoa(is), e, nil)
	}
}

func micros(e trace.Event) int64 { return e.At.Duration().Microseconds() }

// writePerfetto writes the run for ui.perfetto.dev and chrome://tracing: a track of
// calls and work and one of belief for each thread, one for each node of Redis with
// its commands, and the lease as a counter.
func writePerfetto(b *bound.Buffer, r Run) error {
	calls, err := r.calls(b)
	if err != nil {
		return err
	}
	b.WriteString("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")
	c := &chrome{b: b, open: map[int][]string{}, named: map[slice]int{}}
	tid := map[string]int{}
	c.name("process_name", chromeThreads, 0, oneLine(r.title()))
	for i, t := range r.scenario().Threads {
		tid[t.Name] = 1 + i*tracks
		c.name("thread_name", chromeThreads, tid[t.Name]+trackCalls, headOf(t.Name, t))
		c.name("thread_name", chromeThreads, tid[t.Name]+trackHeld, t.Name+": believes")
		if r.Scenario.Lock.Watchdog > 0 {
			c.name("thread_name", chromeThreads, tid[t.Name]+trackRenew, t.Name+": watchdog")
		}
	}
	c.name("process_name", chromeRedis, 0, "Redis: "+oneLine(r.Scenario.Lock.Key))
	nodes := max(r.Scenario.Lock.Nodes, 1)
	for n := range nodes {
		c.name("thread_name", chromeRedis, n+1, "node "+strconv.Itoa(n+1))
	}
	begins, ends := r.attempts(calls)
	believed := map[string]int{}
	err = r.each(b, func(i int, e trace.Event) error {
		for _, x := range begins[i] {
			c.attemptBegins(tid[x.thread], x, e)
		}
		c.happens(tid, nodes, e)
		for _, x := range ends[i] {
			c.attemptEnds(tid[x.thread], x, e)
		}
		for _, t := range r.Scenario.Threads {
			c.believes(tid[t.Name]+trackHeld, believed[t.Name], e.Belief[t.Name], e)
		}
		believed = e.Belief
		c.counters(e, len(r.Scenario.Threads))
		return c.err
	})
	if err != nil {
		return err
	}
	if n := len(r.Events); n > 0 {
		for _, t := range r.Scenario.Threads {
			for track := range tracks {
				c.endTo(tid[t.Name]+track, 0, r.Events[n-1], nil)
			}
		}
	}
	b.WriteString("\n]}\n")
	return c.err
}

func trackOf(tid int, name string) int {
	if name == fault.AtRenew {
		return tid + trackRenew
	}
	return tid + trackCalls
}

func (c *chrome) attemptBegins(tid int, x callAttempt, e trace.Event) {
	tid = trackOf(tid, x.name)
	c.end(tid, sliceWait, e, nil)
	if x.first() {
		c.begin(tid, x.title(), e, map[string]any{"level": x.level, "gives_back": x.givesBack})
	}
	c.begin(tid, "attempt "+strconv.Itoa(x.attempts[x.n].number), e, nil)
}

func (c *chrome) attemptEnds(tid int, x callAttempt, e trace.Event) {
	tid = trackOf(tid, x.name)
	args := map[string]any{"result": "unknown"}
	if o := x.attempts[x.n].outcome; o != nil {
		args["result"] = o.Result
		if o.Error != "" {
			args["error"] = o.Error
		}
		if o.Token > 0 {
			args["token"] = o.Token
		}
		if o.Count > 0 {
			args["count"] = o.Count
		}
	}
	c.end(tid, "attempt "+strconv.Itoa(x.attempts[x.n].number), e, args)
	if x.isLast() {
		c.end(tid, x.title(), e, args)
	}
}

const sliceWait = "waits"

// happens writes an event that is no call's.
func (c *chrome) happens(tid map[string]int, nodes int, e trace.Event) {
	at := chromeEvent{Phase: "i", Scope: "t", At: micros(e), PID: chromeThreads, TID: tid[e.Thread] + trackCalls}
	switch b := e.Body.(type) {
	case trace.Command:
		at.PID, at.TID, at.Cat = chromeRedis, max(b.Node, 1), "command"
		at.Name = oneLine(typed(b.Args))
		at.Args = map[string]any{"thread": e.Thread, "call": b.Call, "reply": b.Reply}
		if b.Script != "" {
			at.Args["script"] = b.Script + ":" + strconv.Itoa(b.Line)
		}
		if b.Error != "" {
			at.Args["error"] = b.Error
		}
		if b.Late {
			at.Args["late"] = true
		}
	case trace.Wait:
		c.begin(at.TID, sliceWait, e, map[string]any{"why": b.Why, "for_ms": b.For})
		return
	case trace.Work:
		name := "work, level " + strconv.Itoa(b.Level)
		if b.State == trace.WorkBegin {
			c.begin(at.TID, name, e, map[string]any{"for_ms": b.For})
		} else {
			c.end(at.TID, name, e, nil)
		}
		return
	case trace.Fault:
		at.Name, at.Cat = "fault: "+b.Do, "fault"
		at.Args = map[string]any{"fault": b}
		if e.Thread == "" {
			at.PID, at.TID, at.Scope = chromeRedis, min(max(b.Node, 1), nodes), "p"
		}
	case trace.Expired:
		at.PID, at.TID, at.Scope, at.Cat = chromeRedis, max(b.Node, 1), "p", "expired"
		at.Name = "the lease is over"
	case trace.Violation:
		at.Name, at.Scope, at.Cat = b.Rule, "g", "violation"
		at.Args = map[string]any{"detail": b.Detail, "threads": b.Threads}
		at.TID = 0
	case trace.Resource:
		at.Name, at.Cat = b.Op+" "+strconv.Itoa(b.Value), "resource"
		at.Args = map[string]any{"resource": b}
	case trace.End:
		if e.Thread == "" {
			return
		}
		c.endTo(at.TID, 0, e, nil)
		c.endTo(tid[e.Thread]+trackRenew, 0, e, nil)
		at.Name, at.Cat = "ends: "+string(b.Result), "end"
		if b.Error != "" {
			at.Args = map[string]any{"error": b.Error}
		}
	default:
		return
	}
	c.write(at)
}

// counters writes how long the key will live, on each node, and how many believe to
// hold it.
func (c *chrome) counters(e trace.Event, threads int) {
	lease := map[string]any{}
	for n, key := range statesOf(e) {
		lease["node "+strconv.Itoa(n+1)] = max(key.PTTL, 0)
	}
	for n, one := range e.Locks {
		if n == 0 {
			clear(lease)
		}
		lease[one.Lock] = max(one.Key.PTTL, 0)
	}
	inside := 0
	for _, levels := range e.Belief {
		if levels > 0 {
			inside++
		}
	}
	c.write(chromeEvent{Name: "lease (ms)", Phase: "C", At: micros(e), PID: chromeRedis, Args: lease})
	c.write(chromeEvent{Name: "believe to hold it", Phase: "C", At: micros(e), PID: chromeThreads, Args: map[string]any{"threads": min(inside, threads)}})
}

// statesOf returns the key on each node.
func statesOf(e trace.Event) []trace.KeyState {
	if len(e.Nodes) > 0 {
		return e.Nodes
	}
	return []trace.KeyState{e.Key}
}

func (c *chrome) name(what string, pid, tid int, name string) {
	c.write(chromeEvent{Name: what, Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
}
