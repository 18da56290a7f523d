package site

import (
	"context"
	"log/slog"

	"relock/engine/panics"
)

// The things that a panic can end.
const (
	OfPage  = "page"  // one answer
	OfPlay  = "play"  // one session of stepping
	OfRun   = "run"   // one run, or its viewers
	OfWatch = "watch" // one viewer's socket
	OfRoom  = "room"  // one member's connection, or a room's work until it goes on from its log
)

// Panicked counts a panic and logs where it happened.
func (s *Site) Panicked(ctx context.Context, of string, p *panics.Error) {
	s.Count.Panic(of)
	s.log.ErrorContext(ctx, "panic", slog.String("ended", of), slog.Any("value", p.Value), slog.String("stack", string(p.Stack)))
}

// Guarded calls f, and reports whether it returned. A panic in it is counted
// and logged.
func (s *Site) Guarded(ctx context.Context, of string, f func()) bool {
	p := panics.Try(f)
	if p != nil {
		s.Panicked(ctx, of, p)
	}
	return p == nil
}
