//go:build !race

package web

// Raced tells that the race detector looks on.
const Raced = false
