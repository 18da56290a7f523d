package export

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/trace"
)

// firstPort is Redis' default port.
const firstPort = 6379

// writeTranscript writes what you would have typed into redis-cli and seen there, with
// comments for who, when and the outcome.
func writeTranscript(b *bound.Buffer, r Run) error {
	comment := func(text string) { b.WriteString("# " + oneLine(text) + "\n") }
	r.writePreface(comment)
	soFar := r.timeline()
	var script *trace.Event
	closeScript := func() {
		if script != nil {
			b.WriteString("# ]\n")
			script = nil
		}
	}
	step, announced := 0, false
	err := r.added(b, func(e trace.Event) {
		if e.Step != step {
			closeScript()
			step, announced = e.Step, false
			b.WriteString("\n")
			when := fmt.Sprintf("T%d · %s", e.Step, r.Language.Duration(e.At.Duration()))
			if e.Thread != "" {
				when += " · " + e.Thread
			}
			comment(when)
		}
		c, ok := e.Body.(trace.Command)
		if !ok {
			if e.Thread != "" {
				closeScript()
			}
			w := worded(soFar, e)
			for _, text := range slices.Concat([]string{w.title}, w.notes, w.broken, []string{w.event}) {
				if text != "" {
					comment(text)
				}
			}
			return
		}
		if script != nil && !sameScript(*script, e) {
			closeScript()
		}
		if c.Late && !announced {
			announced = true
			comment(worded(soFar, e).title)
		}
		if c.Script != "" && script == nil {
			script = &e
			comment("[ " + c.Script)
		}
		fmt.Fprintf(b, "127.0.0.1:%d> %s\n", firstPort+max(c.Node, 1)-1, typed(c.Args))
		writeReply(b, c)
		b.WriteString("\n")
	})
	closeScript()
	return err
}

// writePreface says what the transcript is of, and who is who in it.
func (r Run) writePreface(comment func(text string)) {
	say := r.Language.Say
	comment(r.title())
	comment(r.place())
	if r.Link != "" {
		comment(r.Link)
	}
	comment(say("The commands as Redis ran them, and its replies as redis-cli shows them."))
	if slices.ContainsFunc(r.Events, inScript) {
		comment(say("Between # [ and # ] is what one Lua script did: it ran as one step, with no other command in between. It was sent as EVALSHA."))
	}
	for _, id := range slices.SortedFunc(maps.Keys(r.Header.Owners), func(x, y string) int {
		return strings.Compare(r.Header.Owners[x]+x, r.Header.Owners[y]+y)
	}) {
		comment(say("Owner %s is thread %s.", id, r.Header.Owners[id]))
	}
	if r.Scenario.Lock.Nodes > 1 {
		comment(say("Each node is a separate Redis: node 1 on port 6379, node 2 on port 6380, and so on."))
	}
	for _, t := range r.scenario().Threads {
		if t.Of != "" {
			comment(say("Thread %s: %s.", t.Name, t.Of))
		}
	}
}

func inScript(e trace.Event) bool {
	c, ok := e.Body.(trace.Command)
	return ok && c.Script != ""
}

// writeCommands writes commands only, one per line, that do to an empty Redis
// what the run did. If something other than a command changed the key (its
// lease ran out, Redis restarted), equivalent commands take its place. Pasted,
// they run faster than the run did, so no lease expires that did not expire in
// it. Nodes become databases of a single Redis.
func writeCommands(b *bound.Buffer, r Run) error {
	p := replay{b: b, key: r.Scenario.Lock.Key, nodes: map[int]*replayed{}, selected: 1}
	return r.added(b, p.event)
}

// timed has a lease that ends at an instant of the run's clock end as long after
// it is pasted as it did after it was sent: now is the key then.
func timed(args []string, now trace.KeyState) []string {
	i := slices.Index(args, "PXAT")
	if i < 0 || i+1 >= len(args) {
		return args
	}
	args = slices.Clone(args)
	args[i], args[i+1] = "PX", strconv.FormatInt(max(now.PTTL, 1), 10)
	return args
}

type replay struct {
	b        *bound.Buffer
	key      string
	nodes    map[int]*replayed
	selected int // node
}

// replayed is a node after the commands so far.
type replayed struct {
	key   trace.KeyState
	other []string        // keys in commands, other than the lock's
	noted map[string]bool // those of other
}

func (p *replay) event(e trace.Event) {
	states := e.Nodes
	if len(states) == 0 {
		states = []trace.KeyState{e.Key}
	}
	c, isCommand := e.Body.(trace.Command)
	for i, now := range states {
		n := p.nodes[i+1]
		if n == nil {
			n = &replayed{key: trace.Absent(), noted: map[string]bool{}}
			p.nodes[i+1] = n
		}
		switch f, isFault := e.Body.(trace.Fault); {
		case isCommand && refused(c):
		case isCommand && max(c.Node, 1) == i+1:
			p.send(i+1, timed(c.Args, now)...)
			n.note(c.Args, p.key)
		case isFault && f.Do == fault.Restart && !f.Keep && f.LoseMS == 0 && max(f.Node, 1) == i+1 && len(n.other) > 0:
			p.send(i+1, append([]string{"DEL"}, n.other...)...)
			n.other = nil
			clear(n.noted)
			p.bring(i+1, n.key, now)
		default:
			p.bring(i+1, n.key, now)
		}
		n.key = now
	}
}

