package web_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/scenario"
	"relock/web/link"
)

// The dearest scenarios that are legal: most events, most threads, most nodes.
const (
	dearestRedlock = "lock: {protocol: redlock, nodes: 9, lease: 30ms, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1h}\n"
	dearestSteps = "lock: {lease: 3ms, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1h}\n"
	dearestWall = "lock: {lease: 1s, watchdog: 1ms, retry: {times: 1000, interval: 1ms}}\n" +
		"defaults: {repeat: 100, work: 1ms}\n"
)

// crowd is the text of a scenario with all the threads that there may be.
func crowd(text string) string {
	var names []string
	for i := range scenario.MaxThreads {
		names = append(names, fmt.Sprintf("{name: T%d}", i))
	}
	return text + "threads: [" + strings.Join(names, ", ") + "]\n"
}

// attacked is a server as a separate process.
type attacked struct {
	base string
	pid  int
}

// built is the playground as a program, in a folder that lasts as long as b.
func built(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "playground")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "relock/cmd/playground").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// serveApart serves the playground.
func serveApart(b *testing.B, binary string) attacked {
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
	return attacked{"http://" + host, cmd.Process.Pid}
}

// memory is the resident set of the server, in MB.
func (a attacked) memory() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid))
	if err != nil {
		return 0
	}
	var kb float64
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}

// visitor comes from its own address.
type visitor struct {
	attacked

	http   *http.Client
	dialer *websocket.Dialer
}

func (a attacked) from(ip string) visitor {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return visitor{a, &http.Client{
		Transport:     &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 100},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, &websocket.Dialer{NetDialContext: d.DialContext, EnableCompression: true}}
}

// send asks for a path, reads the answer to the end, and returns its status and where it
// leads.
func (v visitor) send(ctx context.Context, method, path, kind string, body []byte) (status int, location string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, v.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := v.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Location"), err
}

func (v visitor) post(ctx context.Context, path string, form url.Values) (location string, err error) {
	_, location, err = v.send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()))
	return location, err
}

func (v visitor) socket(ctx context.Context) (*websocket.Conn, error) {
	conn, res, err := v.dialer.DialContext(ctx, "ws"+strings.TrimPrefix(v.base, "http")+"/play/socket?lang=en", nil)
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	return conn, err
}

// ended waits until a run is over.
func (a attacked) ended(b *testing.B, run string) {
	b.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(b.Context(), "ws"+strings.TrimPrefix(a.base, "http")+run+"/socket?lang=en", nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = res.Body.Close()
	defer func() { _ = conn.Close() }()
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
}

// errRefused is of a command that was answered with a sentence.
var errRefused = errors.New("refused")

// command has a socket carry out a command.
func command(conn *websocket.Conn, c object) error {
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
			return fmt.Errorf("%w: %s", errRefused, tail)
		case bytes.Contains(tail, []byte(`"done":true`)):
			return nil
		}
	}
}

// attack is one client's work, over and over. N is its number.
type attack func(ctx context.Context, v visitor, n int) error

// onSocket opens a socket and has it carry out commands, over and over.
func onSocket(commands ...object) attack {
	return func(ctx context.Context, v visitor, _ int) error {
		conn, err := v.socket(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		for _, c := range commands {
			if err := command(conn, c); err != nil && !errors.Is(err, errRefused) {
				return err
			}
		}
		return nil
	}
}

// searching opens a socket and has a search go on for a while: longer than a hundred
// boxes take to open.
func searching(scenario string) attack {
	return func(ctx context.Context, v visitor, _ int) error {
		ctx, end := context.WithTimeout(ctx, 6*time.Second)
		defer end()
		conn, err := v.socket(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if err := command(conn, object{"do": "open", "scenario": scenario}); err != nil {
			return err
		}
		if err := command(conn, object{"do": "explore", "branch": 0, "from": "start", "delays": 4, "faults": 2, "kinds": []string{"crash", "pause"}}); err != nil {
			return err
		}
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return nil // its time is over
			}
		}
	}
}

// judgements are the attack of as many addresses as there are clients, each with
// one lock of its own that is judged to the end.
const judgements = "judgements"

