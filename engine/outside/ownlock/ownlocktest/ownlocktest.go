// Package ownlocktest lets tests run users' own locks.
package ownlocktest

import (
	"context"
	"testing"
	"time"

	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
)

// Boxed returns the test's context with a box for the scripts of own locks, which ends
// with the test.
func Boxed(t testing.TB) context.Context {
	t.Helper()
	b, err := box.New(box.Options{Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return ownlock.WithBox(t.Context(), b)
}
