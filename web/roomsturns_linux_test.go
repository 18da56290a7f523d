package web_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/web"
)

// visitFrom is visit from an address of its own.
func (s site) visitFrom(tb testing.TB, ip, code string) *attendee {
	tb.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	dialer := &websocket.Dialer{NetDialContext: d.DialContext}
	conn, res, err := dialer.DialContext(tb.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/room/"+code+"/socket?lang=en", http.Header{"Origin": {s.URL}})
	if err != nil {
		tb.Fatal(err, res)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &attendee{t: tb, conn: conn, film: playPage{t: tb, branches: map[int]*pageBranch{}}}
}

// takeTurns takes all turns that an address can have, until done is called.
func takeTurns(ctx context.Context, s *web.Server, address string) (done func()) {
	n := 0
	for range max(runtime.GOMAXPROCS(0), 2) - 1 {
		if s.Turns.Take(ctx, address) == nil {
			n++
		}
	}
	return func() {
		for range n {
			s.Turns.Done(address)
		}
	}
}

// Every command on a room's socket waits for its address' turn, and others'
// do not.
func TestCommandsInRoomsTakeTurns(t *testing.T) {
	s := open(t, nil)
	code, _ := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	for _, command := range []object{{"do": "lanes", "branch": 0, "row": 1}, {"do": "ping"}, {"do": "rename"}} {
		mine, other := s.visitFrom(t, "127.0.0.2", code).join("audience", nil), s.visitFrom(t, "127.0.0.3", code).join("audience", nil)
		done := takeTurns(t.Context(), s.web, "127.0.0.2")
		answered := make(chan roomFrame, 1)
		asked := object{"do": command["do"], "branch": 0, "row": 1}
		go func() { answered <- mine.ask(asked) }()
		for range 3 {
			other.must(command)
		}
		select {
		case <-answered:
			t.Errorf("%v is answered though its address has no turn", command)
		default:
		}
		done()
		if f := <-answered; !f.Done {
			t.Errorf("%v: %+v", command, f)
		}
	}
}

// Lanes are drawn once in a state, for all who ask in a language; and few of
// them are kept.
func TestLanesAreDrawnOnceAState(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	host.must(object{"do": "step"})
	lanes := func(v *attendee, row int) string { return v.must(object{"do": "lanes", "branch": 0, "row": row}).Lanes }
	first := lanes(host, 1)
	drawn := web.Drawings(t.Context(), s.web, code)
	again := lanes(host, 1)
	if now := web.Drawings(t.Context(), s.web, code); first == "" || again != first || len(drawn) != 1 || len(now) != 1 || now[0] != drawn[0] {
		t.Errorf("drawn once: %v, and again: %v", drawn, now)
	}
	for row := range 200 {
		lanes(host, row)
	}
	if n := len(web.Drawings(t.Context(), s.web, code)); n < 2 || n > 64 {
		t.Errorf("%d drawings are kept", n)
	}
	host.must(object{"do": "step"})
	if other := lanes(host, 1); other == first {
		t.Error("lanes of before the step")
	}
}

// Ten members of one address ask for lanes as fast as they are answered; somebody
// at another one looks at pages. The measure is the ratio to the same server without
// them: at most 3.
func BenchmarkLanesFlood(b *testing.B) {
	const members, quietFor, floodFor = 10, 4 * time.Second, 8 * time.Second
	binary := built(b)
	for range b.N {
		server := serveApart(b, binary)
		bad, other := server.from("127.0.0.2"), server.from("127.0.0.3")
		run, err := other.post(b.Context(), "/runs", twoThreads())
		if err != nil || run == "" {
			b.Fatal(run, err)
		}
		to, err := bad.post(b.Context(), "/rooms", url.Values{"link": {manyMoves(b, 300)}})
		if err != nil || to == "" {
			b.Fatal(to, err)
		}
		ctx, end := context.WithTimeout(b.Context(), quietFor)
		quiet := other.visit(b, ctx, run)
		end()
		ctx, end = context.WithTimeout(b.Context(), floodFor)
		var flood sync.WaitGroup
		var drawn atomic.Int64
		for range members {
			conn, res, err := bad.dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server.base, "http")+strings.TrimSuffix(to, "/host")+"/socket?lang=en", nil)
			if err != nil {
				b.Fatal(err)
			}
			_ = res.Body.Close()
			flood.Go(func() {
				defer func() { _ = conn.Close() }()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				_ = conn.WriteJSON(object{"id": 1, "do": "join", "part": "audience"})
				for id := 2; ; {
					_, text, err := conn.ReadMessage()
					if err != nil {
						return // its time is over
					}
					var f roomFrame
					if json.Unmarshal(text, &f) != nil || f.Re == 0 {
						continue
					}
					_ = conn.WriteJSON(object{"id": id, "do": "lanes", "branch": 0, "row": id % 300})
					id++
					if f.Lanes != "" {
						drawn.Add(1)
					}
				}
			})
		}
		worse := other.visit(b, ctx, run)
		end()
		flood.Wait()
		report(b, "page", quiet.pages, worse.pages)
		report(b, "open", quiet.opens, worse.opens)
		b.ReportMetric(float64(drawn.Load()), "lanes")
	}
	b.ReportMetric(0, "ns/op")
}
