package board_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/store/storetest"
	"relock/web/board"
	"relock/web/board/stream"
)

// onEach runs a test on every journal. Server returns the journal of a server;
// if it is kept, each call is for one more, or for one that starts again.
func onEach(t *testing.T, test func(t *testing.T, server func() board.Journal)) {
	t.Run("memory", func(t *testing.T) {
		test(t, func() board.Journal { return solo(t, "") })
	})
	onKept(t, test)
}

// onKept is onEach for the journals that outlive a server.
func onKept(t *testing.T, test func(t *testing.T, server func() board.Journal)) {
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		test(t, func() board.Journal { return solo(t, dir) })
	})
	t.Run("redis", func(t *testing.T) {
		addr := storetest.Start(t).Addr
		test(t, func() board.Journal { return onRedis(t, addr, stream.Options{Beat: 50 * time.Millisecond}) })
	})
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(time.Minute)
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// onRedis is the journal of one more server on a Redis.
func onRedis(t *testing.T, addr string, o stream.Options) *stream.Journal {
	t.Helper()
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	j, err := stream.New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A server without members of a room leaves it to others, and it stays.
func TestAServerLeavesARoomInWhichNobodyIs(t *testing.T) {
	addr := storetest.Start(t).Addr
	rest := stream.Options{Beat: 50 * time.Millisecond, Rest: 50 * time.Millisecond}
	a, b := newHouse(t, onRedis(t, addr, rest)), newHouse(t, onRedis(t, addr, rest))
	code, secret := open(t, a)
	host := joinAs(t, a, code, board.Host, secret)
	guest := joinAs(t, b, code, board.Audience, "")
	host.mustDo(`{"do":"step"}`)
	host.client.Leave()
	until(t, "the first server to leave the room", func() bool { return a.Count().Rooms == 0 })
	if refused := guest.do(`{"do":"rename"}`); refused != "" { // the other decides by now
		t.Error(refused)
	}
	guest.client.Leave()
	until(t, "the second server to leave the room", func() bool { return b.Count().Rooms == 0 })
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	until(t, "nobody to lead it", func() bool { return client.Exists(t.Context(), "relock:room:{"+code+"}:lead").Val() == 0 })
	joinAs(t, a, code, board.Host, secret).mustDo(`{"do":"step"}`)
	if s := state(t, a, code); len(s.Branches[0].Moves) != 2 {
		t.Errorf("%d moves, want 2", len(s.Branches[0].Moves))
	}
}

// While Redis is away members are told so, and it goes on when it is back: for
// them, too.
func TestMembersWaitForRedis(t *testing.T) {
	server := storetest.Start(t, storetest.Durable...)
	h := newHouse(t, onRedis(t, server.Addr, stream.Options{Beat: 50 * time.Millisecond}))
	code, secret := open(t, h)
	host := joinAs(t, h, code, board.Host, secret)
	host.mustDo(`{"do":"step"}`)
	was := state(t, h, code)
	server.Kill()
	if refused := host.do(`{"do":"step"}`); refused != board.ErrUnreached.Error() {
		t.Fatalf("it says %q", refused)
	}
	if _, err := h.Room(t.Context(), "ABCDEF"); !errors.Is(err, board.ErrUnreached) {
		t.Errorf("a room of which nothing is known: %v", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the same command to be taken", func() bool { return host.give(host.id, `{"do":"step"}`) == "" })
	host.mustDo(`{"do":"step"}`)
	now := state(t, h, code)
	if len(now.Branches[0].Moves) != 3 || now.Epoch == was.Epoch {
		t.Errorf("%d moves, want 3; the epoch was %s and is %s", len(now.Branches[0].Moves), was.Epoch, now.Epoch)
	}
}

// Rooms are counted by who made them, on all servers, whether anybody is there or
// not.
func TestRoomsAreCountedByTheirMakers(t *testing.T) {
	onEach(t, func(t *testing.T, server func() board.Journal) {
		h := newHouse(t, server())
		made := func(want int) {
			t.Helper()
			until(t, "the count to be right", func() bool {
				n, err := h.Made(t.Context(), "maker")
				return err == nil && n == want
			})
		}
		var codes []string
		for range 3 {
			code, _, err := h.Open(t.Context(), board.Plan{Scenario: leaseExpiry(t), By: "maker"})
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
			opened := time.Now().UnixMilli() // what tells which one is the oldest
			until(t, "the next millisecond", func() bool { return time.Now().UnixMilli() > opened })
		}
		open(t, h)
		made(3)
		for _, code := range codes {
			state(t, h, code) // it is led
		}
		if !h.Spare(t.Context(), "maker") {
			t.Error("no room of the maker is spared")
		}
		made(2)
		until(t, "the oldest to be gone", func() bool {
			_, err := h.Room(t.Context(), codes[0])
			return errors.Is(err, board.ErrNoRoom)
		})
		if h.Spare(t.Context(), "somebody else") {
			t.Error("a room of somebody else is spared")
		}
	})
}

// The count on Redis outlives the rooms' servers, and expires.
func TestTheCountOnRedisExpires(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := newHouse(t, onRedis(t, addr, stream.Options{Rest: 50 * time.Millisecond})), newHouse(t, onRedis(t, addr, stream.Options{}))
	code, _, err := a.Open(t.Context(), board.Plan{Scenario: leaseExpiry(t), By: "maker"})
	if err != nil {
		t.Fatal(err)
	}
	state(t, a, code)
	until(t, "the server to leave the room", func() bool { return a.Count().Rooms == 0 })
	if n, err := b.Made(t.Context(), "maker"); n != 1 || err != nil {
		t.Errorf("%d rooms are counted: %v", n, err)
	}
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	for key, most := range map[string]time.Duration{"relock:rooms:of:maker": board.HostsAbsent + time.Hour, "relock:room:{" + code + "}:log": board.HostsCome + time.Minute} {
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > most {
			t.Errorf("%s stays for %v", key, ttl)
		}
	}
	if err := client.Del(t.Context(), "relock:room:{"+code+"}:head").Err(); err != nil { // as if it had expired
		t.Fatal(err)
	}
	if n, err := b.Made(t.Context(), "maker"); n != 0 || err != nil {
		t.Errorf("%d rooms are counted: %v", n, err)
	}
}

// If somebody else has put something in the place of a room, it says so at once.
func TestGarbageOnRedis(t *testing.T) {
	addr := storetest.Start(t).Addr
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	first := newHouse(t, onRedis(t, addr, stream.Options{}))
	for what, spoil := range map[string]func(ctx context.Context, key string) error{
		"a head of another type": func(ctx context.Context, key string) error {
			return errors.Join(client.Del(ctx, key+"head").Err(), client.Set(ctx, key+"head", "x", 0).Err())
		},
		"a head of garbage": func(ctx context.Context, key string) error {
			return client.HSet(ctx, key+"head", "seq", "x", "whole", "y").Err()
		},
		"a log of another type": func(ctx context.Context, key string) error {
			return errors.Join(client.Del(ctx, key+"log").Err(), client.Set(ctx, key+"log", "x", 0).Err())
		},
		"a log of garbage": func(ctx context.Context, key string) error {
			return errors.Join(client.Del(ctx, key+"log").Err(), client.XAdd(ctx, &redis.XAddArgs{Stream: key + "log", ID: "1-0", Values: []string{"e", "x"}}).Err())
		},
		"an entry without a scenario": func(ctx context.Context, key string) error {
			return errors.Join(client.Del(ctx, key+"log").Err(), client.XAdd(ctx, &redis.XAddArgs{Stream: key + "log", ID: "1-0", Values: []string{"e", `{"seq":1,"whole":{}}`, "by", ""}}).Err())
		},
		"no log": func(ctx context.Context, key string) error { return client.Del(ctx, key+"log").Err() },
	} {
		t.Run(what, func(t *testing.T) {
			code, _ := open(t, first)
			if err := spoil(t.Context(), "relock:room:{"+code+"}:"); err != nil {
				t.Fatal(err)
			}
			h := newHouse(t, onRedis(t, addr, stream.Options{}))
			began := time.Now()
			if _, err := h.Room(t.Context(), code); !errors.Is(err, board.ErrSpoiled) {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		})
	}
}
