package webtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/scenario"
)

// The dearest scenarios that are legal: most events, most threads, most nodes.
const (
	DearestRedlock = "lock: {protocol: redlock, nodes: 9, lease: 30ms, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1h}\n"
	DearestSteps = "lock: {lease: 3ms, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1h}\n"
	DearestWall = "lock: {lease: 1s, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1ms}\n"
)

// Crowd is the text of a scenario with all the threads that there may be.
func Crowd(text string) string {
	var names []string
	for i := range scenario.MaxThreads {
		names = append(names, fmt.Sprintf("{name: T%d}", i))
	}
	return text + "threads: [" + strings.Join(names, ", ") + "]\n"
}

// Attacked is a server as a separate process.
type Attacked struct {
	Base string
	pid  int
}

// Built is the playground as a program, in a folder that lasts as long as b.
func Built(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "playground")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "relock/cmd/playground").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// ServeApart serves the playground.
func ServeApart(b *testing.B, binary string) Attacked {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "-addr", "127.0.0.1:0", "-log-level", "error")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return Attacked{"http://" + host, cmd.Process.Pid}
}

// Memory is the resident set of the server, in MB.
func (a Attacked) Memory() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid))
	if err != nil {
		return 0
	}
	var kb float64
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}

// Visitor comes from its own address.
type Visitor struct {
	Attacked

	Http   *http.Client
	Dialer *websocket.Dialer
}

// From is a visitor of the server from an address of its own.
func (a Attacked) From(ip string) Visitor {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return Visitor{a, &http.Client{
		Transport:     &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 100},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, &websocket.Dialer{NetDialContext: d.DialContext, EnableCompression: true}}
}

// Send asks for a path, reads the answer to the end, and returns its status and where it
// leads.
func (v Visitor) Send(ctx context.Context, method, path, kind string, body []byte) (status int, location string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, v.Base+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := v.Http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Location"), err
}

// Post sends a form and says where it leads.
func (v Visitor) Post(ctx context.Context, path string, form url.Values) (location string, err error) {
	_, location, err = v.Send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()))
	return location, err
}

// Socket opens the socket of a page that steps.
func (v Visitor) Socket(ctx context.Context) (*websocket.Conn, error) {
	conn, res, err := v.Dialer.DialContext(ctx, "ws"+strings.TrimPrefix(v.Base, "http")+"/play/socket?lang=en", nil)
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	return conn, err
}

// Ended waits until a run is over.
func (a Attacked) Ended(b *testing.B, run string) {
	b.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(b.Context(), "ws"+strings.TrimPrefix(a.Base, "http")+run+"/socket?lang=en", nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = res.Body.Close()
	defer func() { _ = conn.Close() }()
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
}

// ErrRefused is of a command that was answered with a sentence.
var ErrRefused = errors.New("refused")

// Command has a socket carry out a command.
func Command(conn *websocket.Conn, c Object) error {
	if err := conn.WriteJSON(c); err != nil {
		return err
	}
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		tail := frame[max(0, len(frame)-400):]
		switch {
		case bytes.Contains(tail, []byte(`"refused":`)):
			return fmt.Errorf("%w: %s", ErrRefused, tail)
		case bytes.Contains(tail, []byte(`"done":true`)):
			return nil
		}
	}
}

// JudgedItem is an item that judges scripts.
const JudgedItem = "/learn/lock/mend-the-unlock"

// Mended is a script that is right there.
const Mended = "if redis.call('GET', KEYS[1]) == ARGV[1] then\n  redis.call('DEL', KEYS[1])\n  return {1, 0}\nend\nreturn {0, 0}"

// Latencies are of one kind of request.
type Latencies []time.Duration

// At is what this part of all took at most, from 0 to 1.
func (l Latencies) At(part float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(len(l)-1, int(part*float64(len(l))))]
}

// visited is how long each kind of request took.
type visited struct {
	Pages, Opens, Owns, Judged Latencies // owns: a user's own lock, opened and stepped
}

// Visit asks for a page, opens a scenario, and has a harmless lock of one's own step
// and be judged, at a person's pace, for so long, and returns how long it took.
func (v Visitor) Visit(b *testing.B, ctx context.Context, run string) (took visited) {
	b.Helper()
	bundled := TwoThreads().Get("yaml")
	if bundled == "" {
		b.Fatal("no scenario")
	}
	var both sync.WaitGroup
	timed := func(into *Latencies, every time.Duration, one func(n int) error) {
		both.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				began := time.Now()
				if err := one(n); err != nil {
					if ctx.Err() == nil {
						b.Error(err)
						return
					}
				}
				*into = append(*into, time.Since(began)) // of one that has not ended, so far
			}
		})
	}
	paths := []string{"/", "/play", run}
	timed(&took.Pages, 40*time.Millisecond, func(n int) error {
		status, _, err := v.Send(ctx, http.MethodGet, paths[n%len(paths)], "", nil)
		if err == nil && status != http.StatusOK {
			return fmt.Errorf("%s: %d", paths[n%len(paths)], status)
		}
		return err
	})
	conn, err := v.Socket(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	timed(&took.Opens, 60*time.Millisecond, func(int) error { return Command(conn, Object{"do": "open", "scenario": bundled}) })
	stepping, err := v.Socket(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stepping.Close() }()
	defer context.AfterFunc(ctx, func() { _ = stepping.Close() })()
	timed(&took.Owns, 100*time.Millisecond, func(int) error {
		if err := Command(stepping, Object{"do": "open", "scenario": OwnText}); err != nil {
			return err
		}
		return Command(stepping, Object{"do": "step", "branch": 0, "thread": "A"})
	})
	timed(&took.Judged, 250*time.Millisecond, func(int) error {
		status, _, err := v.Send(ctx, http.MethodPost, JudgedItem, "application/x-www-form-urlencoded", []byte(url.Values{"script": {Mended}}.Encode()))
		if err == nil && status != http.StatusOK {
			return fmt.Errorf("%s: %d", JudgedItem, status)
		}
		return err
	})
	both.Wait()
	return took
}

// Report has a benchmark say by how much others wait longer than where nobody attacks.
func Report(b *testing.B, what string, quiet, worse Latencies) {
	b.Helper()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for name, part := range map[string]float64{"p50": .5, "p99": .99} {
		b.ReportMetric(ms(quiet.At(part)), what+"-quiet-"+name+"-ms")
		b.ReportMetric(ms(worse.At(part)), what+"-"+name+"-ms")
	}
	for name, part := range map[string]float64{"p50": .5, "p99": .99} {
		b.ReportMetric(ms(worse.At(part))/max(ms(quiet.At(part)), .001), what+"-"+name+"-ratio")
	}
	b.ReportMetric(float64(len(worse)), what+"s")
}

// Heap is what is held, after what nobody holds has gone: pools and finalizers
// of earlier tests need several collections, so it collects until three in a
// row free nothing more.
func Heap() int64 {
	var m runtime.MemStats
	least, same := int64(math.MaxInt64), 0
	for range 40 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		held := int64(m.HeapAlloc)
		if held < least-4<<10 {
			same = 0
		} else if same++; same == 3 {
			return held
		}
		least = min(least, held)
	}
	return least
}

// Parsed is a scenario that must be readable.
func Parsed(tb testing.TB, text string) *scenario.Scenario {
	tb.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return sc
}
