package board_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"relock/engine/scenario"
	"relock/engine/store/storetest"
	"relock/web/board"
	"relock/web/board/stream"
)

// TestMain runs the tests, or one server of those that need a process of their
// own.
func TestMain(m *testing.M) {
	if where := os.Getenv("ROOM_TEST_SERVER"); where != "" {
		if err := serve(where, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// asks is a line to a server.
type asks struct {
	Conn    int             `json:"conn,omitempty"`
	Open    bool            `json:"open,omitempty"`
	Enter   string          `json:"enter,omitempty"`
	Command json.RawMessage `json:"command,omitempty"`
}

// says is a line from a server.
type says struct {
	Conn    int           `json:"conn,omitempty"`
	Server  string        `json:"server,omitempty"`
	Code    string        `json:"code,omitempty"`
	Secret  string        `json:"secret,omitempty"`
	Answer  *board.Answer `json:"answer,omitempty"`
	Failed  string        `json:"failed,omitempty"`
	Closing board.Closing `json:"closing,omitempty"`
}

// serve is a server whose members are behind one pipe.
func serve(where string, in io.Reader, out io.Writer) error {
	var journal board.Journal
	var err error
	if addr, redis := strings.CutPrefix(where, "redis "); redis {
		journal, err = stream.New(storetest.Client(addr), stream.Options{})
	} else {
		journal, err = board.NewSolo(where)
	}
	if err != nil {
		return err
	}
	var mu sync.Mutex
	enc := json.NewEncoder(out)
	say := func(s says) {
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(s)
	}
	h := board.NewHouse(board.Config{Journal: journal, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Ask: asked, Plan: planned})
	defer h.Close()
	say(says{Server: journal.Server()})
	ctx := context.Background()
	clients := map[int]*board.Client{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var a asks
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return err
		}
		switch {
		case a.Open:
			text, err := os.ReadFile("../../lessons/scenarios/lease-expiry.yaml")
			if err != nil {
				return err
			}
			sc, err := scenario.Parse(text)
			if err != nil {
				return err
			}
			code, secret, err := h.Open(ctx, board.Plan{Scenario: sc.WithSchedule(nil)})
			if err != nil {
				return err
			}
			say(says{Code: code, Secret: secret})
		case a.Enter != "":
			r, err := h.Room(ctx, a.Enter)
			if err != nil {
				say(says{Conn: a.Conn, Failed: err.Error()})
				continue
			}
			c := &board.Client{}
			r.Enter(c, "en", "", nil)
			clients[a.Conn] = c
			go func() {
				for range c.Bell() {
					news := c.News()
					for _, one := range news.Answers {
						say(says{Conn: a.Conn, Answer: &one})
					}
					if news.Closing != 0 {
						say(says{Conn: a.Conn, Closing: news.Closing})
						return
					}
				}
			}()
		default:
			c := clients[a.Conn]
			go func() {
				command, err := board.ParseCommand(board.Class, a.Command)
				if err == nil {
					err = c.Give(ctx, command)
				}
				if err != nil {
					say(says{Conn: a.Conn, Failed: err.Error()})
				}
			}()
		}
	}
	return nil
}

// process is a server of its own process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	server string // its name
	opened chan says
	ended  chan struct{} // closed when it is no more

	mu    sync.Mutex
	conns map[int]chan says
	next  int
}

func begin(t *testing.T, where string) *process {
	t.Helper()
	p := &process{t: t, opened: make(chan says, 1), ended: make(chan struct{}), conns: map[int]chan says{}}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), "ROOM_TEST_SERVER="+where)
	p.cmd.Stderr = t.Output()
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	named := make(chan struct{})
	go func() {
		defer close(p.ended)
		for dec := json.NewDecoder(out); ; {
			var s says
			if dec.Decode(&s) != nil {
				return
			}
			switch {
			case s.Server != "":
				p.server = s.Server
				close(named)
			case s.Code != "":
				p.opened <- s
			default:
				p.mu.Lock()
				c := p.conns[s.Conn]
				p.mu.Unlock()
				c <- s
			}
		}
	}()
	t.Cleanup(p.kill)
	select {
	case <-named:
	case <-p.ended:
		t.Fatal("the server did not start")
	}
	return p
}

// kill ends the process as kill -9 does, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.cmd.Wait()
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) ask(a asks) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.in.Write(append(text, '\n'))
	return err
}

