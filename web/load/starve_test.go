package load_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/webtest"
)

// attack is one client's work, over and over. N is its number.
type attack func(ctx context.Context, v webtest.Visitor, n int) error

// onSocket opens a socket and has it carry out commands, over and over.
func onSocket(commands ...webtest.Object) attack {
	return func(ctx context.Context, v webtest.Visitor, _ int) error {
		conn, err := v.Socket(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		for _, c := range commands {
			if err := webtest.Command(conn, c); err != nil && !errors.Is(err, webtest.ErrRefused) {
				return err
			}
		}
		return nil
	}
}

// searching opens a socket and has a search go on for a while: longer than a hundred
// boxes take to open.
func searching(scenario string) attack {
	return func(ctx context.Context, v webtest.Visitor, _ int) error {
		ctx, end := context.WithTimeout(ctx, 6*time.Second)
		defer end()
		conn, err := v.Socket(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if err := webtest.Command(conn, webtest.Object{"do": "open", "scenario": scenario}); err != nil {
			return err
		}
		if err := webtest.Command(conn, webtest.Object{"do": "explore", "branch": 0, "from": "start", "delays": 4, "faults": 2, "kinds": []string{"crash", "pause"}}); err != nil {
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

func judgement(ctx context.Context, v webtest.Visitor, _ int) error {
	conn, err := v.Socket(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := webtest.Command(conn, webtest.Object{"do": "open", "scenario": webtest.OwnText}); err != nil {
		return err
	}
	if err := conn.WriteJSON(webtest.Object{"do": "explore", "judge": true, "branch": 0, "from": "start", "delays": 2}); err != nil {
		return err
	}
	for {
		_, frame, err := conn.ReadMessage()
		switch {
		case err != nil:
			return err
		case bytes.Contains(frame, []byte(`"refused":`)):
			return webtest.ErrRefused
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
func upload(ctx context.Context, v webtest.Visitor, text []byte) (string, error) {
	_, to, err := v.Send(ctx, http.MethodPost, "/traces", "text/plain", text)
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
	redlock, steps := webtest.Crowd(webtest.DearestRedlock), webtest.Crowd(webtest.DearestSteps)
	lock := wholeLink(b, redlock)
	forms := []string{
		"faults: [" + strings.Repeat("{},", 16_000) + "]", "threads: [" + strings.Repeat("1,", 30_000) + "]", redlock + keys(7_000),
	}
	exports := func(formats ...string) attack {
		return func(ctx context.Context, v webtest.Visitor, n int) error {
			_, _, err := v.Send(ctx, http.MethodPost, "/export?format="+formats[n%len(formats)], "text/plain", lock)
			return err
		}
	}
	flood := func(store, text string) attack {
		return func(ctx context.Context, v webtest.Visitor, _ int) error {
			_, err := v.Post(ctx, "/runs", url.Values{"yaml": {text}, "store": {store}, "action": {"run"}})
			return err
		}
	}
	list := map[string]attack{
		"exports": exports("svg", "csv", "md", "mermaid", "redis-cli", "redis-commands", "jsonl"),
		"forms": func(ctx context.Context, v webtest.Visitor, n int) error {
			text := forms[n%len(forms)]
			_, err := v.Post(ctx, "/edit/scenario", url.Values{"yaml": {text}, "base": {text}, "action": {"show"}})
			return err
		},
		"steppers": onSocket(webtest.Object{"do": "open", "scenario": steps}, webtest.Object{"do": "run", "to": "end"}, webtest.Object{"do": "lanes"}, webtest.Object{"do": "trace"}),
		"locks": onSocket(webtest.Object{"do": "open", "scenario": steps},
			webtest.Object{"do": "locks", "protocols": []string{"reentrant", "reentrant-notify", "reentrant-fair", "redlock"}}),
		"replays": func(ctx context.Context, v webtest.Visitor, _ int) error {
			_, _, err := v.Send(ctx, http.MethodPost, "/replay", "text/plain", lock)
			return err
		},
		"searches":  searching(webtest.TwoThreads().Get("yaml")),
		"own locks": searching(webtest.OwnText),
		judgements:  judgement,
		"cards": func(ctx context.Context, v webtest.Visitor, _ int) error {
			_, err := v.Post(ctx, "/edit/card", url.Values{"yaml": {webtest.OwnText}})
			return err
		},
		patterns: onSocket(webtest.Object{"do": "open", "scenario": patternText}, webtest.Object{"do": "step", "branch": 0, "thread": "A"}),
		endlessScripts: func(ctx context.Context, v webtest.Visitor, _ int) error {
			_, err := v.Post(ctx, webtest.JudgedItem, url.Values{"script": {endlessPattern}})
			return err
		},
		logs: func(ctx context.Context, v webtest.Visitor, n int) error {
			_, err := upload(ctx, v, logTexts()[n%len(logTexts())])
			return err
		},
		logExports: func(ctx context.Context, v webtest.Visitor, n int) error {
			text := logTexts()[3]
			if n%2 == 0 {
				text = largest(b)
			}
			to, err := upload(ctx, v, text)
			if err != nil || to == "" {
				return err
			}
			for _, format := range exportFormats {
				if _, _, err := v.Send(ctx, http.MethodGet, to+"/export?format="+format, "", nil); err != nil {
					return err
				}
			}
			return nil
		},
		"runs":      flood("virtual", redlock),
		"wall runs": flood("wall", webtest.Crowd(webtest.DearestWall)),
		"pages": func(ctx context.Context, v webtest.Visitor, n int) error {
			_, _, err := v.Send(ctx, http.MethodGet, []string{"/", "/play", "/scenarios", "/locks", recorded + "?rows=all"}[n%5], "", nil)
			return err
		},
		"traces": func(ctx context.Context, v webtest.Visitor, _ int) error {
			_, to, err := v.Send(ctx, http.MethodPost, "/traces", "application/jsonl", largest(b))
			if err == nil && to != "" {
				_, _, err = v.Send(ctx, http.MethodGet, to, "", nil)
			}
			return err
		},
		"slow": func(ctx context.Context, v webtest.Visitor, n int) error {
			if n%2 == 0 {
				return slowBody(ctx, v)
			}
			return slowReader(ctx, v, lock)
		},
	}
	list[endlessAddresses] = list[endlessScripts]
	singly := []attack{list["exports"], list["forms"], list["steppers"], list["locks"], list["replays"], list["runs"], list["wall runs"], list["pages"], list["traces"], list["slow"]}
	list["mixed"] = func(ctx context.Context, v webtest.Visitor, n int) error { return singly[n%len(singly)](ctx, v, n) }
	return list
}

// slowBody sends a form a byte at a time.
func slowBody(ctx context.Context, v webtest.Visitor) error {
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.Base+"/edit", r)
	if err != nil {
		return err
	}
	req.ContentLength = 1000
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := v.Http.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	_ = r.Close()
	return err
}

// slowReader asks for what is large, and reads nothing.
func slowReader(ctx context.Context, v webtest.Visitor, lock []byte) error {
	conn, err := v.Http.Transport.(*http.Transport).DialContext(ctx, "tcp", strings.TrimPrefix(v.Base, "http://"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST /export?format=csv HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", strings.TrimPrefix(v.Base, "http://"), len(lock), lock); err != nil {
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

// An address does the worst that is legal with a hundred clients at once; somebody
// at another one looks at pages and opens scenarios. The measure is the ratio to the same
// server without them: at most 10 (the clients and the visitor are on the same cores),
// and 3 for users' own scripts.
func BenchmarkUnderAttack(b *testing.B) {
	const quietFor, attackFor = 4 * time.Second, 8 * time.Second
	names := []string{"exports", "forms", "steppers", "locks", "searches", "own locks", judgements, patterns, endlessScripts, endlessAddresses, logs, logExports, "cards", "replays", "runs", "wall runs", "pages", "traces", "slow", "mixed"}
	binary := webtest.Built(b)
	for _, name := range names {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for range b.N {
				server := webtest.ServeApart(b, binary)
				other := server.From("127.0.0.3")
				run, err := other.Post(b.Context(), "/runs", webtest.TwoThreads())
				if err != nil || run == "" {
					b.Fatal(run, err)
				}
				recorded, err := server.From("127.0.0.2").Post(b.Context(), "/runs", url.Values{"yaml": {webtest.Crowd(webtest.DearestSteps)}, "store": {"virtual"}, "action": {"run"}})
				if err != nil || recorded == "" {
					b.Fatal(recorded, err)
				}
				server.Ended(b, recorded)
				work := attacks(b, recorded)[name]
				for range 3 { // warm up
					_, _, _ = other.Send(b.Context(), http.MethodGet, "/", "", nil)
					_, _ = other.Post(b.Context(), webtest.JudgedItem, url.Values{"script": {webtest.Mended}})
				}
				ctx, end := context.WithTimeout(b.Context(), quietFor)
				quiet := other.Visit(b, ctx, run)
				end()
				ctx, end = context.WithTimeout(b.Context(), attackFor)
				var hostile sync.WaitGroup
				var mu sync.Mutex
				done := 0
				for n := range cmp.Or(clientsOf[name], 100) {
					bad := server.From("127.0.0.2")
					if name == judgements || name == endlessAddresses { // each has its own turns
						bad = server.From(fmt.Sprintf("127.0.1.%d", n+1))
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
				worse := other.Visit(b, ctx, run)
				webtest.Report(b, "page", quiet.Pages, worse.Pages)
				webtest.Report(b, "open", quiet.Opens, worse.Opens)
				webtest.Report(b, "own", quiet.Owns, worse.Owns)
				webtest.Report(b, "judgement", quiet.Judged, worse.Judged)
				b.ReportMetric(float64(done), "attacks")
				b.ReportMetric(server.Memory(), "MB-after")
				end()
				hostile.Wait()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
