//go:build !race

package box

// raced tells that the race detector looks on.
const raced = false
