//go:build linux && !cgo

package box

// linked tells that this process has threads that Go does not know.
const linked = false
