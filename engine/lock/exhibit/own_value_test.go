package exhibit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
)

// mute is a Redis that runs the next calls, and whose answers are lost.
type mute struct {
	redis.UniversalClient

	left int // how many
}

var errReset = errors.New("connection reset by peer")

func (m *mute) lost(cmd *redis.Cmd) *redis.Cmd {
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") || m.left == 0 {
		return cmd
	}
	m.left--
	broken := redis.NewCmd(context.Background())
	broken.SetErr(errReset)
	return broken
}

func (m *mute) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return m.lost(m.UniversalClient.EvalSha(ctx, sha, keys, args...))
}

func (m *mute) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return m.lost(m.UniversalClient.Eval(ctx, script, keys, args...))
}

func (m *mute) Do(ctx context.Context, args ...any) *redis.Cmd {
	return m.lost(m.UniversalClient.Do(ctx, args...))
}

// A SET NX whose answer was lost keeps its own owner out, unless its own value is
// taken for what it is.
func TestALostReplyIsGrantedByItsOwnValue(t *testing.T) {
	for _, c := range []struct {
		p    lock.Protocol
		want error
	}{{exhibit.Mutex, lock.ErrHeld}, {exhibit.MutexOwnValue, nil}} {
		m := &mute{UniversalClient: embedded(t), left: 1}
		l, err := lock.New(m, lock.Options{Protocol: c.p, Lease: time.Minute, Retries: 1, Interval: time.Millisecond, JitterMax: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		owner := lock.NewOwner()
		if _, err = l.Lock(t.Context(), key, owner); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.p.Name, err, c.want)
		}
		if c.want != nil {
			continue
		}
		if _, err := l.Lock(t.Context(), key, owner); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s lets its holder in at level 2: %v", c.p.Name, err)
		}
		if _, err := l.Lock(t.Context(), key, lock.NewOwner()); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s lets another in: %v", c.p.Name, err)
		}
	}
}

// old is a Redis that does not know DELEX.
type old struct{ redis.UniversalClient }

func (o old) Do(ctx context.Context, args ...any) *redis.Cmd {
	if args[0] != "DELEX" {
		return o.UniversalClient.Do(ctx, args...)
	}
	return o.UniversalClient.Do(ctx, append([]any{"DELEXX"}, args[1:]...)...)
}

// The release asks for its own value, and says of an old Redis what it lacks.
func TestDelexReleasesOnesOwn(t *testing.T) {
	client := embedded(t)
	l, err := lock.New(client, lock.Options{Protocol: exhibit.MutexDelex, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	hold := func(l *lock.Locker) *lock.Hold {
		t.Helper()
		h, err := l.Lock(t.Context(), key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if err := hold(l).Unlock(t.Context()); err != nil || client.Exists(t.Context(), key).Val() != 0 {
		t.Errorf("its own: %v", err)
	}
	h := hold(l)
	client.Set(t.Context(), key, "another's", 0)
	if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) || client.Get(t.Context(), key).Val() != "another's" {
		t.Errorf("another's: %v", err)
	}
	client.Del(t.Context(), key)
	ancient, err := lock.New(old{client}, lock.Options{Protocol: exhibit.MutexDelex, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ancient.Close)
	var unknown *protocol.UnknownCommandError
	if err := hold(ancient).Unlock(t.Context()); !errors.As(err, &unknown) || unknown.Command != "DELEX" || !protocol.Answered(err) {
		t.Errorf("of a Redis that does not know it: %v", err)
	}
}
