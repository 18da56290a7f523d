//go:build race

package engine_test

// raced tells that the race detector looks on. It is ten times slower, and what
// is the same each time need not be tried so often for it: make test runs all
// of it without.
const raced = true
