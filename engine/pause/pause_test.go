package pause_test

import (
	"context"
	"errors"
	"testing"

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
	end(why)
	if err := pause.Here(ctx); !errors.Is(err, why) || y.pauses != 1 {
		t.Errorf("of work that has ended: %v, asked %d times", err, y.pauses)
	}
}
