// Package journal makes Lua scripts report what they do: every command they
// give to Redis, with its arguments, its reply, and the state of the script's
// first key right after it.
//
// The script's text stays unchanged. The package wraps it in a function, and a
// prelude shadows the name redis with a table whose call and pcall run the real
// ones and take notes. Script and notes are one atomic step, so the notes are
// what happened, not what an observer found later. This needs no MONITOR, no
// keyspace notifications and no extra permissions.
package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/trace"
)

// Script is a script the journal knows.
type Script struct {
	Name   string // file name
	Source string
	SHA    string // SHA-1 of Source in hexadecimal
}

// Entry is one command as Redis ran it inside a script.
type Entry struct {
	Line  int // of the script, from 1; 0 if unknown
	Args  []string
	Reply any            // nil, int64, string, or a list of these
	Err   string         // Redis' error, or ""
	Key   trace.KeyState // the first key right after the command
}

// Record is one run of a script.
type Record struct {
	Script  string        // file name
	Keys    []string      // the script's, as Redis knows them
	Argv    []string      // its arguments
	Time    time.Duration // Redis' own clock, since the Unix epoch, microseconds
	Entries []Entry
}

// Told is a wrapped script's answer, decoded. A Scripter that remembers answers
// may give one instead of what Redis sent.
type Told struct {
	Record Record // without Script, Keys and Argv
	Reply  Reply
}

// Client sends scripts to Redis and passes their records to Sink. It has the
// methods package lock needs of a client, and is safe for concurrent use if
// Sink is.
type Client struct {
	redis  func() Scripter
	sink   func(context.Context, Record)
	bySHA  map[string]wrapped
	byText map[string]wrapped

	command wrapped // any one command
}

// Scripter is what the journal needs of a client; every go-redis client has it.
type Scripter interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
	ScriptLoad(ctx context.Context, script string) *redis.StringCmd
}

type wrapped struct {
	name string
	text string
	sha  string
}

// wraps holds what wrap has made: a program has a few scripts, and a search makes
// a client for each of its runs.
var wraps sync.Map // [2]string, name and source, to wrapped

func wrap(name, source string) wrapped {
	key := [2]string{name, source}
	if w, ok := wraps.Load(key); ok {
		return w.(wrapped)
	}
	text := Wrap(source)
	w := wrapped{name: name, text: text, sha: digest(text)}
	wraps.Store(key, w)
	return w
}

// New returns a client that knows scripts. It asks redis for the connection at
// each call, because a failover changes it. Sink is called after each script
// that Redis ran, on the goroutine that sent it and with its context.
func New(redis func() Scripter, scripts []Script, sink func(context.Context, Record)) *Client {
	j := &Client{redis: redis, sink: sink, bySHA: map[string]wrapped{}, byText: map[string]wrapped{}}
	j.command = wrap("", oneCommand)
	for _, s := range scripts {
		w := wrap(s.Name, s.Source)
		j.bySHA[s.SHA] = w
		j.byText[s.Source] = w
	}
	return j
}

// Digests returns the digests under which Redis caches the scripts, in no
// particular order.
func (j *Client) Digests() []string {
	list := make([]string, 0, len(j.bySHA))
	for _, w := range j.bySHA {
		list = append(list, w.sha)
	}
	return list
}

func digest(script string) string { return redis.NewScript(script).Hash() }

// LoadError is returned for a script that Redis does not take.
type LoadError struct {
	Script string // its file name
	Err    error  // Redis'
}

// Error implements error.
func (e *LoadError) Error() string { return "journal: load " + e.Script + ": " + e.Err.Error() }

// Unwrap returns Redis' error.
func (e *LoadError) Unwrap() error { return e.Err }

// Load makes Redis cache all scripts. It fails with a *LoadError.
func (j *Client) Load(ctx context.Context) error {
	for _, w := range j.bySHA {
		if err := j.redis().ScriptLoad(ctx, w.text).Err(); err != nil {
			return &LoadError{w.name, err}
		}
	}
	return nil
}

// ErrUnknownScript is returned for a script New was not given.
var ErrUnknownScript = errors.New("journal: unknown script")

// EvalSha runs the script with a digest. If Redis does not know it, the answer
// is Redis' NOSCRIPT error and nothing is recorded.
func (j *Client) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	w, ok := j.bySHA[sha]
	if !ok {
		return failed(ctx, fmt.Errorf("%w: digest %s", ErrUnknownScript, sha))
	}
	if r, refused := w.in(ctx); refused {
		return j.record(ctx, r, keys, args, j.redis().Eval(ctx, r.text, keys, args...))
	}
	return j.record(ctx, w, keys, args, j.redis().EvalSha(ctx, w.sha, keys, args...))
}

// Eval runs the script with a text.
func (j *Client) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	w, ok := j.byText[text]
	if !ok {
		return failed(ctx, ErrUnknownScript)
	}
	w, _ = w.in(ctx)
	return j.record(ctx, w, keys, args, j.redis().Eval(ctx, w.text, keys, args...))
}

// oneCommand is a script that runs a single command.
const oneCommand = "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"

// Do runs one command whose first argument is its only key. Its record names no
// script.
func (j *Client) Do(ctx context.Context, args ...any) *redis.Cmd {
	if len(args) < 2 {
		return failed(ctx, fmt.Errorf("journal: a command without a key: %v", args))
	}
	key := fmt.Sprint(args[1])
	argv := append([]any{args[0]}, args[2:]...)
	keys := []string{key}
	w, _ := j.command.in(ctx)
	cmd := j.redis().EvalSha(ctx, w.sha, keys, argv...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = j.redis().Eval(ctx, w.text, keys, argv...)
	}
	return j.record(ctx, w, keys, nil, cmd)
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}

// record splits a wrapped script's reply into a record and the script's own
// reply.
func (j *Client) record(ctx context.Context, w wrapped, keys []string, args []any, cmd *redis.Cmd) *redis.Cmd {
	raw, err := cmd.Result()
	if err != nil {
		return cmd
	}
	told, ok := raw.(Told)
	if !ok {
		if told.Record, told.Reply, err = Decode(raw); err != nil {
			return failed(ctx, err)
		}
	}
	rec, reply := told.Record, told.Reply
	rec.Script = w.name
	if w.name == "" { // a command alone is on no line
		rec.Entries = slices.Clone(rec.Entries)
		for i := range rec.Entries {
			rec.Entries[i].Line = 0
		}
	}
	rec.Keys, rec.Argv = keys, argv(args)
	j.sink(ctx, rec)
	out := redis.NewCmd(ctx)
	if reply.Err != "" {
		out.SetErr(ScriptError(reply.Err))
		return out
	}
	out.SetVal(reply.Value)
	return out
}

// argv are a script's arguments as it gets them.
func argv(args []any) []string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = fmt.Sprint(a)
	}
	return list
}

// ScriptError is an error with which a script ended, in Redis' words.
type ScriptError string

// Error returns Redis' words.
func (e ScriptError) Error() string { return string(e) }

// RedisError implements redis.Error: it is Redis' answer.
func (ScriptError) RedisError() {}