func (p *process) open() (code, secret string) {
	p.t.Helper()
	if err := p.ask(asks{Open: true}); err != nil {
		p.t.Fatal(err)
	}
	s := <-p.opened
	return s.Code, s.Secret
}

// visitor is somebody at a page that comes back by itself, to whichever server
// answers, and gives the command again that was not answered.
type visitor struct {
	code, secret string
	part         board.Part
	server       func() *process // that the balancer chooses now

	at     *process
	conn   int
	heard  chan says
	member string
	token  string
	id     int64
}

// enter connects, and joins.
func (v *visitor) enter() bool {
	v.at = v.server()
	v.at.mu.Lock()
	v.at.next++
	v.conn = v.at.next
	v.heard = make(chan says, 64)
	v.at.conns[v.conn] = v.heard
	v.at.mu.Unlock()
	if v.at.ask(asks{Conn: v.conn, Enter: v.code}) != nil {
		return false
	}
	join := map[string]any{"id": 1, "do": "join", "part": v.part, "secret": v.secret}
	if v.member != "" {
		join["member"], join["token"] = v.member, v.token
	}
	a, ok := v.answered(join)
	if !ok {
		return false
	}
	if a.Joined == nil {
		panic("not let in: " + a.Refused)
	}
	v.member, v.token = a.Joined.Member, a.Joined.Token
	v.id = max(v.id, a.Joined.Last, 1)
	return true
}

// enters tries until it is let in.
func (v *visitor) enters() {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !v.enter() {
		<-again.C
	}
}

// answered gives a command once. It reports false if the connection is of no use
// any more.
func (v *visitor) answered(command map[string]any) (board.Answer, bool) {
	text, err := json.Marshal(command)
	if err != nil {
		panic(err)
	}
	if v.at.ask(asks{Conn: v.conn, Command: text}) != nil {
		return board.Answer{}, false
	}
	patience := time.NewTimer(1500 * time.Millisecond)
	defer patience.Stop()
	for {
		select {
		case s := <-v.heard:
			if s.Answer != nil && s.Answer.ID == command["id"] || s.Answer != nil && command["do"] == "join" {
				return *s.Answer, true
			}
			if s.Closing != 0 || s.Failed != "" {
				return board.Answer{}, false
			}
		case <-v.at.ended:
			return board.Answer{}, false
		case <-patience.C: // it stands still
			return board.Answer{}, false
		}
	}
}

// do gives a command until it is answered, and returns why it was refused.
func (v *visitor) do(command map[string]any) (id int64, refused string) {
	if v.at == nil {
		v.enters()
	}
	v.id++
	id = v.id
	command["id"] = id
	for {
		if a, ok := v.answered(command); ok {
			return id, a.Refused
		}
		v.enters()
		v.id = id
	}
}

// done is what a visitor was told to be done.
type done struct {
	member string
	id     int64
}

// ledger is what was told to be done, and what the log must have once.
type ledger struct {
	mu   sync.Mutex
	done map[done]string
}

func (l *ledger) note(v *visitor, id int64, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[done{v.member, id}] = what
}

