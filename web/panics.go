package web

import (
	"context"
	"log/slog"

	"relock/engine/panics"
)

// What a panic has ended.
const (
	ofPage  = "page"  // one answer
	ofPlay  = "play"  // one session of stepping
	ofRun   = "run"   // one run, or its viewers
	ofWatch = "watch" // one viewer's socket
)

// panicked counts a panic and writes down where it was.
func (s *Server) panicked(ctx context.Context, of string, p *panics.Error) {
	s.meter.panics.WithLabelValues(of).Inc()
	s.log.ErrorContext(ctx, "panic", slog.String("ended", of), slog.Any("value", p.Value), slog.String("stack", string(p.Stack)))
}

// guarded does f, and tells whether it came to its end. A panic in it is
// counted and written down.
func (s *Server) guarded(ctx context.Context, of string, f func()) bool {
	p := panics.Try(f)
	if p != nil {
		s.panicked(ctx, of, p)
	}
	return p == nil
}
