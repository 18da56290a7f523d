package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"relock/engine/journal"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/recall"
	"relock/engine/trace"
)

// Gate is a RESP2 and RESP3 server with a port for each thread, in front of one
// Redis or several, the nodes of a lock of a majority. It holds every command until it gets a decision. Its methods are safe for
// concurrent use.
type Gate struct {
	mu      sync.Mutex
	room    sync.Cond     // in somebody's queue
	changed chan struct{} // closed, and made again, when something comes or goes
	nodes   nodes
	own     []session // for questions of the gate's, to each node
	lanes   []*lane
	sends   map[uint64]int    // how many commands a thread has sent when it is silent, by its answers
	scripts map[string]string // text by digest
	failed  failures          // in this round; nil where there are none
	touched map[string]bool
	made    int  // connections so far
	came    int  // commands so far
	live    bool // commands are answered as they come
	watched bool // scripts are journalled
	closed  bool
	lost    bool // the next messages are lost
	wg      sync.WaitGroup

	key      string   // the lock's, "" while nobody knows
	also     []string // keys of further locks
	resource string
	onRecord func(infer.Record)
	second   *recall.Second // is asked, too, what scripts answer; nil where none is
}

// lane is what comes in on one port, or of several nodes on a port for each: a thread.
type lane struct {
	name   string
	ports  []net.Listener
	conns  []*conn
	late   []*item // sent, given up by their client, and still to arrive
	last   string  // its last command, in words
	spoken bool    // a command has come in this life of its worker
	rounds bool    // it has asked for a round
	moved  time.Time
	worker *worker
	spin   spin
	told   uint64 // its answers in this round, with several nodes, until it has sent something
	heard  uint64 // and since
}

// conn is one connection of a thread.
type conn struct {
	id       int
	lane     *lane
	node     int // from 0
	c        net.Conn
	raw      syscall.RawConn // of c
	s        session
	queue    []*item
	resp3    bool
	multi    bool
	dirty    bool
	tx       [][]string
	txHeld   int      // bytes of tx
	watched  []string // keys on which its next transaction depends
	in       inbox
	channels []string
	patterns []string
	name     string
	library  map[string]string // as it has said itself: LIB-NAME, LIB-VER
	mute     bool              // CLIENT REPLY OFF
	skip     bool              // CLIENT REPLY SKIP: the next answer is left out
	unsent   []byte            // of answers that the client has not taken yet
}

// item is a command that waits for its turn.
type item struct {
	c        *conn
	args     []string
	nth      int        // of all that have come
	weight   int        // in bytes
	tx       [][]string // of EXEC
	blocking bool
	deadline time.Duration // by Redis' clock, of one that waits for others; 0: none
	alarm    *time.Timer   // at its deadline, where nobody is held
}

// listen opens a gate on loopback, or on the host given. Threads are named A, B, …
// It fails where it cannot listen.
func listen(host string, threads int, behind nodes) (*Gate, error) {
	g := &Gate{nodes: behind, changed: make(chan struct{}), scripts: map[string]string{}, touched: map[string]bool{}, sends: map[uint64]int{}}
	g.room.L = &g.mu
	for _, redis := range behind {
		own, err := redis.session()
		if err != nil {
			g.Close()
			return nil, err
		}
		g.own = append(g.own, own)
	}
	for i := range threads {
		ln := &lane{name: Thread(i)}
		g.lanes = append(g.lanes, ln)
		for node := range behind {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0")) //nolint:noctx // it is there at once
			if err != nil {
				g.Close()
				return nil, fmt.Errorf("lab: %w", err)
			}
			ln.ports = append(ln.ports, l)
			g.wg.Add(1)
			go func() { defer g.wg.Done(); g.accept(ln, l, node) }()
		}
	}
	return g, nil
}

// Thread names the ith thread, from 0: A, B, …
func Thread(i int) string { return string(rune('A' + i)) }

// Ports returns the addresses of each thread, one for each node.
func (g *Gate) Ports() [][]string {
	list := make([][]string, len(g.lanes))
	for i, l := range g.lanes {
		list[i] = l.addresses()
	}
	return list
}

// addresses are the addresses of its ports, one for each node.
func (l *lane) addresses() []string {
	list := make([]string, len(l.ports))
	for i, p := range l.ports {
		list[i] = p.Addr().String()
	}
	return list
}

