// Package clocktest runs tests on the wall clock, and knows when the machine was too
// busy for what they saw to mean anything: later than a run on the wall clock may be. It
// must not know what they test.
package clocktest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/engine/trace"
)

// Prefix begins the name of each test that calls [Punctual]: `make test` runs those at
// the end, one after the other, while nothing else runs.
const Prefix = "TestTimed"

// again is how often a test is repeated that failed while timers were late.
const again = 2

// Punctual runs a test that waits for leases, or judges by the clock. If it fails, and
// a timer of this process was late by a tenth of the lease or more meanwhile, it is
// repeated, at most twice; any other outcome counts. The test gets its own TB, whose
// context ends and whose cleanups run before it is repeated; it starts everything that it
// needs itself, and has no subtests. Its messages appear if it fails for good, and with
// -v. The name of the test that t belongs to begins with [Prefix].
func Punctual(t testing.TB, lease time.Duration, test func(t testing.TB)) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), Prefix) {
		t.Fatalf("a test on the wall clock is named %s…, so that it runs alone", Prefix)
	}
	repeat(t, trace.Tolerance(lease), func() func() time.Duration { return watch(lease / 20) }, test)
}

// repeat is Punctual with the latest that a timer may be, and what tells how late one
// was since it was called.
func repeat(t testing.TB, latest time.Duration, watch func() func() time.Duration, test func(t testing.TB)) {
	t.Helper()
	for left := again; ; left-- {
		lateness := watch()
		a := try(t, test)
		late := lateness()
		said := strings.Join(a.said, "\n")
		switch {
		case a.failed && late >= latest && left > 0:
			t.Logf("failed while timers were late by %v, and %v is allowed, so it is run again:\n%s", late, latest, said)
			continue
		case a.failed:
			t.Fatalf("timers were late by at most %v, and %v is allowed:\n%s", late, latest, said)
		case a.skipped:
			t.Skip(said)
		case said != "":
			t.Log(said)
		}
		return
	}
}

// watch sleeps again and again for so long, and tells in the end how late it woke at
// worst.
func watch(nap time.Duration) func() time.Duration {
	stop, latest := make(chan struct{}), make(chan time.Duration)
	go func() {
		worst := time.Duration(0)
		for {
			due := time.Now().Add(nap)
			timer := time.NewTimer(nap)
			select {
			case <-timer.C:
				worst = max(worst, time.Since(due))
			case <-stop:
				timer.Stop()
				latest <- max(worst, time.Since(due)) // one that is still due
				return
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-latest
	}
}

// attempt is the TB of one attempt: it fails without failing the test. It is safe for
// concurrent use, as a TB is.
type attempt struct {
	testing.TB

	ctx context.Context

	mu              sync.Mutex
	failed, skipped bool
	said            []string
	helpers         map[string]bool // functions that called Helper
	cleanups        []func()
}

// try runs a test to its end, cleanups and all.
func try(t testing.TB, test func(t testing.TB)) *attempt {
	ctx, cancel := context.WithCancel(t.Context())
	a := &attempt{TB: t, ctx: ctx, helpers: map[string]bool{}}
	a.alone(func() { test(a) })
	cancel()
	for len(a.cleanups) > 0 {
		last := a.cleanups[len(a.cleanups)-1]
		a.cleanups = a.cleanups[:len(a.cleanups)-1]
		a.alone(last)
	}
	return a
}

// alone runs a function in a goroutine of its own, which FailNow ends.
func (a *attempt) alone(f func()) {
	var run sync.WaitGroup
	run.Go(f)
	run.Wait()
}

func (a *attempt) Context() context.Context { return a.ctx }

func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

func (a *attempt) Helper() {
	pc, _, _, _ := runtime.Caller(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.helpers[runtime.FuncForPC(pc).Name()] = true
}

// say keeps a text, with the place of whom it is from.
func (a *attempt) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const these = 3 // runtime.Callers, say, and what the test called
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(these, pcs[:])])
	for {
		frame, more := frames.Next()
		if !a.helpers[frame.Function] || !more {
			a.said = append(a.said, fmt.Sprintf("%s:%d: %s", filepath.Base(frame.File), frame.Line, strings.TrimSuffix(text, "\n")))
			return
		}
	}
}

func (a *attempt) Log(args ...any)                 { a.say(fmt.Sprintln(args...)) }
func (a *attempt) Logf(format string, args ...any) { a.say(fmt.Sprintf(format, args...)) }

func (a *attempt) Error(args ...any) {
	a.say(fmt.Sprintln(args...))
	a.Fail()
}

func (a *attempt) Errorf(format string, args ...any) {
	a.say(fmt.Sprintf(format, args...))
	a.Fail()
}

func (a *attempt) Fatal(args ...any) {
	a.say(fmt.Sprintln(args...))
	a.FailNow()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.say(fmt.Sprintf(format, args...))
	a.FailNow()
}

func (a *attempt) Skip(args ...any) {
	a.say(fmt.Sprintln(args...))
	a.SkipNow()
}

func (a *attempt) Skipf(format string, args ...any) {
	a.say(fmt.Sprintf(format, args...))
	a.SkipNow()
}

func (a *attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

func (a *attempt) FailNow() {
	a.Fail()
	runtime.Goexit()
}

func (a *attempt) SkipNow() {
	a.mu.Lock()
	a.skipped = true
	a.mu.Unlock()
	runtime.Goexit()
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *attempt) Skipped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skipped
}
