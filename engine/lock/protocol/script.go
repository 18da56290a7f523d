package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
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

// Comment returns the comment in a line of a bundled script: the mark before it with its
// spaces, and its text, "" if there is none.
func Comment(line string) (mark, text string) {
	at := strings.Index(line, "--")
	if at < 0 {
		return "", ""
	}
	text = strings.TrimLeft(line[at+len("--"):], " ")
	return line[at : len(line)-len(text)], text
}

// Script is a Lua script of one kind of call.
type Script struct {
	Name   string // file name
	Source string
	SHA    string // SHA-1 of Source in hexadecimal, as EVALSHA wants it
	Call   string // the name of the call

	args Args
	sha  any // SHA as an argument
	keys int // up to which of the lock's keys the source names

	keysOf func(key, owner, request string) []string // of one's own script whose keys name owners, else nil

	argv    []Arg   // of one's own script: what it gets as ARGV, or nil where it is like another's
	replies Replies // of one's own script: what its file says that it returns, or nil
}

// NewScript returns a script with its digest, and with what it is called with.
func NewScript(call, name, source string, args Args) Script {
	sha := redis.NewScript(source).Hash()
	s := Script{Name: name, Source: source, SHA: sha, Call: call, args: args, sha: sha, keys: 1}
	for n := 2; n <= 9; n++ {
		if strings.Contains(source, "KEYS["+strconv.Itoa(n)+"]") {
			s.keys = n
		}
	}
	return s
}

// ErrRefused says that Redis answered and did not run the command: it is not in
// a state to (loading, busy, full, a replica), or the user has no right to.
var ErrRefused = errors.New("lock: Redis refused")

// ErrWrongType says that the key holds something other than a lock of this
// protocol.
var ErrWrongType = errors.New("lock: the key holds something else than this lock")

// Run sends the script by its digest and, if Redis does not know it (new,
// flushed, restarted, failed over), once more in full.
func (s Script) Run(ctx context.Context, client Redis, keys []string, args ...any) (Reply, error) {
	answer, err := s.read(ctx, client, keys, client.EvalSha(ctx, s.SHA, keys, args...), args)
	if err != nil {
		return Reply{}, err
	}
	return s.reply(answer, keys[0])
}

// read reads the answer to an EVALSHA of the script, or sends it in full.
func (s Script) read(ctx context.Context, client Redis, keys []string, cmd *redis.Cmd, args []any) (any, error) {
	answer, err := cmd.Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = client.Eval(ctx, s.Source, keys, args...).Result()
	}
	if err != nil {
		return nil, s.failed(keys[0], err)
	}
	return answer, nil
}

// failed is the error of a call of the script.
func (s Script) failed(key string, err error) error {
	return fmt.Errorf("lock: %s on %q: %w", s.Name, key, Classify(err))
}

// reply is the answer of the script in a lock's words.
func (s Script) reply(answer any, key string) (Reply, error) {
	var n [5]int64
	var unsent error
	parts, _ := answer.([]any)
	for i, part := range parts {
		switch part := part.(type) {
		case int64:
			if i < len(n) {
				n[i] = part
			}
		case string:
			unsent = fmt.Errorf("%w to send a message: %s", ErrRefused, part)
		}
	}
	if len(parts) < 2 {
		return Reply{}, fmt.Errorf("lock: %s on %q: %w: %v", s.Name, key, ErrReply, answer)
	}
	return Reply{
		Code: Code(n[0]), Count: int(n[1]), Token: n[2], Now: n[3], PTTL: time.Duration(n[4]) * time.Millisecond, Unsent: unsent,
	}, nil
}

// Classify returns err, joined with ErrWrongType or ErrRefused if it is Redis'
// own answer.
func Classify(err error) error {
	switch said := refusal(err); {
	case said == nil:
		return err
	case mentions(said, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", ErrWrongType, err)
	default:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
}

// UnknownCommandError says that Redis does not know a command: it is older than
// that. Nothing was changed.
type UnknownCommandError struct {
	Command string // "DELEX"
	Err     error  // what Redis said
}

// Error implements error.
func (e *UnknownCommandError) Error() string {
	return "this Redis does not know " + e.Command + ": " + e.Err.Error()
}

// Unwrap returns what Redis said.
func (e *UnknownCommandError) Unwrap() error { return e.Err }

// unknownCommand is what Redis, Valkey and miniredis say of a command that they
// do not know: alone, or in a script.
var unknownCommand = regexp.MustCompile(`(?i)ERR unknown (redis |valkey )?command`)

// UnknownCommand reports whether an answer of Redis says that it does not know a
// command.
func UnknownCommand(answer string) bool { return unknownCommand.MatchString(answer) }

// known returns err, or an UnknownCommandError where Redis said so of a command.
func known(command any, err error) error {
	if said := refusal(err); said == nil || !UnknownCommand(said.Error()) {
		return err
	}
	return &UnknownCommandError{fmt.Sprint(command), err}
}

// refusal returns the answer of Redis that err is, or nil. One node's answer
// says nothing about the others.
func refusal(err error) error {
	var several *NodesError
	var said redis.Error
	if errors.As(err, &several) || !errors.As(err, &said) {
		return nil
	}
	return said
}

// mentions reports whether an answer of Redis begins with code, or, before
// Redis 7 and on miniredis, came from a command within a script and has it
// further on.
func mentions(said error, code string) bool {
	return redis.HasErrorPrefix(said, code) || strings.Contains(said.Error(), " "+code+" ") || strings.Contains(said.Error(), "-"+code+" ")
}

// Answered reports whether err is Redis' own answer, so that the command's
// outcome is known: nothing ran, because scripts fail before they write.
func Answered(err error) bool { return refusal(err) != nil }

// Undialled returns why no connection could be made for a command; nil for another error.
func Undialled(err error) *net.OpError {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return dial
	}
	return nil
}

// Unsent reports whether a command has surely not been sent to its one server: the client
// got no connection.
func Unsent(err error) bool {
	return Undialled(err) != nil || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

// passing are the codes by which Redis says that it cannot run anything now:
// it is loading its data, busy with a script, a replica, cut off from its
// master or its cluster, moving the slot (of which the client gave up following
// the trace), without the replicas it must write to or a disk to save to, or
// full of clients.
var passing = []string{
	"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS", "MISCONF",
	"max number of clients reached",
}

// Passing reports whether err is Redis' refusal to run anything just now: to
// ask again may help.
func Passing(err error) bool {
	said := refusal(err)
	return said != nil && slices.ContainsFunc(passing, func(code string) bool { return mentions(said, code) })
}

// Full reports whether err is Redis' refusal to write anything new, because its
// memory is full.
func Full(err error) bool {
	said := refusal(err)
	return said != nil && mentions(said, "OOM")
}
