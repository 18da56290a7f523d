package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/phrase"
)

// worker is a process of the command, in its own process group, or a goroutine of this one.
type worker struct {
	cmd    *exec.Cmd     // nil of a goroutine
	end    func()        // has it end, whatever it does
	done   chan struct{} // closed when it has ended
	once   sync.Once     // closes done
	err    error         // how it ended, once done
	out    *tail
	killed bool // by the lab
}

// tail keeps the last of what a worker has written. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const lastWords = 2 << 10 // bytes

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - lastWords; over > 0 {
		t.buf = append([]byte(nil), t.buf[over:]...)
	}
	return len(p), nil
}

// String returns the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.buf)), "")
}

// spawn starts a copy of the command for a thread, which has an address for each node.
func spawn(command, env []string, thread string, addresses []string) (*worker, error) {
	address := addresses[0]
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	w := &worker{cmd: exec.Command(command[0], command[1:]...), done: make(chan struct{}), out: &tail{}} //nolint:gosec,noctx // the user's own command; kill ends it
	w.cmd.Env = append(os.Environ(), "REDIS_URL=redis://"+address, "REDIS_HOST="+host, "REDIS_PORT="+port, "RELOCK_THREAD="+thread)
	for i, each := range addresses {
		w.cmd.Env = append(w.cmd.Env, fmt.Sprintf("REDIS_URL_%d=redis://%s", i+1, each))
	}
	w.cmd.Env = append(w.cmd.Env, env...)
	w.cmd.Stdout, w.cmd.Stderr = w.out, w.out
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.cmd.WaitDelay = time.Second // a grandchild may hold its output open
	if err := w.cmd.Start(); err != nil {
		return nil, err // it says what was being done
	}
	w.end = func() { w.signal(syscall.SIGKILL) }
	go func() {
		err := w.cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		w.over(err)
	}()
	return w, nil
}

// over notes how it has ended.
func (w *worker) over(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.done)
	})
}

// errLeft is a goroutine that did not end though its context had ended.
var errLeft = errors.New("it goes on though its context has ended")

// run starts a goroutine that plays a thread's rounds.
func run(rounds Rounds, thread string, addresses []string) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{end: cancel, done: make(chan struct{}), out: &tail{}}
	go func() {
		defer cancel()
		err := errors.New("it called runtime.Goexit, as t.FailNow does")
		defer func() {
			if told := recover(); told != nil {
				err = fmt.Errorf("it panicked: %v", told)
				_, _ = w.out.Write(debug.Stack())
			}
			w.over(err)
		}()
		err = rounds(ctx, thread, addresses)
	}()
	return w
}

