package recall_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"relock/engine/outside/box"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/store"
	"relock/lessons/lessonstest"
)

// The box answers what miniredis answers, in each state in which a script of a bundled
// run finds Redis, and leaves the same.
func TestTheBoxAnswersAsMiniredisDoes(t *testing.T) {
	p, err := box.New(box.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	m := recall.NewMemory()
	t.Cleanup(func() { _ = m.Close() })
	both := &asked{t: t, pool: p, redis: m.Embedded(), scripts: map[string]string{}}
	m.Embedded().Client().AddHook(both)
	for _, name := range lessonstest.Names(t) {
		both.name = name
		r, err := run.New(lessonstest.Scenario(t, name), run.Options{Memory: m})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if both.count < 600 {
		t.Errorf("only %d questions", both.count)
	}
	t.Logf("%d questions: miniredis %v each, the box %v", both.count, both.real/time.Duration(both.count), both.boxed/time.Duration(both.count))
}

// asked asks the box what miniredis is asked.
type asked struct {
	t           *testing.T
	pool        *box.Pool
	redis       *store.Embedded
	scripts     map[string]string // by digest
	name        string
	count       int
	real, boxed time.Duration
}

// DialHook implements redis.Hook.
func (*asked) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook implements redis.Hook.
func (*asked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (b *asked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := texts(cmd.Args())
		switch {
		case strings.EqualFold(args[0], "script") && strings.EqualFold(args[1], "load"):
			err := next(ctx, cmd)
			b.scripts[cmd.(*redis.StringCmd).Val()] = args[2]
			return err
		case !strings.EqualFold(args[0], "evalsha"), b.scripts[args[1]] == "":
			return next(ctx, cmd)
		}
		keys, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		q := box.Question{Script: b.scripts[args[1]], Keys: args[3 : 3+keys], Args: args[3+keys:], Now: b.now(), Channels: b.channels()}
		if q.Items, err = b.redis.Contents(); err != nil {
			return err
		}
		began := time.Now()
		failed := next(ctx, cmd)
		b.real += time.Since(began)
		b.compare(ctx, q, cmd.(*redis.Cmd))
		return failed
	}
}

func (b *asked) compare(ctx context.Context, q box.Question, cmd *redis.Cmd) {
	b.count++
	want := box.Answer{}
	reply, err := cmd.Result()
	if want.Reply = reply; err != nil && !errors.Is(err, redis.Nil) {
		want.Reply, want.Err = nil, err.Error()
	}
	if want.Items, err = b.redis.Contents(); err != nil {
		b.t.Error(err)
	}
	began := time.Now()
	got, err := b.pool.Ask(ctx, b.name, q)
	b.boxed += time.Since(began)
	if err != nil {
		b.t.Errorf("%s: %v", b.name, err)
	}
	got.Lines = nil
	forget(want.Reply, got.Reply)
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s, %q %q: %s", b.name, q.Keys, q.Args, diff)
	}
}

// forget drops from an answer of the journal's the lines that miniredis does not
// know: of a command that a script returns. The box keeps them.
func forget(want, got any) {
	a, ok := want.([]any)
	b, alike := got.([]any)
	if !ok || !alike || len(a) == 0 || len(b) == 0 {
		return
	}
	a, ok = a[0].([]any)
	b, alike = b[0].([]any)
	if !ok || !alike || len(a) != len(b) {
		return
	}
	for n := range a {
		note, ok := a[n].([]any)
		other, alike := b[n].([]any)
		if ok && alike && len(note) > 0 && len(other) > 0 && note[0] == int64(0) {
			other[0] = int64(0)
		}
	}
}

// now is what the clock of miniredis says.
func (b *asked) now() time.Time {
	lines := strings.Split(string(b.redis.NewConn().Do([]string{"TIME"})), "\r\n")
	seconds, _ := strconv.ParseInt(lines[2], 10, 64)
	micro, _ := strconv.ParseInt(lines[4], 10, 64)
	return time.Unix(seconds, micro*1000)
}

// channels has one for each who listens.
func (b *asked) channels() (list []string) {
	s := b.redis.NewConn()
	names := strings.Split(string(s.Do([]string{"PUBSUB", "CHANNELS"})), "\r\n")
	for n := 2; n < len(names); n += 2 {
		counted := strings.Split(string(s.Do([]string{"PUBSUB", "NUMSUB", names[n]})), ":")
		times, _ := strconv.Atoi(strings.TrimSpace(counted[len(counted)-1]))
		for range times {
			list = append(list, names[n])
		}
	}
	return list
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for n, one := range list {
		switch one := one.(type) {
		case string:
			out[n] = one
		case int:
			out[n] = strconv.Itoa(one)
		case int64:
			out[n] = strconv.FormatInt(one, 10)
		default:
			panic(one)
		}
	}
	return out
}
