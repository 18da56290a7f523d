// Package pause lets long work yield to others at points where nothing is half
// done. The caller who starts the work decides how; the work only says where.
package pause

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Yielder is how work yields to others. It is used by one goroutine at a time.
type Yielder interface {
	// Pause lets others go first, and may block. It fails with ctx's cause.
	Pause(ctx context.Context) error
	// Away runs wait, which waits for others, and lets them go on meanwhile.
	Away(ctx context.Context, wait func())
	// Whose names those who wait for the work: work for the same name takes turns. "" is
	// nobody in particular.
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

// Within returns a context whose work may take so much processor time: then Here
// fails with why. Waits for others take none, and a busy machine gives no less. Done
// ends it. Only the goroutine that calls Within is bounded, and it stays on one thread until
// Done; so it is for work that does everything by itself. Elsewhere than on Linux the time
// is the wall's, waits included.
func Within(ctx context.Context, most time.Duration, why error) (within context.Context, done func()) {
	runtime.LockOSThread()
	thread, now := spent()
	return context.WithValue(ctx, budgetKey{}, &budget{thread: thread, end: now + most, why: why}), runtime.UnlockOSThread
}

// budget is how much processor time work may take on a thread.
type budget struct {
	thread int
	end    time.Duration
	why    error
	looks  atomic.Int64
}

// seldom is how many looks at a budget go without asking the system.
const seldom = 32

func (b *budget) over() bool {
	if b.looks.Add(1)%seldom != 1 { // the first one asks
		return false
	}
	thread, now := spent()
	return thread == b.thread && now > b.end
}

// Here yields to others if the context's creator asked for it. It fails with
// ctx's cause, and if the work takes more than Within allows.
func Here(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok && b.over() {
		return b.why
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

// Like returns ctx, whose work yields to others as another context's work does: for work
// done on behalf of its creator, under a separate context.
func Like(ctx, other context.Context) context.Context {
	if y, ok := other.Value(key{}).(Yielder); ok {
		return With(ctx, y)
	}
	return ctx
}

// Never returns ctx, whose work yields to nobody: for work under a mutex that others
// wait for in their turn, who would wait for each other then. It says for whom it is
// done, as before.
func Never(ctx context.Context) context.Context { return With(ctx, steady(Whose(ctx))) }

// steady is a Yielder that yields to nobody, for somebody.
type steady string

func (steady) Pause(ctx context.Context) error { return context.Cause(ctx) }

func (steady) Away(_ context.Context, wait func()) { wait() }

func (s steady) Whose() string { return string(s) }

// Whose names those who wait for the context's work, "" if nobody has said so.
func Whose(ctx context.Context) string {
	if y, ok := ctx.Value(key{}).(Yielder); ok {
		return y.Whose()
	}
	return ""
}
