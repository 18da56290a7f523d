// Package pause lets long work yield to others at points where nothing is half
// done. The caller who starts the work decides how; the work only says where.
package pause

import "context"

type key struct{}

// With returns a context in which Here calls f. F may block, and fails with its
// context's cause.
func With(ctx context.Context, f func(context.Context) error) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// Here yields to others if the context's creator asked for it. It fails with
// ctx's cause.
func Here(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f, ok := ctx.Value(key{}).(func(context.Context) error); ok {
		return f(ctx)
	}
	return nil
}
