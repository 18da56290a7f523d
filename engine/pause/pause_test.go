package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"relock/engine/pause"
)

// counting is a Yielder that counts.
type counting struct{ pauses, waits int }

func (c *counting) Pause(ctx context.Context) error {
	c.pauses++
	return context.Cause(ctx)
}

func (*counting) Whose() string { return "me" }

func (c *counting) Away(_ context.Context, wait func()) {
	c.waits++
	wait()
}

func TestHereDoesWhatItWasTold(t *testing.T) {
	waited := 0
	wait := func() { waited++ }
	if err := pause.Here(t.Context()); err != nil {
		t.Errorf("told nothing: %v", err)
	}
	pause.While(t.Context(), wait)
	why, y := errors.New("why"), counting{}
	ctx, end := context.WithCancelCause(t.Context())
	ctx = pause.With(ctx, &y)
	if err := pause.Here(ctx); err != nil || y.pauses != 1 {
		t.Errorf("%v after %d", err, y.pauses)
	}
	pause.While(ctx, wait)
	if y.waits != 1 || waited != 2 {
		t.Errorf("waited %d times, %d of them away", waited, y.waits)
	}
	if whose := pause.Whose(ctx); whose != "me" || pause.Whose(t.Context()) != "" || pause.Whose(pause.Like(t.Context(), ctx)) != "me" {
		t.Errorf("the work is for %q", whose)
	}
	steady := pause.Never(ctx)
	pause.While(steady, wait)
	if err := pause.Here(steady); err != nil || y.pauses != 1 || y.waits != 1 || waited != 3 || pause.Whose(steady) != "me" {
		t.Errorf("work that yields to nobody: %v, yields %d times, away %d, for %q", err, y.pauses, y.waits, pause.Whose(steady))
	}
	end(why)
	if err := pause.Here(steady); !errors.Is(err, why) {
		t.Errorf("of work that yields to nobody and has ended: %v", err)
	}
	if err := pause.Here(ctx); !errors.Is(err, why) || y.pauses != 1 {
		t.Errorf("of work that has ended: %v, asked %d times", err, y.pauses)
	}
}

// waiting is a Yielder that waits for an hour at each turn.
type waiting struct{}

func (waiting) Pause(context.Context) error {
	time.Sleep(time.Hour)
	return nil
}

func (waiting) Away(_ context.Context, wait func()) { wait() }

func (waiting) Whose() string { return "" }

func TestWithinCountsTheWorkAlone(t *testing.T) {
	const often = 1000
	why := errors.New("too much")
	synctest.Test(t, func(t *testing.T) {
		ctx, done := pause.Within(pause.With(t.Context(), waiting{}), 10*time.Second, why)
		defer done()
		pause.While(ctx, func() { time.Sleep(time.Hour) })
		for range often {
			if err := pause.Here(ctx); err != nil {
				t.Fatalf("others' hours were counted: %v", err)
			}
		}
	})
	ctx, done := pause.Within(t.Context(), time.Millisecond, why)
	defer done()
	var err error
	for n := 0; err == nil && n < 1<<30; n++ {
		err = pause.Here(ctx)
	}
	if !errors.Is(err, why) {
		t.Errorf("work without end: %v", err)
	}
	var beside error
	other := make(chan struct{})
	go func() {
		defer close(other)
		for range often {
			beside = errors.Join(beside, pause.Here(ctx))
		}
	}()
	<-other
	if beside != nil {
		t.Errorf("what another goroutine does was counted: %v", beside)
	}
}
