package film

import "relock/engine/scenario"

// EventSize is about how many bytes a film of sc holds of each event, what the
// event itself takes not among them. Measured: BenchmarkHeldByASession.
func EventSize(sc *scenario.Scenario) int {
	size := 1300 + 60*len(sc.Threads)
	if n := sc.Lock.Nodes; n > 1 {
		size += 420 * n
	}
	return size
}
