//go:build race

package runs

// Raced tells that the race detector looks on. It is ten times slower, and what
// takes minutes with it runs without it only: make test does both.
const Raced = true
