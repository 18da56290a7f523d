//go:build ignore

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"relock/lessons/course/review/rounds"
)

// shown
// Charge charges a bill, while nobody else does; the bank refuses a second
// charge of it. The one who asks may go before the bank has answered.
func (s *Server) Charge(ctx context.Context, bill string) error {
	lock, err := s.locks.Obtain(ctx, "lock:"+bill, 30*time.Second, s.retries)
	if err != nil {
		return err
	}
	// mended: leaves
	defer func() { _ = lock.Release(context.WithoutCancel(ctx)) }()
	done := make(chan error, 1)
	go func() { done <- s.bank.Charge(bill) }()
	// end
	select {
	case err := <-done:
		return err
		// mended: leaves
	case <-ctx.Done():
		<-done // it works on, under this lock
		return ctx.Err()
		// end
	}
}

// folded

// Server has what its requests share.
type Server struct {
	locks   *redislock.Client
	retries *redislock.Options
	bank    *Bank
}

// Bank is slow: while it works, the one who asked has gone.
type Bank struct {
	rdb      *redis.Client
	gone     context.CancelFunc
	answered chan struct{}  // closed once Charge has returned
	working  sync.WaitGroup // until it is done, and the lock is given back
	asked    atomic.Bool
}

// Charge works on for a while once the request has ended.
func (b *Bank) Charge(string) (err error) {
	b.working.Add(2)
	b.asked.Store(true)
	defer b.working.Done()
	rounds.Inside(b.rdb, func() {
		b.gone()
		select {
		case <-b.answered:
		case <-time.After(patience):
		}
		err = rounds.DeedOnce(b.rdb)
	})
	return err
}

// client lets the bank see when the lock is given back.
type client struct {
	*redis.Client
	bank *Bank
}

// EvalSha runs a script of redislock: the first one after the bank was asked gives the
// lock back.
func (c client) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := c.Client.EvalSha(ctx, sha, keys, args...)
	if !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		c.bank.givenBack()
	}
	return cmd
}

// Eval is EvalSha with the script's text.
func (c client) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	cmd := c.Client.Eval(ctx, text, keys, args...)
	c.bank.givenBack()
	return cmd
}

func (b *Bank) givenBack() {
	if b.asked.Swap(false) {
		b.working.Done()
	}
}

// patience is how long the bank looks whether somebody has gone: longer than the lab holds
// a command.
const patience = 200 * time.Millisecond

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		ctx, gone := context.WithCancel(ctx)
		b := &Bank{rdb: rdb, gone: gone, answered: make(chan struct{})}
		s := &Server{redislock.New(client{rdb, b}), &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1), Token: thread}, b}
		_ = s.Charge(ctx, "bill:7")
		close(b.answered)
		b.working.Wait()
		gone()
	})
}