// check compares what was answered with the log.
func (l *ledger) check(t *testing.T, h *board.House, code string) {
	t.Helper()
	r, err := h.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Log(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[done]int{}
	for i, e := range list {
		if e.Seq != int64(i)+list[0].Seq {
			t.Fatalf("entry %d has seq %d", i, e.Seq)
		}
		if e.Vote != nil || len(e.Made) > 0 || e.Question != nil || e.Scene != nil {
			found[done{e.Member, e.ID}]++
		}
	}
	for one, what := range l.done {
		if found[one] != 1 {
			t.Errorf("%s, command %d of %s, is in the log %d times", what, one.id, one.member, found[one])
		}
	}
	for one, times := range found {
		if l.done[one] == "" || times != 1 {
			t.Errorf("command %d of %s is in the log %d times, and was told to be done: %q", one.id, one.member, times, l.done[one])
		}
	}
}

// hour is a class in which a host asks, steps and goes on to other scenarios,
// and everybody votes, round after round.
type hour struct {
	ledger

	rounds atomic.Int64 // so far
	stop   chan struct{}
	over   chan struct{}
}

// teach begins a lesson. Server returns whom the balancer sends a visitor to.
func teach(t *testing.T, code, secret string, voters int, server func() *process) *hour {
	t.Helper()
	l := &hour{ledger: ledger{done: map[done]string{}}, stop: make(chan struct{}), over: make(chan struct{})}
	host := &visitor{code: code, secret: secret, part: board.Host, server: server}
	table := make([]*visitor, voters)
	for i := range table {
		table[i] = &visitor{code: code, part: board.Audience, server: server}
	}
	must := func(v *visitor, command map[string]any) {
		if id, refused := v.do(command); refused != "" {
			t.Errorf("%v: %s", command, refused)
		} else {
			l.note(v, id, fmt.Sprint(command["do"]))
		}
	}
	go func() {
		defer close(l.over)
		for round := 0; !t.Failed(); round++ {
			select {
			case <-l.stop:
				return
			default:
			}
			if round < 5 {
				must(host, map[string]any{"do": "step"})
			}
			if round%4 == 3 && round < 100 {
				must(host, map[string]any{"do": "open", "example": "two-threads"})
			}
			if round < 100 {
				must(host, map[string]any{"do": "ask", "kind": "predict"})
			} else {
				must(host, map[string]any{"do": "again"})
			}
			var all sync.WaitGroup
			for i, v := range table {
				all.Go(func() {
					must(v, map[string]any{"do": "vote", "option": (i + round) % 3})
					must(v, map[string]any{"do": "vote", "option": (i + round + 1) % 3})
				})
			}
			all.Wait()
			must(host, map[string]any{"do": "reveal"})
			l.rounds.Add(1)
		}
	}()
	return l
}

// goesOn waits until the lesson has gone on, and tells how long that took.
func (l *hour) goesOn(t *testing.T, after string) {
	t.Helper()
	began, rounds := time.Now(), l.rounds.Load()
	until(t, "the lesson to go on after "+after, func() bool { return l.rounds.Load() >= rounds+2 || t.Failed() })
	t.Logf("two rounds after %s: %d ms", after, time.Since(began).Milliseconds())
}

// halt ends the lesson.
func (l *hour) halt() {
	close(l.stop)
	<-l.over
}

func TestKilledWithFiles(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	now := begin(t, dir)
	code, secret := now.open()
	l := teach(t, code, secret, 8, func() *process {
		mu.Lock()
		defer mu.Unlock()
		return now
	})
	l.goesOn(t, "the beginning")
	for range 5 {
		now.kill()
		again := begin(t, dir)
		mu.Lock()
		now = again
		mu.Unlock()
		l.goesOn(t, "kill -9")
	}
	l.halt()
	now.kill()
	l.check(t, newHouse(t, solo(t, dir)), code)
}

func TestThreeServersOneKilledOneStandsStill(t *testing.T) {
	addr := storetest.Start(t).Addr
	servers := []*process{begin(t, "redis "+addr), begin(t, "redis "+addr), begin(t, "redis "+addr)}
	code, secret := servers[0].open()
	var visits atomic.Int64
	var well sync.Map // as a balancer knows it
	for _, p := range servers {
		well.Store(p, true)
	}
	l := teach(t, code, secret, 9, func() *process {
		for {
			p := servers[int(visits.Add(1))%len(servers)]
			if _, ok := well.Load(p); ok {
				return p
			}
		}
	})
	l.goesOn(t, "the beginning")
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	leader := func() *process {
		fields := client.HKeys(t.Context(), "relock:room:{"+code+"}:lead").Val()
		for _, p := range servers {
			if slices.Contains(fields, "#"+p.server) {
				return p
			}
		}
		return nil
	}
	first := leader()
	well.Delete(first)
	first.kill()
	l.goesOn(t, "kill -9 of who led")

	second := leader()
	if second == nil || second == first {
		t.Fatal("nobody has taken over")
	}
	well.Delete(second)
	second.signal(syscall.SIGSTOP)
	until(t, "the third to lead", func() bool { p := leader(); return p != nil && p != second })
	l.goesOn(t, "SIGSTOP of who led")
	second.signal(syscall.SIGCONT)
	well.Store(second, true)
	l.goesOn(t, "SIGCONT")
	third := leader()
	well.Delete(third)
	third.kill()
	l.goesOn(t, "kill -9 of the next")
	l.halt()
	l.check(t, newHouse(t, onRedis(t, addr, stream.Options{})), code)
}
