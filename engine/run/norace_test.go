//go:build !race

package run_test

// schedules is how many random schedules must not raise an alarm.
const schedules = 4_000

// raced tells that the race detector looks on.
const raced = false
