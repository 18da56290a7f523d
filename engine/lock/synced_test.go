package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// A lock that waits for a replica is granted once it has acknowledged the key, and
// fails, with nothing relied on, while it stands still: though it is connected, and
// had acknowledged all that other connections wrote.
func TestALockWaitsForItsReplica(t *testing.T) {
	t.Parallel()
	master := storetest.Start(t)
	replica := storetest.Replica(t, master)
	c := connect(t, master.Addr, redis.Options{MaxRetries: -1, PoolFIFO: true}) // each command on the next connection
	for name, p := range map[string]lock.Protocol{"sequenced": lock.Sequenced, "reentrant": lock.Reentrant, "fenced": lock.Fenced, "notify": lock.ReentrantNotify} {
		l, err := lock.New(c, lock.Options{Protocol: p.Synced(1, 10*time.Second), Lease: time.Minute, Retries: lock.NoRetry})
		if err != nil {
			t.Fatal(name, err)
		}
		t.Cleanup(l.Close)
		h, err := l.Lock(t.Context(), name, "A")
		if err != nil {
			t.Fatal(name, err)
		}
		if n, err := storetest.Client(replica.Addr).Exists(t.Context(), name).Result(); n != 1 || err != nil {
			t.Errorf("%s: the replica has %d keys, %v", name, n, err)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(name, err)
		}
	}

	var warm []*redis.Conn // as many connections, all of whose writes are acknowledged
	for range 4 {
		conn := c.(*redis.Client).Conn()
		if err := conn.Set(t.Context(), "warm", 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Wait(t.Context(), 1, 10*time.Second).Result(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		warm = append(warm, conn)
	}
	for _, conn := range warm {
		_ = conn.Close()
	}
	if err := replica.Stall(); err != nil {
		t.Fatal(err)
	}
	l, err := lock.New(c, lock.Options{Protocol: lock.Sequenced.Synced(1, 20*time.Millisecond), Lease: time.Minute, Retries: lock.NoRetry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if h, err := l.Lock(t.Context(), "stalled", "A"); !errors.Is(err, lock.ErrUnsynced) || !errors.Is(err, lock.ErrUnknown) || h != nil {
		t.Errorf("without the replica it is %v, %v", h, err)
	}
	if err := replica.Resume(); err != nil {
		t.Fatal(err)
	}
}

// WAIT is about one connection, which a cluster's client has none of.
func TestASyncedLockNeedsOneRedis(t *testing.T) {
	t.Parallel()
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = c.Close() })
	if _, err := lock.New(c, lock.Options{Protocol: lock.Sequenced.Synced(1, time.Second)}); !errors.Is(err, lock.ErrOptions) {
		t.Errorf("a cluster's client: %v", err)
	}
	if p := lock.Redlock.Synced(1, time.Second); p != lock.Redlock {
		t.Error("a lock in several Redises waits for replicas")
	}
}
