package box

import (
	"testing"
	"time"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/store"
)

func BenchmarkRun(b *testing.B) {
	r := newRunner()
	defer func() { _ = r.Close() }()
	q := Question{
		Script: journal.Wrap("if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then\n redis.call('HINCRBY', KEYS[1], ARGV[1], 1)\n redis.call('PEXPIRE', KEYS[1], 30000)\n return {1, 2}\nend return {0, redis.call('PTTL', KEYS[1])}"),
		Keys:   []string{"k"}, Args: []string{"me"}, Now: clock.Epoch.Add(time.Hour), Items: []store.Item{{Name: "k", Type: "hash", Hash: map[string]string{"me": "1"}, TTL: time.Second}},
	}
	for b.Loop() {
		if _, err := r.run(q); err != nil {
			b.Fatal(err)
		}
	}
}
