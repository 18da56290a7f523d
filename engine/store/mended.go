package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"relock/engine/interpreter"
)

// mended is a miniredis that answers as Redis does where miniredis would not: to
// scripts, and to the commands of repairs. Its hook comes before each command and
// answers these itself. DIFFERENCES.md has what still differs.
type mended struct {
	*miniredis.Miniredis

	once   sync.Once
	inside any // what miniredis knows of a connection within a script, which holds its lock

	knowing sync.RWMutex
	clients map[*server.Peer]client // that have changed what we know of them

	// These are under the lock of miniredis.
	now      time.Time // as last set; zero on the wall clock
	selected int       // the database of inside
	lua      *interpreter.Interpreter
	scripts  map[string]string // the cached texts, by digest
	ctx      context.Context   // ends scripts, or nil
	endless  bool              // it has ended one
	fields   bool              // fields of hashes may have expiries
	ran      []Ran             // what scripts have run since somebody asked

	connecting sync.Mutex
	closed     bool // under connecting
}

// newMended starts an empty miniredis without a port. If now is not zero, its clock
// stands still there.
func newMended(now time.Time) *mended {
	m := &mended{Miniredis: miniredis.NewMiniRedis(), scripts: map[string]string{}, clients: map[*server.Peer]client{}}
	if !now.IsZero() {
		m.SetTime(now)
	}
	m.ClockTTL(true)
	if c, err := m.Dial(); err == nil { // its server is made for the first connection
		_ = c.Close()
	}
	_ = m.Server().Register(inScript, m.comeBack) // a new server does not have it
	for verb := range repairs {
		if !m.registered(verb) { // the hook answers it, where it has enough arguments
			_ = m.Server().Register(verb, func(c *server.Peer, verb string, _ []string) {
				c.WriteError("ERR wrong number of arguments for '" + strings.ToLower(verb) + "' command")
			})
		}
	}
	m.Server().SetPreHook(m.hook)
	return m
}

// Dial opens a connection. After Close it fails with [net.ErrClosed], where miniredis
// would start again.
func (m *mended) Dial() (net.Conn, error) {
	m.connecting.Lock()
	defer m.connecting.Unlock()
	if m.closed {
		return nil, net.ErrClosed
	}
	return m.Miniredis.Dial()
}

// Close stops it and returns when no connection is served.
func (m *mended) Close() {
	m.connecting.Lock()
	m.closed = true
	m.connecting.Unlock()
	m.Miniredis.Close()
}

// SetTime sets its clock.
func (m *mended) SetTime(now time.Time) {
	m.Lock()
	m.now = now
	m.Unlock()
	m.Miniredis.SetTime(now)
}

// millis is the instant that its clock shows, in milliseconds since the Unix epoch. The
// lock is held.
func (m *mended) millis() int64 {
	if m.now.IsZero() {
		return time.Now().UnixMilli()
	}
	return m.now.UnixMilli()
}

// client is what we know of a connection. Miniredis knows it, too, and tells nobody: it is
// read from the answers to the commands that change it. Two things that miniredis could
// offer would make it, and the scripts that bring queued commands back, unnecessary: to
// replace a command that it has, as Register adds one that it lacks, and its withTx for
// such commands. They would be queued, and would run with the lock held, on the
// connection's database.
type client struct {
	db, next int  // its database, and the one after EXEC
	queues   bool // between MULTI and EXEC
	listens  bool // it has subscribed, and may listen still
}

// of returns what we know of a connection; nothing of one that has never changed it.
func (m *mended) of(c *server.Peer) client {
	m.knowing.RLock()
	defer m.knowing.RUnlock()
	return m.clients[c]
}

// know takes what we know of a connection.
func (m *mended) know(c *server.Peer, is client) {
	m.knowing.Lock()
	defer m.knowing.Unlock()
	if _, known := m.clients[c]; !known {
		c.OnDisconnect(func() {
			m.knowing.Lock()
			defer m.knowing.Unlock()
			delete(m.clients, c)
		})
	}
	m.clients[c] = is
}

// follow answers a command that changes what we know of a connection, as miniredis does.
func (m *mended) follow(c *server.Peer, is client, verb string, args []string) {
	raw := unwrapped(m.native(c, append([]string{verb}, args...)...))
	c.WriteRaw(raw)
	switch {
	case verb == "MULTI" && raw == "+OK\r\n":
		is.queues, is.next = true, is.db
	case verb == "DISCARD" && raw == "+OK\r\n", verb == "EXEC" && (strings.HasPrefix(raw, "*-1") || strings.HasPrefix(raw, "-EXECABORT Transaction discarded because of previous")):
		is.queues = false
	case verb == "EXEC" && strings.HasPrefix(raw, "*"):
		is.queues, is.db = false, is.next
	case verb == "SELECT" && (raw == "+OK\r\n" || raw == "+QUEUED\r\n"):
		n, err := strconv.Atoi(args[0])
		switch {
		case err != nil || n < 0: // EXEC refuses it
		case is.queues:
			is.next = n
		default:
			is.db = n
		}
	default:
		return
	}
	m.know(c, is)
}

