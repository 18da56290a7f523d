//go:build race

package run_test

// schedules is small under the race detector, which is ten times slower and
// looks for something else.
const schedules = 400

// raced tells that the race detector looks on. Tests that do the same each time need not
// run so often for it: make test runs them all without.
const raced = true
