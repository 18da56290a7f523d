package journal_test

import (
	"strings"
	"testing"

	"relock/engine/journal"
)

func TestWhatWrites(t *testing.T) {
	for verb, want := range map[string]bool{
		"EXISTS": false, "HMGET": false, "HGET": false, "PTTL": false, "TIME": false, "LLEN": false, "ZCARD": false,
		"PUBLISH": false, "get": false,
		"SET": true, "HSET": true, "HINCRBY": true, "PEXPIRE": true, "DEL": true, "ZPOPMIN": true, "LPOP": true, "hincrby": true,
		"UNHEARDOF": true,
	} {
		if got := journal.Writes(verb); got != want {
			t.Errorf("%s: %v, want %v", verb, got, want)
		}
	}
}

// Redis does not replicate what has changed nothing; it says so by its reply.
func TestWhatWrote(t *testing.T) {
	for _, c := range []struct {
		command string
		reply   any
		want    bool
	}{
		{"SET k v NX PX 100", nil, false},
		{"SET k v NX PX 100", "OK", true},
		{"set k v", "OK", true},
		{"SET k v NX GET", "w", false},
		{"SET k v NX GET", nil, true},
		{"SET k v XX GET", nil, false},
		{"SET k v GET", "w", true},
		{"SETNX k v", int64(0), false},
		{"DEL k", int64(0), false},
		{"DEL k", int64(1), true},
		{"PEXPIRE k 10", int64(0), false},
		{"HSET k f v", int64(0), true},
		{"HINCRBY k f -1", int64(0), true},
		{"DECR k", int64(0), true},
		{"LPOP k", nil, false},
		{"ZPOPMIN k", []any{}, false},
		{"ZPOPMIN k", []any{"a", "1"}, true},
		{"GET k", "v", false},
		{"UNHEARDOF k", int64(0), true},
	} {
		if got := journal.Wrote(strings.Fields(c.command), c.reply); got != c.want {
			t.Errorf("%s, answered with %v: %v, want %v", c.command, c.reply, got, c.want)
		}
	}
}
