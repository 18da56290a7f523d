// Package racetest says of tests that the race detector has nothing to find in them:
// everything happens in one goroutine, or the goroutines are those of other tests, which
// it watches. `make test` runs each test once: with the race detector, which is up to ten
// times slower, or, with such a mark, without it. It must not know what they test.
package racetest

import (
	"fmt"
	"testing"
)

// nothing is what a test says that leaves for the other lane. `make test` looks for it
// when it counts which tests ran.
const nothing = "the race detector has nothing to find here: make test runs this without it"

// Skip skips a test if the race detector is watching. It is the first line of a test, so
// that .ci/lanes finds it.
func Skip(t testing.TB) {
	t.Helper()
	if watching {
		t.Skip(nothing)
	}
}

// Main is the TestMain of a package in which no test has anything for the race detector:
// it runs none if the detector is watching.
func Main(m *testing.M) {
	if watching {
		fmt.Println(nothing)
		return
	}
	m.Run()
}
