package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Redis is what the engine asks of a client; every go-redis client has it.
type Redis interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Script is one of the engine's Lua scripts.
type Script struct {
	Name   string // file name
	Source string
	SHA    string // SHA-1 of Source in hexadecimal, as EVALSHA wants it
	call   string // the call that it is
}

func newScript(call, name, source string) Script {
	return Script{Name: name, Source: source, SHA: redis.NewScript(source).Hash(), call: call}
}

// Codes with which the scripts answer.
const (
	codeGranted = 1
	codeRefused = 0
	codeNotHeld = -1
)

type reply struct {
	code  int64
	count int
	token int64 // 0: none
	now   int64 // by Redis' clock, in milliseconds, where the script says so
	pttl  int64 // of the lock, where the script says so
}

// run sends the script by its digest and, where Redis does not know it (new,
// flushed, restarted, failed over), once more in full.
func (s Script) run(ctx context.Context, client Redis, keys []string, args ...any) (reply, error) {
	res, err := client.EvalSha(ctx, s.SHA, keys, args...).Int64Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		res, err = client.Eval(ctx, s.Source, keys, args...).Int64Slice()
	}
	if err != nil {
		return reply{}, fmt.Errorf("lock: %s on %q: %w", s.Name, keys[0], err)
	}
	if len(res) < 2 {
		return reply{}, fmt.Errorf("lock: %s on %q: unexpected reply %v", s.Name, keys[0], res)
	}
	r := reply{code: res[0], count: int(res[1])}
	if len(res) > 2 {
		r.token = res[2]
	}
	if len(res) > 4 {
		r.now, r.pttl = res[3], res[4]
	}
	return r, nil
}

// answered tells whether err is Redis' own answer, so that the command's fate
// is known: scripts fail before they write.
func answered(err error) bool {
	var several *nodesError
	if errors.As(err, &several) {
		return false // one node's answer does not settle what the others did
	}
	var re redis.Error
	return errors.As(err, &re)
}

// Call says on whose behalf a Redis command is sent.
type Call struct {
	Name    string // "lock", "unlock" or "renew"
	Level   int    // the level entered, left, or held
	Attempt int    // 1, 2, … within the call

	// GivesBack is set for an unlock of a level that was not granted for
	// certain: the fate of its lock call is not known, or came too late.
	GivesBack bool
}

// Names of calls.
const (
	CallLock   = "lock"
	CallUnlock = "unlock"
	CallRenew  = "renew"
	CallLeave  = "leave" // a waiter goes
)

// String words the call for people.
func (c Call) String() string {
	if c.Attempt > 1 {
		return fmt.Sprintf("%s, level %d, attempt %d", c.Name, c.Level, c.Attempt)
	}
	return fmt.Sprintf("%s, level %d", c.Name, c.Level)
}

type callKey struct{}

// CallOf returns the call that a Redis command with this context is part of.
func CallOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

// WithCall says on whose behalf the commands that are sent with a context are.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
