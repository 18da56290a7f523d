//go:build race

package run_test

// schedules is small under the race detector, which is ten times slower and
// looks for something else.
const schedules = 400
