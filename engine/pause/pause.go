// Package pause lets long work yield to others at points where nothing is half
// done. The caller who starts the work decides how; the work only says where.
package pause

import "context"

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

type key struct{}

// With returns a context whose work yields to others as y does.
func With(ctx context.Context, y Yielder) context.Context {
	return context.WithValue(ctx, key{}, y)
}

// Here yields to others if the context's creator asked for it. It fails with
// ctx's cause.
func Here(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if y, ok := ctx.Value(key{}).(Yielder); ok {
		return y.Pause(ctx)
	}
	return nil
}

// While runs wait, which waits for others: they go on meanwhile, if the context's
// creator asked for it.
func While(ctx context.Context, wait func()) {
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
