package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// watch opens a gate at which nobody is held.
func watch(t *testing.T, o lab.Options) *lab.Watching {
	t.Helper()
	o.MaxOrders = 1
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Threads == 0 {
		o.Threads = 2
	}
	if o.Clock == "" {
		o.Clock = lab.ClockWall
	}
	w, err := lab.Watch(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// patience is how long a test waits for what is there at once on a machine that has
// nothing else to do.
const patience = time.Minute

// rowsOf reads the rows, and returns all that have come when one with a text has.
func rowsOf(t *testing.T, w *lab.Watching) func(until string) string {
	rows := make(chan string, 10_000)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case r := <-w.Rows():
				rows <- r.Says.String()
			case <-done:
				return
			}
		}
	}()
	return func(until string) string {
		var all strings.Builder
		late := time.After(patience)
		for !strings.Contains(all.String(), until) {
			select {
			case r := <-rows:
				all.WriteString(r + "\n")
			case <-late:
				t.Errorf("no %q in:\n%s", until, all.String())
				return all.String()
			}
		}
		return all.String()
	}
}

// says is one line of a recorded conversation.
type says struct {
	Conn    int
	Command []string
	Reply   *json.RawMessage
	Close   bool
}

// Recorded conversations of five libraries, sent again, are answered as Redis did: to
// each command what it was answered, but for the gate's own numbers of connections.
func TestRecordedConversations(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	if len(files) != 5 {
		t.Fatal(files)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			w := watch(t, lab.Options{Clock: lab.ClockGate})
			rowsOf(t, w)
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			conns, readers := map[int]net.Conn{}, map[int]*bufio.Reader{}
			asked, compared := map[int][][]string{}, 0
			// Redis ran the commands of two connections in the order of its answers: a command
			// is sent when its answer comes. The recorder saw some answers late; an
			// EVALSHA, of which NOSCRIPT may come late, is sent as it was.
			send := func(conn int) any {
				command := asked[conn][0]
				fmt.Fprintf(conns[conn], "*%d\r\n", len(command))
				for _, a := range command {
					fmt.Fprintf(conns[conn], "$%d\r\n%s\r\n", len(a), a)
				}
				return answer(t, readers[conn])
			}
			early := map[int]any{}
			for line := range strings.Lines(string(data)) {
				var s says
				if err := json.Unmarshal([]byte(line), &s); err != nil {
					t.Fatal(err)
				}
				if conns[s.Conn] == nil {
					c, err := net.Dial("tcp", w.Addresses()[(s.Conn-1)%2][0])
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(patience))
					conns[s.Conn], readers[s.Conn] = c, bufio.NewReader(c)
				}
				switch {
				case s.Command != nil:
					asked[s.Conn] = append(asked[s.Conn], s.Command)
					if strings.EqualFold(s.Command[0], "evalsha") && len(asked[s.Conn]) == 1 {
						early[s.Conn] = send(s.Conn)
					}
				case strings.Contains(line, `"reply"`):
					have, sent := early[s.Conn]
					if delete(early, s.Conn); !sent {
						have = send(s.Conn)
					}
					var want any
					if s.Reply != nil {
						_ = json.Unmarshal(*s.Reply, &want)
					}
					command := asked[s.Conn][0]
					asked[s.Conn] = asked[s.Conn][1:]
					compared++
					if !reflect.DeepEqual(plain(have), plain(want)) {
						t.Errorf("%.100q is answered %v; Redis said %v", command, have, want)
					}
				}
			}
			if compared < 8 {
				t.Errorf("only %d answers were compared", compared)
			}
		})
	}
}

// plain leaves out the number of the connection.
func plain(v any) any {
	b, _ := json.Marshal(v)
	return regexp.MustCompile(`"id",\d+`).ReplaceAllString(string(b), `"id",0`)
}

