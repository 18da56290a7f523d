//go:build ignore

package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"relock/lessons/course/review/rounds"
)

// shown
// Export writes an account's statements to the browser that asks for them.
// ctx is the request's: it ends when the browser has gone.
func (s *Server) Export(ctx context.Context, account string, to Writer) error {
	lock, err := s.locks.Obtain(ctx, "lock:"+account, 30*time.Second, s.retries)
	if err != nil {
		return err
	}
	// mended: release
	defer func() { _ = lock.Release(context.WithoutCancel(ctx)) }()
	// end
	rows, err := s.statements(ctx, account)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := to.Write(ctx, row); err != nil {
			return err // the browser has gone
		}
	}
	return nil
}

// folded

// Server has what its requests share.
type Server struct {
	locks   *redislock.Client
	retries *redislock.Options
	rdb     *redis.Client
}

// Writer writes to a browser.
type Writer struct{ gone context.CancelFunc }

// Write finds that the browser has gone.
func (w Writer) Write(ctx context.Context, _ string) error {
	w.gone()
	return ctx.Err()
}

func (s *Server) statements(context.Context, string) ([]string, error) {
	rounds.Inside(s.rdb, func() {})
	return []string{"May"}, nil
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		ctx, gone := context.WithCancel(ctx)
		defer gone()
		s := &Server{redislock.New(rdb), &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1), Token: thread}, rdb}
		_ = s.Export(ctx, "account:7", Writer{gone})
	})
}
