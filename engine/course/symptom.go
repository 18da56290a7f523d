package course

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// LogKind is who wrote a log.
type LogKind string

// The kinds of log.
const (
	Monitor LogKind = "monitor" // redis-cli MONITOR, without what calls a script
	Clients LogKind = "clients" // the clients' own lines, of all or of one
	Metrics LogKind = "metrics" // counters of the clients, and of Redis
)

// Log is what is seen of a run, as it is kept at work.
type Log struct {
	Kind   LogKind
	Client string        // whose it is; "" of all, or of Redis
	Node   int           // of Monitor, from 1, where there are several; or 0
	Every  time.Duration // of Metrics
	Lines  []LogLine
}

// LogLine is a line of a log.
type LogLine struct {
	At   trace.Millis
	Text string
}

// began is what Redis' clock says when a run begins, in seconds.
const began = 1_700_000_000

// parseLog reads which logs of a run of sc to show: "monitor", "monitor 3", "clients",
// "client B", "metrics 500ms".
func parseLog(text string, sc *scenario.Scenario) (Log, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 1 && words[0] == "monitor" && sc.Lock.Nodes == 1:
		return Log{Kind: Monitor}, nil
	case len(words) == 2 && words[0] == "monitor":
		if n, err := strconv.Atoi(words[1]); err == nil && n > 0 && n <= sc.Lock.Nodes && sc.Lock.Nodes > 1 {
			return Log{Kind: Monitor, Node: n}, nil
		}
	case len(words) == 1 && words[0] == "clients":
		return Log{Kind: Clients}, nil
	case len(words) == 2 && words[0] == "client" && slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == words[1] }):
		return Log{Kind: Clients, Client: words[1]}, nil
	case len(words) == 2 && words[0] == "metrics":
		if d, err := time.ParseDuration(words[1]); err == nil && d >= time.Millisecond {
			return Log{Kind: Metrics, Every: d}, nil
		}
	}
	return Log{}, phrase.New("%q is no log; allowed: monitor (with several nodes the number of one), clients, client NAME, metrics 500ms", text)
}

// of is the log of a run up to an instant.
func (g Log) of(r *Run, to trace.Millis) Log {
	names := r.named()
	add := func(at trace.Millis, text string) {
		g.Lines = append(g.Lines, LogLine{at, names.Replace(text)})
	}
	g.Lines = nil
	seen := r.Events[:until(r.Events, to)]
	switch g.Kind {
	case Monitor:
		for n, e := range seen {
			if f, ok := e.Body.(trace.Fault); ok && (f.Do == fault.Restart || f.Do == fault.FailOver) && max(f.Node, 1) == max(g.Node, 1) {
				add(e.At, "Error: Server closed the connection") // and redis-cli is over
				break
			}
			if c, ok := e.Body.(trace.Command); ok && max(c.Node, 1) == max(g.Node, 1) && !c.OldMaster && !refusedUnread(c) {
				add(e.At, r.monitored(e, c, clockAt(seen[:n], e.At, g.Node)))
			}
		}
	case Clients:
		for _, e := range seen {
			if e.Thread == "" || g.Client != "" && e.Thread != g.Client {
				continue
			}
			if text := logged(e); text != "" {
				add(e.At, fmt.Sprintf("%7.3f %s %s", e.At.Duration().Seconds(), e.Thread, text))
			}
		}
	case Metrics:
		for from := time.Duration(0); from < to.Duration(); from += g.Every {
			n := counted(seen, from, from+g.Every)
			add(trace.MillisOf(from+g.Every), fmt.Sprintf("%7.3f granted=%d refused=%d renewed=%d released=%d failed=%d commands=%d",
				(from+g.Every).Seconds(), n[trace.Acquired], n[trace.Refused], n[trace.Renewed], n[trace.Released], n[trace.Failed], n[""]))
		}
	}
	return g
}

// named puts the names of clients in the places of what they are called in Redis, as
// pages do.
func (r *Run) named() *strings.Replacer {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(r.Header.Owners)) {
		list = append(list, id, r.Header.Owners[id])
	}
	return strings.NewReplacer(list...)
}

// refusedUnread reports whether Redis refused a command before it ran: MONITOR does not
// show it.
func refusedUnread(c trace.Command) bool {
	_, is := fault.ErrorReplyIn(c.Error)
	return is
}

// port is that of a client's connection.
func (r *Run) port(thread string) int {
	return 50001 + slices.IndexFunc(r.Scenario.Threads, func(t scenario.Thread) bool { return t.Name == thread })
}