// answer reads an answer in the form of the recordings.
func answer(t *testing.T, r *bufio.Reader) any {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(line[1:])
	n := 0
	fmt.Sscan(text, &n)
	switch line[0] {
	case '+':
		return text
	case '-':
		return map[string]any{"error": text}
	case ':':
		return n
	case '_':
		return nil
	case '$':
		if n < 0 {
			return nil
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	list := []any{}
	if line[0] == '%' {
		n *= 2
	}
	for range n {
		list = append(list, answer(t, r))
	}
	if line[0] == '%' {
		return map[string]any{"map": list}
	}
	if n < 0 {
		return nil
	}
	return list
}

// The gate refuses by name what it does not run, in RESP2 and RESP3, and answers polite
// questions.
func TestPolitenessAndRefusals(t *testing.T) {
	for _, proto := range []int{2, 3} {
		w := watch(t, lab.Options{Clock: lab.ClockGate})
		rowsOf(t, w)
		c := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], Protocol: proto})
		defer c.Close()
		for text, want := range map[string]string{
			"CLIENT ID":              "",
			"CLIENT SETNAME me":      "",
			"INFO":                   "",
			"INFO replication":       "",
			"CONFIG GET maxmemory":   "",
			"ROLE":                   "",
			"COMMAND":                "",
			"PING":                   "",
			"SELECT 0":               "",
			"ECHO hello":             "",
			"CLIENT TRACKING ON":     "CLIENT TRACKING",
			"FUNCTION LIST":          "FUNCTION",
			"SET k v IFDEQ w":        "from 8.4 on",
			"HGETEX k FIELDS 1 f":    "from 8.0 on",
			"CONFIG SET maxmemory 1": "CONFIG SET",
			"SPUBLISH c m":           "SPUBLISH",
			"SELECT 3":               "one database",
			"NOSUCH x":               "NOSUCH",
			"EVALSHA 0000 0":         "NOSCRIPT",
			"EXEC":                   "EXEC without MULTI",
			"CLIENT NOSUCH":          "unknown subcommand 'NOSUCH'",
		} {
			var args []any
			for _, a := range strings.Fields(text) {
				args = append(args, a)
			}
			err := c.Do(t.Context(), args...).Err()
			if want == "" && err != nil && !errors.Is(err, redis.Nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("RESP%d %s: %v, want %q", proto, text, err, want)
			}
		}
	}
}

