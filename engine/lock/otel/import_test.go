package otel_test

import (
	"context"
	"io"

	"relock/engine/outside/logs"
)

// imported reads spans as "playground import" does, and names the rules that were
// broken.
func imported(ctx context.Context, r io.Reader) []string {
	log, err := logs.Read(ctx, r)
	if err != nil {
		return []string{err.Error()}
	}
	found, err := log.Trace(ctx, logs.Options{})
	if err != nil {
		return []string{err.Error()}
	}
	return found.Broken
}
