package load_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"relock/engine/racetest"
	"relock/web/site/limit"
	"relock/web/webtest"
)

// deaf connects to a server from an address of its own, with a window as small
// as the kernel has it.
func deaf(ctx context.Context, from, server string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience, Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) { // before it connects: the window that it offers follows from it
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2<<10)
		})
		return errors.Join(err, cerr)
	}}
	return d.DialContext(ctx, "tcp", server)
}

// unread asks a server for a page on so many connections, from so many
// addresses, and reads nothing. The connections are closed when the returned
// function is called.
func unread(ctx context.Context, server string, connections, addresses int, request string) (hangUp func(), err error) {
	conns := make([]net.Conn, connections)
	errs := make([]error, connections)
	door := make(chan struct{}, 64)
	var all sync.WaitGroup
	for i := range conns {
		door <- struct{}{}
		all.Go(func() {
			defer func() { <-door }()
			n := i % addresses
			if conns[i], errs[i] = deaf(ctx, fmt.Sprintf("127.1.%d.%d", n/250, 1+n%250), server); errs[i] == nil {
				_, errs[i] = fmt.Fprintf(conns[i], request, server)
			}
		})
	}
	all.Wait()
	return func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	}, errors.Join(errs...)
}

// Unread answers are bounded, and others are served meanwhile: the one that has taken
// most goes first.
func TestWhatNobodyReadsIsBounded(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	const connections, ofAll = 300, 4 << 20
	const slack = 64 << 10 // what is refused counts until it is let go
	s.Web.Waiting = limit.NewWaiting(3<<20, ofAll)
	server := narrowListener(t, s.Web)
	_, page := s.Do(t, http.MethodGet, "/play?x", nil, "Accept-Encoding", "identity")
	if len(page)*connections < 5*ofAll {
		t.Fatalf("a page has %d bytes: too few to fill anything", len(page))
	}
	before := webtest.Heap()
	hangUp, err := unread(t.Context(), server, connections, 8, "GET /play?x HTTP/1.1\r\nHost: %s\r\n\r\n")
	defer hangUp()
	if err != nil {
		t.Fatal(err)
	}
	for done := 0; done < connections; { // each is held, or gave way, or was refused
		if waiting := s.Web.Waiting.Held(); waiting > ofAll+slack {
			t.Fatalf("%d bytes wait, at most %d may", waiting, ofAll)
		}
		if res, other := s.Do(t, http.MethodGet, "/play?x", nil, "Accept-Encoding", "identity"); res.StatusCode != http.StatusOK || len(other) != len(page) {
			t.Fatalf("another visitor: %d, %d bytes", res.StatusCode, len(other))
		}
		done = s.Web.Waiting.Held() / (28<<10 + len(page))
		for _, limit := range []string{"waiting", "waiting-per-address"} {
			n, _ := strconv.Atoi(s.Metric(t, `relock_refusals_total{limit="`+limit+`"}`))
			done += n
		}
	}
	if took := webtest.Heap() - before; took > 4*ofAll {
		t.Errorf("%d KB are held, of which %d may wait", took>>10, ofAll>>10)
	}
}

// An answer that is the same for all is held once, however many do not read it.
func TestWhatIsSharedIsHeldOnce(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	const connections = 300
	server := narrowListener(t, s.Web)
	_, page := s.Do(t, http.MethodGet, "/scenarios", nil, "Accept-Encoding", "identity")
	before := webtest.Heap()
	hangUp, err := unread(t.Context(), server, connections, 8, "GET /scenarios HTTP/1.1\r\nHost: %s\r\n\r\n")
	defer hangUp()
	if err != nil {
		t.Fatal(err)
	}
	for s.Web.Waiting.Held() < connections*28<<10 {
		if res, _ := s.Do(t, http.MethodGet, "/", nil); res.StatusCode != http.StatusOK {
			t.Fatalf("another visitor: %d", res.StatusCode)
		}
	}
	if took, whole := int(webtest.Heap()-before), connections*len(page); took > whole/8 {
		t.Errorf("%d KB are held for %d pages of %d KB", took>>10, connections, len(page)>>10)
	}
}

// BenchmarkUnread has four thousand connections ask for the largest pages and
// read nothing, from one address and from many, and tells what the server takes
// at most and how long others wait meanwhile.
func BenchmarkUnread(b *testing.B) {
	binary := webtest.Built(b)
	const connections = 4000
	for _, page := range []struct{ name, request string }{
		{"scenarios", "GET /scenarios HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"scenarios-gzip", "GET /scenarios HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: gzip\r\n\r\n"},
		{"play", "GET /play HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"run", "GET RUN HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"trace", "GET RUN/trace HTTP/1.1\r\nHost: %s\r\n\r\n"},
	} {
		for _, addresses := range []int{1, 16, 4000} {
			b.Run(fmt.Sprintf("%s/from=%d", page.name, addresses), func(b *testing.B) {
				for range b.N {
					unreadOnce(b, webtest.ServeApart(b, binary), page.request, connections, addresses)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func unreadOnce(b *testing.B, server webtest.Attacked, request string, connections, addresses int) {
	b.Helper()
	other := server.From("127.0.0.9")
	get := func(ctx context.Context, path string) (time.Duration, error) {
		began := time.Now()
		status, _, err := other.Send(ctx, http.MethodGet, path, "", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: %d", path, status)
		}
		return time.Since(began), err
	}
	if strings.Contains(request, "RUN") { // the longest that is shown whole
		form := webtest.TwoThreads("yaml", "threads: [{name: A}, {name: B}, {name: C}]\ndefaults: {repeat: 20, depth: 2, work: 50ms}\n")
		run, err := server.From("127.0.0.8").Post(b.Context(), "/runs", form)
		if err != nil {
			b.Fatal(err)
		}
		server.Ended(b, run)
		request = strings.ReplaceAll(request, "RUN", run)
	}
	for _, path := range []string{"/scenarios", "/"} {
		if _, err := get(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(server.Memory(), "MB-before")
	ctx, end := context.WithTimeout(b.Context(), 20*time.Second)
	defer end()
	var waits webtest.Latencies
	failed, most := 0, 0.
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			most = max(most, server.Memory())
			time.Sleep(20 * time.Millisecond)
		}
	})
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			took, err := get(ctx, []string{"/", "/play", "/scenarios"}[n%3])
			if err != nil && ctx.Err() == nil {
				b.Log(err)
				failed++
			}
			waits = append(waits, took)
		}
	})
	began := time.Now()
	hangUp, err := unread(ctx, strings.TrimPrefix(server.Base, "http://"), connections, addresses, request)
	b.ReportMetric(time.Since(began).Seconds(), "s-to-ask")
	if err != nil {
		b.Log(err)
	}
	watching.Wait()
	hangUp()
	b.ReportMetric(most, "MB-most")
	b.ReportMetric(float64(waits.At(.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(waits.At(.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(failed), "failed")
	b.ReportMetric(float64(len(waits)), "asked")
}
