package box

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"relock/engine/interpreter"
)

// variable is set in the environment of a child, and says which walls it puts up.
const variable = "RELOCK_BOX"

// Ways of a child.
const (
	walled   = "walled"
	unwalled = "unwalled"
)

// exitLarge is how a child ends that finds its memory used up.
const exitLarge = 3

// A child is this executable, whichever that is: the playground's, or a test's of
// any package that judges. So it is an init that serves, and not a line in each
// main: no main and no TestMain can forget it, or do something first. Without the
// variable, which is in no environment but a child's, it does nothing. The packages that
// it imports have been initialized by then; those that import it never are.
func init() {
	way := os.Getenv(variable)
	if way == "" {
		return
	}
	os.Clearenv()
	if err := serve(way); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve puts up the walls, says so, and answers until nobody asks any more.
func serve(way string) error {
	debug.SetMemoryLimit(maxMemory / 2)
	debug.SetGCPercent(400)
	debug.SetMaxStack(32 << 20)
	debug.SetTraceback("none")
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("box: %w", err)
	}
	r := newRunner()
	missing := ""
	if err := limit(); err != nil && way != unwalled {
		missing = err.Error()
	} else if way == walled {
		if err := wallIn(); err != nil {
			missing = err.Error()
		}
	}
	var hello writer
	hello.text(missing)
	if err := writeFrame(os.Stdout, hello); err != nil || missing != "" {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	var buf []byte
	for {
		var err error
		if buf, err = readFrame(in, buf); err != nil {
			return nil //nolint:nilerr // the parent has gone, or has what it wanted
		}
		if err := writeFrame(os.Stdout, answerTo(r, buf)); err != nil {
			return fmt.Errorf("box: answer: %w", err)
		}
	}
}

// answerTo is the body of the frame that answers another one.
func answerTo(r *runner, body []byte) []byte {
	what, q, err := decodeQuestion(body)
	if err != nil {
		panic(err) // it is the parent that asks
	}
	var a Answer
	if what == askCheck {
		err = interpreter.Check(q.Script)
	} else {
		a, err = r.run(q)
	}
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return encodeFault(fault)
	case err != nil:
		panic(err)
	}
	out := a.encode()
	if len(out) > maxFrame {
		return encodeFault(&Fault{Kind: ErrTooLarge, What: "what Redis holds"})
	}
	return out
}
