package run

import (
	"context"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
)

// scripter is the way to Redis of a run on the wall clock, until ctx ends.
func (w *wall) scripter(ctx context.Context) func(string, int) journal.Scripter {
	return func(thread string, _ int) journal.Scripter {
		if w.waits() {
			return w.lineOf(thread)
		}
		if w.turn == nil {
			return w.client
		}
		return inTurn{w.client, ctx, w.turn}
	}
}

// inTurn has scripts run when it is their turn: those of the embedded Redis run
// on this machine. To the scenario, that is a Redis that is slow to answer. The
// turn is waited for beyond what a call may take: calls that time out while
// they wait would only be made again, and cost more than what they wait for.
type inTurn struct {
	journal.Scripter

	run  context.Context
	turn func(context.Context) (func(), error)
}

// EvalSha implements journal.Scripter.
func (c inTurn) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if done, err := c.turn(c.run); err == nil {
		defer done()
	} // else the run is over
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}
