package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is what a protocol needs of a client; every go-redis client has it.
type Redis interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Script is a Lua script of one kind of call.
type Script struct {
	Name   string // file name
	Source string
	SHA    string // SHA-1 of Source in hexadecimal, as EVALSHA wants it
	Call   string // the name of the call

	sha any // SHA as an argument
}

// NewScript returns a script with its digest.
func NewScript(call, name, source string) Script {
	sha := redis.NewScript(source).Hash()
	return Script{Name: name, Source: source, SHA: sha, Call: call, sha: sha}
}

// ErrWrongType says that the key holds something other than a lock of this
// protocol.
var ErrWrongType = errors.New("lock: the key holds something else than this lock")

// Run sends the script by its digest and, if Redis does not know it (new,
// flushed, restarted, failed over), once more in full.
func (s Script) Run(ctx context.Context, client Redis, keys []string, args ...any) (Reply, error) {
	return s.read(ctx, client, keys, client.EvalSha(ctx, s.SHA, keys, args...), args)
}

// read reads the answer to an EVALSHA of the script, or sends it in full.
func (s Script) read(ctx context.Context, client Redis, keys []string, cmd *redis.Cmd, args []any) (Reply, error) {
	answer, err := cmd.Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = client.Eval(ctx, s.Source, keys, args...).Result()
	}
	if err != nil {
		return Reply{}, fmt.Errorf("lock: %s on %q: %w", s.Name, keys[0], classify(err))
	}
	var n [5]int64
	parts, _ := answer.([]any)
	for i, part := range parts {
		if i < len(n) {
			n[i], _ = part.(int64)
		}
	}
	if len(parts) < 2 {
		return Reply{}, fmt.Errorf("lock: %s on %q: unexpected reply %v", s.Name, keys[0], answer)
	}
	return Reply{Code: Code(n[0]), Count: int(n[1]), Token: n[2], Now: n[3], PTTL: time.Duration(n[4]) * time.Millisecond}, nil
}

// classify turns Redis errors that callers act on into this package's.
func classify(err error) error {
	var re redis.Error
	// Redis before 7, and miniredis, prefix it with the place in the script.
	if errors.As(err, &re) && strings.Contains(re.Error(), "WRONGTYPE ") {
		return fmt.Errorf("%w: %w", ErrWrongType, err)
	}
	return err
}

// Answered reports whether err is Redis' own answer, so that the command's
// outcome is known: scripts fail before they write.
func Answered(err error) bool {
	var several *nodesError
	if errors.As(err, &several) {
		return false // one node's answer says nothing about the others
	}
	var re redis.Error
	return errors.As(err, &re)
}
