package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// child is the parent's end of a process that answers. It serves one question at
// a time.
type child struct {
	in, out *os.File      // to it, and from it
	said    last          // on its standard error
	process *os.Process   //
	ended   chan struct{} // closed when it has ended
	code    int           // how; after ended
	buf     []byte        // of the last frame
	free    time.Time     // since when it is nobody's, of a spare
}

// startLimit is how long a child may take until it is ready: a busy machine
// starts it slowly.
const startLimit = 20 * time.Second

// start starts a child and waits until its walls are up. It fails with
// ErrUnavailable.
func start(ctx context.Context, way string) (*child, error) {
	c, err := launch(way)
	if err != nil {
		return nil, fmt.Errorf("%w: a process of their own cannot be started: %w", ErrUnavailable, err)
	}
	body, err := c.read(ctx, startLimit)
	if err != nil {
		c.kill()
		return nil, fmt.Errorf("%w: a process of their own does not come up: %w %s", ErrUnavailable, err, c.said.String())
	}
	r := reader{rest: body}
	missing := r.text()
	if err := r.end(); err != nil || missing != "" {
		c.kill()
		if err != nil {
			return nil, fmt.Errorf("%w: a process of their own does not come up: %w", ErrUnavailable, err)
		}
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, cut(missing, 500))
	}
	return c, nil
}

// launch starts this executable again. A goroutine waits for its end, on the
// thread that started it, with which it ends.
func launch(way string) (*child, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, err
	}
	c := &child{in: in, out: out, ended: make(chan struct{})}
	command := exec.Command(executable) //nolint:gosec,noctx // it is this program, and outlives the question for which it was started
	command.Env = []string{variable + "=" + way, "GOMAXPROCS=2"}
	command.Dir = "/"
	command.Stdin, command.Stdout, command.Stderr = theirIn, theirOut, &c.said
	command.WaitDelay = time.Second
	apart(command)
	started := make(chan error)
	go func() {
		defer close(c.ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		c.process = command.Process
		started <- err
		if err == nil {
			_ = command.Wait() // the code says it
			c.code = command.ProcessState.ExitCode()
		}
	}()
	if err := <-started; err != nil {
		<-c.ended
		_, _ = in.Close(), out.Close()
		_, _ = theirIn.Close(), theirOut.Close()
		return nil, err
	}
	_, _ = theirIn.Close(), theirOut.Close() // the child has its own
	return c, nil
}

// kill ends it, and returns when it has ended. It may be called again.
func (c *child) kill() {
	_ = c.process.Kill() // or it has ended
	<-c.ended
	_, _ = c.in.Close(), c.out.Close()
}

// read reads a frame, for so long.
func (c *child) read(ctx context.Context, limit time.Duration) ([]byte, error) {
	stop := c.until(ctx, limit)
	defer stop()
	return readFrame(c.out, c.buf)
}

// until has reading and writing fail when a limit is over, or ctx.
func (c *child) until(ctx context.Context, limit time.Duration) (stop func() bool) {
	at := time.Now().Add(limit)
	_, _ = c.in.SetDeadline(at), c.out.SetDeadline(at) // pipes have deadlines
	return context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_, _ = c.in.SetDeadline(past), c.out.SetDeadline(past)
	})
}

// ask sends a question and reads its answer. After any error but a *Fault the
// child has ended.
func (c *child) ask(ctx context.Context, limit time.Duration, question []byte) (Answer, error) {
	stop := c.until(ctx, limit)
	defer stop()
	err := writeFrame(c.in, question)
	if err == nil {
		c.buf, err = readFrame(c.out, c.buf)
	}
	if err == nil {
		var a Answer
		a, err = decodeAnswer(c.buf)
		var fault *Fault
		if err == nil || errors.As(err, &fault) {
			return a, err
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
		_ = c.out.SetDeadline(time.Time{})
		select { // it ends by itself, and says why
		case <-c.ended:
		case <-time.After(limit):
		}
	}
	c.kill()
	return Answer{}, c.why(ctx, err)
}

// why is what an ended child's last question came to.
func (c *child) why(ctx context.Context, err error) error {
	said := c.said.String()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("box: %w", ctx.Err())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Fault{Kind: ErrEndless}
	case c.code == exitLarge, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"),
		strings.Contains(said, "goroutine stack exceeds"), strings.Contains(said, "stack overflow"), strings.Contains(said, "failed to create new OS thread"), strings.Contains(said, "pthread_create failed"):
		return &Fault{Kind: ErrTooLarge, What: "its memory"}
	case strings.Contains(said, "SIGSEGV") && strings.Contains(said, "goroutine 0 "): // Go's runtime itself, which was given no memory
		return &Fault{Kind: ErrTooLarge, What: "its memory"}
	default:
		return fmt.Errorf("%w: %w, code %d: %s", ErrBroken, err, c.code, cut(said, 200))
	}
}

// last keeps the beginning of what is written: Go says first why it ends.
type last struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what there is room for, and never fails.
func (l *last) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:min(len(p), max(0, 4096-l.text.Len()))])
	return len(p), nil
}

func (l *last) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
