// Package storetest gives tests a real Redis of their own.
package storetest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// startLimit is how long a Redis may take to answer its first PING.
const startLimit = 10 * time.Second

// URL starts a redis-server on a free loopback port and returns its URL; it
// stops with the test. Without redis-server the test is skipped, and fails
// where CI is set.
func URL(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is needed in CI: ", err)
		}
		tb.Skip("no redis-server on this machine; `make test` installs it")
	}
	dir := tb.TempDir()
	port := freePort(tb)
	cmd := exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--logfile", filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		tb.Fatal("start redis-server: ", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(tb.Context(), startLimit)
	defer cancel()
	c := Client(addr)
	defer func() { _ = c.Close() }()
	for c.Ping(ctx).Err() != nil {
		if ctx.Err() != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			tb.Fatalf("redis-server did not answer in %v:\n%s", startLimit, log)
		}
	}
	return "redis://" + addr
}

// Redis is a client of a server started as by URL.
func Redis(tb testing.TB) *redis.Client {
	tb.Helper()
	o, err := redis.ParseURL(URL(tb))
	if err != nil {
		tb.Fatal(err)
	}
	c := Client(o.Addr)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Client is a go-redis client as the lock engine wants it.
func Client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     addr,
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		PoolSize:                 64,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
