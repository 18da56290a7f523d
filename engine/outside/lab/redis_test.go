package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/outside/lab"
	"relock/engine/store"
	"relock/engine/store/storetest"
)

// connect opens a Redis for a lab by its URL.
func connect(t *testing.T, o *lab.Options, url string) {
	t.Helper()
	x, err := store.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	o.Clock, o.External = lab.ClockWall, x
}

// Behind the gate may be the master that a sentinel names, or the node of a cluster that
// has the lock's key: a search finds what it finds with the embedded Redis.
func TestRealRedisElsewhere(t *testing.T) {
	o := options(t, "unmarked")
	o.Faults, o.MaxFaults, o.Key = []string{lab.LoseReply}, 1, "k"
	o.Env = append(o.Env, "LAB_TEST_LEASE=10m")
	embedded := search(t, o)
	for name, url := range map[string]func() string{
		"sentinel": func() string {
			return "redis://" + storetest.Sentinel(t, "ours", storetest.Start(t)).Addr + "?master_name=ours"
		},
		"cluster": func() string { return "redis://" + storetest.Cluster(t, 3)[0].Addr + "?cluster=true" },
	} {
		t.Run(name, func(t *testing.T) {
			connect(t, &o, url())
			if found := search(t, o); found.Ending != lab.Exhausted || found.Orders != embedded.Orders || rules(found) != rules(embedded) || found.Diverged > 0 {
				t.Errorf("%s with %d orders, %s; embedded: %d orders, %s", found.Ending, found.Orders, rules(found), embedded.Orders, rules(embedded))
			}
		})
	}
}

// A cluster's client ends up at the gate's port, whatever it asks of the cluster, and is
// sent to no other; a key of another node is refused by name.
func TestRealRedisIsOneNodeOfACluster(t *testing.T) {
	o := lab.Options{Key: "k"}
	nodes := storetest.Cluster(t, 2)
	connect(t, &o, "redis://"+nodes[0].Addr+"?cluster=true")
	w := watch(t, o)
	rows := rowsOf(t, w)
	for _, proto := range []int{2, 3} {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{w.Addresses()[0][0]}, Protocol: proto, MaxRedirects: -1})
		defer c.Close()
		if err := c.Set(t.Context(), "k", "me", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Eval(t.Context(), release, []string{"k"}, "me").Int(); n != 1 || err != nil {
			t.Error(n, err)
		}
		for _, key := range []string{"other", "foo", "b"} { // of two nodes, some are on the other one
			c.Set(t.Context(), key, "x", time.Minute)
		}
		plain := redis.NewClient(&redis.Options{Addr: w.Addresses()[0][0], Protocol: proto})
		defer plain.Close()
		for text, want := range map[string]string{
			"CLUSTER SLOTS":     w.Addresses()[0][0][len("127.0.0.1:"):],
			"CLUSTER SHARDS":    w.Addresses()[0][0][len("127.0.0.1:"):],
			"CLUSTER NODES":     w.Addresses()[0][0],
			"CLUSTER MYID":      "",
			"CLUSTER INFO":      "cluster_state:ok",
			"CLUSTER KEYSLOT k": "7629",
			"CLUSTER RESET":     "the lab has no 'CLUSTER RESET'",
		} {
			var args []any
			for _, a := range strings.Fields(text) {
				args = append(args, a)
			}
			v, err := plain.Do(t.Context(), args...).Result()
			if said := sprint(v, err); !strings.Contains(said, want) || strings.Contains(said, nodes[0].Addr) || strings.Contains(said, nodes[1].Addr) {
				t.Errorf("RESP%d %s: %s, want %s", proto, text, said, want)
			}
		}
	}
	c := redis.NewClient(&redis.Options{Addr: w.Addresses()[1][0]})
	defer c.Close()
	refused := 0
	for _, key := range []string{"a", "b", "c", "d"} {
		err := c.Set(t.Context(), key, "x", time.Minute).Err()
		if err != nil && strings.Contains(err.Error(), `the node that has the key "k"`) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused == 0 || refused == 4 {
		t.Errorf("%d of 4 keys are on another node", refused)
	}
	if text := rows("set d x"); strings.Contains(text, "MOVED") {
		t.Error(text)
	}
}

// After a fail-over the gate stands before the new master, from the next round on.
func TestRealRedisFailsOver(t *testing.T) {
	first, second := storetest.Start(t), storetest.Start(t)
	sentinel := storetest.Sentinel(t, "ours", first)
	o := options(t, "unmarked")
	o.Env = append(o.Env, "LAB_TEST_LEASE=10m")
	connect(t, &o, "redis://"+sentinel.Addr+"?master_name=ours")
	if found := search(t, o); found.Ending != lab.Exhausted {
		t.Fatal(found.Ending)
	}
	s := storetest.Client(sentinel.Addr)
	defer s.Close()
	host, port, _ := strings.Cut(second.Addr, ":")
	for _, args := range [][]any{{"SENTINEL", "REMOVE", "ours"}, {"SENTINEL", "MONITOR", "ours", host, port, "1"}} {
		if err := s.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	first.Kill()
	if found := search(t, o); found.Ending != lab.Exhausted {
		t.Errorf("with another master: %+v", found)
	}
}

// The lab needs to know of which key a cluster's node is asked for.
func TestRealRedisOfAClusterNeedsItsKey(t *testing.T) {
	o := options(t, "unmarked")
	connect(t, &o, "redis://"+storetest.Cluster(t, 1)[0].Addr+"?cluster=true")
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "-key") {
		t.Error(err)
	}
	o.Key = "k"
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}

func sprint(v any, err error) string {
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(fmt.Sprint(v), "\n", " "))
}
