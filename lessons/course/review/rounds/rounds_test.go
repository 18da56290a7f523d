package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"relock/lessons/course/review/rounds"
)

// Who dies after a deed sends nothing more in that round, and lives again in the next.
func TestWhoDiesSendsNothingMore(t *testing.T) {
	lab, err := miniredis.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	host, port, err := net.SplitHostPort(lab.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"REDIS_HOST": host, "REDIS_PORT": port, "RELOCK_THREAD": "A", rounds.Dies: "A"} {
		t.Setenv(name, value)
	}
	round, answered := 0, make(chan error, 2)
	rounds.Do(func(ctx context.Context, rdb *redis.Client, _ string) {
		if round++; round == 3 {
			lab.Close()
			return
		}
		if err := errors.Join(rdb.Incr(ctx, "before").Err(), rounds.DeedOnce(rdb)); err != nil {
			t.Error(err)
		}
		answered <- rdb.Incr(ctx, "after").Err()
	})
	for range 2 {
		if <-answered == nil {
			t.Error("it has died, and was answered")
		}
	}
	if round != 3 {
		t.Errorf("%d rounds", round)
	}
}

// Rounds go on until the lab has gone; what the last one sent is kept, each script once,
// and nothing that a context that has ended kept back.
func TestRoundsGoOnUntilTheLabHasGone(t *testing.T) {
	lab, err := miniredis.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	host, port, err := net.SplitHostPort(lab.Addr())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lines")
	for name, value := range map[string]string{"REDIS_HOST": host, "REDIS_PORT": port, "RELOCK_THREAD": "A", rounds.Lines: file} {
		t.Setenv(name, value)
	}
	round := 0
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		round++
		ended, end := context.WithCancel(ctx)
		end()
		if err := rdb.Del(ended, "key").Err(); err == nil {
			t.Error("a command was sent after its context had ended")
		}
		if err := redis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1])`).Run(ctx, rdb, []string{"key"}, thread).Err(); err != nil {
			t.Error(err)
		}
		rounds.Inside(rdb, func() {
			if got := rdb.Get(ctx, "key").Val(); got != "A" {
				t.Errorf("thread %q", got)
			}
		})
		if round == 2 {
			lab.Close()
		}
	})
	var sent []struct{ Verb string }
	text, err := os.ReadFile(file + ".A")
	if err == nil {
		err = json.Unmarshal(text, &sent)
	}
	if got := fmt.Sprint(sent); err != nil || round != 2 || got != "[{EVALSHA} {ECHO} {GET} {ECHO}]" {
		t.Errorf("after %d rounds: %s, %v", round, got, err)
	}
}
