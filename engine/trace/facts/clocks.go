package facts

import (
	"time"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Clocks tracks how far each node's clock has been moved, by node from 0. It is
// not safe for concurrent use.
type Clocks map[int]trace.Millis

// Strike takes the next fault of Redis itself, which may move a clock.
func (c Clocks) Strike(b trace.Fault) {
	if b.Do != fault.ClockJump {
		return
	}
	if by, ok := jump(b.By); ok {
		c[max(b.Node-1, 0)] += by
	}
}

// jump reads how far a clock was moved, as scenarios write it: "-1s".
func jump(by string) (trace.Millis, bool) {
	d, err := time.ParseDuration(by)
	if err != nil {
		return 0, false
	}
	return trace.MillisOf(d), true
}
