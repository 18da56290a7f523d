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
// Deposit adds a gift to an account; the book refuses a gift that it has.
func (s *Server) Deposit(ctx context.Context, account string, cents int64, gift string) error {
	return s.locks.Do(ctx, "lock:"+account, func(ctx context.Context) error {
		held, err := s.rdb.HGet(ctx, account, "held").Int64()
		if errors.Is(err, redis.Nil) {
			err = nil // the account is new
		}
		if err != nil {
			return err
		}
		total := held + cents
		return s.book.Write(ctx, gift, account, total)
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

// enter enters a gift that is not in the book, and what the account then holds.
var enter = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[2], 'held', ARGV[1])
return redis.call('RPUSH', KEYS[1], 'done')`)

// Write enters a gift, and what the account then holds, in one step.
func (b Book) Write(ctx context.Context, _, account string, held int64) (err error) {
	rounds.Inside(b.rdb, func() {
		defer rounds.Done()
		err = enter.Run(ctx, b.rdb, []string{rounds.Book, account}, held).Err()
	})
	return err
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, _ string) {
		locks, err := lock.New(rdb, lock.Options{Lease: 30 * time.Second, Retries: 1, Interval: time.Millisecond})
		if err != nil {
			panic(err)
		}
		s := &Server{locks, rdb, Book{rdb}}
		_ = s.Deposit(ctx, "account:7", 100, "gift:7")
	})
}