// Close ends all connections and waits until their goroutines have ended.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	for _, l := range g.lanes {
		for _, p := range l.ports {
			_ = p.Close()
		}
		for _, c := range l.conns {
			_ = c.c.Close()
		}
	}
	g.room.Broadcast()
	g.mu.Unlock()
	g.wg.Wait()
	for _, s := range g.own {
		s.close()
	}
}

// tell wakes all who wait for something to come or go. The caller holds the gate.
func (g *Gate) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *Gate) accept(ln *lane, port net.Listener, node int) {
	for {
		c, err := port.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		full := len(ln.conns) >= maxConns || g.closed
		var s session
		if !full {
			s, err = g.nodes[node].session()
		}
		raw, _ := c.(*net.TCPConn).SyscallConn() // it fails of no connection at all
		if full || err != nil {
			g.mu.Unlock()
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(resp.Failure("ERR max number of clients reached"))
			_ = c.Close()
			continue
		}
		g.made++
		cn := &conn{id: g.made, lane: ln, node: node, c: c, raw: raw, s: s, library: map[string]string{}}
		ln.conns = append(ln.conns, cn)
		g.wg.Add(1)
		g.mu.Unlock()
		go func() { defer g.wg.Done(); g.serve(cn) }()
	}
}

func (g *Gate) serve(c *conn) {
	r := newReader(c.c)
	for {
		args, err := r.read()
		g.mu.Lock()
		if err != nil {
			if errors.Is(err, errTooLong) || errors.Is(err, errTooSlow) || errors.Is(err, errProtocol) {
				g.write(c, resp.Failure("ERR Protocol error: "+err.Error()))
			}
			g.leaves(c)
			g.mu.Unlock()
			return
		}
		for c.full() && c.isOpen() {
			g.room.Wait()
		}
		if !c.isOpen() {
			g.mu.Unlock()
			return
		}
		g.arrive(c, args)
		g.mu.Unlock()
	}
}

// full reports whether a connection holds as much as it may: the client waits.
func (c *conn) full() bool {
	held := 0
	for _, it := range c.queue {
		held += it.weight
	}
	return len(c.queue) >= maxQueue || held > maxHeld
}

func (c *conn) isOpen() bool { return slices.Contains(c.lane.conns, c) }

// leaves ends a connection that its client has closed. Commands that it has sent are on
// their way and reach Redis at some later moment, like late copies, except those that
// wait for others.
func (g *Gate) leaves(c *conn) {
	if c.isOpen() {
		for _, it := range c.queue {
			if !it.blocking && !blocks(it.args) && infer.Mark(it.args) == "" && !passes(it.args) && len(c.lane.late) < maxQueue {
				c.lane.late = append(c.lane.late, it)
			}
		}
	}
	g.hangUp(c)
}

// hangUp ends a connection; what waits on it never reaches Redis.
func (g *Gate) hangUp(c *conn) {
	if !c.isOpen() {
		return
	}
	_ = c.c.Close()
	c.lane.conns = slices.DeleteFunc(slices.Clone(c.lane.conns), func(o *conn) bool { return o == c })
	for _, it := range c.queue {
		g.silence(it)
	}
	c.queue = nil
	if c.in != nil {
		c.in.Close()
		c.in = nil
	}
	if !slices.ContainsFunc(c.lane.late, func(i *item) bool { return i.c == c }) {
		c.s.close()
	}
	g.room.Broadcast()
	g.tell()
}

// reply answers a command, unless its client wants no answers.
func (g *Gate) reply(c *conn, raw []byte) {
	if skipped := c.skip; c.mute || skipped {
		c.skip = false
		return
	}
	g.write(c, raw)
}

// write sends an answer. The gate waits for nobody to take it: the rest goes out by
// itself. The caller holds the gate.
func (g *Gate) write(c *conn, raw []byte) {
	if len(c.unsent) > 0 {
		if c.unsent = append(c.unsent, raw...); len(c.unsent) > maxUnsent {
			_ = c.c.Close() // its reader ends it
		}
		return
	}
	n, err := c.takes(raw)
	if err != nil {
		_ = c.c.Close()
	} else if n < len(raw) {
		c.unsent = slices.Clone(raw[n:])
		g.wg.Go(func() { g.send(c) })
	}
}

