package run

import (
	"slices"
	"time"

	"relock/engine/clock"
	"relock/engine/lock"
)

// StoodStill reports whether, since it was last called, a thread stood still for
// longer than its lease: it, or its watchdog, could move, a wait kept it from moving,
// and meanwhile its lease ended, the one that its client counts or the key's in
// Redis.
func (s *Stepper) StoodStill() bool {
	stood := s.stood
	s.stood = false
	return stood
}

// leases returns when the first lease ends of those threads that can move, or
// forever.
func (s *Stepper) leases() time.Duration {
	ends := forever
	if len(s.ready) == 0 {
		return ends
	}
	stands := func(thread string) bool {
		return slices.ContainsFunc(s.ready, func(t clock.Task) bool { return t.Process == thread })
	}
	for _, task := range s.clock.Pending() {
		if task.Name == lock.OwnLease && task.At > s.clock.Now() && stands(task.Process) {
			ends = min(ends, task.At)
		}
	}
	for i, key := range s.states() {
		if at, ok := s.expires(key); ok && slices.ContainsFunc(s.checker.HoldersOf(i, key), stands) {
			ends = min(ends, at)
		}
	}
	return ends
}
