package run

import (
	"context"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
)

// scripter is the way to Redis of a run on the wall clock.
func (w *wall) scripter(int) journal.Scripter {
	if w.r.o.Turn == nil || w.r.o.External != nil {
		return w.client
	}
	return inTurn{w.client, w.r.o.Turn}
}

// inTurn has scripts run when it is their turn: those of the embedded Redis run
// on this machine. To the scenario, that is a Redis that is slow to answer.
type inTurn struct {
	journal.Scripter

	turn func(context.Context) (func(), error)
}

// EvalSha implements journal.Scripter.
func (c inTurn) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if done, err := c.turn(ctx); err == nil {
		defer done()
	} // else its caller has given it up, and Redis will not be asked
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}