// monitored is a command as MONITOR prints it.
func (r *Run) monitored(e trace.Event, c trace.Command, clock time.Duration) string {
	client := fmt.Sprintf("127.0.0.1:%d", r.port(e.Thread))
	if c.Script != "" {
		client = "lua"
	}
	text := fmt.Sprintf("%d.%06d [0 %s]", began+int64(clock/time.Second), (clock%time.Second)/time.Microsecond, client)
	for _, arg := range c.Args {
		text += " " + trace.Quoted(arg)
	}
	return text
}

// clockAt is how long the clock of a Redis has gone since the run began.
func clockAt(seen []trace.Event, at trace.Millis, node int) time.Duration {
	clock := at.Duration()
	for _, e := range seen {
		if f, ok := e.Body.(trace.Fault); ok && f.Do == fault.ClockJump && max(f.Node, 1) == max(node, 1) {
			if by, known := fault.JumpsBy(f).(time.Duration); known {
				clock += by
			}
		}
	}
	return clock
}

// logged is what a client writes of an event to its log; "" for nothing.
func logged(e trace.Event) string {
	of := ""
	if e.Lock != "" {
		of = " " + e.Lock
	}
	switch b := e.Body.(type) {
	case trace.Outcome:
		text := b.Call + of
		if b.Level > 1 {
			text += fmt.Sprintf(" level %d", b.Level)
		}
		if b.Attempt > 1 {
			text += fmt.Sprintf(" attempt %d", b.Attempt)
		}
		switch b.Cause.Kind {
		case trace.Reset, trace.TimedOut, trace.HungUp: // a client that has heard nothing cannot know what was lost
			return text + ": no answer"
		}
		return text + ": " + cmp.Or(strings.TrimPrefix(b.Error, "lock: "), string(b.Result))
	case trace.Work:
		if b.State == trace.WorkBegin {
			return "work begins"
		}
		return "work ends"
	case trace.Resource:
		switch {
		case b.Op == trace.OpRead:
			return fmt.Sprintf("reads %d", b.Value)
		case b.Refused:
			return "write refused"
		case b.Effect:
			return "done"
		}
		return fmt.Sprintf("writes %d", b.Value)
	case trace.End:
		switch b.Result {
		case trace.Crashed: // the dead write nothing
		case trace.Exhausted:
			return "gives up"
		}
	}
	return ""
}

// counted is how often clients heard each result between two instants, and under ""
// how many commands Redis ran.
func counted(seen []trace.Event, from, to time.Duration) map[trace.Result]int {
	n := map[trace.Result]int{}
	for _, e := range seen {
		if at := e.At.Duration(); at < from || at >= to {
			continue
		}
		switch b := e.Body.(type) {
		case trace.Command:
			n[""]++
		case trace.Outcome:
			n[b.Result]++
		}
	}
	return n
}

// query is a command that can be asked of Redis, and what it answers, by what was
// recorded of a run.
type query struct {
	args []string // "KEY" stands for the lock's key
	node int      // of several, from 1, or 0
	text string   // as an item has it
	ask  func(r *Run, seen []trace.Event, at trace.Millis, node int) any
}

// errWrongType is Redis' answer to a command for another type of key.
var errWrongType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")

// queries are by what an item calls them.
var queries = map[string]query{
	"GET": {args: []string{"GET", "KEY"}, ask: func(_ *Run, seen []trace.Event, _ trace.Millis, node int) any {
		switch key := keyIn(seen, node); {
		case !key.Exists():
			return nil
		case key.Value == nil:
			return errWrongType
		default:
			return *key.Value
		}
	}},
	"HGETALL": {args: []string{"HGETALL", "KEY"}, ask: func(_ *Run, seen []trace.Event, _ trace.Millis, node int) any {
		key := keyIn(seen, node)
		if key.Exists() && key.Type != trace.TypeHash {
			return errWrongType
		}
		list := []any{}
		for _, field := range slices.Sorted(maps.Keys(key.Fields)) {
			list = append(list, field, key.Fields[field])
		}
		return list
	}},
	"PTTL": {args: []string{"PTTL", "KEY"}, ask: func(_ *Run, seen []trace.Event, at trace.Millis, node int) any {
		key := keyIn(seen, node)
		switch {
		case !key.Exists():
			return int64(trace.NoKey)
		case key.PTTL < 0:
			return key.PTTL
		}
		return key.PTTL - (at - seen[len(seen)-1].At).Duration().Milliseconds()
	}},
	"EXISTS": {args: []string{"EXISTS", "KEY"}, ask: func(_ *Run, seen []trace.Event, _ trace.Millis, node int) any {
		if keyIn(seen, node).Exists() {
			return int64(1)
		}
		return int64(0)
	}},
	"TYPE": {args: []string{"TYPE", "KEY"}, ask: func(_ *Run, seen []trace.Event, _ trace.Millis, node int) any {
		return cmp.Or(keyIn(seen, node).Type, trace.TypeNone)
	}},
	"CLIENT LIST": {args: []string{"CLIENT", "LIST"}, ask: clientList},
	"INFO stats": {args: []string{"INFO", "stats"}, ask: func(_ *Run, seen []trace.Event, _ trace.Millis, node int) any {
		expired, evicted := 0, 0 // of the lock's key: nothing else is known to have ended
		for _, e := range seen {
			switch b := e.Body.(type) {
			case trace.Expired:
				if max(b.Node, 1) == max(node, 1) {
					expired++
				}
			case trace.Fault:
				switch {
				case max(b.Node, 1) != max(node, 1):
				case b.Do == fault.Restart, b.Do == fault.FailOver: // another process, which counts from the beginning
					expired, evicted = 0, 0
				case b.Do == fault.Evict:
					evicted++
				}
			}
		}
		return fmt.Sprintf("expired_keys:%d\nevicted_keys:%d", expired, evicted)
	}},
	"INFO server": {args: []string{"INFO", "server"}, ask: func(_ *Run, seen []trace.Event, at trace.Millis, node int) any {
		since := time.Duration(0)
		for n, e := range seen {
			if f, ok := e.Body.(trace.Fault); ok && f.Do == fault.Restart && max(f.Node, 1) == max(node, 1) {
				since = clockAt(seen[:n], e.At+f.ForMS, node)
			}
		}
		return fmt.Sprintf("uptime_in_seconds:%d", (clockAt(seen, at, node)-since)/time.Second)
	}},
	"SLOWLOG GET": {args: []string{"SLOWLOG", "GET"}, ask: func(*Run, []trace.Event, trace.Millis, int) any { return []any{} }}, // a run's commands take no time
}