// takes writes as much as the connection takes at once. It sets no deadline: one so near
// would wake the runtime for every answer.
func (c *conn) takes(raw []byte) (n int, err error) {
	failed := c.raw.Write(func(fd uintptr) bool {
		for n < len(raw) && err == nil {
			var more int
			if more, err = syscall.Write(int(fd), raw[n:]); more > 0 {
				n += more
			}
			if errors.Is(err, syscall.EINTR) {
				err = nil
			}
		}
		return true
	})
	if errors.Is(err, syscall.EAGAIN) {
		err = nil
	}
	return n, cmp.Or(failed, err)
}

// send sends what a client has not taken at once, and ends a connection that takes nothing.
func (g *Gate) send(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(c.unsent) > 0 {
		part := c.unsent
		g.mu.Unlock()
		_ = c.c.SetWriteDeadline(time.Now().Add(slowReply))
		n, err := c.c.Write(part)
		g.mu.Lock()
		if c.unsent = c.unsent[n:]; err != nil {
			_ = c.c.Close()
			c.unsent = nil
		}
	}
}

// arrive takes a command into its connection's queue.
func (g *Gate) arrive(c *conn, args []string) {
	c.lane.spoken, c.lane.moved = true, time.Now()
	c.lane.sent()
	if infer.Mark(args) == infer.MarkRound {
		c.lane.rounds = true
	}
	g.came++
	c.queue = append(c.queue, &item{c: c, args: args, nth: g.came, weight: weight(args)})
	g.pump(c)
	for woken := g.live; woken; { // what waited for others may be answered now
		woken = false
		for _, l := range g.lanes {
			for _, o := range slices.Clone(l.conns) {
				if n := len(o.queue); o != c && n > 0 && o.queue[0].blocking && g.ready(o.queue[0]) {
					g.pump(o)
					woken = woken || len(o.queue) < n
				}
			}
		}
	}
	g.tell()
}

// pump answers what needs no decision at the head of a queue.
func (g *Gate) pump(c *conn) {
	for len(c.queue) > 0 && c.isOpen() {
		it := c.queue[0]
		raw, done := g.without(c, it)
		if !done && !it.blocking && blocks(it.args) {
			it.blocking = true
			g.begin(it)
			g.wake(it)
		}
		if !done && g.live && g.ready(it) {
			g.perform(it, "")
			continue
		}
		if !done {
			c.lane.last = strings.Join(brief(it.args), " ")
			return
		}
		c.queue = c.queue[1:]
		g.room.Broadcast()
		g.answers(it.args, raw)
		if raw != nil {
			g.reply(c, raw)
		}
		if infer.Verb(it.args) == "QUIT" {
			g.hangUp(c)
		}
	}
}

// brief is a command in words, cut where it is long.
func brief(args []string) []string {
	list := make([]string, 0, len(args))
	for _, a := range args[:min(len(args), 8)] {
		if len(a) > 48 {
			a = strings.ToValidUTF8(a[:45], "") + "…"
		}
		list = append(list, strings.Join(strings.Fields(a), " "))
	}
	return list
}

// outline is a command in few words: a script has its name, and long arguments are cut.
func outline(args []string) string {
	if len(args) > 1 {
		switch args = slices.Clone(args); infer.Verb(args) {
		case "EVAL", "EVAL_RO":
			args[1] = infer.ScriptName(args[1])
		case "EVALSHA", "EVALSHA_RO":
			args[1] = infer.ScriptOf(strings.ToLower(args[1]))
		}
	}
	list := brief(args)
	for i, a := range list {
		if r := []rune(a); len(r) > 24 {
			list[i] = string(r[:10]) + "…"
		}
	}
	return strings.Join(list, " ")
}

// named are the scripts that came, by name.
func (g *Gate) named() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	sources := map[string]string{}
	for sha, text := range g.scripts {
		sources[infer.ScriptOf(sha)] = text
	}
	return sources
}

// keepScript keeps a script's text. A full cache is cleared, as by SCRIPT FLUSH: clients then
// send their scripts again.
func (g *Gate) keepScript(text string) {
	name := infer.Digest(text)
	if g.scripts[name] != "" {
		return
	}
	held := len(text)
	for _, other := range g.scripts {
		held += len(other)
	}
	if len(g.scripts) >= maxScripts || held > maxScriptsHeld {
		clear(g.scripts)
	}
	g.scripts[name] = text
}