// ended reports whether its process is gone.
func (w *worker) ended() bool {
	if w == nil {
		return true
	}
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// signal sends a signal to its process group.
func (w *worker) signal(s syscall.Signal) {
	if w != nil && w.cmd != nil && w.cmd.Process != nil {
		_ = syscall.Kill(-w.cmd.Process.Pid, s)
	}
}

// leftAfter is how long a goroutine may go on when its context has ended.
const leftAfter = time.Second

// kill ends it, and waits for its end. A goroutine that does not end is left behind.
func (w *worker) kill() {
	if w == nil {
		return
	}
	w.killed = true
	w.end()
	if w.cmd == nil {
		late := time.AfterFunc(leftAfter, func() { w.over(errLeft) })
		defer late.Stop()
	}
	<-w.done
}

// how says how it has ended, a clause.
func (w *worker) how() phrase.Wording {
	switch {
	case w.err == nil && w.cmd == nil:
		return phrase.Say("its goroutine ended")
	case w.err == nil:
		return phrase.Say("its process ended with exit code 0")
	case w.cmd == nil:
		return phrase.Plain(w.err.Error())
	}
	return phrase.Say("its process ended with %s", w.err.Error())
}

// WorkerError is a worker that failed: it hangs, dies, talks to nobody, or forgets its round.
type WorkerError struct {
	Thread string
	Why    string // a clause: what it does, or does not do
	Last   string // its last command, or ""
	Words  string // the last lines it has written, or ""
	Own    bool   // its process is the lab's: what it writes is known

	Because phrase.Wording // Why, in any language
}

// Error implements error.
func (e *WorkerError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker: it gives the same reasons as Error.
func (e *WorkerError) Says() phrase.Wording {
	why := e.Because
	if why.IsZero() {
		why = phrase.Plain(e.Why)
	}
	says := phrase.Say("worker %s %s", e.Thread, why)
	and := func(t phrase.Text, args ...any) { says = phrase.Say("%[1]s; %[2]s", says, phrase.Say(t, args...)) }
	if e.Last != "" {
		and("its last command: %s", e.Last)
	} else {
		and("it has sent no command")
	}
	switch {
	case e.Words != "":
		and("its last words: %s", e.Words)
	case e.Own:
		and("it has written nothing")
	}
	return says
}

func (l *lane) failed(why phrase.Text, args ...any) error {
	return l.failedBy(phrase.Say(why, args...))
}

func (l *lane) failedBy(why phrase.Wording) error {
	e := &WorkerError{Thread: l.name, Why: why.String(), Because: why, Last: l.last}
	if l.worker != nil {
		e.Words, e.Own = l.worker.out.String(), l.worker.cmd != nil
	}
	return e
}

// spin is how often a thread has asked the same thing in vain.
type spin struct {
	command string
	times   int
	version int // of the keys
}

// quietFor is how long a thread that listens for messages, and has no command
// waiting, must have been silent to be held to wait for one.
const quietFor = 25 * time.Millisecond

// stuckFor is the same where nobody else can move either: a slow client is not stuck.
const stuckFor = time.Second

// pending returns the commands of a thread that wait for a decision, oldest
// connection first, then its late copies; and whether it is at its next round.
func (l *lane) pending(g *Gate) (list []*item, held bool, atRound *item) {
	for _, c := range l.conns {
		if c.in != nil {
			held = true
		}
		if len(c.queue) == 0 {
			continue
		}
		it := c.queue[0]
		switch {
		case infer.Mark(it.args) == infer.MarkRound:
			atRound = it
		case it.blocking && !g.ready(it):
			held = true
		default:
			list = append(list, it)
		}
	}
	return list, held, atRound
}

// ended reports whether nothing more can come of a thread: its process is gone, or no
// client has ever come to its port.
func (l *lane) ended() bool {
	if l.worker == nil {
		return !l.spoken
	}
	return l.worker.ended()
}

// unsettled returns the first thread that is about to send something, nil where every
// thread has a command that waits, is at its next round, has ended, or waits for others;
// and after how long, if nothing comes, to look again. Of clients that were not started
// here, it waits for those that ask for rounds. It fails with a *WorkerError. The caller
// holds the gate.
func (g *Gate) unsettled(struck func(*lane) bool) (waitsFor *lane, next time.Duration, err error) {
	next, enough := time.Hour, stuckFor
	for _, l := range g.lanes {
		if list, _, _ := l.pending(g); len(list) > 0 {
			enough = quietFor
		}
	}
	for _, l := range g.lanes {
		list, held, atRound := l.pending(g)
		switch {
		case len(list) > 0 || atRound != nil || l.worker == nil && !l.rounds:
			if again := g.more(l); again > 0 {
				waitsFor, next = l, min(next, again)
			}
			continue
		case l.worker != nil && l.worker.ended():
			if err := l.dead(struck(l)); err != nil {
				return nil, next, err
			}
			continue
		}
		if quiet := time.Since(l.moved); held && quiet >= enough {
			continue
		} else if held {
			next = min(next, enough-quiet)
		}
		if waitsFor == nil {
			waitsFor = l
		}
	}
	return waitsFor, next, nil
}

// queued is how many commands of a thread wait.
func (l *lane) queued() (n int) {
	for _, c := range l.conns {
		n += len(c.queue)
	}
	return n
}

// more returns for how long a thread may still send something beside what waits, 0 if it
// does not: it talks to several nodes at once. Once it has been silent for a while, we
// know how much it sends after these answers, the next time, too.
func (g *Gate) more(l *lane) time.Duration {
	if len(g.nodes) == 1 || !l.rounds {
		return 0
	}
	have := l.queued()
	so := l.told + l.heard
	most, known := g.sends[so]
	quiet := time.Since(l.moved)
	switch {
	case known && have >= most:
	case known && quiet < quietFor:
		return quietFor - quiet
	case quiet < sleepsFor:
		return sleepsFor - quiet
	case quiet < quietFor && !l.worker.sleeps():
		return min(sleepsFor, quietFor-quiet)
	case !known && len(g.sends) >= maxSends:
		clear(g.sends)
	}
	g.sends[so] = max(have, most)
	return 0
}

// sleeps reports whether a worker waits for something, as far as the system tells: what was
// written to it, it has read. It is false where nobody can tell.
func (w *worker) sleeps() bool {
	if w == nil || w.cmd == nil || w.cmd.Process == nil {
		return false
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", w.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	proc := os.DirFS("/")
	for _, task := range tasks {
		task = strings.TrimPrefix(task, "/")
		if children, err := fs.ReadFile(proc, task+"/children"); err != nil || len(children) > 0 {
			return false // of these nothing is known
		}
		stat, err := fs.ReadFile(proc, task+"/stat")
		if at := bytes.LastIndexByte(stat, ')'); err != nil || at+2 >= len(stat) || stat[at+2] != 'S' {
			return false
		}
	}
	return true
}

// sleepsFor is how long a thread of several nodes must have been silent before its process
// is asked whether it waits.
const sleepsFor = 4 * time.Millisecond

// maxSends is how many answers to threads it remembers.
const maxSends = 1 << 16

// tells notes a thread's answer, with several nodes: its next commands depend on that.
func (l *lane) tells(r *infer.Record) {
	if r.Node == 0 || r.Late {
		return
	}
	reply := fmt.Sprintf("%T", r.Reply)
	switch v := r.Reply.(type) {
	case int64:
		reply = strconv.FormatInt(v, 10)
	case string:
		if v == "OK" {
			reply = v
		}
	}
	code, _, _ := strings.Cut(r.Err, " ")
	l.heard += maphash.String(history, fmt.Sprint(l.name, " ", r.Node, infer.Shown(r.Args), " ", r.Do, reply, code))
}

// sent notes that a thread has sent something after its answers. Between, the order of
// answers from several nodes makes no difference to it.
func (l *lane) sent() {
	if l.heard == 0 {
		return
	}
	l.told, l.heard = maphash.Comparable(history, [2]uint64{l.told, l.heard}), 0
}

// history adds up the answers to threads: a sum does not depend on their order.
var history = maphash.MakeSeed()

// settle waits until nobody is about to send anything. It fails with a *WorkerError, or
// with ctx's error.
func (g *Gate) settle(ctx context.Context, patience time.Duration, struck func(*lane) bool) error {
	began := time.Now()
	for {
		g.mu.Lock()
		waitsFor, next, err := g.unsettled(struck)
		if waitsFor == nil || err != nil {
			g.mu.Unlock()
			return err
		}
		since := waitsFor.moved
		if began.After(since) {
			since = began
		}
		left := patience - time.Since(since)
		if left <= 0 {
			err = waitsFor.silent(patience)
			g.mu.Unlock()
			return err
		}
		var done chan struct{} // never, of a client that was not started here
		if waitsFor.worker != nil {
			done = waitsFor.worker.done
		}
		changed := g.changed
		g.mu.Unlock()
		timer := time.NewTimer(min(left, next))
		select {
		case <-changed:
		case <-done:
			g.drainClosed()
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// drainClosed lets the readers of a worker that has ended see what it has sent last.
func (g *Gate) drainClosed() {
	time.Sleep(time.Millisecond) // its last bytes are in this machine already
}

func (l *lane) silent(patience time.Duration) error {
	if !l.spoken {
		return l.failed("talks to nobody: for %s nothing has come on its port", patience)
	}
	return l.failed("hangs: it has been silent for %s", patience)
}

// dead says what is wrong with a worker whose process has ended, if anything is.
// If a fault has struck it, its end may be the fault's doing.
func (l *lane) dead(struck bool) error {
	how := l.worker.how()
	switch {
	case l.worker.killed:
		return nil
	case !l.spoken:
		return l.failed("talks to nobody: %s", how)
	case struck:
		return nil
	case l.rounds:
		return l.failed("died in mid-search: it has asked for rounds, and %s", how)
	case l.worker.err != nil:
		return l.failed("died: %s", how)
	}
	return nil
}
