package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/store/storetest"
	"relock/web/board"
	"relock/web/board/stream"
)

// rooms of a benchmark: a class in each.
const rooms = 64

// vote is an entry as a vote makes it.
func vote(seq int64) board.Entry {
	return board.Entry{
		Seq: seq, At: 1763798400000, Conn: "K7M4XWABCDEF/1234", Member: "m17", ID: 12, Do: "vote",
		Vote: &board.Vote{Member: "m17", Option: 1},
	}
}

// busy returns how many microseconds a Redis has worked.
func busy(b *testing.B, client *redis.Client) float64 {
	b.Helper()
	var sum float64
	for line := range strings.SplitSeq(client.Info(b.Context(), "cpu").Val(), "\r\n") {
		var seconds float64
		for _, name := range []string{"used_cpu_user:%g", "used_cpu_sys:%g"} {
			if n, _ := fmt.Sscanf(line, name, &seconds); n == 1 {
				sum += seconds * 1e6
			}
		}
	}
	return sum
}

// inRooms does something b.N times, in rooms that so many servers follow.
func inRooms(b *testing.B, servers int, do func(b *testing.B, j *stream.Journal, code string, term board.Term, next func() int64)) {
	addr := storetest.Start(b).Addr
	client := storetest.Client(addr)
	defer client.Close()
	j, err := stream.New(client, stream.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var terms []board.Term
	for n := range rooms {
		code := fmt.Sprintf("ROOM%02d", n)
		if err := j.Create(b.Context(), code, whole(1)); err != nil {
			b.Fatal(err)
		}
		term, err := j.Lead(b.Context(), code)
		if err == nil {
			_, _, err = term.Log(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		defer term.Resign()
		terms = append(terms, term)
	}
	for range servers {
		var channels []string
		for n := range rooms {
			channels = append(channels, fmt.Sprintf("relock:room:{ROOM%02d}:news", n))
		}
		ears := client.Subscribe(b.Context(), channels...)
		defer ears.Close()
		go func() {
			for range ears.Channel(redis.WithChannelSize(10_000)) {
			}
		}()
	}
	before := busy(b, client)
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for n, term := range terms {
		all.Go(func() {
			seq := int64(1)
			for left.Add(-1) >= 0 {
				do(b, j, fmt.Sprintf("ROOM%02d", n), term, func() int64 { seq++; return seq })
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric((busy(b, client)-before)/float64(b.N), "µs-of-redis/op")
}

// One entry a script, as if nobody ever voted while another vote is decided.
func BenchmarkAppend(b *testing.B) {
	for _, servers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("%d servers", servers), func(b *testing.B) {
			inRooms(b, servers, func(b *testing.B, _ *stream.Journal, _ string, term board.Term, next func() int64) {
				if err := term.Append(b.Context(), []board.Entry{vote(next())}); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// The same entry without any of it: what the script is measured against.
func BenchmarkBareXADD(b *testing.B) {
	client := storetest.Client(storetest.Start(b).Addr)
	defer client.Close()
	text, err := json.Marshal(vote(1))
	if err != nil {
		b.Fatal(err)
	}
	before := busy(b, client)
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for n := range rooms {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				client.XAdd(b.Context(), &redis.XAddArgs{Stream: fmt.Sprintf("log%d", n), Values: []any{"e", text}})
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric((busy(b, client)-before)/float64(b.N), "µs-of-redis/op")
}

// Ten entries a script, as when a class votes at once.
func BenchmarkAppendTen(b *testing.B) {
	inRooms(b, 0, func(b *testing.B, _ *stream.Journal, _ string, term board.Term, next func() int64) {
		var list []board.Entry
		for range 10 {
			list = append(list, vote(next()))
		}
		if err := term.Append(b.Context(), list); err != nil {
			b.Error(err)
		}
	})
}

// A vote from the server that has the voter to the log: send, read, append.
func BenchmarkVote(b *testing.B) {
	inRooms(b, 1, func(b *testing.B, j *stream.Journal, code string, term board.Term, next func() int64) {
		if err := j.Send(b.Context(), code, board.Request{Conn: "K7M4XWABCDEF/1234", Member: "m17", Lang: "en", Command: board.Command{ID: 12, Do: "vote"}}); err != nil {
			b.Error(err)
			return
		}
		for {
			list, err := term.Next(b.Context(), time.Now().Add(time.Second))
			if err != nil {
				b.Error(err)
				return
			}
			var entries []board.Entry
			for range list {
				entries = append(entries, vote(next()))
			}
			if err := term.Append(b.Context(), entries); err != nil {
				b.Error(err)
			}
			if len(list) > 0 {
				return
			}
		}
	})
}

// From the press to the follower on another server, one after the other.
func BenchmarkPressToFollower(b *testing.B) {
	addr := storetest.Start(b).Addr
	client := storetest.Client(addr)
	defer client.Close()
	var both []*stream.Journal
	for range 2 {
		j, err := stream.New(client, stream.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer j.Close()
		both = append(both, j)
	}
	if err := both[0].Create(b.Context(), code, whole(1)); err != nil {
		b.Fatal(err)
	}
	term, err := both[0].Lead(b.Context(), code)
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := term.Log(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for seq := int64(1); ; {
			list, err := term.Next(ctx, time.Time{})
			if err != nil {
				return
			}
			var entries []board.Entry
			for range list {
				seq++
				entries = append(entries, vote(seq))
			}
			if term.Append(ctx, entries) != nil {
				return
			}
		}
	})
	seen := make(chan int64, 1024)
	work.Go(func() {
		_ = both[1].Follow(ctx, code, func(list []board.Entry) { seen <- list[len(list)-1].Seq })
	})
	<-seen
	for b.Loop() {
		if err := both[1].Send(b.Context(), code, board.Request{Conn: "x"}); err != nil {
			b.Fatal(err)
		}
		<-seen
	}
	stop()
	work.Wait()
	term.Resign()
}

// The cost of silent rooms that three servers follow.
func BenchmarkIdleRooms(b *testing.B) {
	const many, servers, seconds = 200, 3, 10
	addr := storetest.Start(b).Addr
	client := storetest.Client(addr)
	defer client.Close()
	ctx, stop := context.WithCancel(b.Context())
	var work sync.WaitGroup
	var led atomic.Int64
	var all []*stream.Journal
	for range servers {
		j, err := stream.New(client, stream.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer j.Close()
		all = append(all, j)
	}
	for n := range many {
		if err := all[0].Create(ctx, fmt.Sprintf("R%05d", n), whole(1)); err != nil {
			b.Fatal(err)
		}
	}
	for n := range many {
		code := fmt.Sprintf("R%05d", n)
		for _, j := range all {
			work.Go(func() { _ = j.Follow(ctx, code, func([]board.Entry) {}) })
			work.Go(func() {
				term, err := j.Lead(ctx, code)
				if err != nil {
					return
				}
				defer term.Resign()
				if _, _, err := term.Log(ctx); err != nil {
					return
				}
				led.Add(1)
				_, _ = term.Next(ctx, time.Time{})
			})
		}
	}
	defer func() {
		stop()
		work.Wait()
	}()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for led.Load() < many {
		<-look.C
	}
	for b.Loop() {
		before := busy(b, client)
		for range seconds {
			<-look.C
		}
		b.ReportMetric((busy(b, client)-before)/many/seconds, "µs-of-redis/room/s")
	}
}