// text returns the text of the script that a command runs, or "".
func (g *Gate) text(args []string) (string, bool) {
	if len(args) < 3 {
		return "", false
	}
	switch infer.Verb(args) {
	case "EVAL", "EVAL_RO":
		return args[1], true
	case "EVALSHA", "EVALSHA_RO":
		t, ok := g.scripts[strings.ToLower(args[1])]
		return t, ok
	}
	return "", false
}

// state is the lock's key on a node now.
func (g *Gate) state(node int) trace.KeyState {
	if g.key == "" {
		return trace.Absent()
	}
	return g.nodes[node].key(g.key)
}

// opens notes the further locks' keys before what befalls them on a node.
func (g *Gate) opens(r *infer.Record, node int) {
	for _, key := range g.also {
		r.Also = append(r.Also, infer.Change{Before: g.nodes[node].key(key)})
	}
}

// closes notes them after.
func (g *Gate) closes(r *infer.Record, node int) {
	for i, key := range g.also {
		r.Also[i].After = g.nodes[node].key(key)
	}
}

// lapses notes which of them have expired before a command gets there.
func (g *Gate) lapses(r *infer.Record, node int) {
	for i, key := range g.also {
		now := g.nodes[node].key(key)
		if was := r.Also[i].Before; was.Exists() && !now.Exists() {
			r.Also[i].Lapsed = &was
		}
		r.Also[i].Before = now
	}
}

// numbered is a node as traces and orders have it: from 1 where there are several, else 0.
func (g *Gate) numbered(node int) int {
	if len(g.nodes) == 1 {
		return 0
	}
	return node + 1
}

// perform runs a command at the head of a queue and answers it, unless a fault
// strikes it.
func (g *Gate) perform(it *item, do string) infer.Record {
	c := it.c
	node := c.node
	r := infer.Record{Thread: c.lane.name, Node: g.numbered(node), Args: it.args, Tx: it.tx, Do: do, Mark: infer.Mark(it.args), Before: g.state(node)}
	g.opens(&r, node)
	late := slices.Contains(c.lane.late, it)
	if late {
		c.lane.late = slices.DeleteFunc(c.lane.late, func(o *item) bool { return o == it })
		r.Late = true
	} else if len(c.queue) > 0 {
		g.silence(it)
		c.queue = c.queue[1:]
		g.room.Broadcast()
	}
	c.lane.moved = time.Now()
	for _, args := range append([][]string{it.args}, it.tx...) {
		if !g.live { // where no round begins, none is forgotten
			g.touches(args)
		}
	}
	switch do {
	case LoseRequest, LateCopy:
		if do == LateCopy {
			c.lane.late = append(c.lane.late, it)
		}
		r.At, r.After = g.nodes.now(), r.Before
		g.closes(&r, node)
		c.lane.tells(&r)
		g.hangUp(c)
		return r
	case Delay:
		r.Passed = delayed
		g.nodes.advance(delayed)
		if _, wall := g.nodes.kind(); wall {
			time.Sleep(delayed)
		}
		if now := g.state(node); r.Before.Exists() && !now.Exists() {
			was := r.Before
			r.Lapsed = &was
		}
		r.Before = g.state(node)
		g.lapses(&r, node)
	case LoseMessage:
		g.lost = true
	}
	raw := g.changes(it, &r, node)
	r.At, r.After = g.nodes.now(), g.state(node)
	g.closes(&r, node)
	g.push()
	switch {
	case late:
		if !c.isOpen() && !slices.ContainsFunc(c.lane.late, func(o *item) bool { return o.c == c }) {
			c.s.close()
		}
	case do == LoseReply:
		g.hangUp(c)
	default:
		g.reply(c, raw)
	}
	c.lane.tells(&r)
	if g.onRecord != nil {
		g.onRecord(r)
	}
	if c.isOpen() && !g.live {
		g.pump(c)
	}
	return r
}

// changes runs a command as execute does, and notes which keys it has changed.
func (g *Gate) changes(it *item, r *infer.Record, node int) []byte {
	if r.Mark != "" {
		return g.execute(it, r)
	}
	b := g.nodes[node]
	var names []string
	for _, args := range append([][]string{it.args}, it.tx...) {
		names = append(names, infer.Touches(args).Keys...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, infer.Channel("")) })
	before := b.wholes(names)
	b.ran()
	raw := g.execute(it, r)
	r.Ran, r.Keys = b.ran(), infer.Changed(before, b.wholes(names))
	return raw
}