// listens reports whether a connection is only for messages.
func (m *mended) listens(c *server.Peer) bool {
	return strings.HasPrefix(m.native(c, "PING"), "*")
}

// hook answers a command, if that needs mending, and reports whether it did.
func (m *mended) hook(c *server.Peer, verb string, args ...string) bool {
	if c.ClientName == secret || verb == inScript && len(args) == 1 && strings.HasPrefix(args[0], secret) { // this has asked miniredis itself
		return false
	}
	is := m.of(c)
	switch {
	case verb == "SUBSCRIBE", verb == "PSUBSCRIBE":
		is.listens = true
		m.know(c, is)
		return false
	case verb == "MULTI", verb == "EXEC", verb == "DISCARD", verb == "SELECT":
		m.follow(c, is, verb, args)
		return true
	case is.queues && m.comesLater(verb, args):
		c.WriteRaw(m.native(c, "EVAL", queued, "0", packed(append([]string{verb}, args...))))
		return true
	case is.queues || !mends(verb, args) || is.listens && m.listens(c):
		return false
	}
	m.once.Do(func() { m.native(&server.Peer{}, "EVAL", queued, "0", packed(nil)) })
	m.Lock()
	defer m.Unlock()
	if m.Server() == nil { // it was closed since the command came
		c.WriteRaw(string(failure(closing)))
		return true
	}
	r := running{m: m, ctx: m.inside}
	if m.selected != is.db {
		r.do("SELECT", strconv.Itoa(is.db))
		m.selected = is.db
	}
	r.resp3 = c.Resp3
	c.WriteRaw(string(r.command(append([]string{verb}, args...))))
	return true
}

// short is how many bytes are written or read at once of an answer. There is one for each
// command of a script: the usual 4 kB would be most of what a search allocates.
const short = 64

// onto has an answer written to out.
func onto(out *bytes.Buffer) *bufio.Writer { return bufio.NewWriterSize(out, short) }

// native returns miniredis' own answer to what a client asks.
func (m *mended) native(c *server.Peer, args ...string) string {
	var out bytes.Buffer
	peer := server.NewPeer(onto(&out))
	peer.Ctx, peer.Resp3, peer.ClientName = c.Ctx, c.Resp3, secret
	of := m.Server()
	if of == nil {
		return string(failure(closing))
	}
	of.Dispatch(peer, args)
	c.Ctx = peer.Ctx // it is made by the first command
	peer.Flush()
	return out.String()
}

// closing is what a command hears that comes while miniredis closes.
const closing = "ERR the server is closing"

// If a command of a transaction needs mending, it is queued as a script, because
// miniredis queues no commands of others: EXEC runs it with the lock held, and it comes
// back by a command of ours. The command that it brings begins with a secret, so that no
// client can give that command; so does the answer that it takes back, ready for the
// wire.
const (
	inScript = "\x00MENDED"
	queued   = `return redis.call("\0MENDED", ARGV[1])`
)

var secret = rand.Text()

// comesLater reports whether a command of a transaction is to come back. Redis looks at
// it when EXEC runs it, and not before but for its name and the number of its arguments:
// what miniredis refuses at once for another reason comes back, too.
func (m *mended) comesLater(verb string, args []string) bool {
	if mends(verb, args) {
		return true
	}
	if slices.Contains(controls, verb) || !m.registered(verb) {
		return false
	}
	var out bytes.Buffer
	other := server.NewPeer(onto(&out))
	other.ClientName = secret
	m.Server().Dispatch(other, []string{"MULTI"})
	said := m.native(other, append([]string{verb}, args...)...)
	few := strings.Contains(said, "wrong number of arguments") && (inPairs[verb] == 0 || len(args) < inPairs[verb])
	return strings.HasPrefix(said, "-") && !few
}

// inPairs are the commands whose arguments Redis counts in pairs when it runs them, and
// how many it wants before.
var inPairs = map[string]int{"MSET": 2, "MSETNX": 2, "HSET": 3, "HMSET": 3}

// controls are the commands that are not queued, or that do something before they are.
var controls = strings.Fields("MULTI EXEC DISCARD WATCH UNWATCH SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE QUIT AUTH HELLO RESET CLIENT SHUTDOWN MONITOR")