func judgement(ctx context.Context, v visitor, _ int) error {
	conn, err := v.socket(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := command(conn, object{"do": "open", "scenario": ownText}); err != nil {
		return err
	}
	if err := conn.WriteJSON(object{"do": "explore", "judge": true, "branch": 0, "from": "start", "delays": 2}); err != nil {
		return err
	}
	for {
		_, frame, err := conn.ReadMessage()
		switch {
		case err != nil:
			return err
		case bytes.Contains(frame, []byte(`"refused":`)):
			return errRefused
		case bytes.Contains(frame, []byte(`"judged":`)):
			return nil
		}
	}
}

// endlessPattern is a text of Lua whose pattern is not matched in a lifetime.
const endlessPattern = "return string.find(string.rep('a', 3000), string.rep('a-', 300) .. 'b')"

// patternText is a user's own lock that never finishes.
const patternText = `lock:
  protocol: own
  like: reentrant
  scripts:
    lock: "` + endlessPattern + `"
threads: [{name: A}, {name: B}]
`

// judgedItem is an item that judges scripts.
const judgedItem = "/learn/lock/mend-the-unlock"

// mended is a script that is right there.
const mended = "if redis.call('GET', KEYS[1]) == ARGV[1] then\n  redis.call('DEL', KEYS[1])\n  return {1, 0}\nend\nreturn {0, 0}"

// The attacks with own scripts, and with files: how many clients each has.
const (
	patterns         = "patterns"
	endlessScripts   = "endless judgements"
	endlessAddresses = "endless addresses" // each client has its own address
	logs             = "logs"
	logExports       = "log exports"
)

var clientsOf = map[string]int{patterns: 10, endlessScripts: 50, endlessAddresses: 50, logs: 6, logExports: 6}

// logTexts are logs that are legal and large, and such as nobody writes.
var logTexts = sync.OnceValue(func() [][]byte {
	var monitor bytes.Buffer
	for n := 0; monitor.Len() < 1<<20; n++ {
		fmt.Fprintf(&monitor, "17000%05d.%06d [0 127.0.0.1:%d] \"SET\" \"lock\" \"me\" \"NX\" \"PX\" \"30000\"\n", n/1000, n%1000, 5000+n%3)
	}
	far := `1700000000.000000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "200000"
1700000000.000100 [0 127.0.0.1:5000] "PEXPIRE" "k" "30000"
1700000000.010000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "-200000"
1700000000.010100 [0 127.0.0.1:5000] "DEL" "k"
`
	return [][]byte{monitor.Bytes(), []byte(far)}
})

// upload sends a log, and returns where its trace is, "" if it is refused.
func upload(ctx context.Context, v visitor, text []byte) (string, error) {
	_, to, err := v.send(ctx, http.MethodPost, "/traces", "text/plain", text)
	return to, err
}

// exportFormats are the formats whose size grows with what a log says, and others.
var exportFormats = []string{"otel", "svg", "csv", "md"}

// wholeLink is a link to a text's scenario, without a position.
func wholeLink(b *testing.B, text string) []byte {
	b.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	open, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		b.Fatal(err)
	}
	whole, _, _ := strings.Cut(open, "~")
	return []byte(whole)
}

