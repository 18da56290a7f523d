// Package storetest gives tests a real Redis of their own.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// startLimit is how long a Redis may take to answer its first PING, and
// startInterval how often it is asked.
const (
	startLimit    = time.Minute
	startInterval = 2 * time.Millisecond
)

// Durable are the arguments for [Start] with which a Redis has on disk what it
// has answered to: killed and started again, it has lost nothing.
var Durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Server is a redis-server process on a loopback port. Its methods are for one
// goroutine at a time.
type Server struct {
	// Addr is its host and port, also after a restart.
	Addr string

	dir  string
	argv []string
	cmd  *exec.Cmd
}

// Start starts a redis-server on a free loopback port; it stops with the test.
// It keeps nothing on disk, unless args say otherwise. Without redis-server
// the test is skipped, and fails where CI is set.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, port := server(tb)
	s.argv = append(s.argv, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--logfile", filepath.Join(s.dir, "log"))
	s.argv = append(s.argv, args...)
	s.begin(tb)
	return s
}

// server is a redis-server that has no arguments yet, and its port.
func server(tb testing.TB) (s *Server, port string) {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is needed in CI: ", err)
		}
		tb.Skip("no redis-server on this machine; `make test` installs it")
	}
	port = strconv.Itoa(freePort(tb))
	return &Server{Addr: net.JoinHostPort("127.0.0.1", port), dir: tb.TempDir(), argv: []string{path}}, port
}

func (s *Server) begin(tb testing.TB) {
	tb.Helper()
	if err := s.Restart(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
}

// Replica starts a replica of a master, as Start does, and returns when it has the
// master's data.
func Replica(tb testing.TB, master *Server) *Server {
	tb.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	m := Client(master.Addr)
	defer func() { _ = m.Close() }()
	if err := m.ConfigSet(tb.Context(), "repl-diskless-sync-delay", "0").Err(); err != nil {
		tb.Fatal(err)
	}
	s := Start(tb, "--replicaof", host, port)
	c := Client(s.Addr)
	defer func() { _ = c.Close() }()
	again := time.NewTicker(startInterval)
	defer again.Stop()
	late := time.After(startLimit)
	for {
		info, err := c.Info(tb.Context(), "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return s
		}
		select {
		case <-again.C:
		case <-late:
			tb.Fatalf("storetest: the replica has no data after %v: %v\n%s", startLimit, err, info)
		}
	}
}

// Sentinel starts a sentinel, as Start does, that watches a master by some name, alone.
func Sentinel(tb testing.TB, name string, master *Server) *Server {
	tb.Helper()
	s, port := server(tb)
	host, of, err := net.SplitHostPort(master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	conf := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nlogfile %s\nsentinel monitor %s %s %s 1\n", port, s.dir, filepath.Join(s.dir, "log"), name, host, of)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.argv = append(s.argv, conf, "--sentinel")
	s.begin(tb)
	return s
}

// slots is how many hash slots a cluster has.
const slots = 16384

// Cluster starts so many masters, as Start does, that share the slots evenly, in their
// order, and returns when each knows of all.
func Cluster(tb testing.TB, masters int) []*Server {
	tb.Helper()
	nodes := make([]*Server, masters)
	for i := range nodes {
		nodes[i] = Start(tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(freePort(tb)))
	}
	ask := func(s *Server, args ...any) string {
		c := Client(s.Addr)
		defer func() { _ = c.Close() }()
		v, err := c.Do(tb.Context(), args...).Result()
		if err != nil {
			tb.Fatalf("storetest: %v: %v", args, err)
		}
		return fmt.Sprint(v)
	}
	for i, s := range nodes {
		ask(s, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
		_, port, _ := net.SplitHostPort(s.Addr)
		ask(nodes[0], "CLUSTER", "MEET", "127.0.0.1", port, s.argv[slices.Index(s.argv, "--cluster-port")+1])
	}
	again := time.NewTicker(startInterval)
	defer again.Stop()
	late := time.After(startLimit)
	for {
		ready := 0
		for _, s := range nodes {
			info := ask(s, "CLUSTER", "INFO")
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:"+strconv.Itoa(masters)) {
				ready++
			}
		}
		if ready == masters {
			return nodes
		}
		select {
		case <-again.C:
		case <-late:
			tb.Fatalf("storetest: the cluster is not there after %v", startLimit)
		}
	}
}

// Kill ends the server as kill -9 does, and returns when it is gone. A server
// that does not run is left alone.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Stall has the server stand still until Resume: it keeps its connections,
// takes what comes, and answers nothing.
func (s *Server) Stall() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume has the server go on, with what came meanwhile first.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// Launch starts a server that does not run, on its port and with what it had on
// disk, and does not wait until it answers. It fails where the server runs or
// cannot be started.
func (s *Server) Launch() error {
	if s.cmd != nil {
		return errors.New("storetest: redis-server runs")
	}
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("storetest: start redis-server: %w", err)
	}
	s.cmd = cmd
	return nil
}

// Restart is Launch that returns when the server answers, at most a minute later.
// It fails where the server cannot be started or does not answer.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c := Client(s.Addr)
	defer func() { _ = c.Close() }()
	again := time.NewTicker(startInterval)
	defer again.Stop()
	for !s.listens(ctx) || c.Ping(ctx).Err() != nil {
		select {
		case <-again.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("storetest: redis-server did not answer in %v:\n%s", startLimit, log)
		}
	}
	return nil
}

// listens tells whether the server takes connections. A client of go-redis
// would report each time that it does not, and wait a while.
func (s *Server) listens(ctx context.Context) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// URL starts a server as Start does and returns its URL.
func URL(tb testing.TB) string {
	tb.Helper()
	return "redis://" + Start(tb).Addr
}

// Redis is a client of a server started as by Start.
func Redis(tb testing.TB) *redis.Client {
	tb.Helper()
	c := Client(Start(tb).Addr)
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
