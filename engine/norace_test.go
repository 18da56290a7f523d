//go:build !race

package engine_test

// raced tells that the race detector looks on.
const raced = false
