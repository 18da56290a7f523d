package journal_test

import (
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