// packed is a command as one text.
func packed(args []string) string {
	var b strings.Builder
	b.WriteString(secret)
	for _, a := range args {
		b.WriteString(strconv.Itoa(len(a)) + ":" + a)
	}
	return b.String()
}

// unpacked returns the command, and whether the text is one.
func unpacked(text string) (args []string, ok bool) {
	text, ok = strings.CutPrefix(text, secret)
	for ok && text != "" {
		length, rest, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n > len(rest) {
			return nil, false
		}
		args, text = append(args, rest[:n]), rest[n:]
	}
	return args, ok
}

// comeBack runs a command that was queued; none is for who wants to know what a
// connection within a script is.
func (m *mended) comeBack(c *server.Peer, verb string, args []string) {
	args, ok := unpacked(strings.Join(args, ""))
	switch {
	case !ok:
		c.WriteError("ERR unknown command")
	case len(args) == 0:
		m.inside = c.Ctx
		c.WriteOK()
	default:
		r := running{m: m, ctx: c.Ctx}
		c.WriteBulk(secret + string(r.command(args)))
	}
}

// unwrapped is what EXEC answers, with the answers that came back as they are to be.
func unwrapped(raw string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(raw, "\r\n"+secret)
		at := strings.LastIndexByte(before, '$')
		if !found || at < 0 {
			b.WriteString(raw)
			return b.String()
		}
		n, err := strconv.Atoi(before[at+1:])
		if n -= len(secret); err != nil || n < 0 || n+2 > len(after) {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(before[:at] + after[:n])
		raw = after[n+2:]
	}
}

// registered reports whether miniredis has a command; it has none once it is closed.
func (m *mended) registered(verb string) bool {
	of := m.Server()
	return of != nil && of.IsRegisteredCommand(verb)
}

// running is a command that runs with the lock held.
type running struct {
	m     *mended
	ctx   any  // of a connection within a script
	resp3 bool // the answer is in RESP3
}

// command returns the answer to a command, mended if needed.
func (r running) command(args []string) []byte {
	if verb := strings.ToUpper(args[0]); mends(verb, args[1:]) {
		if raw := repairs[verb].do(r, args[1:]); raw != nil {
			return raw
		}
	}
	return r.do(args...)
}

// do returns miniredis' own answer to a command.
func (r running) do(args ...string) []byte {
	if strings.EqualFold(args[0], "SELECT") { // a script's is its own
		r.m.selected = -1
	}
	var out bytes.Buffer
	peer := server.NewPeer(onto(&out))
	peer.Ctx, peer.Resp3, peer.ClientName = r.ctx, r.resp3, secret
	r.m.Server().Dispatch(peer, args)
	peer.Flush()
	return out.Bytes()
}

// ask returns miniredis' answer to a command, or the error with which it answers.
func (r running) ask(args ...string) (any, error) {
	r.resp3 = false
	return server.ParseReply(bufio.NewReaderSize(bytes.NewReader(r.do(args...)), short))
}

// failure is an answer that is an error, in one line.
func failure(text string) []byte {
	return []byte("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")
}

// integer is an answer that is a number.
func integer(n int64) []byte { return []byte(":" + strconv.FormatInt(n, 10) + "\r\n") }

// Knows implements interpreter.Redis.
func (r running) Knows(verb string) bool {
	return verb != inScript && r.m.registered(verb)
}

// Do implements interpreter.Redis.
func (r running) Do(args []string) []byte {
	raw := r.command(args)
	if r.m.ran != nil && len(r.m.ran) < mostRan {
		r.m.ran = append(r.m.ran, Ran{slices.Clone(args), raw})
	}
	return raw
}

// Reads implements interpreter.Redis.
func (r running) Reads(verb string) bool { return r.m.reads(verb) }

// reads reports whether a script that must not write may run a command. miniredis takes
// some that touch no key for writes, and Redis one that may have to be replicated.
func (m *mended) reads(verb string) bool {
	switch strings.ToUpper(verb) {
	case "ECHO", "PING", "TIME", "OBJECT", "XINFO", "INFO", "MEMORY", "PUBSUB", "COMMAND", "SELECT":
		return true
	case "PFCOUNT":
		return false
	}
	return m.Server().IsReadOnlyCommand(verb)
}

// eval is EVAL, and EVAL_RO if it reads only.
func eval(reads bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte { return r.run(args[0], args[1:], reads) }
}

// evalSHA is EVALSHA, and EVALSHA_RO if it reads only.
func evalSHA(reads bool) func(r running, args []string) []byte {
	return func(r running, args []string) []byte {
		text, ok := r.m.scripts[strings.ToLower(args[0])]
		if !ok {
			return failure("NOSCRIPT No matching script. Please use EVAL.")
		}
		return r.run(text, args[1:], reads)
	}
}