// touches notes the keys that a command names.
func (g *Gate) touches(args []string) {
	f := infer.Touches(args)
	if f.All && infer.Mark(args) == "" {
		f.Keys = g.nodes.keys(args)
	}
	for _, k := range f.Keys {
		if !strings.HasPrefix(k, "\x00") {
			g.touched[k] = true
		}
	}
}

// answers counts a command that fails. Nobody counts where there are no rounds.
func (g *Gate) answers(args []string, raw []byte) {
	if g.failed == nil || raw == nil {
		return
	}
	kind, _ := g.nodes.kind()
	g.failed.see(args, kind == trace.StoreEmbedded, raw)
}

// execute runs a command and says what Redis answers.
func (g *Gate) execute(it *item, r *infer.Record) []byte {
	if r.Mark != "" {
		r.Reply = it.args[1]
		return resp.Bulk(it.args[1])
	}
	v := infer.Verb(it.args)
	text, _ := g.text(it.args)
	// Only a script's own commands show what it does to the resource.
	journalled := g.watched || g.resource != "" && infer.Touches(it.args).Names(g.resource)
	raw, inner, err := g.run(it, text, journalled)
	if err != nil {
		raw = resp.Failure("ERR " + err.Error())
	}
	raw = g.stays(raw)
	g.answers(it.args, raw)
	switch v {
	case "EXEC":
		it.c.multi, it.c.dirty, it.c.tx, it.c.watched = false, false, nil, nil
	case "WATCH":
		it.c.watched = append(it.c.watched, it.args[1:]...)
	}
	r.Script, r.Inner = text, inner
	r.Reply, r.Err = resp.Value(raw)
	if it.c.resp3 && (v == "XREAD" || v == "XREADGROUP") {
		raw = byStream(raw)
	}
	if text != "" && r.Err == "" {
		g.keepScript(text)
	}
	if text := string(raw); it.c.resp3 && (text == "$-1\r\n" || text == "*-1\r\n") {
		raw = resp.Null(true)
	}
	return raw
}

// run runs a command, and asks the second Redis, too, what a script answers.
func (g *Gate) run(it *item, text string, journalled bool) (raw []byte, inner []journal.Entry, err error) {
	call, can := g.call(it, text)
	if !can || !g.second.New(call) {
		return infer.Run(it.c.s.do, it.args, text, journalled)
	}
	var here recall.Outcome
	raw, inner, err = infer.Run(func(args []string) ([]byte, error) {
		answer, err := it.c.s.do(args)
		v, refused := resp.Value(answer)
		here.Reply = v
		if refused != "" {
			here.Err = errors.New(refused)
		}
		return answer, err
	}, it.args, text, true)
	if after, told := g.nodes[it.c.node].items(); told && err == nil {
		here.Items = after
		g.second.Compare(context.Background(), journal.Wrap(text), call, here)
	}
	if !journalled {
		inner = nil
	}
	return raw, inner, err
}

// call is a script's call as another Redis can be asked it, and whether it can.
func (g *Gate) call(it *item, text string) (c recall.Call, can bool) {
	if g.second == nil || text == "" || it.c.multi || infer.Verb(it.args) == "EXEC" || len(it.args) < 3 {
		return c, false
	}
	rest := it.args[3:]
	n, err := strconv.Atoi(it.args[2])
	if err != nil || n < 0 || n > len(rest) {
		return c, false
	}
	c.Script, c.Keys = infer.Digest(text), rest[:n]
	for _, arg := range rest[n:] {
		c.Args = append(c.Args, arg)
	}
	for _, l := range g.lanes {
		for _, one := range l.conns {
			c.Channels = append(append(c.Channels, one.channels...), one.patterns...)
		}
	}
	c.Items, can = g.nodes[it.c.node].items()
	return c, can
}

// byStream is what an XREAD is answered in RESP3: a map, where the embedded Redis has a
// list of pairs.
func byStream(raw []byte) []byte {
	pairs, err := resp.Elements(raw)
	if err != nil || len(pairs) == 0 {
		return raw
	}
	out := resp.Head('%', len(pairs))
	for _, pair := range pairs {
		parts, err := resp.Elements(pair)
		if err != nil || len(parts) != 2 {
			return raw
		}
		out = append(out, resp.Join(parts...)...)
	}
	return out
}
