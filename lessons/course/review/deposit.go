//go:build ignore

package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"relock/engine/lock"
	"relock/lessons/course/review/rounds"
)

// shown
// Deposit adds to an account, and writes down why; an audit mends what a crash left.
func (s *Server) Deposit(ctx context.Context, account string, cents int64, why string) error {
	return s.locks.Do(ctx, "lock:"+account, func(ctx context.Context) error {
		held, err := s.rdb.HGet(ctx, account, "held").Int64()
		if errors.Is(err, redis.Nil) {
			err = nil // the account is new
		}
		if err != nil {
			return err
		}
		if err := s.book.Write(ctx, account, cents, why); err != nil {
			return err
		}
		return s.rdb.HSet(ctx, account, "held", held+cents).Err()
	})
}

// folded

// Server has what its requests share.
type Server struct {
	locks *lock.Locker
	rdb   *redis.Client
	book  Book
}

// Book is a cash book.
type Book struct{ rdb *redis.Client }

// Write is done at once.
func (b Book) Write(context.Context, string, int64, string) error {
	rounds.Inside(b.rdb, func() {})
	return nil
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, _ string) {
		locks, err := lock.New(rdb, lock.Options{Lease: 30 * time.Second, Retries: 1, Interval: time.Millisecond})
		if err != nil {
			panic(err)
		}
		s := &Server{locks, rdb, Book{rdb}}
		_ = s.Deposit(ctx, "account:7", 100, "a gift")
	})
}
