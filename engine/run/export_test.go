package run

import (
	"context"
	"time"

	"relock/engine/scenario"
)

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

// StepThread moves a thread's business, or its watchdog.
func (s *Stepper) StepThread(ctx context.Context, thread string, background bool) (scenario.Move, error) {
	return s.StepOption(ctx, thread, func(o Option) bool { return o.Background == background && !o.Network })
}

// StepNode has a thread ask a node.
func (s *Stepper) StepNode(ctx context.Context, thread string, node int) (scenario.Move, error) {
	return s.StepOption(ctx, thread, func(o Option) bool { return o.Background && o.Node == node })
}

// StepNetwork has what a thread sent reach a node, 0 for any.
func (s *Stepper) StepNetwork(ctx context.Context, thread string, node int) (scenario.Move, error) {
	return s.StepOption(ctx, thread, func(o Option) bool { return o.Network && (node == 0 || o.Node == node) })
}
