package pause_test

import (
	"context"
	"errors"
	"testing"

	"relock/engine/pause"
)

func TestHereDoesWhatItWasTold(t *testing.T) {
	if err := pause.Here(t.Context()); err != nil {
		t.Errorf("told nothing: %v", err)
	}
	why, times := errors.New("why"), 0
	ctx, end := context.WithCancelCause(t.Context())
	ctx = pause.With(ctx, func(ctx context.Context) error {
		times++
		return context.Cause(ctx)
	})
	if err := pause.Here(ctx); err != nil || times != 1 {
		t.Errorf("%v after %d", err, times)
	}
	end(why)
	if err := pause.Here(ctx); !errors.Is(err, why) || times != 1 {
		t.Errorf("of work that has ended: %v, asked %d times", err, times)
	}
}
