package web

import (
	"context"
	"log/slog"

	"relock/engine/panics"
)

// What a panic ended.
const (
	ofPage  = "page"  // one answer
	ofPlay  = "play"  // one session of stepping
	ofRun   = "run"   // one run, or its viewers
	ofWatch = "watch" // one viewer's socket
	ofRoom  = "room"  // one member's connection, or a room's work until it goes on from its log
)

// panicked counts a panic and logs where it happened.
func (s *Server) panicked(ctx context.Context, of string, p *panics.Error) {
	s.meter.panics.WithLabelValues(of).Inc()
	s.log.ErrorContext(ctx, "panic", slog.String("ended", of), slog.Any("value", p.Value), slog.String("stack", string(p.Stack)))
}

// guarded calls f, and reports whether it returned. A panic in it is counted
// and logged.
func (s *Server) guarded(ctx context.Context, of string, f func()) bool {
	p := panics.Try(f)
	if p != nil {
		s.panicked(ctx, of, p)
	}
	return p == nil
}
