package store_test

import (
	"regexp"
	"strings"
	"testing"

	"relock/engine/journal"
	"relock/engine/store/storetest"
)

var offset = regexp.MustCompile(`master_repl_offset:(\d+)`)

// If journal.Wrote says that a command changed nothing, a real Redis does not send it to
// its replica, and it sends all others.
func TestWhatIsReplicated(t *testing.T) {
	t.Parallel()
	master := storetest.Start(t, "--repl-ping-replica-period", "3600")
	storetest.Replica(t, master)
	c := storetest.Client(master.Addr)
	t.Cleanup(func() { _ = c.Close() })
	for _, setUp := range [][]any{{"SET", "text", "v"}, {"HSET", "hash", "f", "1"}, {"SET", "zero", "0"}, {"ZADD", "set", "1", "a"}} {
		if err := c.Do(t.Context(), setUp...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	sent := func() string {
		info, err := c.Info(t.Context(), "replication").Result()
		if err != nil {
			t.Fatal(err)
		}
		return offset.FindString(info)
	}
	for _, line := range []string{
		"SET text w NX PX 100", "SET fresh w NX PX 10000", "SET text w NX GET", "SET none w XX", "SET none w XX GET", "SET text w XX GET", "SET text x GET",
		"SETNX text w", "SETNX other w", "DEL none", "DEL other", "UNLINK none", "PEXPIRE none 100", "PEXPIRE text 100000", "EXPIRE none 1", "PERSIST none", "PERSIST text", "PERSIST text",
		"HSET hash f 1", "HSETNX hash f 2", "HDEL hash none", "HDEL hash f", "HINCRBY counted f 1", "HINCRBY counted f -1", "INCR zero", "DECR zero",
		"LPOP none", "RPUSH list a", "LREM list 0 b", "LPOP list", "SADD s a", "SADD s a", "SREM s b", "SREM s a", "ZREM set none", "ZPOPMIN none", "ZPOPMIN set", "GETDEL none", "GETDEL text",
		"GET zero", "EXISTS zero", "PTTL zero", "RENAMENX zero fresh",
	} {
		args := strings.Fields(line)
		words := make([]any, len(args))
		for i, arg := range args {
			words[i] = arg
		}
		before := sent()
		reply, err := c.Do(t.Context(), words...).Result()
		if err != nil && err.Error() != "redis: nil" {
			t.Fatal(line, err)
		}
		if got, want := journal.Wrote(args, reply), sent() != before; got != want {
			t.Errorf("%s is answered with %v: taken for a write: %v, replicated: %v", line, reply, got, want)
		}
	}
}
