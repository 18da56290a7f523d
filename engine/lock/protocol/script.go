package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is what a protocol asks of a client; every go-redis client has it.
type Redis interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Script is a Lua script that one kind of call runs.
type Script struct {
	Name   string // file name
	Source string
	SHA    string // SHA-1 of Source in hexadecimal, as EVALSHA wants it
	Call   string // the name of the call
}

// NewScript returns a script with its digest.
func NewScript(call, name, source string) Script {
	return Script{Name: name, Source: source, SHA: redis.NewScript(source).Hash(), Call: call}
}

// ErrWrongType: the key holds something that is no lock of this protocol.
var ErrWrongType = errors.New("lock: the key holds something else than this lock")

// Run sends the script by its digest and, where Redis does not know it (new,
// flushed, restarted, failed over), once more in full.
func (s Script) Run(ctx context.Context, client Redis, keys []string, args ...any) (Reply, error) {
	res, err := client.EvalSha(ctx, s.SHA, keys, args...).Int64Slice()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		res, err = client.Eval(ctx, s.Source, keys, args...).Int64Slice()
	}
	if err != nil {
		return Reply{}, fmt.Errorf("lock: %s on %q: %w", s.Name, keys[0], classify(err))
	}
	if len(res) < 2 {
		return Reply{}, fmt.Errorf("lock: %s on %q: unexpected reply %v", s.Name, keys[0], res)
	}
	r := Reply{Code: Code(res[0]), Count: int(res[1])}
	if len(res) > 2 {
		r.Token = res[2]
	}
	if len(res) > 4 {
		r.Now, r.PTTL = res[3], time.Duration(res[4])*time.Millisecond
	}
	return r, nil
}

// classify gives the errors of Redis on which a caller decides their own.
func classify(err error) error {
	var re redis.Error
	// Redis before 7, and miniredis, put it behind where in the script it was.
	if errors.As(err, &re) && strings.Contains(re.Error(), "WRONGTYPE ") {
		return fmt.Errorf("%w: %w", ErrWrongType, err)
	}
	return err
}

// Answered tells whether err is Redis' own answer, so that the command's fate
// is known: scripts fail before they write.
func Answered(err error) bool {
	var several *nodesError
	if errors.As(err, &several) {
		return false // one node's answer does not settle what the others did
	}
	var re redis.Error
	return errors.As(err, &re)
}