// refused reports whether a command is none of a healthy Redis: one that was not run
// for a reason which that does not have, or ran on a master whose writes are lost.
func refused(c trace.Command) bool {
	_, is := fault.ErrorReplyIn(c.Error)
	return is || c.OldMaster
}

// note records the key of a command.
func (n *replayed) note(args []string, lock string) {
	if len(args) < 2 || args[0] == "PUBLISH" || args[1] == lock || n.noted[args[1]] {
		return
	}
	n.noted[args[1]] = true
	n.other = append(n.other, args[1])
}

// send writes a command to a node.
func (p *replay) send(node int, args ...string) {
	if node != p.selected {
		p.selected = node
		p.b.WriteString("SELECT " + strconv.Itoa(node-1) + "\n")
	}
	p.b.WriteString(typed(args) + "\n")
}

// bring changes a node's key to what it is now.
func (p *replay) bring(node int, was, now trace.KeyState) {
	same := was.Type == now.Type && maps.Equal(was.Fields, now.Fields) &&
		(was.Value == nil) == (now.Value == nil) && (was.Value == nil || *was.Value == *now.Value)
	if same {
		return
	}
	if was.Exists() {
		p.send(node, "DEL", p.key)
	}
	switch {
	case now.Value != nil:
		p.send(node, "SET", p.key, *now.Value)
	case len(now.Fields) > 0:
		args := []string{"HSET", p.key}
		for _, f := range slices.Sorted(maps.Keys(now.Fields)) {
			args = append(args, f, now.Fields[f])
		}
		p.send(node, args...)
	default:
		return
	}
	if now.PTTL > 0 {
		p.send(node, "PEXPIRE", p.key, strconv.FormatInt(now.PTTL, 10))
	}
}

// typed returns a command as typed into redis-cli.
func typed(args []string) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = argument(a)
	}
	return strings.Join(list, " ")
}

// argument returns one argument, quoted if necessary.
func argument(text string) string {
	bare := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-+.:,;/@%=*!?#{}[]()<>|&^~$", c)
	}
	if text != "" && strings.IndexFunc(text, func(c rune) bool { return !bare(c) }) < 0 {
		return text
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case strconv.IsPrint(c):
			b.WriteRune(c)
		default:
			for _, one := range []byte(string(c)) {
				fmt.Fprintf(&b, `\x%02x`, one)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// reply returns a command's reply as redis-cli shows it, for a file that b becomes.
func reply(b *bound.Buffer, c trace.Command) (string, error) {
	text := bound.NewBuffer(b.Context()) // lists within lists are far longer than in the trace
	writeReply(text, c)
	return text.String(), text.Err()
}

// Typed is a command as one types it, at one of several nodes where it names one.
func Typed(c trace.Command) string {
	port := ""
	if c.Node > 0 {
		port = "-p " + strconv.Itoa(firstPort+c.Node-1) + " "
	}
	return "redis-cli " + port + typed(c.Args)
}

// Monitored is how to have MONITOR print what scripts do, and not what calls them; node is
// one of several, or 0.
func Monitored(node int) string {
	return Typed(trace.Command{Args: []string{"MONITOR"}, Node: node}) + " | grep -v EVALSHA"
}

// Printed is a command's reply as redis-cli shows it.
func Printed(ctx context.Context, c trace.Command) (string, error) {
	return reply(bound.NewBuffer(ctx), c)
}

// writeReply writes a command's reply as redis-cli shows it.
func writeReply(b *bound.Buffer, c trace.Command) {
	text, isText := c.Reply.(string)
	switch {
	case c.Error != "":
		b.WriteString("(error) " + oneLine(c.Error))
	case isText && text == "OK" && len(c.Args) > 0 && c.Args[0] == "SET":
		b.WriteString("OK") // a status, not a string
	case isText && len(c.Args) > 0 && (c.Args[0] == "INFO" || c.Args[0] == "CLIENT"):
		b.WriteString(text) // a text of lines, as it is
	default:
		show(b, c.Reply, "", 0)
	}
}

// show writes a value of a reply, within so many lists; indent precedes the
// continuation lines of a list.
func show(b *bound.Buffer, v any, indent string, depth int) {
	switch v := v.(type) {
	case nil:
		b.WriteString("(nil)")
	case int64:
		b.WriteString("(integer) " + strconv.FormatInt(v, 10))
	case string:
		b.WriteString(trace.Quoted(v))
	case []any:
		switch {
		case len(v) == 0:
			b.WriteString("(empty array)")
			return
		case depth == bound.Depth:
			b.WriteString("…")
			return
		}
		width := len(strconv.Itoa(len(v)))
		within := indent + strings.Repeat(" ", width+2)
		for i, one := range v {
			if b.Err() != nil {
				return
			}
			if i > 0 {
				b.WriteString("\n" + indent)
			}
			fmt.Fprintf(b, "%*d) ", width, i+1)
			show(b, one, within, depth+1)
		}
	default:
		b.WriteString(trace.Quoted(fmt.Sprint(v)))
	}
}
