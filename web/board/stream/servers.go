package stream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Servers say that they are alive.
const (
	serversKey = "relock:rooms:servers"
	goneAfter  = 5 // beats without a word
	breakAfter = 3 // beats without an answer from Redis: fewer, so that others do not count as gone after it
)

// servers are those that share the rooms, as far as this one knows.
type servers struct {
	beat time.Duration

	mu    sync.Mutex
	since time.Time // since when Redis has answered without a break
	asked time.Time // when it answered last
	alive []string  // then
}

// note takes in who is alive now.
func (s *servers) note(now time.Time, alive []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.asked) > breakAfter*s.beat {
		s.since = now // maybe nobody could say anything
	}
	s.asked, s.alive = now, alive
}

// gone returns which servers have said nothing though they could have.
func (s *servers) gone(now time.Time, asked []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.asked) > breakAfter*s.beat || now.Sub(s.since) < goneAfter*s.beat {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(asked), func(id string) bool { return slices.Contains(s.alive, id) })
}

// Gone implements board.Journal.
func (j *Journal) Gone(asked []string) []string { return j.servers.gone(time.Now(), asked) }

// beat says that this server is alive until ctx ends, and then that it is not.
func (j *Journal) beat(ctx context.Context) {
	every := time.NewTicker(j.servers.beat)
	defer every.Stop()
	away := false
	for {
		alive, err := j.beatOnce(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			j.servers.note(time.Now(), alive)
			if away {
				j.log.InfoContext(ctx, "rooms: Redis answers again")
			}
			away = false
		case !away:
			away = true
			j.log.WarnContext(ctx, "rooms: Redis does not answer, they wait for it", slog.String("error", err.Error()))
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			ctx, done := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
			defer done()
			_ = j.redis.ZRem(ctx, serversKey, j.server).Err() // where it fails its time runs out
			return
		}
	}
}

func (j *Journal) beatOnce(ctx context.Context) ([]string, error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	return beatScript.Run(ctx, j.redis, []string{serversKey}, j.server, (goneAfter * j.servers.beat).Milliseconds()).StringSlice()
}
