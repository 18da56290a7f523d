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
		if task.Name == lock.OwnLease && task.At > s.clock.Now() && stands(task.Process) && s.r.thread(task.Process).reliesUntil(task.At) {
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

// reliesUntil reports whether a lease ends then on which the thread's client relies. The
// timer of one that it has heard is lost still runs, and ends nothing. Times that a
// drifting clock converts differ by a microsecond.
func (t *thread) reliesUntil(at time.Duration) (relies bool) {
	t.relies.Range(func(_, until any) bool {
		relies = (until.(time.Duration) - at).Abs() < time.Millisecond
		return !relies
	})
	return relies
}