// Byte for byte, a client is answered as by Redis 7.0, whichever Redis is behind the gate:
// with no answer where it wants none, with the nulls and maps of its protocol, and in time
// where it has waited in vain. What Redis would send of itself is refused.
func TestAnswersOnTheWire(t *testing.T) {
	racetest.Skip(t)
	const none, nobody = "*-1\r\n", "_\r\n"
	hello := func(t *testing.T, c net.Conn, r *bufio.Reader) {
		_, _ = io.WriteString(c, "HELLO 3\r\n")
		answer(t, r)
	}
	const listens = "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"
	type step struct{ line, want string }
	tests := map[string]struct {
		resp3 bool
		steps []step
	}{
		"no answers":       {false, []step{{"CLIENT REPLY OFF", ""}, {"SET a 1", ""}, {"PING", ""}, {"CLIENT REPLY ON", "+OK\r\n"}, {"GET a", "$1\r\n1\r\n"}}},
		"one answer less":  {false, []step{{"CLIENT REPLY SKIP", ""}, {"SET b 1", ""}, {"GET b", "$1\r\n1\r\n"}, {"CLIENT REPLY no", "-ERR syntax error\r\n"}}},
		"waits in vain":    {false, []step{{"BLPOP no 0.01", none}, {"BRPOPLPUSH no yes 0.01", none}, {"XREAD BLOCK 10 STREAMS no $", none}, {"WAIT 1 10", ":0\r\n"}, {"PING", "+PONG\r\n"}}},
		"waits in RESP3":   {true, []step{{"BLPOP no 0.01", nobody}, {"BZPOPMIN no 0.01", nobody}, {"PING", "+PONG\r\n"}}},
		"waits for what":   {false, []step{{"BLPOP q x", "-ERR timeout is not a float or out of range\r\n"}, {"BLPOP q -1", "-ERR timeout is negative\r\n"}, {"BLPOP q nan", "-ERR timeout is not a float or out of range\r\n"}, {"XREAD BLOCK x STREAMS s $", "-ERR timeout is not an integer or out of range\r\n"}, {"WAIT 1 -5", "-ERR timeout is negative\r\n"}}},
		"waits for a list": {false, []step{{"SET str 1", "+OK\r\n"}, {"BLPOP str 0", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"}, {"XREAD BLOCK 0 STREAMS a b 0", "-ERR "}}},
		"what it watched":  {true, []step{{"WATCH w", "+OK\r\n"}, {"SET w 1", "+OK\r\n"}, {"MULTI", "+OK\r\n"}, {"GET w", "+QUEUED\r\n"}, {"EXEC", nobody}}},
		"streams":          {true, []step{{"XADD st 1-1 f v", "$3\r\n1-1\r\n"}, {"XREAD STREAMS st 0", "%1\r\n$2\r\nst\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"}}},
		"who listens":      {false, []step{{"SUBSCRIBE news", listens}, {"GET a", "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n"}, {"PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"}}},
	}
	const refusal = "-ERR the lab has no '%s': what Redis sends of itself, it can neither hold nor tell from an answer\r\n"
	for _, line := range []string{"MONITOR", "SSUBSCRIBE a", "PSYNC ? -1", "CLIENT TRACKING on"} {
		name, _, _ := strings.Cut(line, " ")
		if name == "CLIENT" {
			name = "CLIENT TRACKING"
		}
		tests[name] = struct {
			resp3 bool
			steps []step
		}{true, []step{{line, fmt.Sprintf(refusal, name)}, {"SET m 1", "+OK\r\n"}}}
	}
	for _, behind := range []string{trace.StoreEmbedded, trace.StoreExternal} {
		o := lab.Options{}
		if behind == trace.StoreExternal {
			external(t, &o)
		}
		w := watch(t, o)
		rowsOf(t, w)
		for name, test := range tests {
			t.Run(behind+"/"+name, func(t *testing.T) {
				c, err := net.Dial("tcp", w.Addresses()[0][0])
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				r := bufio.NewReader(c)
				if test.resp3 {
					hello(t, c, r)
				}
				for _, s := range test.steps {
					_, _ = io.WriteString(c, s.line+"\r\n")
					have := make([]byte, len(s.want))
					if n, err := io.ReadFull(r, have); err != nil || string(have) != s.want {
						t.Fatalf("%s is answered %q, %v; want %q", s.line, have[:n], err, s.want)
					}
				}
			})
		}
	}
}

// A script's own commands are told at their lines, with the key after each.
func TestScriptIsJournalled(t *testing.T) {
	w := watch(t, lab.Options{Clock: lab.ClockGate, Key: "k"})
	rows := rowsOf(t, w)
	c := redis.NewClient(&redis.Options{Addr: w.Addresses()[1][0]})
	defer c.Close()
	c.SetNX(t.Context(), "k", "me", time.Second)
	if n, err := c.Eval(t.Context(), release, []string{"k"}, "me").Int(); n != 1 || err != nil {
		t.Error(n, err)
	}
	for _, v := range []struct {
		script string
		want   any
	}{
		{"return redis.status_reply('FINE')", "FINE"},
		{"return {1, 'two', {3}}", []any{int64(1), "two", []any{int64(3)}}},
		{"return false", nil},
	} {
		if have, _ := c.Eval(t.Context(), v.script, nil).Result(); !reflect.DeepEqual(have, v.want) {
			t.Errorf("%s answers %v, want %v", v.script, have, v.want)
		}
	}
	if err := c.Eval(t.Context(), "return redis.error_reply('NOPE it is not')", nil).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPE") {
		t.Error(err)
	}
	text := rows("NOPE it is not")
	for _, want := range []string{"B  set k me ex 1 nx → OK   [me, 1000 ms]", "1: GET k → me   [me, 1000 ms]", "2: DEL k → 1   [no key]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// A script that never ends does not keep the gate: its client is told, as are all others,
// and the gate can be closed.
func TestScriptThatKeepsRedis(t *testing.T) {
	w := watch(t, lab.Options{Timeout: 100 * time.Millisecond})
	rowsOf(t, w)
	for i, want := range []string{"a script does not end", "BUSY"} {
		c := redis.NewClient(&redis.Options{Addr: w.Addresses()[i][0], ReadTimeout: patience, MaxRetries: -1})
		defer c.Close()
		if err := c.Eval(t.Context(), asksForEver, []string{"k"}).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// external starts a real Redis, for a lab.
func external(t *testing.T, o *lab.Options) *storetest.Server {
	t.Helper()
	s := storetest.Start(t)
	o.Clock = lab.ClockWall
	x, err := store.Connect(t.Context(), "redis://"+s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	o.External = x
	return s
}

// With a real Redis behind the gate a search finds what it finds with the embedded one.
func TestRealRedis(t *testing.T) {
	o := options(t, "unmarked")
	o.Faults, o.MaxFaults = []string{lab.LoseReply}, 1
	o.Env = append(o.Env, "LAB_TEST_LEASE=10m")
	embedded := search(t, o)
	external(t, &o)
	found := search(t, o)
	if found.Store != trace.StoreExternal || found.Ending != lab.Exhausted || found.Orders != embedded.Orders || rules(found) != rules(embedded) {
		t.Errorf("%s: %d orders, %s; embedded: %d orders, %s", found.Store, found.Orders, rules(found), embedded.Orders, rules(embedded))
	}
}

// A function of the server is searched as the same script, and leaves its key in no
// later round.
func TestRealRedisRunsFunctions(t *testing.T) {
	const library = `#!lua name=locks
redis.register_function("take", function(KEYS, ARGV) return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 600000) end)
redis.register_function("give", function(KEYS, ARGV)
` + release + `
end)`
	var found [2]*lab.Found
	for i, kind := range []string{"scripts", "functions"} {
		o := options(t, kind)
		o.Faults, o.MaxFaults = []string{lab.LoseReply}, 1
		external(t, &o)
		if err := o.External.Client().FunctionLoad(t.Context(), library).Err(); err != nil {
			t.Fatal(err)
		}
		found[i] = search(t, o)
	}
	if s, f := found[0], found[1]; rules(s) == "" || s.Orders != f.Orders || rules(s) != rules(f) || f.Diverged > 0 {
		t.Errorf("scripts: %d orders, %s; functions: %d orders, %s, %d diverged", s.Orders, rules(s), f.Orders, rules(f), f.Diverged)
	}
}

// A Redis that answers nothing keeps nobody, and is asked again when it goes on.
func TestRealRedisStandsStill(t *testing.T) {
	o := lab.Options{Timeout: 2 * time.Second}
	s := external(t, &o)
	w := watch(t, o)
	rowsOf(t, w)
	ask := func() error {
		c := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], ReadTimeout: patience, MaxRetries: -1})
		defer c.Close()
		return c.Eval(t.Context(), "return 1", nil).Err()
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stall(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("of a Redis that stands still: %v", err)
	}
	c := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], ReadTimeout: patience, MaxRetries: -1})
	defer c.Close()
	listens := c.Subscribe(t.Context(), "news")
	defer listens.Close()
	if m, err := listens.ReceiveTimeout(t.Context(), patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("who subscribes at a Redis that stands still is told %v, %v", m, err)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	var err error
	for late := time.Now().Add(patience); time.Now().Before(late); {
		if err = ask(); err == nil {
			return
		}
	}
	t.Error(err)
}

// Messages, transactions and commands that wait work through the gate.
func TestWaitingAndMessages(t *testing.T) {
	w := watch(t, lab.Options{})
	rowsOf(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, proto := range []int{2, 3} {
		a := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], Protocol: proto})
		b := redis.NewClient(&redis.Options{Addr: w.Addresses()[1][0], Protocol: proto})
		defer a.Close()
		defer b.Close()
		popped := make(chan error, 1)
		go func() {
			_, err := a.BLPop(ctx, 0, "q").Result()
			popped <- err
		}()
		b.LPush(ctx, "q", "x")
		if err := <-popped; err != nil {
			t.Error("BLPOP:", err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := a.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "0-0"}, Block: 0}).Result()
			read <- err
		}()
		b.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []string{"f", "v"}})
		if err := <-read; err != nil {
			t.Error("XREAD:", err)
		}
		s := a.Subscribe(ctx, "news")
		if _, err := s.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		if n := b.Eval(ctx, "return redis.call('PUBLISH', KEYS[1], 'hello')", []string{"news"}).Val(); n != int64(1) {
			t.Error("PUBLISH reaches", n)
		}
		if m, err := s.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
			t.Error(m, err)
		}
		s.Close()
		var n *redis.IntCmd
		if _, err := b.TxPipelined(ctx, func(p redis.Pipeliner) error { n = p.Incr(ctx, "n"); return nil }); err != nil || n.Val() < 1 {
			t.Error(n, err)
		}
	}
}

