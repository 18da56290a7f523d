// Package pause lets long work yield to others at points where nothing is half
// done. The caller who starts the work decides how; the work only says where.
package pause

import (
	"context"
	"time"
)

// Yielder is how work yields to others. It is used by one goroutine at a time.
type Yielder interface {
	// Pause lets others go first, and may block. It fails with ctx's cause.
	Pause(ctx context.Context) error
	// Away runs wait, which waits for others, and lets them go on meanwhile.
	Away(ctx context.Context, wait func())
	// Whose is for whom the work is done: those who wait for the same take turns. ""
	// is nobody in particular.
	Whose() string
}

type (
	key       struct{}
	budgetKey struct{}
)

// With returns a context whose work yields to others as y does.
func With(ctx context.Context, y Yielder) context.Context {
	return context.WithValue(ctx, key{}, y)
}

// budget is how long work may still go on. It is used by one goroutine at a time.
type budget struct {
	left  time.Duration
	since time.Time // when the work last went on; zero while it waits
	why   error
}

// spend counts the work since the last time.
func (b *budget) spend() error {
	now := time.Now()
	if !b.since.IsZero() {
		b.left -= now.Sub(b.since)
	}
	b.since = now
	if b.left < 0 {
		return b.why
	}
	return nil
}

// Within returns a context whose work may go on for a time, which does not count the
// waits for others: then Here fails with why. Only Here looks at it; a wait
// for others is none of its business.
func Within(ctx context.Context, most time.Duration, why error) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{most, time.Now(), why})
}

// Here yields to others if the context's creator asked for it. It fails with
// ctx's cause, and if the work takes longer than Within allows.
func Here(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if b != nil {
		if err := b.spend(); err != nil {
			return err
		}
	}
	y, ok := ctx.Value(key{}).(Yielder)
	if !ok {
		return nil
	}
	err := y.Pause(ctx)
	if b != nil {
		b.since = time.Now()
	}
	return err
}

// While runs wait, which waits for others: they go on meanwhile, if the context's
// creator asked for it. Where wait then works, that counts from the first Here on.
func While(ctx context.Context, wait func()) {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		_ = b.spend() // Here says so
		b.since = time.Time{}
		defer func() { b.since = time.Now() }()
	}
	if y, ok := ctx.Value(key{}).(Yielder); ok {
		y.Away(ctx, wait)
		return
	}
	wait()
}

// Like returns ctx, whose work yields to others as that of another context does: for
// work that is done for its creator, under a context of its own.
func Like(ctx, other context.Context) context.Context {
	if y, ok := other.Value(key{}).(Yielder); ok {
		return With(ctx, y)
	}
	return ctx
}

// Whose is for whom the context's work is done, "" where nobody has said so.
func Whose(ctx context.Context) string {
	if y, ok := ctx.Value(key{}).(Yielder); ok {
		return y.Whose()
	}
	return ""
}
