package site

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"relock/web/site/wire"
	"relock/web/words"
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

// AnswerError answers with an error, in the language of r's context: a page, or
// JSON for who asks for it.
func (s *Site) AnswerError(w http.ResponseWriter, r *http.Request, status *Error) {
	limit := s.refused(w, r, status)
	l := words.From(r.Context())
	if AsksForJSON(r) {
		l = l.Plain()
		AnswerJSON(w, status.Status, errorJSON{Error: l.Say("%s. %s", l.Say(status.Head), status.Text(l)), Limit: limit})
		return
	}
	if err := s.Message(w, r, Message{status.Status, l.Say(status.Head), status.Text(l)}); err != nil {
		s.log.ErrorContext(r.Context(), "error page failed", slog.String("error", err.Error()))
	}
}

// refused notes which limit was met, if there was one, and says when to ask
// again.
func (s *Site) refused(w http.ResponseWriter, r *http.Request, status *Error) (limit string) {
	limit = status.Limit
	if limit == "" && status.Status == http.StatusRequestEntityTooLarge {
		limit = "request-size"
	}
	if limit != "" {
		s.NoteRefusal(r.Context(), Address(r), limit)
	}
	if status.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.After.Seconds())))
	}
	return limit
}

// NoteRefusal notes that a visitor was refused because of a limit.
func (s *Site) NoteRefusal(ctx context.Context, from, limit string) {
	s.Count.Refusal(limit)
	s.refusals.add(ctx, from, limit)
}

// ReadTo counts the limit that ended the reading of a socket, if it was one.
func (s *Site) ReadTo(r *http.Request, end error) {
	if errors.Is(end, wire.ErrTooLong) {
		s.NoteRefusal(r.Context(), Address(r), "message-size")
	}
}

// sent counts frames, unless sending failed.
func (s *Site) sent(frames int, err error) {
	if err == nil {
		s.Count.Frames(frames)
	}
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		s.log.Debug("viewer gone", slog.String("error", err.Error()))
	}
}
