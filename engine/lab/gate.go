package lab

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"relock/engine/effects"
	"relock/engine/resp"
	"relock/engine/trace"
)

// Gate is a RESP2 and RESP3 server with a port for each thread, in front of one
// Redis. It holds every command until it gets a decision. Its methods are safe for
// concurrent use.
type Gate struct {
	mu      sync.Mutex
	room    sync.Cond     // in somebody's queue
	changed chan struct{} // closed, and made again, when something comes or goes
	redis   backend
	own     session // for questions of the gate's
	lanes   []*lane
	scripts map[string]string // text by digest
	touched map[string]bool
	made    int  // connections so far
	live    bool // commands are answered as they come
	watched bool // scripts are journalled
	closed  bool
	lost    bool // the next messages are lost
	wg      sync.WaitGroup

	key      string // the lock's, "" while nobody knows
	resource string
	onRecord func(effects.Record)
}

// lane is what comes in on one port: a thread.
type lane struct {
	name   string
	l      net.Listener
	conns  []*conn
	late   []*item // sent, given up by their client, and still to arrive
	last   string  // its last command, in words
	spoken bool    // a command has come in this life of its worker
	rounds bool    // it has asked for a round
	moved  time.Time
	worker *worker
	spin   spin
}

// conn is one connection of a thread.
type conn struct {
	id       int
	lane     *lane
	c        net.Conn
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
}

// item is a command that waits for its turn.
type item struct {
	c        *conn
	args     []string
	weight   int        // in bytes
	tx       [][]string // of EXEC
	blocking bool
	deadline time.Duration // by Redis' clock, of one that waits for others; 0: none
	alarm    *time.Timer   // at its deadline, where nobody is held
}

// listen opens a gate on loopback, or on the host given. Threads are named A, B, …
// It fails where it cannot listen.
func listen(host string, threads int, redis backend) (*Gate, error) {
	g := &Gate{redis: redis, changed: make(chan struct{}), scripts: map[string]string{}, touched: map[string]bool{}}
	g.room.L = &g.mu
	own, err := redis.session()
	if err != nil {
		return nil, err
	}
	g.own = own
	for i := range threads {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0")) //nolint:noctx // it is there at once
		if err != nil {
			g.Close()
			return nil, fmt.Errorf("lab: %w", err)
		}
		ln := &lane{name: Thread(i), l: l}
		g.lanes = append(g.lanes, ln)
		g.wg.Add(1)
		go func() { defer g.wg.Done(); g.accept(ln) }()
	}
	return g, nil
}

// Thread names the ith thread, from 0: A, B, …
func Thread(i int) string { return string(rune('A' + i)) }

// Ports returns the address of each thread.
func (g *Gate) Ports() []string {
	list := make([]string, len(g.lanes))
	for i, l := range g.lanes {
		list[i] = l.l.Addr().String()
	}
	return list
}

// Close ends all connections and waits until their goroutines have ended.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	for _, l := range g.lanes {
		_ = l.l.Close()
		for _, c := range l.conns {
			_ = c.c.Close()
		}
	}
	g.room.Broadcast()
	g.mu.Unlock()
	g.wg.Wait()
	g.own.close()
}

