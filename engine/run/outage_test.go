package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// If Redis no longer serves a run, the run ends when it notices, and says so: it is no
// success, and it says nothing about what nobody has seen.
func TestARedisThatServesNoMoreEndsTheRun(t *testing.T) {
	sc, err := scenario.Parse([]byte(`
lock: {protocol: reentrant-sequenced, lease: 1s, retry: {times: 100, interval: 20ms}}
threads: [{name: A, work: 200ms, repeat: 20}, {name: B, start: 10ms, work: 50ms, repeat: 20}]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		breaks [][]any
		says   string
	}{
		"gone":          {[][]any{{"SHUTDOWN", "NOSAVE"}}, "refused"},
		"read-only":     {[][]any{{"REPLICAOF", "127.0.0.1", "1"}}, "READONLY"},
		"out of memory": {[][]any{{"CONFIG", "SET", "maxmemory", "1"}}, "OOM"},
		"no permission": {[][]any{{"ACL", "SETUSER", "default", "-@all"}}, "NOPERM"},
		"stands still":  {[][]any{{"CLIENT", "PAUSE", "20000", "ALL"}}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.URL(t)
			external, err := store.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = external.Close() })
			o, err := redis.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			operator := redis.NewClient(&redis.Options{Addr: o.Addr, MaxRetries: -1})
			t.Cleanup(func() { _ = operator.Close() })
			r, err := run.New(sc, run.Options{External: external, ID: "test"})
			if err != nil {
				t.Fatal(err)
			}
			executed := make(chan error, 1)
			go func() { executed <- r.Execute(t.Context()) }()
			for r.Log().Len() < 5 { // it goes on
				if _, _, err := r.Log().Wait(t.Context(), r.Log().Len()); err != nil {
					t.Fatal(err)
				}
			}
			for _, command := range c.breaks {
				_ = operator.Do(t.Context(), command...).Err() // SHUTDOWN never answers
			}
			broken := time.Now()
			err = <-executed
			if !errors.Is(err, run.ErrRedis) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the run ended with %v, want %s", err, c.says)
			}
			if took := time.Since(broken); took > time.Minute {
				t.Errorf("it took %v to see that", took)
			}
			events, _ := r.Log().Since(0)
			last := events[len(events)-1]
			if end, ok := last.Body.(trace.End); !ok || end.Result != trace.Failed || !strings.HasPrefix(end.Error, run.ErrRedis.Error()) {
				t.Errorf("the last event is %+v", last)
			}
			for _, e := range events {
				if _, ok := e.Body.(trace.Expired); ok {
					t.Error("a lease is said to have run out, and nobody saw it")
				}
			}
		})
	}
}

// A Redis that died after the program had connected to it ends the next run in
// the same way as one that dies in mid-run.
func TestARedisThatIsDeadAtTheStartEndsTheRun(t *testing.T) {
	t.Parallel()
	server := storetest.Start(t)
	external, err := store.Connect(t.Context(), "redis://"+server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	sc, err := scenario.Parse([]byte("lock: {lease: 1s}\nthreads: [{name: A, work: 1ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.New(sc, run.Options{External: external, ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := r.Execute(t.Context()); !errors.Is(err, run.ErrRedis) {
		t.Errorf("the run ended with %v, want %v", err, run.ErrRedis)
	}
	events, _ := r.Log().Since(0)
	last := events[len(events)-1]
	if end, ok := last.Body.(trace.End); !ok || end.Result != trace.Failed || !strings.HasPrefix(end.Error, run.ErrRedis.Error()) {
		t.Errorf("the last event is %+v", last)
	}
}