// attacks are the worst that is legal.
func attacks(b *testing.B, recorded string) map[string]attack {
	b.Helper()
	redlock, steps := crowd(dearestRedlock), crowd(dearestSteps)
	lock := wholeLink(b, redlock)
	forms := []string{
		"faults: [" + strings.Repeat("{},", 16_000) + "]", "threads: [" + strings.Repeat("1,", 30_000) + "]", redlock + keys(7_000),
	}
	exports := func(formats ...string) attack {
		return func(ctx context.Context, v visitor, n int) error {
			_, _, err := v.send(ctx, http.MethodPost, "/export?format="+formats[n%len(formats)], "text/plain", lock)
			return err
		}
	}
	flood := func(store, text string) attack {
		return func(ctx context.Context, v visitor, _ int) error {
			_, err := v.post(ctx, "/runs", url.Values{"yaml": {text}, "store": {store}, "action": {"run"}})
			return err
		}
	}
	list := map[string]attack{
		"exports": exports("svg", "csv", "md", "mermaid", "redis-cli", "redis-commands", "jsonl"),
		"forms": func(ctx context.Context, v visitor, n int) error {
			text := forms[n%len(forms)]
			_, err := v.post(ctx, "/edit/scenario", url.Values{"yaml": {text}, "base": {text}, "action": {"show"}})
			return err
		},
		"steppers": onSocket(object{"do": "open", "scenario": steps}, object{"do": "run", "to": "end"}, object{"do": "lanes"}, object{"do": "trace"}),
		"locks": onSocket(object{"do": "open", "scenario": steps},
			object{"do": "locks", "protocols": []string{"reentrant", "reentrant-notify", "reentrant-fair", "redlock"}}),
		"replays": func(ctx context.Context, v visitor, _ int) error {
			_, _, err := v.send(ctx, http.MethodPost, "/replay", "text/plain", lock)
			return err
		},
		"searches":  searching(twoThreads().Get("yaml")),
		"own locks": searching(ownText),
		judgements:  judgement,
		"cards": func(ctx context.Context, v visitor, _ int) error {
			_, err := v.post(ctx, "/edit/card", url.Values{"yaml": {ownText}})
			return err
		},
		patterns: onSocket(object{"do": "open", "scenario": patternText}, object{"do": "step", "branch": 0, "thread": "A"}),
		endlessScripts: func(ctx context.Context, v visitor, _ int) error {
			_, err := v.post(ctx, judgedItem, url.Values{"script": {endlessPattern}})
			return err
		},
		logs: func(ctx context.Context, v visitor, n int) error {
			_, err := upload(ctx, v, logTexts()[n%len(logTexts())])
			return err
		},
		logExports: func(ctx context.Context, v visitor, n int) error {
			text := logTexts()[3]
			if n%2 == 0 {
				text = largest(b)
			}
			to, err := upload(ctx, v, text)
			if err != nil || to == "" {
				return err
			}
			for _, format := range exportFormats {
				if _, _, err := v.send(ctx, http.MethodGet, to+"/export?format="+format, "", nil); err != nil {
					return err
				}
			}
			return nil
		},
		"runs":      flood("virtual", redlock),
		"wall runs": flood("wall", crowd(dearestWall)),
		"pages": func(ctx context.Context, v visitor, n int) error {
			_, _, err := v.send(ctx, http.MethodGet, []string{"/", "/play", "/scenarios", "/locks", recorded + "?rows=all"}[n%5], "", nil)
			return err
		},
		"traces": func(ctx context.Context, v visitor, _ int) error {
			_, to, err := v.send(ctx, http.MethodPost, "/traces", "application/jsonl", largest(b))
			if err == nil && to != "" {
				_, _, err = v.send(ctx, http.MethodGet, to, "", nil)
			}
			return err
		},
		"slow": func(ctx context.Context, v visitor, n int) error {
			if n%2 == 0 {
				return slowBody(ctx, v)
			}
			return slowReader(ctx, v, lock)
		},
	}
	list[endlessAddresses] = list[endlessScripts]
	singly := []attack{list["exports"], list["forms"], list["steppers"], list["locks"], list["replays"], list["runs"], list["wall runs"], list["pages"], list["traces"], list["slow"]}
	list["mixed"] = func(ctx context.Context, v visitor, n int) error { return singly[n%len(singly)](ctx, v, n) }
	return list
}

// slowBody sends a form a byte at a time.
func slowBody(ctx context.Context, v visitor) error {
	r, w := io.Pipe()
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				_ = w.CloseWithError(ctx.Err())
				return
			case <-tick.C:
				if _, err := w.Write([]byte("a")); err != nil {
					return
				}
			}
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base+"/edit", r)
	if err != nil {
		return err
	}
	req.ContentLength = 1000
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := v.http.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	_ = r.Close()
	return err
}

