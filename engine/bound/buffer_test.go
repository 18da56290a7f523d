package bound_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"relock/engine/bound"
)

func TestABufferTakesNoMoreThanItsBound(t *testing.T) {
	b := bound.NewBuffer(t.Context())
	piece := strings.Repeat("x", 1<<20)
	for b.Err() == nil && b.Len() <= bound.Written {
		_, _ = b.WriteString(piece)
	}
	if !errors.Is(b.Err(), bound.ErrWritten) || b.Len() != bound.Written {
		t.Errorf("%d bytes of %d: %v", b.Len(), bound.Written, b.Err())
	}
	_, err := b.Write([]byte("x"))
	if err == nil || b.WriteByte('x') == nil || b.Len() != bound.Written {
		t.Errorf("it takes more: %v", err)
	}
}

func TestABufferTakesNothingForWhoHasLeft(t *testing.T) {
	why := errors.New("left")
	ctx, leave := context.WithCancelCause(t.Context())
	b := bound.NewBuffer(ctx)
	_, _ = b.WriteString("begun")
	leave(why)
	for n := 0; b.Err() == nil && n < 1<<20; n++ {
		_ = b.WriteByte('x')
	}
	if !errors.Is(b.Err(), why) || b.Len() > 64<<10 {
		t.Errorf("%d bytes: %v", b.Len(), b.Err())
	}
}
