package run

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