// slowReader asks for what is large, and reads nothing.
func slowReader(ctx context.Context, v visitor, lock []byte) error {
	conn, err := v.http.Transport.(*http.Transport).DialContext(ctx, "tcp", strings.TrimPrefix(v.base, "http://"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST /export?format=csv HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", strings.TrimPrefix(v.base, "http://"), len(lock), lock); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// largest is the dearest trace that is taken: most events in most bytes.
var largest = func() func(b *testing.B) []byte {
	var once sync.Once
	var text []byte
	return func(b *testing.B) []byte {
		once.Do(func() { text = largestTrace(b) })
		return text
	}
}()

func largestTrace(tb testing.TB) []byte {
	tb.Helper()
	sc, err := scenario.Parse([]byte("threads: [{name: A}]\n"))
	if err != nil {
		tb.Fatal(err)
	}
	head, err := sc.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"relock":1,"scenario":%s,"seed":1,"store":"embedded","clock":"virtual","owners":{"a":"A"}}`+"\n", head)
	for n := 1; text.Len() < 8<<20-200; n++ {
		fmt.Fprintf(&text, `{"seq":%d,"step":%d,"at_ms":%d,"thread":"A","kind":"wait","for_ms":1,"key":{"type":"none","pttl_ms":-2},"belief":{}}`+"\n", n, n, n)
	}
	return text.Bytes()
}

// latencies are of one kind of request.
type latencies []time.Duration

func (l latencies) at(part float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(len(l)-1, int(part*float64(len(l))))]
}

// visited is how long each kind of request took.
type visited struct {
	pages, opens, owns, judged latencies // owns: a user's own lock, opened and stepped
}

// visit asks for a page, opens a scenario, and has a harmless lock of one's own step
// and be judged, at a person's pace, for so long, and returns how long it took.
func (v visitor) visit(b *testing.B, ctx context.Context, run string) (took visited) {
	b.Helper()
	bundled := twoThreads().Get("yaml")
	if bundled == "" {
		b.Fatal("no scenario")
	}
	var both sync.WaitGroup
	timed := func(into *latencies, every time.Duration, one func(n int) error) {
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
	timed(&took.pages, 40*time.Millisecond, func(n int) error {
		status, _, err := v.send(ctx, http.MethodGet, paths[n%len(paths)], "", nil)
		if err == nil && status != http.StatusOK {
			return fmt.Errorf("%s: %d", paths[n%len(paths)], status)
		}
		return err
	})
	conn, err := v.socket(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	timed(&took.opens, 60*time.Millisecond, func(int) error { return command(conn, object{"do": "open", "scenario": bundled}) })
	stepping, err := v.socket(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stepping.Close() }()
	defer context.AfterFunc(ctx, func() { _ = stepping.Close() })()
	timed(&took.owns, 100*time.Millisecond, func(int) error {
		if err := command(stepping, object{"do": "open", "scenario": ownText}); err != nil {
			return err
		}
		return command(stepping, object{"do": "step", "branch": 0, "thread": "A"})
	})
	timed(&took.judged, 250*time.Millisecond, func(int) error {
		status, _, err := v.send(ctx, http.MethodPost, judgedItem, "application/x-www-form-urlencoded", []byte(url.Values{"script": {mended}}.Encode()))
		if err == nil && status != http.StatusOK {
			return fmt.Errorf("%s: %d", judgedItem, status)
		}
		return err
	})
	both.Wait()
	return took
}

// An address does the worst that is legal with a hundred clients at once; somebody
// at another one looks at pages and opens scenarios. The measure is the ratio to the same
// server without them: at most 10 (the clients and the visitor are on the same cores),
// and 3 for users' own scripts.
func BenchmarkUnderAttack(b *testing.B) {
	const quietFor, attackFor = 4 * time.Second, 8 * time.Second
	names := []string{"exports", "forms", "steppers", "locks", "searches", "own locks", judgements, patterns, endlessScripts, endlessAddresses, logs, logExports, "cards", "replays", "runs", "wall runs", "pages", "traces", "slow", "mixed"}
	binary := built(b)
	for _, name := range names {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for range b.N {
				server := serveApart(b, binary)
				other := server.from("127.0.0.3")
				run, err := other.post(b.Context(), "/runs", twoThreads())
				if err != nil || run == "" {
					b.Fatal(run, err)
				}
				recorded, err := server.from("127.0.0.2").post(b.Context(), "/runs", url.Values{"yaml": {crowd(dearestSteps)}, "store": {"virtual"}, "action": {"run"}})
				if err != nil || recorded == "" {
					b.Fatal(recorded, err)
				}
				server.ended(b, recorded)
				work := attacks(b, recorded)[name]
				for range 3 { // warm up
					_, _, _ = other.send(b.Context(), http.MethodGet, "/", "", nil)
					_, _ = other.post(b.Context(), judgedItem, url.Values{"script": {mended}})
				}
				ctx, end := context.WithTimeout(b.Context(), quietFor)
				quiet := other.visit(b, ctx, run)
				end()
				ctx, end = context.WithTimeout(b.Context(), attackFor)
				var hostile sync.WaitGroup
				var mu sync.Mutex
				done := 0
				for n := range cmp.Or(clientsOf[name], 100) {
					bad := server.from("127.0.0.2")
					if name == judgements || name == endlessAddresses { // each has its own turns
						bad = server.from(fmt.Sprintf("127.0.1.%d", n+1))
					}
					hostile.Go(func() {
						for ctx.Err() == nil {
							if err := work(ctx, bad, n); err == nil {
								mu.Lock()
								done++
								mu.Unlock()
							}
						}
					})
				}
				worse := other.visit(b, ctx, run)
				report(b, "page", quiet.pages, worse.pages)
				report(b, "open", quiet.opens, worse.opens)
				report(b, "own", quiet.owns, worse.owns)
				report(b, "judgement", quiet.judged, worse.judged)
				b.ReportMetric(float64(done), "attacks")
				b.ReportMetric(server.memory(), "MB-after")
				end()
				hostile.Wait()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func report(b *testing.B, what string, quiet, worse latencies) {
	b.Helper()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for name, part := range map[string]float64{"p50": .5, "p99": .99} {
		b.ReportMetric(ms(quiet.at(part)), what+"-quiet-"+name+"-ms")
		b.ReportMetric(ms(worse.at(part)), what+"-"+name+"-ms")
	}
	for name, part := range map[string]float64{"p50": .5, "p99": .99} {
		b.ReportMetric(ms(worse.at(part))/max(ms(quiet.at(part)), .001), what+"-"+name+"-ratio")
	}
	b.ReportMetric(float64(len(worse)), what+"s")
}
