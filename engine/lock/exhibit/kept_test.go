package exhibit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
)

// A mutex that keeps its key lets nobody in after the work, its last owner neither. A
// lock given back because the answer to its SET NX was lost is deleted: nothing was done.
func TestAKeptKeyRefusesAll(t *testing.T) {
	for _, lost := range []bool{false, true} {
		m := &mute{UniversalClient: embedded(t)}
		l, err := lock.New(m, lock.Options{Protocol: exhibit.Mutex.Kept(time.Hour), Lease: time.Minute, Retries: lock.NoRetry})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		owner := lock.NewOwner()
		if lost {
			m.left = 1
		}
		h, err := l.Lock(t.Context(), key, owner)
		if lost != errors.Is(err, lock.ErrUnknown) {
			t.Fatal(err)
		}
		if lost {
			if n := m.Exists(t.Context(), key).Val(); n != 0 {
				t.Error("what was given back is kept")
			}
			continue
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := m.PTTL(t.Context(), key).Val(); left <= time.Minute || left > time.Hour {
			t.Errorf("the key is kept for %v", left)
		}
		for _, who := range []lock.Owner{owner, lock.NewOwner()} {
			if _, err := l.Lock(t.Context(), key, who); !errors.Is(err, lock.ErrHeld) {
				t.Errorf("%s is let in: %v", who, err)
			}
		}
	}
	if exhibit.MutexOwnValue.Kept(time.Hour) != exhibit.MutexOwnValue {
		t.Error("a lock that lets its last owner in keeps its key")
	}
}

// leaving has its caller leave when Redis has answered a SET.
type leaving struct{ leave func() }

func (leaving) DialHook(next redis.DialHook) redis.DialHook { return next }

func (leaving) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h leaving) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "set" {
			h.leave()
		}
		return err
	}
}

// A mutex that keeps its key is granted when its caller has gone: no work was done under
// it, so its key goes, too.
func TestAKeyThatCameTooLateIsNotKept(t *testing.T) {
	c := embedded(t)
	released := make(chan lock.Attempt, 1)
	l, err := lock.New(c, lock.Options{Protocol: exhibit.Mutex.Kept(time.Hour), Lease: time.Minute, Retries: lock.NoRetry, Observer: lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
		if a.Name == lock.CallUnlock {
			released <- a
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	ctx, leave := context.WithCancel(t.Context())
	c.AddHook(leaving{leave})
	if _, err := l.Lock(ctx, key, lock.NewOwner()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if a := <-released; a.Result != lock.Released || c.Exists(t.Context(), key).Val() != 0 {
		t.Errorf("a key that nobody waited for is kept: %+v", a)
	}
}
