package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/store/storetest"
)

var limit = flag.Duration("limit", 8*time.Minute, "a benchmark stops after this `time` with what it has measured")

const (
	lease     = 8 * time.Second
	callLimit = 10 * time.Second // of one call; above the lease, so that a lock that is left behind does not end a call
	grace     = 2 * time.Second  // for a call to return after its context has ended
)

// errHung: a call did not return though its context had ended.
var errHung = errors.New("hung: it did not return after its context had ended")

// within runs f on a goroutine of its own, with a context that ends after d. If
// f has not returned some time after that, it is left behind: what it shares
// with others must not be used again.
func within[T any](ctx context.Context, d time.Duration, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		v, err := f(ctx)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
		var none T
		return none, errHung
	}
}

// server is a redis-server that stops with the test.
type server struct {
	addr    string
	control *redis.Client
}

func start(tb testing.TB) *server {
	tb.Helper()
	o, err := redis.ParseURL(storetest.URL(tb))
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{o.Addr, storetest.Client(o.Addr)}
	tb.Cleanup(func() { _ = s.control.Close() })
	return s
}

// cpu is the processor time that the server has used.
func (s *server) cpu(ctx context.Context) (time.Duration, error) {
	info, err := s.control.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var used time.Duration
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			used += time.Duration(seconds * float64(time.Second))
		}
	}
	return used, nil
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wire is the way to a Redis.
type wire struct {
	addr string
	sent *atomic.Int64 // counts the commands that are sent; nil does not count, and costs nothing
}

func (w wire) dial(ctx context.Context, dialer *net.Dialer, network, addr string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, addr)
	tcp, ok := conn.(*net.TCPConn)
	if err != nil || !ok || w.sent == nil {
		return conn, err
	}
	return &countingConn{TCPConn: tcp, sent: w.sent}, nil
}

// client is a go-redis client as the lock engine wants it.
func (w wire) client() *redis.Client {
	c := storetest.Client(w.addr)
	if w.sent == nil {
		return c
	}
	o := *c.Options()
	_ = c.Close()
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return w.dial(ctx, &net.Dialer{}, network, addr)
	}
	return redis.NewClient(&o)
}

// countingConn counts the commands that are written to it, whatever client
// writes them: each is an array of bulk strings. One goroutine writes at a time.
type countingConn struct {
	*net.TCPConn

	sent *atomic.Int64
	line []byte // the header that is being read
	skip int    // bytes of a bulk string that are still to come
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.count(p)
	return c.TCPConn.Write(p)
}

func (c *countingConn) count(p []byte) {
	for len(p) > 0 {
		if n := min(c.skip, len(p)); n > 0 {
			c.skip -= n
			p = p[n:]
			continue
		}
		b := p[0]
		p = p[1:]
		if b != '\n' {
			c.line = append(c.line, b)
			continue
		}
		switch header := strings.TrimSuffix(string(c.line), "\r"); {
		case strings.HasPrefix(header, "*"):
			c.sent.Add(1)
		case strings.HasPrefix(header, "$"):
			size, _ := strconv.Atoi(header[1:])
			c.skip = size + len("\r\n")
		}
		c.line = c.line[:0]
	}
}

// table prints rows of tab-separated cells in columns, past the ten lines that
// a benchmark's own log is cut to.
func table(title string, rows []string) {
	fmt.Printf("\n%s\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, r)
	}
	_ = w.Flush()
	fmt.Println()
}

// notes are rows that say why a contestant has no figures, or not all.
func notes(name string, failed []error) (rows []string) {
	for _, err := range failed {
		rows = append(rows, fmt.Sprintf("%s failed:\t%s", name, strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	return rows
}

// report gives a contestant's figures in the benchmark's own form.
func report(b *testing.B, name string, figures map[string]float64) {
	b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		for unit, f := range figures {
			b.ReportMetric(f, unit)
		}
	})
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
