package site

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Limits of the log of refusals.
const (
	refusalPause  = time.Minute // between two about one address and limit
	maxRefusalLog = 10_000      // addresses with their limits that are remembered
)

// refusalLog notes who was refused by which limit: at once, and then once a
// minute together with how often, so that a page that keeps asking does not
// fill the log. It is safe for concurrent use.
type refusalLog struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[refusal]*refusedTimes
}

type refusal struct{ from, limit string }

type refusedTimes struct {
	logged time.Time
	times  int // since then
}

func newRefusalLog(log *slog.Logger) *refusalLog {
	return &refusalLog{log: log, now: time.Now, seen: map[refusal]*refusedTimes{}}
}

func (l *refusalLog) add(ctx context.Context, from, limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	one := l.seen[refusal{from, limit}]
	if one == nil {
		if len(l.seen) >= maxRefusalLog {
			l.forget(now)
		}
		one = &refusedTimes{}
		l.seen[refusal{from, limit}] = one
	}
	one.times++
	if now.Sub(one.logged) < refusalPause {
		return
	}
	l.log.WarnContext(ctx, "refused", slog.String("limit", limit), slog.String("from", from), slog.Int("times", one.times))
	one.logged, one.times = now, 0
}

// forget makes room by dropping the entries that are due, or all if none is.
// The caller holds mu.
func (l *refusalLog) forget(now time.Time) {
	for key, one := range l.seen {
		if now.Sub(one.logged) >= refusalPause {
			delete(l.seen, key)
		}
	}
	if len(l.seen) >= maxRefusalLog {
		clear(l.seen)
	}
}
