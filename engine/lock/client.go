package lock

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock/protocol"
)

// Redis is what a Locker needs from a client; every go-redis client has it.
type Redis = protocol.Redis

// goRedis sends each command of a go-redis client once: only this package
// decides what is sent again.
type goRedis struct {
	processor interface {
		Process(ctx context.Context, cmd redis.Cmder) error
	}
	deaf bool // the client ignores contexts while it waits for a reply
}

// cuttable is a context that may end before its deadline. Clients know only the
// deadline while they wait for a reply, so when such a context ends, the call is left to
// itself.
type cuttable struct{ context.Context }

// once is a command that go-redis must not retry.
type once struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }

// tamed wraps a client so that it obeys contexts, and one of go-redis so that it sends each
// command once.
func tamed(client Redis) Redis {
	switch c := client.(type) {
	case *redis.Client:
		return &goRedis{processor: c, deaf: !c.Options().ContextTimeoutEnabled}
	case *redis.ClusterClient:
		return &goRedis{processor: c, deaf: !c.Options().ContextTimeoutEnabled}
	case *redis.Ring:
		return &goRedis{processor: c, deaf: !c.Options().ContextTimeoutEnabled}
	default:
		return foreign{client}
	}
}

// sameLock reports whether two clients surely mean one key of one server by a key.
func sameLock(a, b Redis, key string) bool {
	x, known := a.(*goRedis)
	y, both := b.(*goRedis)
	if !known || !both {
		return reflect.ValueOf(a).Comparable() && a == b
	}
	one, is := x.processor.(*redis.Client)
	other, too := y.processor.(*redis.Client)
	if !is || !too {
		return x.processor == y.processor
	}
	p, q := one.Options(), other.Options()
	return one == other || dialsPlainly(p) && dialsPlainly(q) && p.Network == q.Network && p.Addr == q.Addr && p.DB == q.DB && x.sends(key) == y.sends(key)
}

// sends returns the words of a script's call for a key as the client's hooks, which may
// give keys a prefix, send them. It sends nothing: the call's time is over.
func (g *goRedis) sends(key string) string {
	over, end := context.WithCancel(context.Background())
	end()
	cmd := redis.NewCmd(over, "evalsha", "", 1, key)
	cmd.SetFirstKeyPos(3)
	_ = g.processor.Process(over, once{cmd})
	return fmt.Sprint(cmd.Args())
}

// dialsPlainly reports whether a client connects to its address, and not wherever its own
// Dialer likes.
func dialsPlainly(o *redis.Options) bool {
	f := runtime.FuncForPC(reflect.ValueOf(o.Dialer).Pointer())
	return f != nil && strings.HasPrefix(f.Name(), reflect.TypeFor[redis.Options]().PkgPath()+".")
}

// Pin implements [protocol.Pinner].
func (g *goRedis) Pin() (c Redis, done func()) {
	client, ok := g.processor.(*redis.Client)
	if !ok {
		return g, func() {}
	}
	conn := client.Conn()
	return &goRedis{processor: conn, deaf: g.deaf}, func() { _ = conn.Close() } // it goes back to the pool
}

// EvalSha implements [Redis].
func (g *goRedis) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return g.eval(ctx, "evalsha", sha, keys, args)
}

// Eval implements [Redis].
func (g *goRedis) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return g.eval(ctx, "eval", script, keys, args)
}

func (g *goRedis) eval(ctx context.Context, name, payload string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, payload, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	all = append(all, args...)
	cmd := redis.NewCmd(ctx, all...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3)
	}
	return g.process(ctx, cmd)
}

// Send sends a command and keeps all, which the caller must not change.
func (g *goRedis) Send(ctx context.Context, all []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, all...)
	cmd.SetFirstKeyPos(3)
	return g.process(ctx, cmd)
}

// joins reports whether commands for several keys can go in one round trip: to one server.
func (g *goRedis) joins() bool {
	_, one := g.processor.(*redis.Client)
	return one
}

// SendAll implements [protocol.Together]. Each command is sent once.
func (g *goRedis) SendAll(ctx context.Context, all [][]any) []*redis.Cmd {
	pipe := g.processor.(*redis.Client).Pipeline()
	cmds := make([]*redis.Cmd, len(all))
	for i, words := range all {
		cmds[i] = redis.NewCmd(ctx, words...)
		cmds[i].SetFirstKeyPos(3)
		_ = pipe.Process(ctx, once{cmds[i]}) // it keeps the command
	}
	answered := make(chan struct{})
	go func() { // the client's own timeouts end it
		defer close(answered)
		_, _ = pipe.Exec(ctx) // the commands have the errors
	}()
	select {
	case <-answered:
		return cmds
	case <-ctx.Done():
		for i := range cmds { // of others: the client still has those
			cmds[i] = unanswered(ctx)
		}
		return cmds
	}
}

// unanswered is a command whose answer did not come before ctx ended.
func unanswered(ctx context.Context) *redis.Cmd {
	late := redis.NewCmd(ctx)
	late.SetErr(fmt.Errorf("lock: no answer in time: %w", ctx.Err()))
	return late
}

// Do implements [Redis].
func (g *goRedis) Do(ctx context.Context, args ...any) *redis.Cmd {
	return g.process(ctx, redis.NewCmd(ctx, args...))
}

// process sends a command and returns when it is answered or ctx ends.
func (g *goRedis) process(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	if _, early := ctx.(cuttable); !g.deaf && !early {
		_ = g.processor.Process(ctx, once{cmd}) // the command has the error
		return cmd
	}
	return inTime(ctx, func() *redis.Cmd {
		_ = g.processor.Process(ctx, once{cmd})
		return cmd
	})
}

// inTime asks a client that may ignore the end of ctx while it waits for a reply, and then
// leaves the call to itself: the client's own timeouts end it.
func inTime(ctx context.Context, ask func() *redis.Cmd) *redis.Cmd {
	answered := make(chan *redis.Cmd, 1)
	go func() { answered <- ask() }()
	select {
	case cmd := <-answered:
		return cmd
	case <-ctx.Done():
		return unanswered(ctx)
	}
}

// foreign is a client that is not go-redis', or wraps one: nobody knows whether it minds
// contexts. Only first acquisitions and renewals wait for its reply however long that takes:
// they have goroutines of their own, and what comes after them should not overtake them.
type foreign struct{ redis Redis }

func (f foreign) inTime(ctx context.Context, ask func() *redis.Cmd) *redis.Cmd {
	if c, _ := protocol.CallOf(ctx); c.Name == protocol.CallLock && c.Level == 1 || c.Name == protocol.CallRenew {
		return ask()
	}
	return inTime(ctx, ask)
}

// EvalSha implements [Redis].
func (f foreign) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return f.inTime(ctx, func() *redis.Cmd { return f.redis.EvalSha(ctx, sha, keys, args...) })
}

// Eval implements [Redis].
func (f foreign) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return f.inTime(ctx, func() *redis.Cmd { return f.redis.Eval(ctx, script, keys, args...) })
}

// Do implements [Redis].
func (f foreign) Do(ctx context.Context, args ...any) *redis.Cmd {
	return f.inTime(ctx, func() *redis.Cmd { return f.redis.Do(ctx, args...) })
}

// Pin implements [protocol.Pinner].
func (f foreign) Pin() (c Redis, done func()) {
	p, pins := f.redis.(protocol.Pinner)
	if !pins {
		return f, func() {}
	}
	c, done = p.Pin()
	return foreign{c}, done
}
