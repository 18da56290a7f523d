package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Write is the change made by one script or command: Redis replicates its
// effects as one transaction.
type Write struct {
	At       time.Time // by Redis' clock
	Commands [][]string
}

// Wrote records the commands of one script, so that FailOver can replay them on
// a replica.
func (e *Embedded) Wrote(commands [][]string) {
	if len(commands) > 0 {
		e.writes = append(e.writes, Write{e.now, commands})
	}
}

// HasWrites reports whether there is anything a replica could lack.
func (e *Embedded) HasWrites() bool { return len(e.writes) > 0 }

// Empty reports whether there are no keys.
func (e *Embedded) Empty() bool { return len(e.server.Keys()) == 0 }

// HasExpiry reports whether any key will expire.
func (e *Embedded) HasExpiry() bool {
	_, any := e.NextExpiry()
	return any
}

// HasScripts reports whether a script with one of the digests is cached.
func (e *Embedded) HasScripts(ctx context.Context, digests []string) (bool, error) {
	if len(digests) == 0 { // the command needs at least one
		return false, nil
	}
	cached, err := e.client.ScriptExists(ctx, digests...).Result()
	if err != nil {
		return false, fmt.Errorf("store: ask for scripts: %w", err)
	}
	return slices.Contains(cached, true), nil
}

// Evict removes a key, as a full memory would, and reports whether it existed.
func (e *Embedded) Evict(name string) bool {
	there := e.server.Del(name)
	if there {
		e.Wrote([][]string{{"DEL", name}})
	}
	return there
}

// Restart forgets the cached scripts and, unless keep, all data.
func (e *Embedded) Restart(ctx context.Context, keep bool) error {
	if !keep {
		e.server.FlushAll()
		e.writes = nil
	}
	return e.FlushScripts(ctx)
}

// Restore restarts with what its append-only file had on disk: all but what was
// written in the last lose, by its own clock. A lease that has ended meanwhile has
// ended, and the others end when they would have. Listeners go on listening.
func (e *Embedded) Restore(ctx context.Context, lose time.Duration) error {
	onDisk := e.now.Add(-lose)
	e.writes = slices.DeleteFunc(slices.Clone(e.writes), func(w Write) bool { return w.At.After(onDisk) })
	copied, err := Replicate(ctx, e.now, e.writes)
	if err != nil {
		return err
	}
	items, err := copied.Contents()
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	if err := e.Fill(e.now, items); err != nil {
		return err
	}
	return e.FlushScripts(ctx)
}

// FlushScripts forgets the cached scripts.
func (e *Embedded) FlushScripts(ctx context.Context) error {
	if err := e.client.ScriptFlush(ctx).Err(); err != nil {
		return fmt.Errorf("store: flush scripts: %w", err)
	}
	return nil
}

// Jump sets Redis' clock to now, which may be earlier. Expiries are instants in
// Redis, so a jump back lengthens every lease.
func (e *Embedded) Jump(now time.Time) {
	back := e.now.Sub(now)
	e.SetTime(now)
	if back <= 0 {
		return
	}
	for _, name := range e.server.Keys() {
		if ttl := e.server.TTL(name); ttl > 0 {
			e.server.SetTTL(name, ttl+back)
		}
	}
}

// FailOver replaces this instance by a replica that received all but the last
// behind writes. Client changes, and scripts have to be loaded again.
func (e *Embedded) FailOver(ctx context.Context, behind int) error {
	replica, err := Replicate(ctx, e.now, e.writes[:max(len(e.writes)-behind, 0)])
	if err != nil {
		return err
	}
	old := *e
	*e = *replica
	return old.Close()
}

// Split makes a replica with every write take this instance's place, as FailOver does,
// and returns the old one, which goes on by itself until it is closed.
func (e *Embedded) Split(ctx context.Context) (*Embedded, error) {
	replica, err := Replicate(ctx, e.now, slices.Clone(e.writes))
	if err != nil {
		return nil, err
	}
	old := *e
	*e = *replica
	return &old, nil
}

// Replicate returns a Redis with its clock at now that has received writes,
// each at its time.
func Replicate(ctx context.Context, now time.Time, writes []Write) (*Embedded, error) {
	first := now
	if len(writes) > 0 {
		first = writes[0].At
	}
	e := NewEmbedded(first)
	e.writes = writes
	for _, w := range writes {
		e.SetTime(w.At)
		for _, c := range w.Commands {
			args := make([]any, len(c))
			for i, a := range c {
				args[i] = a
			}
			if err := e.client.Do(ctx, args...).Err(); err != nil && err != redis.Nil { //nolint:errorlint // the client's own sentinel
				return nil, errors.Join(fmt.Errorf("store: replicate %v: %w", c, err), e.Close())
			}
		}
	}
	e.SetTime(now)
	return e, nil
}