// tell wakes all who wait for something to come or go. The caller holds the gate.
func (g *Gate) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *Gate) accept(ln *lane) {
	for {
		c, err := ln.l.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		full := len(ln.conns) >= maxConns || g.closed
		var s session
		if !full {
			s, err = g.redis.session()
		}
		if full || err != nil {
			g.mu.Unlock()
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(resp.Failure("ERR max number of clients reached"))
			_ = c.Close()
			continue
		}
		g.made++
		cn := &conn{id: g.made, lane: ln, c: c, s: s, library: map[string]string{}}
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
			if errors.Is(err, errTooLong) || errors.Is(err, errTooSlow) || errors.Is(err, errProtocol) || isProtocol(err) {
				g.write(c, resp.Failure("ERR Protocol error: "+err.Error()))
			}
			g.hangUp(c)
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

func isProtocol(err error) bool { return strings.Contains(err.Error(), "Protocol error") }

// full reports whether a connection holds as much as it may: the client waits.
func (c *conn) full() bool {
	held := 0
	for _, it := range c.queue {
		held += it.weight
	}
	return len(c.queue) >= maxQueue || held > maxHeld
}

func (c *conn) isOpen() bool { return slices.Contains(c.lane.conns, c) }

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

func (g *Gate) write(c *conn, raw []byte) {
	_ = c.c.SetWriteDeadline(time.Now().Add(slowReply))
	if _, err := c.c.Write(raw); err != nil {
		_ = c.c.Close() // its reader ends it
	}
}

// arrive takes a command into its connection's queue.
func (g *Gate) arrive(c *conn, args []string) {
	c.lane.spoken, c.lane.moved = true, time.Now()
	if effects.Mark(args) == effects.MarkRound {
		c.lane.rounds = true
	}
	c.queue = append(c.queue, &item{c: c, args: args, weight: weight(args)})
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
		if raw != nil {
			g.reply(c, raw)
		}
		if effects.Verb(it.args) == "QUIT" {
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
		switch args = slices.Clone(args); effects.Verb(args) {
		case "EVAL", "EVAL_RO":
			args[1] = effects.ScriptName(args[1])
		case "EVALSHA", "EVALSHA_RO":
			args[1] = effects.ScriptOf(strings.ToLower(args[1]))
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

// know keeps a script's text. Where there are too many, all are forgotten, as Redis does
// that was told SCRIPT FLUSH: their clients send them again.
func (g *Gate) know(text string) {
	name := effects.Digest(text)
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
	switch effects.Verb(args) {
	case "EVAL", "EVAL_RO":
		return args[1], true
	case "EVALSHA", "EVALSHA_RO":
		t, ok := g.scripts[strings.ToLower(args[1])]
		return t, ok
	}
	return "", false
}

// without answers a command that needs no decision.
func (g *Gate) without(c *conn, it *item) (raw []byte, done bool) {
	args := it.args
	v := effects.Verb(args)
	if c.multi && v != "EXEC" && v != "DISCARD" && v != "RESET" && v != "QUIT" && v != "WATCH" && v != "MULTI" {
		if why := g.refused(args); why != "" {
			c.dirty = true
			return resp.Failure(why), true
		}
		if len(c.tx) >= maxQueue || c.txHeld > maxHeld {
			c.dirty = true
			return resp.Failure(fmt.Sprintf("ERR a transaction has more than %d commands or %d bytes", maxQueue, maxHeld)), true
		}
		raw = g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			c.tx, c.txHeld = append(c.tx, args), c.txHeld+it.weight
		}
		return raw, true
	}
	if c.in != nil && !c.resp3 && !slices.Contains(whileListening, v) {
		return resp.Failure(fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", strings.ToLower(v))), true
	}
	if v == "EXEC" {
		if !c.multi || c.dirty {
			if c.multi {
				g.ask(c, []string{"DISCARD"})
				c.multi, c.dirty, c.tx = false, false, nil
				return resp.Failure("EXECABORT Transaction discarded because of previous errors."), true
			}
			return resp.Failure("ERR EXEC without MULTI"), true
		}
		it.tx = c.tx
		return nil, false
	}
	if why := g.refused(args); why != "" {
		return resp.Failure(why), true
	}
	if v == "EVALSHA" || v == "EVALSHA_RO" {
		if _, known := g.text(args); !known && len(args) >= 3 {
			return resp.Failure("NOSCRIPT No matching script. Please use EVAL."), true
		}
	}
	if !passes(args) {
		why := misdated(args)
		return resp.Failure(why), why != ""
	}
	return g.polite(c, args), true
}

// whileListening is what a subscriber may send in RESP2.
var whileListening = []string{"SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PING", "QUIT", "RESET"}

// ask passes a command to Redis.
func (g *Gate) ask(c *conn, args []string) []byte {
	raw, err := c.s.do(args)
	if err != nil {
		return resp.Failure("ERR " + err.Error())
	}
	return g.stays(raw)
}

// stays is an answer that sends nobody to another node of a cluster: there is no gate.
func (g *Gate) stays(raw []byte) []byte {
	if g.redis.cluster() && (bytes.HasPrefix(raw, []byte("-MOVED ")) || bytes.HasPrefix(raw, []byte("-ASK "))) {
		return resp.Failure(fmt.Sprintf("ERR the lab stands before the node that has the key %q; this key is on another one", effects.Short(g.key, 60)))
	}
	return raw
}

// refused says why a command is not run, by name, or "".
func (g *Gate) refused(args []string) string {
	v := effects.Verb(args)
	switch {
	case v == "CLIENT" && sub(args) == "TRACKING" && !(len(args) == 3 && strings.EqualFold(args[2], "OFF")):
		v += " " + sub(args)
		fallthrough
	case slices.Contains([]string{"MONITOR", "SSUBSCRIBE", "SUNSUBSCRIBE", "SYNC", "PSYNC", "REPLCONF"}, v):
		return fmt.Sprintf("ERR the lab has no '%s': what Redis sends of itself, it can neither hold nor tell from an answer", v)
	}
	if kind, _ := g.redis.kind(); kind != trace.StoreEmbedded {
		return ""
	}
	const instead = "; a real Redis behind the gate has it: -redis URL"
	switch {
	case v == "SCRIPT" && sub(args) == "DEBUG", v == "CONFIG" && sub(args) != "GET":
		return fmt.Sprintf("ERR the lab's Redis has no '%s %s'%s", v, sub(args), instead)
	case v == "SET" && slices.ContainsFunc(args[1:], func(a string) bool {
		return slices.Contains([]string{"IFEQ", "IFNE", "IFDEQ", "IFDNE"}, strings.ToUpper(a))
	}) && len(args) > 4:
		return "ERR the lab's Redis has no 'SET … IFEQ'" + instead
	case slices.Contains([]string{"HELLO", "CLIENT", "CONFIG", "ROLE", "RESET", "READONLY", "READWRITE", "QUIT", "COMMAND", "INFO"}, v):
		return ""
	case !g.redis.knows(v):
		return fmt.Sprintf("ERR the lab's Redis has no '%s'%s", v, instead)
	}
	return ""
}

// version is that of the Redis whose answers the gate gives.
const version = "7.0.15"

// polite answers what a client sends to get ready.
func (g *Gate) polite(c *conn, args []string) []byte {
	v := effects.Verb(args)
	kind, _ := g.redis.kind()
	own := kind == trace.StoreEmbedded
	switch v {
	case "HELLO":
		return g.hello(c, args, own)
	case "MULTI":
		raw := g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			c.multi, c.dirty, c.tx, c.txHeld = true, false, nil, 0
		}
		return raw
	case "DISCARD":
		c.multi, c.dirty, c.tx, c.watched = false, false, nil, nil
		return g.ask(c, args)
	case "UNWATCH":
		c.watched = nil
		return g.ask(c, args)
	case "SUBSCRIBE", "PSUBSCRIBE":
		if len(args) < 2 {
			return resp.Failure("ERR wrong number of arguments for '" + strings.ToLower(v) + "' command")
		}
		return g.subscribe(c, args)
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return g.subscribe(c, args)
	case "SCRIPT":
		raw := g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			switch {
			case sub(args) == "LOAD" && len(args) == 3:
				g.know(args[2])
			case sub(args) == "FLUSH":
				clear(g.scripts)
			}
		}
		return raw
	case "PING":
		if c.in != nil && !c.resp3 {
			text := ""
			if len(args) > 1 {
				text = args[1]
			}
			return resp.Join(resp.Head('*', 2), resp.Bulk("pong"), resp.Bulk(text))
		}
	case "QUIT":
		return resp.Simple("OK")
	case "CLIENT":
		if sub(args) == "REPLY" {
			return c.answers(args)
		}
	case "RESET":
		c.mute, c.skip = false, false
		c.multi, c.dirty, c.tx, c.watched, c.resp3 = false, false, nil, nil, false
		if s, err := g.redis.session(); err == nil {
			c.s.close()
			c.s = s
		}
		return resp.Simple("RESET")
	}
	if v == "CLUSTER" && g.redis.cluster() {
		return g.clustered(c, args)
	}
	if !own {
		return g.ask(c, args)
	}
	switch v {
	case "SELECT":
		if len(args) == 2 && args[1] != "0" {
			return resp.Failure("ERR the lab's Redis has one database, 0; a real Redis behind the gate has more: -redis URL")
		}
	case "AUTH":
		return resp.Simple("OK") // who starts a lab lets everybody in
	case "CLIENT":
		return g.client(c, args)
	case "INFO":
		return resp.Bulk("# Server\r\nredis_version:" + version + "\r\nredis_mode:standalone\r\nloading:0\r\n" + more(args))
	case "COMMAND":
		if sub(args) == "COUNT" {
			return resp.Number(0)
		}
		return resp.Head('*', 0)
	case "CONFIG":
		if c.resp3 {
			return resp.Head('%', 0)
		}
		return resp.Head('*', 0)
	case "ROLE":
		return resp.Join(resp.Head('*', 3), resp.Bulk("master"), resp.Number(0), resp.Head('*', 0))
	case "READONLY", "READWRITE", "CLUSTER":
		return resp.Failure("ERR This instance has cluster support disabled")
	}
	return g.ask(c, args)
}

// more is what INFO says of a section that was asked for by name.
func more(args []string) string {
	switch strings.ToLower(strings.Join(args[1:], " ")) {
	case "replication":
		return "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
	default:
		return ""
	}
}

func (g *Gate) hello(c *conn, args []string, own bool) []byte {
	resp3 := c.resp3
	if len(args) > 1 {
		switch args[1] {
		case "2":
			resp3 = false
		case "3":
			resp3 = true
		default:
			return resp.Failure("NOPROTO unsupported protocol version")
		}
	}
	proto := "2"
	if resp3 {
		proto = "3"
	}
	raw := g.ask(c, []string{"HELLO", proto})
	c.resp3 = resp3
	for i, a := range args {
		if strings.EqualFold(a, "SETNAME") && i+1 < len(args) {
			c.name = args[i+1]
		}
	}
	if !own {
		return raw
	}
	n, _ := strconv.Atoi(proto)
	kind, size := byte('*'), 14
	if resp3 {
		kind, size = '%', 7
	}
	return resp.Join(resp.Head(kind, size), resp.Bulk("server"), resp.Bulk("redis"), resp.Bulk("version"), resp.Bulk(version), resp.Bulk("proto"), resp.Number(n), resp.Bulk("id"), resp.Number(c.id),
		resp.Bulk("mode"), resp.Bulk("standalone"), resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("modules"), resp.Head('*', 0))
}

// clustered answers CLUSTER: of the whole cluster there is one node, at the thread's port.
// So a cluster's client comes to no other.
func (g *Gate) clustered(c *conn, args []string) []byte {
	address := c.lane.l.Addr().String()
	host, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	id := effects.Digest(address)
	switch what := sub(args); what {
	case "SLOTS":
		node := resp.Join(resp.Head('*', 4), resp.Bulk(host), resp.Number(port), resp.Bulk(id), resp.Head('*', 0))
		return resp.Join(resp.Head('*', 1), resp.Head('*', 3), resp.Number(0), resp.Number(lastSlot), node)
	case "SHARDS":
		kind := func(n int) []byte {
			if c.resp3 {
				return resp.Head('%', n)
			}
			return resp.Head('*', 2*n)
		}
		node := resp.Join(kind(7), resp.Bulk("id"), resp.Bulk(id), resp.Bulk("port"), resp.Number(port), resp.Bulk("ip"), resp.Bulk(host), resp.Bulk("endpoint"), resp.Bulk(host),
			resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("replication-offset"), resp.Number(0), resp.Bulk("health"), resp.Bulk("online"))
		return resp.Join(resp.Head('*', 1), kind(2), resp.Bulk("slots"), resp.Head('*', 2), resp.Number(0), resp.Number(lastSlot), resp.Bulk("nodes"), resp.Head('*', 1), node)
	case "NODES":
		return resp.Bulk(fmt.Sprintf("%s %s@%d myself,master - 0 0 1 connected 0-%d\n", id, address, port, lastSlot))
	case "MYID":
		return resp.Bulk(id)
	case "INFO", "KEYSLOT", "COUNTKEYSINSLOT", "GETKEYSINSLOT", "HELP":
		return g.ask(c, args)
	default:
		return resp.Failure(fmt.Sprintf("ERR the lab has no 'CLUSTER %s': who changes the cluster does it beside the lab", what))
	}
}

// lastSlot is the last hash slot of a cluster.
const lastSlot = 16383

// client answers CLIENT as the Redis of version does.
func (g *Gate) client(c *conn, args []string) []byte {
	switch sub(args) {
	case "SETNAME":
		if len(args) == 3 {
			c.name = args[2]
			return resp.Simple("OK")
		}
	case "GETNAME":
		if c.name == "" {
			return resp.Null(c.resp3)
		}
		return resp.Bulk(c.name)
	case "ID":
		return resp.Number(c.id)
	case "INFO", "LIST":
		return resp.Bulk(fmt.Sprintf("id=%d addr=%s name=%s db=0\n", c.id, c.c.RemoteAddr(), c.name))
	case "NO-EVICT", "NO-TOUCH", "UNPAUSE", "CACHING":
		return resp.Simple("OK")
	case "SETINFO": // of Redis 7.2: this one refuses it, and yet knows now who is there
		if len(args) == 4 {
			c.library[strings.ToUpper(args[2])] = args[3]
		}
	case "":
		return resp.Failure("ERR wrong number of arguments for 'client' command")
	}
	return resp.Failure("ERR unknown subcommand '" + args[1] + "'. Try CLIENT HELP.")
}

// answers is CLIENT REPLY: whether the client wants answers at all.
func (c *conn) answers(args []string) []byte {
	if len(args) != 3 {
		return resp.Failure("ERR wrong number of arguments for 'client|reply' command")
	}
	switch strings.ToUpper(args[2]) {
	case "ON":
		c.mute, c.skip = false, false
		return resp.Simple("OK")
	case "OFF":
		c.mute = true
	case "SKIP":
		c.skip = true
	default:
		return resp.Failure("ERR syntax error")
	}
	return nil
}

// subscribe changes what a connection listens to, and answers once for each channel.
func (g *Gate) subscribe(c *conn, args []string) []byte {
	kind := strings.ToLower(args[0])
	list := &c.channels
	if strings.HasPrefix(kind, "p") {
		list = &c.patterns
	}
	names := args[1:]
	leaves := strings.HasSuffix(kind, "unsubscribe")
	if leaves && len(names) == 0 {
		if names = slices.Clone(*list); len(names) == 0 {
			names = []string{""}
		}
	}
	var out []byte
	begin := byte('*')
	if c.resp3 {
		begin = '>'
	}
	for _, name := range names {
		at := slices.Index(*list, name)
		switch {
		case leaves && at >= 0:
			*list = slices.Delete(slices.Clone(*list), at, at+1)
		case !leaves && at < 0:
			*list = append(slices.Clone(*list), name)
		}
		which := resp.Bulk(name)
		if name == "" && leaves {
			which = resp.Null(c.resp3)
		}
		out = append(out, resp.Join(resp.Head(begin, 3), resp.Bulk(kind), which, resp.Number(len(c.channels)+len(c.patterns)))...)
	}
	some := len(c.channels)+len(c.patterns) > 0
	var err error
	if some && c.in == nil {
		c.in, err = g.redis.inbox()
	}
	if err != nil { // it listens to nothing, and is not told that it does
		c.in, c.channels, c.patterns = nil, nil, nil
		return resp.Failure("ERR " + err.Error())
	}
	if c.in != nil {
		if err := c.in.Set(c.channels, c.patterns); err != nil {
			c.in.Close()
			c.in, c.channels, c.patterns = nil, nil, nil
			return resp.Failure("ERR " + err.Error())
		}
		if !some {
			c.in.Close()
			c.in = nil
		}
	}
	return out
}

// push delivers what was published.
func (g *Gate) push() {
	for _, l := range g.lanes {
		for _, c := range l.conns {
			if c.in == nil {
				continue
			}
			for _, m := range c.in.Take() {
				if g.lost {
					continue
				}
				begin := byte('*')
				if c.resp3 {
					begin = '>'
				}
				l.moved = time.Now()
				if m.Pattern != "" {
					g.write(c, resp.Join(resp.Head(begin, 4), resp.Bulk("pmessage"), resp.Bulk(m.Pattern), resp.Bulk(m.Channel), resp.Bulk(m.Text)))
				} else {
					g.write(c, resp.Join(resp.Head(begin, 3), resp.Bulk("message"), resp.Bulk(m.Channel), resp.Bulk(m.Text)))
				}
			}
		}
	}
	g.lost = false
}

// begin notes when a command that waits for others was sent.
func (g *Gate) begin(it *item) {
	now := g.redis.now()
	switch v := effects.Verb(it.args); v {
	case "WAIT", "WAITAOF":
		if ms, err := strconv.Atoi(it.args[len(it.args)-1]); err == nil && ms > 0 {
			it.deadline = now + time.Duration(ms)*time.Millisecond
		}
	case "XREAD", "XREADGROUP":
		at := slices.IndexFunc(it.args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
		if at+1 < len(it.args) {
			if ms, err := strconv.Atoi(it.args[at+1]); err == nil && ms > 0 {
				it.deadline = now + time.Duration(ms)*time.Millisecond
			}
			it.args = slices.Concat(it.args[:at], it.args[at+2:])
		}
		g.last(it)
	case "BLMPOP", "BZMPOP":
		it.deadline = seconds(now, it.args[min(1, len(it.args)-1)])
	default:
		it.deadline = seconds(now, it.args[len(it.args)-1])
	}
}

// wake answers a command that waits in vain at its deadline, where nobody is held and
// Redis' clock is the wall's.
func (g *Gate) wake(it *item) {
	if _, wall := g.redis.kind(); !g.live || !wall || it.deadline == 0 {
		return
	}
	g.wg.Add(1)
	it.alarm = time.AfterFunc(it.deadline-g.redis.now(), func() {
		defer g.wg.Done()
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(it.c.queue) == 0 || it.c.queue[0] != it {
			return
		}
		r := g.expire(it)
		if g.onRecord != nil {
			g.onRecord(r)
		}
		g.tell()
	})
}

// silence stops the alarm of a command that waits no more.
func (g *Gate) silence(it *item) {
	if it.alarm != nil && it.alarm.Stop() {
		g.wg.Done()
	}
}

// misdated says what is wrong with the timeout of a command that waits for others, as
// Redis does, or "".
func misdated(args []string) string {
	if !blocks(args) || len(args) < 3 {
		return ""
	}
	const negative = "ERR timeout is negative"
	whole := func(text string) string {
		switch ms, err := strconv.ParseInt(text, 10, 64); {
		case err != nil:
			return "ERR timeout is not an integer or out of range"
		case ms < 0:
			return negative
		}
		return ""
	}
	text := args[len(args)-1]
	switch effects.Verb(args) {
	case "WAIT", "WAITAOF":
		return whole(text)
	case "XREAD", "XREADGROUP":
		at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
		if at+1 == len(args) {
			return "ERR syntax error"
		}
		return whole(args[at+1])
	case "BLMPOP", "BZMPOP":
		text = args[1]
	}
	switch s, err := strconv.ParseFloat(text, 64); {
	case err != nil || math.IsNaN(s) || s > maxWait:
		return "ERR timeout is not a float or out of range"
	case s < 0:
		return negative
	}
	return ""
}

// maxWait is how many seconds a command may wait for others: so many milliseconds are a
// whole number, and so many nanoseconds, too.
const maxWait = 1e9

func seconds(now time.Duration, text string) time.Duration {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return now + time.Duration(s*float64(time.Second))
	}
	return 0
}

// last puts the newest entry of each stream in the place of $: what comes later is
// what it waits for.
func (g *Gate) last(it *item) {
	keys := streams(it.args)
	for i, key := range keys {
		at := len(it.args) - len(keys) + i
		if it.args[at] != "$" {
			continue
		}
		it.args[at] = "0-0"
		raw, err := g.own.do([]string{"XREVRANGE", key, "+", "-", "COUNT", "1"})
		if err != nil {
			continue
		}
		if v, _ := resp.Value(raw); v != nil {
			if list, ok := v.([]any); ok && len(list) > 0 {
				if entry, ok := list[0].([]any); ok && len(entry) > 0 {
					it.args[at], _ = entry[0].(string)
				}
			}
		}
	}
}

// streams returns the keys of an XREAD.
func streams(args []string) []string {
	at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") })
	rest := args[at+1:]
	return rest[:len(rest)/2]
}

// undelivered reports whether an XREADGROUP would be answered now: with an entry that its
// group was not given yet, with what its consumer was given earlier, or with an error.
func (g *Gate) undelivered(args []string, asks func(...string) any) bool {
	keys := streams(args)
	if len(keys) == 0 || len(args) < 3 {
		return true
	}
	for i, key := range keys {
		if args[len(args)-len(keys)+i] != ">" {
			return true
		}
		groups, _ := asks("XINFO", "GROUPS", key).([]any)
		last := ""
		for _, one := range groups {
			of, _ := one.([]any)
			facts := map[string]string{}
			for n := 0; n+1 < len(of); n += 2 {
				name, _ := of[n].(string)
				facts[name], _ = of[n+1].(string)
			}
			if facts["name"] == args[2] {
				last = facts["last-delivered-id"]
			}
		}
		if last == "" {
			return true
		}
		if list, _ := asks("XRANGE", key, "("+last, "+", "COUNT", "1").([]any); len(list) > 0 {
			return true
		}
	}
	return false
}

// ready reports whether a command that waits for others would be answered now.
func (g *Gate) ready(it *item) bool {
	if !it.blocking {
		return true
	}
	asks := func(args ...string) any {
		raw, err := g.own.do(args)
		if err != nil {
			return nil
		}
		v, _ := resp.Value(raw)
		return v
	}
	switch v := effects.Verb(it.args); v {
	case "WAIT", "WAITAOF":
		return len(it.args) < 2 || it.args[1] == "0" && v == "WAIT"
	case "XREAD":
		raw, err := g.own.do(it.args)
		v, failed := resp.Value(raw)
		return err != nil || v != nil || failed != ""
	case "XREADGROUP":
		return g.undelivered(it.args, asks)
	case "BLMPOP", "BZMPOP":
		if len(it.args) < 4 {
			return true
		}
		n, _ := strconv.Atoi(it.args[2])
		for _, key := range it.args[3:min(3+n, len(it.args))] {
			if asks("EXISTS", key) == int64(1) {
				return true
			}
		}
		return false
	case "BLMOVE", "BRPOPLPUSH":
		return len(it.args) < 2 || asks("EXISTS", it.args[1]) == int64(1)
	default:
		for _, key := range it.args[1:max(len(it.args)-1, 1)] {
			if asks("EXISTS", key) == int64(1) {
				return true
			}
		}
		return len(it.args) < 3
	}
}

// gaveUp is the answer of a command that has waited in vain.
func gaveUp(it *item) []byte {
	switch effects.Verb(it.args) {
	case "WAIT":
		return resp.Number(0)
	case "WAITAOF":
		return resp.Join(resp.Head('*', 2), resp.Number(0), resp.Number(0))
	}
	if it.c.resp3 {
		return resp.Null(true)
	}
	return []byte("*-1\r\n")
}

// state is the lock's key now.
func (g *Gate) state() trace.KeyState {
	if g.key == "" {
		return trace.Absent()
	}
	return g.redis.key(g.key)
}

// perform runs a command at the head of a queue and answers it, unless a fault
// strikes it.
func (g *Gate) perform(it *item, do string) effects.Record {
	c := it.c
	r := effects.Record{Thread: c.lane.name, Args: it.args, Tx: it.tx, Do: do, Mark: effects.Mark(it.args), Before: g.state()}
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
	for _, k := range effects.Touches(it.args).Keys {
		if !strings.HasPrefix(k, "\x00") && !g.live { // where no round begins, none is forgotten
			g.touched[k] = true
		}
	}
	for _, t := range it.tx {
		for _, k := range effects.Touches(t).Keys {
			if !g.live {
				g.touched[k] = true
			}
		}
	}
	switch do {
	case LoseRequest:
		r.At, r.After = g.redis.now(), r.Before
		g.hangUp(c)
		return r
	case LateCopy:
		c.lane.late = append(c.lane.late, it)
		r.At, r.After = g.redis.now(), r.Before
		g.hangUp(c)
		return r
	case Delay:
		r.Passed = delayed
		g.redis.advance(delayed)
		if _, wall := g.redis.kind(); wall {
			time.Sleep(delayed)
		}
		if now := g.state(); r.Before.Exists() && !now.Exists() {
			was := r.Before
			r.Lapsed = &was
		}
		r.Before = g.state()
	case LoseMessage:
		g.lost = true
	}
	raw := g.execute(it, &r)
	r.At, r.After = g.redis.now(), g.state()
	g.push()
	switch {
	case late:
		if !c.isOpen() {
			c.s.close()
		}
	case do == LoseReply:
		g.hangUp(c)
	default:
		g.reply(c, raw)
	}
	if g.onRecord != nil {
		g.onRecord(r)
	}
	if c.isOpen() && !g.live {
		g.pump(c)
	}
	return r
}

// execute runs a command and says what Redis answers.
func (g *Gate) execute(it *item, r *effects.Record) []byte {
	if r.Mark != "" {
		r.Reply = it.args[1]
		return resp.Bulk(it.args[1])
	}
	v := effects.Verb(it.args)
	text, _ := g.text(it.args)
	raw, inner, err := effects.Run(it.c.s.do, it.args, text, g.watched)
	if err != nil {
		raw = resp.Failure("ERR " + err.Error())
	}
	raw = g.stays(raw)
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
		g.know(text)
	}
	if text := string(raw); it.c.resp3 && (text == "$-1\r\n" || text == "*-1\r\n") {
		raw = resp.Null(true)
	}
	return raw
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

// expire answers a command that has waited in vain.
func (g *Gate) expire(it *item) effects.Record {
	r := effects.Record{Thread: it.c.lane.name, Args: it.args, Before: g.state(), After: g.state(), At: g.redis.now(), Vain: true}
	raw := gaveUp(it)
	r.Reply, r.Err = resp.Value(raw)
	if len(it.c.queue) > 0 {
		it.c.queue = it.c.queue[1:]
		g.room.Broadcast()
	}
	it.c.lane.moved = time.Now()
	g.reply(it.c, raw)
	g.pump(it.c)
	return r
}