// Anything that a stranger sends costs the gate little, and nobody else anything.
func TestAttacks(t *testing.T) {
	w := watch(t, lab.Options{})
	rowsOf(t, w)
	address := w.Addresses()[0][0]
	good := redis.NewClient(&redis.Options{Addr: w.Addresses()[1][0]})
	defer good.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, text := range map[string]string{
		"a huge bulk":            "*1\r\n$9999999999\r\nx",
		"the largest length":     "*1\r\n$9223372036854775806\r\nx\r\n",
		"a length beyond":        "*1\r\n$99999999999999999999999\r\nx\r\n",
		"a huge list":            "*2147483647\r\n$1\r\nx\r\n",
		"a negative list":        "*-7\r\n",
		"a list in a list":       strings.Repeat("*1\r\n", 100_000),
		"no end of a line":       "*" + strings.Repeat("1", 2<<20),
		"an inline without end":  strings.Repeat("x", 2<<20),
		"a command of 2 MB":      "*2\r\n$4\r\nECHO\r\n$2097152\r\n" + strings.Repeat("x", 2<<20) + "\r\n",
		"many arguments":         "*1000000\r\n" + strings.Repeat("$1\r\nx\r\n", 300_000),
		"TLS":                    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
		"HTTP":                   "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"an unbalanced quote":    "SET \"k\r\n",
		"nothing":                "",
		"a line of many words":   strings.Repeat("x ", 1<<19) + "\r\n",
		"a pipeline without end": strings.Repeat("*2\r\n$4\r\nECHO\r\n$10000\r\n"+strings.Repeat("x", 10_000)+"\r\n", 10_000),
		"an endless transaction": "MULTI\r\n" + strings.Repeat("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$900000\r\n"+strings.Repeat("x", 900_000)+"\r\n", 100),
		"zeros":                  strings.Repeat("\x00", 4096) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.WriteString(c, text)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			var first, last string // of what it is answered
			for part := make([]byte, 1<<16); ; {
				n, err := c.Read(part)
				if first += string(part[:min(n, 200)]); n > 0 {
					last = string(part[:n])
				}
				if first = first[:min(len(first), 200)]; err != nil {
					break // it is hung up on; it does not hang
				}
			}
			<-done
			if name == "an endless transaction" && !strings.Contains(last, "a transaction has more than") {
				t.Errorf("it is answered %q … %.200q", first, last)
			}
			if name == "a pipeline without end" && !strings.HasPrefix(first, "$10000") {
				t.Errorf("it is answered %q", first)
			}
			if err := good.Ping(t.Context()).Err(); err != nil {
				t.Error("the others:", err)
			}
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > before.HeapAlloc+64<<20 {
		t.Errorf("it has kept %d MB", (after.HeapAlloc-before.HeapAlloc)>>20)
	}
}

// A thousand connections are bounded, those beyond are told, and a place that is free
// again is given again.
func TestThousandConnections(t *testing.T) {
	w := watch(t, lab.Options{})
	rowsOf(t, w)
	var conns []net.Conn
	refused := 0
	for range 1000 {
		c, err := net.Dial("tcp", w.Addresses()[0][0])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	for _, c := range conns {
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, "PING\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("neither answered nor refused")
		}
		if err != nil || strings.Contains(line, "max number of clients") {
			refused++
		}
	}
	for _, c := range conns {
		c.Close()
	}
	if open := 1000 - refused; open != 128 {
		t.Errorf("%d of 1,000 connections are open", open)
	}
	for late := time.Now().Add(patience); time.Now().Before(late); { // until the gate has seen that they are gone
		c := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], MaxRetries: -1})
		err := c.Ping(t.Context()).Err()
		c.Close()
		if err == nil {
			return
		}
	}
	t.Error("no place was free again")
}

// Bytes that come one by one are a command all the same.
func TestSlowBytes(t *testing.T) {
	w := watch(t, lab.Options{})
	rowsOf(t, w)
	c, err := net.Dial("tcp", w.Addresses()[0][0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, b := range []byte("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n") {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if have := answer(t, bufio.NewReader(c)); have != "hi" {
		t.Error(have)
	}
}

// Nothing goes on when a gate or a search has ended.
func TestNothingIsLeftRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w, err := lab.Watch(lab.Options{Threads: 2, MaxOrders: 1, Clock: lab.ClockGate, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", w.Addresses()[0][0])
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "SUBSCRIBE news\r\n")
	w.Close()
	c.Close()
	search(t, options(t, "unmarked"))
}