// keyIn is the lock's key after some events, on a node.
func keyIn(seen []trace.Event, node int) trace.KeyState {
	if len(seen) == 0 {
		return trace.Absent()
	}
	last := seen[len(seen)-1]
	if node > 0 && node <= len(last.Nodes) {
		return last.Nodes[node-1]
	}
	return last.Key
}

// clientList is some fields of CLIENT LIST: a client that has sent a command is connected
// until its process is dead.
func clientList(r *Run, seen []trace.Event, at trace.Millis, node int) any {
	var lines []string
	for _, t := range r.Scenario.Threads {
		first, last, cmd := trace.Millis(-1), trace.Millis(0), ""
		for _, e := range seen {
			if e.Thread != t.Name {
				continue
			}
			switch b := e.Body.(type) {
			case trace.Command:
				if max(b.Node, 1) != max(node, 1) {
					continue
				}
				if first < 0 {
					first = e.At
				}
				last, cmd = e.At, strings.ToLower(b.Arg(0))
				if b.Script != "" {
					cmd = "evalsha"
				}
			case trace.End:
				if b.Result == trace.Crashed {
					first = -1
				}
			}
		}
		if first >= 0 {
			lines = append(lines, fmt.Sprintf("addr=127.0.0.1:%d name=%s age=%d idle=%d cmd=%s", r.port(t.Name), t.Name, (at-first).Duration()/time.Second, (at-last).Duration()/time.Second, cmd))
		}
	}
	return strings.Join(lines, "\n")
}

// parseQuery reads what can be asked next: one of queries, and with several nodes
// the number of one.
func parseQuery(text string, sc *scenario.Scenario) (query, error) {
	words, node := strings.Fields(text), 0
	if last := len(words) - 1; sc.Lock.Nodes > 1 && last > 0 {
		if n, err := strconv.Atoi(words[last]); err == nil && n > 0 && n <= sc.Lock.Nodes {
			words, node = words[:last], n
		}
	}
	q, known := queries[strings.Join(words, " ")]
	if !known || sc.Lock.Nodes > 1 && node == 0 {
		return q, phrase.New("%q cannot be asked; allowed, with several nodes and the number of one: %s", text, strings.Join(slices.Sorted(maps.Keys(queries)), ", "))
	}
	q.node, q.text = node, text
	return q, nil
}

// answer is what Redis answers at an instant of a run.
func (q query) answer(r *Run, at trace.Millis) trace.Command {
	c := trace.Command{Node: q.node}
	for _, arg := range q.args {
		if arg == "KEY" {
			arg = r.Scenario.Lock.Key
		}
		c.Args = append(c.Args, arg)
	}
	names := r.named()
	switch v := q.ask(r, r.Events[:until(r.Events, at)], at, q.node).(type) {
	case error:
		c.Error = v.Error()
	case string:
		c.Reply = names.Replace(v)
	case []any:
		for n, one := range v {
			v[n] = names.Replace(one.(string))
		}
		c.Reply = v
	default:
		c.Reply = v
	}
	return c
}
