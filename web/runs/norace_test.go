//go:build !race

package runs

// Raced tells that the race detector looks on.
const Raced = false
