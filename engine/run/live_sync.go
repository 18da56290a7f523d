package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
)

// line is a thread's own connection to Redis, for a lock that waits for replicas:
// WAIT is about what was written on its connection.
type line struct {
	*redis.Client

	dialled atomic.Int64 // connections, one after the other
	wrote   atomic.Int64 // on which of them the thread was last answered
}

// lineOf is the thread's.
func (w *wall) lineOf(thread string) *line {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own, ok := w.lines[thread]; ok {
		return own
	}
	own := &line{}
	options := *w.client.(*redis.Client).Options() // a cluster is refused before
	options.PoolSize, options.MinIdleConns, options.MaxActiveConns = 1, 0, 1
	before := options.OnConnect
	options.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		own.dialled.Add(1)
		if before == nil {
			return nil
		}
		return before(ctx, c)
	}
	own.Client = redis.NewClient(&options)
	w.lines[thread] = own
	return own
}

// answered notes on which connection.
func (l *line) answered() { l.wrote.Store(l.dialled.Load()) }

// waits reports whether the lock waits for the replicas of the user's own Redis. The
// embedded one has none, and nothing on the wall clock takes its place: it loses nothing.
func (w *wall) waits() bool { return w.r.o.External != nil && w.r.protocol().Replicas > 0 }

func (w *wall) hangUp() {
	for _, own := range w.lines {
		_ = own.Close() // the run is over
	}
}

func (w *wall) blocks(*thread, int, time.Duration) time.Duration { return 0 } // Redis itself does

func (w *wall) acknowledged(ctx context.Context, t *thread, _, replicas int, within time.Duration) (journal.Record, error) {
	reply := int64(replicas)
	var way journal.Scripter = w.client
	if w.waits() {
		own := w.lineOf(t.spec.Name)
		var err error
		if reply, err = own.Wait(ctx, replicas, within).Result(); err != nil {
			return journal.Record{}, fmt.Errorf("run: wait for replicas: %w", err)
		}
		if own.dialled.Load() != own.wrote.Load() { // nothing was written on this one
			return journal.Record{}, reset("read")
		}
		way = own
	}
	// WAIT tells neither the time nor what the key is now.
	var looked journal.Record
	look := journal.New(func() journal.Scripter { return way }, nil, func(_ context.Context, rec journal.Record) { looked = rec })
	if err := look.Do(ctx, "EXISTS", w.r.key).Err(); err != nil {
		return journal.Record{}, fmt.Errorf("run: look at the key: %w", err)
	}
	if len(looked.Entries) == 0 {
		return journal.Record{}, errors.New("run: look at the key: nothing was told")
	}
	looked.Entries[0].Reply = reply
	return looked, nil
}
