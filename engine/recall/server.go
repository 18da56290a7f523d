package recall

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/store"
)

// Server runs scripts for a Memory, each in a state of Redis that comes with it.
// Nothing is left of one call in the next. It is not safe for concurrent use.
type Server interface {
	// Load takes a script, and returns its digest. It fails where the text is no
	// script.
	Load(ctx context.Context, text string) (digest string, err error)
	// Run runs a script that was loaded. It fails where it cannot say what comes
	// of it; that Redis refuses is in the Outcome.
	Run(ctx context.Context, c Call) (Outcome, error)
	// Close ends it.
	Close() error
}

// Call is one script to run.
type Call struct {
	Script   string // its digest
	Keys     []string
	Args     []any
	Now      time.Time    // Redis' clock, in whole milliseconds
	Items    []store.Item // what Redis holds
	Channels []string     // one for each who listens
}

// Outcome is what came of a call.
type Outcome struct {
	Reply any          // as go-redis returns it
	Err   error        // Redis' answer where it is an error, a redis.Error
	Items []store.Item // what Redis holds afterwards
}

// embedded is a miniredis that is put into any state.
type embedded struct {
	redis     *store.Embedded
	listeners *store.Listeners
}

func newEmbedded() *embedded {
	e := store.NewEmbedded(clock.Epoch)
	return &embedded{e, e.NewListeners()}
}

// Load implements Server.
func (e *embedded) Load(ctx context.Context, text string) (string, error) {
	return e.redis.Client().ScriptLoad(ctx, text).Result()
}

// Run implements Server.
func (e *embedded) Run(ctx context.Context, c Call) (Outcome, error) {
	if err := e.redis.Fill(c.Now, c.Items); err != nil {
		return Outcome{}, err
	}
	e.listeners.Set(c.Channels)
	raw, err := e.redis.Client().EvalSha(ctx, c.Script, c.Keys, c.Args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, new(redis.Error)) {
		return Outcome{}, err
	}
	items, failed := e.redis.Contents()
	return Outcome{raw, err, items}, failed
}

// Close implements Server.
func (e *embedded) Close() error {
	e.listeners.Close()
	return e.redis.Close()
}

// unknownScript is what Redis answers to a digest that it does not know.
type unknownScript struct{}

// Error returns Redis' words.
func (unknownScript) Error() string { return "NOSCRIPT No matching script. Please use EVAL." }

// RedisError implements redis.Error: it is Redis' answer.
func (unknownScript) RedisError() {}