// run runs a script. The arguments are the number of its keys, its keys, and the others.
func (r running) run(text string, args []string, reads bool) []byte {
	keys, ok := wholeNumber(args[0])
	switch args = args[1:]; {
	case !ok:
		return failure(notWhole)
	case keys > int64(len(args)):
		return failure("ERR Number of keys can't be greater than number of args")
	case keys < 0:
		return failure("ERR Number of keys can't be negative")
	}
	m := r.m
	if m.lua == nil {
		m.lua = interpreter.New()
	}
	as := r
	r.resp3 = false
	s := interpreter.Script{Text: text, Keys: args[:keys], Args: args[keys:], Redis: r, Context: m.ctx, ReadOnly: reads}
	o, err := m.lua.Run(s)
	var fault *interpreter.Fault
	switch {
	case errors.Is(err, interpreter.ErrSyntax):
		return failure(notCompiled(err))
	case errors.As(err, &fault):
		m.endless = m.endless || errors.Is(err, interpreter.ErrEndless)
		m.scripts[interpreter.Digest(text)] = text
		return failure("ERR " + fault.Error())
	}
	m.scripts[interpreter.Digest(text)] = text
	if o.Err != "" {
		return failure(o.Err)
	}
	return as.appendReply(nil, o.Reply)
}

// appendReply appends a script's reply as it is on the wire.
func (r running) appendReply(b []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return append(b, integer(v)...)
	case string:
		return append(b, "$"+strconv.Itoa(len(v))+"\r\n"+v+"\r\n"...)
	case interpreter.Status:
		return append(b, "+"+string(v)+"\r\n"...)
	case interpreter.Failure:
		return append(b, failure(string(v))...)
	case []any:
		return r.appendList(b, "*", v)
	case interpreter.Map:
		if r.resp3 {
			return r.appendList(b, "%", v)
		}
		return r.appendList(b, "*", v)
	case interpreter.Set:
		if r.resp3 {
			return r.appendList(b, "~", v)
		}
		return r.appendList(b, "*", v)
	case interpreter.Double:
		if r.resp3 {
			return append(b, ","+v.Text()+"\r\n"...)
		}
		return r.appendReply(b, v.Text())
	case interpreter.BigNumber:
		if r.resp3 {
			return append(b, "("+string(v)+"\r\n"...)
		}
		return r.appendReply(b, string(v))
	case interpreter.Verbatim:
		if r.resp3 {
			text := v.Format + ":" + v.Text
			return append(b, "="+strconv.Itoa(len(text))+"\r\n"+text+"\r\n"...)
		}
		return r.appendReply(b, v.Text)
	}
	if r.resp3 {
		return append(b, "_\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

// appendList appends values. A map's number is of its pairs.
func (r running) appendList(b []byte, kind string, list []any) []byte {
	n := len(list)
	if kind == "%" {
		n /= 2
	}
	b = append(b, kind+strconv.Itoa(n)+"\r\n"...)
	for _, one := range list {
		b = r.appendReply(b, one)
	}
	return b
}

// notCompiled is what Redis answers to a text that does not compile.
func notCompiled(err error) string {
	var fault *interpreter.Fault
	if !errors.As(err, &fault) {
		return "ERR " + err.Error()
	}
	if len(fault.Lines) == 0 { // of the line that names its engine
		return "ERR " + fault.What
	}
	return "ERR Error compiling script (new function): " + interpreter.Chunk + ":" + strconv.Itoa(fault.Lines[0]) + ": " + fault.What
}

// keeps reports whether SCRIPT is given arguments that are about the cached scripts.
func keeps(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "LOAD":
		return len(args) == 2
	case "EXISTS":
		return len(args) > 1
	case "FLUSH":
		return len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[1], "SYNC") || strings.EqualFold(args[1], "ASYNC"))
	}
	return false
}

// script is SCRIPT with what keeps reports.
func script(r running, args []string) []byte {
	verb, args := strings.ToUpper(args[0]), args[1:]
	switch verb {
	case "LOAD":
		if err := interpreter.Check(args[0]); err != nil {
			return failure(notCompiled(err))
		}
		sha := interpreter.Digest(args[0])
		r.m.scripts[sha] = args[0]
		return r.appendReply(nil, sha)
	case "EXISTS":
		list := make([]any, len(args))
		for i, sha := range args {
			list[i] = int64(0)
			if _, ok := r.m.scripts[sha]; ok {
				list[i] = int64(1)
			}
		}
		return r.appendReply(nil, list)
	default:
		clear(r.m.scripts)
		return r.appendReply(nil, interpreter.Status("OK"))
	}
}
