package bench_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// bare repeats the commands of a protocol's lock and unlock, without the
// library around them.
func bare(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) { return bareOf(w, p, key, false) }
}

// bareInside is bare, for a further level of a lock that is held all the time.
func bareInside(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) { return bareOf(w, p, key, true) }
}

func bareOf(w wire, p lock.Protocol, key string, inside bool) (*locker, error) {
	seen := &recorder{}
	watched := w.client()
	watched.AddHook(seen)
	original, err := oursOn(watched, p, key)
	if err != nil {
		return nil, err
	}
	if inside {
		if err := enter(original); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	var pairs [][]command
	for i := range 4 {
		_ = seen.take() // what setting up sent
		if err := original.pair(ctx); err != nil {
			original.close()
			return nil, err
		}
		if sent := seen.take(); i > 0 { // the first may have sent the scripts in full
			pairs = append(pairs, sent)
		}
	}
	c := w.client()
	end := func() {
		_ = c.Close()
		original.close() // not before: the outer level is its
	}
	r, err := replayOf(pairs)
	if err == nil {
		err = r.check(ctx, c)
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("%s cannot be repeated bare: %w", p.Name, err)
	}
	return &locker{
		pair:  func(ctx context.Context) error { return r.send(ctx, c) },
		close: end,
	}, nil
}

// command is what a client sent, and what Redis answered.
type command struct {
	args   []any
	answer any
}

// recorder keeps the commands of a client that it is a hook of.
type recorder struct {
	mu   sync.Mutex
	sent []command
}

func (r *recorder) take() []command {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// DialHook implements [redis.Hook].
func (r *recorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements [redis.Hook].
func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		sent := command{args: slices.Clone(cmd.Args())}
		if c, ok := cmd.(interface{ Val() any }); ok {
			sent.answer = c.Val()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = append(r.sent, sent)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook]. Connections are set up by
// pipelines; a lock that sent its scripts so would send too few commands here,
// which replayOf refuses.
func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// replay is a pair of lock and unlock, to be sent again and again.
type replay struct {
	commands []repeated
	step     int64 // by which the growing numbers grow from one pair to the next
	n        int64 // pairs that were sent
	answers  []any // of the last pair that was seen
}

type repeated struct {
	sha     string // "" for a command that is no script
	keys    []string
	args    []any // of the script, or the whole command
	growing []growing
}

// growing is an argument that is a greater number in each pair.
type growing struct {
	at   int // in args
	from int64
}

// replayOf makes three or more pairs that a lock was seen to send into one.
// Parts that are the same in all stay; a number that grew goes on growing, so that Redis
// takes it for a new one; other differences (a random name) stay as they were last.
func replayOf(pairs [][]command) (*replay, error) {
	last := pairs[len(pairs)-1]
	if len(last) < 2 {
		return nil, fmt.Errorf("a pair must send two commands or more, it sent %d", len(last))
	}
	r := &replay{step: 1}
	var least, most int64 // of the growing numbers of the last pair
	for i, c := range last {
		next := repeated{args: slices.Clone(c.args)}
		from := 0 // of args, in what was sent
		if name, ok := c.args[0].(string); ok && strings.EqualFold(name, "evalsha") {
			count, err := number(c.args[2])
			if err != nil {
				return nil, err
			}
			from = 3 + int(count)
			next.sha = fmt.Sprint(c.args[1])
			for _, key := range c.args[3:from] {
				next.keys = append(next.keys, fmt.Sprint(key))
			}
			next.args = slices.Clone(c.args[from:])
		}
		for at := range next.args {
			var values []int64
			for _, pair := range pairs {
				if len(pair) != len(last) || len(pair[i].args) != len(c.args) {
					return nil, errors.New("pairs differ in their commands")
				}
				if n, err := number(pair[i].args[from+at]); err == nil {
					values = append(values, n)
				}
			}
			if len(values) < len(pairs) || !rising(values) {
				continue
			}
			n := values[len(values)-1]
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
			for j := 1; j < len(values); j++ {
				r.step = max(r.step, values[j]-values[j-1])
			}
			next.growing = append(next.growing, growing{at, n})
		}
		r.commands = append(r.commands, next)
		r.answers = append(r.answers, c.answer)
	}
	r.step = max(r.step, most-least+1) // a pair's first is greater than the last pair's last
	return r, nil
}

func number(arg any) (int64, error) {
	switch n := arg.(type) {
	case int:
		return int64(n), nil
	case int64:
		return n, nil
	default:
		return 0, fmt.Errorf("not a number: %v", arg)
	}
}

func rising(values []int64) bool {
	for i := 1; i < len(values); i++ {
		if values[i] <= values[i-1] {
			return false
		}
	}
	return true
}

// send sends one pair.
func (r *replay) send(ctx context.Context, client *redis.Client) error {
	r.n++
	for i := range r.commands {
		if err := r.sendOne(ctx, client, i).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) sendOne(ctx context.Context, client *redis.Client, i int) *redis.Cmd {
	c := &r.commands[i]
	for _, g := range c.growing {
		c.args[g.at] = g.from + r.n*r.step
	}
	if c.sha == "" {
		return client.Do(ctx, c.args...)
	}
	return client.EvalSha(ctx, c.sha, c.keys, c.args...)
}

// check tells whether Redis answers a few pairs as it answered the lock.
func (r *replay) check(ctx context.Context, client *redis.Client) error {
	for range 3 {
		r.n++
		for i, c := range r.commands {
			answer, err := r.sendOne(ctx, client, i).Result()
			if err != nil {
				return err
			}
			if code(answer) != code(r.answers[i]) {
				return fmt.Errorf("%v %v was answered with %v, and the lock with %v", c.keys, c.args, answer, r.answers[i])
			}
		}
	}
	return nil
}

// code is the part of a script's answer that says what came of it.
func code(answer any) any {
	if parts, ok := answer.([]any); ok && len(parts) > 0 {
		return parts[0]
	}
	return answer
}
