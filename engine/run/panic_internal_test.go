package run

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/panics"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Calls of protocols with a key that no other test has.
const (
	brokenLock   = "broken-lock"
	brokenUnlock = "broken-unlock"
	brokenRenew  = "broken-renew"
)

func init() {
	for _, p := range exhibit.All() {
		p.Lock = breaking(p.Lock, brokenLock)
		p.Unlock = breaking(p.Unlock, brokenUnlock)
		if p.Renew != nil {
			p.Renew = breaking(p.Renew, brokenRenew)
		}
	}
}

func breaking(step protocol.Step, key string) protocol.Step {
	return func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		if strings.HasPrefix(r.Key, key) {
			panic(io.ErrUnexpectedEOF)
		}
		return step(ctx, r)
	}
}

// A panic in any goroutine of a run ends that run: its trace says so, its
// error has the stack, and no goroutine is left.
func TestAPanicEndsItsRun(t *testing.T) {
	const two = "lock: {protocol: PROTOCOL, key: KEY, lease: 60ms, watchdog: 20ms}\nthreads: [{name: A, work: 100ms}, {name: B, work: 100ms}]"
	for _, c := range []struct {
		name, key string
		plant     func(*Run)
	}{
		{name: "in a lock call", key: brokenLock},
		{name: "in an unlock call", key: brokenUnlock},
		{name: "in a watchdog", key: brokenRenew},
		{name: "in the business", key: "K", plant: func(r *Run) { r.threads[1].random = nil }},
		{name: "before it begins", key: "K", plant: func(r *Run) { r.threads = append(r.threads, nil) }},
	} {
		for _, wall := range []bool{false, true} {
			for _, proto := range []string{"reentrant", "reentrant-fair", "reentrant-notify", "mutex", "mutex-blind", "redsync"} {
				if c.key == brokenRenew && exhibit.Named(proto).Renew == nil || wall && exhibit.Named(proto).Nodes > 1 {
					continue
				}
				name := c.name + ", " + proto
				if wall {
					name += ", wall clock"
				}
				t.Run(name, func(t *testing.T) {
					defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
					sc, err := scenario.Parse([]byte(strings.NewReplacer("KEY", c.key, "PROTOCOL", proto).Replace(two)))
					if err != nil {
						t.Fatal(err)
					}
					r, err := New(sc, Options{Wall: wall})
					if err != nil {
						t.Fatal(err)
					}
					if c.plant != nil {
						c.plant(r)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					isMistake(t, r, r.Execute(ctx))
				})
			}
		}
	}
}

// isMistake checks how a run ended in which there was a panic.
func isMistake(t *testing.T, r *Run, err error) {
	t.Helper()
	var caught *panics.Error
	if !errors.As(err, &caught) || !strings.Contains(string(caught.Stack), "relock/engine/run") {
		t.Fatalf("%v, want the panic and where it was", err)
	}
	events, closed := r.log.Since(0)
	ends := slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool {
		_, end := e.Body.(trace.End)
		return !end || e.Thread != ""
	})
	for i := range ends {
		if end, ok := ends[i].Body.(trace.End); ok {
			end.Lateness = 0 // of this machine
			ends[i].Body = end
		}
	}
	want := trace.End{Result: trace.Failed, Error: ErrMistake.Error(), Cause: trace.Cause{Kind: trace.OwnMistake}}
	if !closed || len(ends) != 1 || ends[0].Body != want || ends[0].Seq != len(events) {
		t.Errorf("the trace has the ends %+v, closed %v; want one, last of all: %+v", ends, closed, want)
	}
}

// Even if the rules panic, everything is cleaned up, and the trace has its end.
func TestAPanicWhileItIsWrittenDown(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sc, err := scenario.Parse([]byte("threads: [{name: A}, {name: B}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(sc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.checker = nil
	first := panics.Try(func() { _, _ = s.Step(t.Context()) })
	if first == nil {
		t.Fatal("nothing was planted")
	}
	isMistake(t, r, panics.Try(func() { s.Close(first) }))
	if p := panics.Try(func() { s.Close(nil) }); p != nil {
		t.Errorf("closing again: %v", p)
	}
}
