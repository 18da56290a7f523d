package exhibit_test

import (
	"errors"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
)

// A mutex that keeps its key lets nobody in after the work, its last owner neither. What
// is given back, because the answer to its SET NX was lost, is deleted: nothing was done.
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
