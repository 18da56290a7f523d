package lock_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock/clocktest"
	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// cluster is a Redis Cluster of three masters.
type cluster struct {
	*redis.ClusterClient

	ids   []string
	nodes []*redis.Client
	// ending is held while the end of a move becomes known. Two ends at once can give two
	// masters epochs that disagree, and then each says that the other has the slot.
	ending sync.Mutex
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	const masters, slots = 3, 16384
	c := &cluster{}
	var addrs []string
	for range masters {
		s := storetest.Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		node := storetest.Client(s.Addr)
		t.Cleanup(func() { _ = node.Close() })
		c.nodes, addrs = append(c.nodes, node), append(addrs, s.Addr)
	}
	for i, node := range c.nodes {
		id, err := node.ClusterMyID(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		c.ids = append(c.ids, id)
		if err := node.ClusterAddSlotsRange(t.Context(), i*slots/masters, (i+1)*slots/masters-1).Err(); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(addrs[0])
		if err := node.ClusterMeet(t.Context(), "127.0.0.1", port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range c.nodes {
		until(t, func() bool {
			info := node.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_known_nodes:", masters))
		})
	}
	c.ClusterClient = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// until asks until something is so, at most a minute.
func until(t testing.TB, so func() bool) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for !so() {
		select {
		case <-again.C:
		case <-late:
			t.Fatal("it never came to be")
		}
	}
}

// move is the moving of a key's slot from one master to the next.
type move struct {
	c        *cluster
	key      string
	slot     int64
	from, to int
}

func (c *cluster) moving(t testing.TB, key string) *move {
	t.Helper()
	m := &move{c: c, key: key, slot: c.ClusterKeySlot(t.Context(), key).Val()}
	m.from = slices.IndexFunc(c.nodes, func(n *redis.Client) bool {
		return strings.Contains(n.ClusterNodes(t.Context()).Val(), "myself") && m.ownedBy(t, n)
	})
	m.to = (m.from + 1) % len(c.nodes)
	m.do(t, m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", c.ids[m.from])
	m.do(t, m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", c.ids[m.to])
	return m
}

// ownedBy tells whether a node serves the slot.
func (m *move) ownedBy(t testing.TB, n *redis.Client) bool {
	return !strings.HasPrefix(fmt.Sprint(n.Exists(t.Context(), m.key).Err()), "MOVED")
}

func (m *move) do(t testing.TB, node int, args ...any) {
	t.Helper()
	if err := m.c.nodes[node].Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(args, err)
	}
}

// keys moves all keys of the slot.
func (m *move) keys(t testing.TB) {
	t.Helper()
	for _, key := range m.c.nodes[m.from].ClusterGetKeysInSlot(t.Context(), int(m.slot), 100).Val() {
		host, port, _ := net.SplitHostPort(m.c.nodes[m.to].Options().Addr)
		m.do(t, m.from, "MIGRATE", host, port, key, 0, 5000)
	}
}

// end makes the move known, first to the new owner, so that its epoch is the highest.
func (m *move) end(t testing.TB) {
	t.Helper()
	m.c.ending.Lock()
	defer m.c.ending.Unlock()
	for i := range m.c.nodes {
		m.do(t, (m.to+i)%len(m.c.nodes), "CLUSTER", "SETSLOT", m.slot, "NODE", m.c.ids[m.to])
	}
	until(t, func() bool {
		first := m.c.epochs(t, m.c.nodes[0])
		return !slices.ContainsFunc(m.c.nodes, func(n *redis.Client) bool {
			return !maps.Equal(m.c.epochs(t, n), first) || m.owner(t, n) != m.c.ids[m.to]
		})
	})
}

// owner is the id of the master that a node takes for the slot's.
func (m *move) owner(t testing.TB, n *redis.Client) string {
	for _, shard := range n.ClusterShards(t.Context()).Val() {
		for _, slots := range shard.Slots {
			if slots.Start <= m.slot && m.slot <= slots.End {
				return shard.Nodes[0].ID
			}
		}
	}
	return ""
}

// epochs are the configuration epochs of all masters, by id, as one of them knows them.
func (c *cluster) epochs(t testing.TB, n *redis.Client) map[string]string {
	const id, epoch = 0, 6
	known := map[string]string{}
	for line := range strings.Lines(n.ClusterNodes(t.Context()).Val()) {
		fields := strings.Fields(line)
		known[fields[id]] = fields[epoch]
	}
	return known
}

// While a slot moves, a lock in it stays held beyond its lease, can be entered
// again and left, and released; a new acquisition waits until the slot has
// moved.
func TestTimedLockOutlivesTheMoveOfItsSlot(t *testing.T) {
	c := startCluster(t)
	for _, p := range []lock.Protocol{lock.Sequenced, lock.Fenced, lock.ReentrantNotify, lock.Reentrant} {
		for _, remembered := range []bool{false, true} {
			if testing.Short() && !remembered && p.Name != lock.Sequenced.Name {
				continue // where no reply is lost nothing is remembered, whatever the lock
			}
			t.Run(fmt.Sprintf("%s/remembered %v", p.Name, remembered), func(t *testing.T) {
				const lease = 500 * time.Millisecond
				tries := 0
				clocktest.Punctual(t, lease, func(t testing.TB) {
					tries++
					key := fmt.Sprint("k:", p.Name, remembered, tries) // of another slot each time
					renewed := make(chan time.Time, 1000)
					n := &network{UniversalClient: c}
					l := locker(t, n, lock.Options{
						Protocol: p, Lease: lease, Interval: 5 * time.Millisecond, Limit: 10 * time.Second, Messenger: lock.PubSub(c),
						Observer: observer(func(a lock.Attempt) {
							if a.Result == lock.Renewed {
								renewed <- a.Began
							}
						}),
					})
					t.Cleanup(l.Close)
					owner := lock.NewOwner()
					enter := func() *lock.Hold {
						h, err := l.Lock(t.Context(), key, owner)
						if err != nil {
							t.Fatal(err)
						}
						return h
					}
					// Longer than a lease, and a level in and out.
					goesOn := func(outer *lock.Hold) {
						t.Helper()
						for began := time.Now(); (<-renewed).Sub(began) < lease; {
							if err := outer.Context().Err(); err != nil {
								t.Fatal(context.Cause(outer.Context()))
							}
						}
						unlock(t, enter())
					}
					unlock(t, enter()) // the node knows the scripts now
					lost := !remembered
					n.loseReply = func(int64) bool {
						was := lost
						lost = true
						return !was
					}
					outer := enter()
					m := c.moving(t, key)
					goesOn(outer)
					m.keys(t)
					goesOn(outer)
					unlock(t, outer)
					got := make(chan *lock.Hold)
					go func() {
						h, err := l.Lock(t.Context(), key, lock.NewOwner())
						if err != nil {
							t.Error(err)
						}
						got <- h
					}()
					m.end(t)
					if h := <-got; h != nil {
						unlock(t, h)
					}
					if over := c.Exists(t.Context(), "{"+key+"}:over").Val() == 1; over != (remembered && p.Numbered) {
						t.Errorf("remembered: %v", over)
					}
				})
			})
		}
	}
}
