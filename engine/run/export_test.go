package run

import "time"

// Delay has the timers of r, a run on the wall clock, be late by d.
func Delay(r *Run, d time.Duration) { r.machine.(*wall).delay = d }

// StillToArrive is how many requests will reach Redis after r has ended. It
// stops them.
func StillToArrive(r *Run) int {
	n := 0
	for _, c := range r.network.underWay {
		if c.timer.Stop() {
			n++
		}
	}
	return n
}
