package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"relock/engine/effects"
	"relock/engine/phrase"
)

// worker is a process of the command, in a process group of its own.
type worker struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
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

// spawn starts a copy of the command for a thread.
func spawn(command, env []string, thread, address string) (*worker, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	w := &worker{cmd: exec.Command(command[0], command[1:]...), done: make(chan struct{}), out: &tail{}} //nolint:gosec,noctx // the user's own command; kill ends it
	w.cmd.Env = append(os.Environ(), "REDIS_URL=redis://"+address, "REDIS_HOST="+host, "REDIS_PORT="+port, "RELOCK_THREAD="+thread)
	w.cmd.Env = append(w.cmd.Env, env...)
	w.cmd.Stdout, w.cmd.Stderr = w.out, w.out
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.cmd.WaitDelay = time.Second // a grandchild may hold its output open
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	go func() {
		defer close(w.done)
		w.err = w.cmd.Wait()
		if errors.Is(w.err, exec.ErrWaitDelay) {
			w.err = nil
		}
	}()
	return w, nil
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
	if w != nil && w.cmd.Process != nil {
		_ = syscall.Kill(-w.cmd.Process.Pid, s)
	}
}

// kill ends its process group, and waits for its process.
func (w *worker) kill() {
	if w == nil {
		return
	}
	w.killed = true
	w.signal(syscall.SIGKILL)
	<-w.done
}

// WorkerError is a worker that failed: it hangs, dies, talks to nobody, or forgets its round.
type WorkerError struct {
	Thread string
	Why    string // a clause: what it does, or does not do
	Last   string // its last command, or ""
	Words  string // the last lines it has written, or ""
	Own    bool   // its process is the lab's: what it writes is known
}

// Error implements error.
func (e *WorkerError) Error() string {
	s := "worker " + e.Thread + " " + e.Why
	if e.Last != "" {
		s += "; its last command: " + e.Last
	} else {
		s += "; it has sent no command"
	}
	switch {
	case e.Words != "":
		s += "; its last words: " + e.Words
	case e.Own:
		s += "; it has written nothing"
	}
	return s
}

// Says implements phrase.Speaker: it gives the same reason as the terminal.
func (e *WorkerError) Says() phrase.Wording {
	return phrase.Say("a client failed: %s", e.Error())
}

func (l *lane) failed(format string, args ...any) error {
	e := &WorkerError{Thread: l.name, Why: fmt.Sprintf(format, args...), Last: l.last}
	if l.worker != nil {
		e.Words, e.Own = l.worker.out.String(), true
	}
	return e
}

// spin is how often a thread has asked the same in vain.
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
		case effects.Mark(it.args) == effects.MarkRound:
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
// Where a fault has struck it, its end may be the fault's.
func (l *lane) dead(struck bool) error {
	how := "with exit code 0"
	if l.worker.err != nil {
		how = "with " + l.worker.err.Error()
	}
	switch {
	case l.worker.killed:
		return nil
	case !l.spoken:
		return l.failed("talks to nobody: its process ended %s", how)
	case struck:
		return nil
	case l.rounds:
		return l.failed("died in mid-search: it has asked for rounds, and its process ended %s", how)
	case l.worker.err != nil:
		return l.failed("died: its process ended %s", how)
	}
	return nil
}
