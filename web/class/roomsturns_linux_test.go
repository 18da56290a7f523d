package class_test

import (
	"context"
	"encoding/json"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"relock/web"
	"relock/web/webtest"
)

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
	s := webtest.Open(t, nil)
	code, _ := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	for _, command := range []webtest.Object{{"do": "lanes", "branch": 0, "row": 1}, {"do": "ping"}, {"do": "rename"}} {
		mine, other := s.VisitFrom(t, "127.0.0.2", code).Join("audience", nil), s.VisitFrom(t, "127.0.0.3", code).Join("audience", nil)
		done := takeTurns(t.Context(), s.Web, "127.0.0.2")
		answered := make(chan webtest.RoomFrame, 1)
		asked := webtest.Object{"do": command["do"], "branch": 0, "row": 1}
		go func() { answered <- mine.Ask(asked) }()
		for range 3 {
			other.Must(command)
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

// Ten members of one address ask for lanes as fast as they are answered; somebody
// at another one looks at pages. The measure is the ratio to the same server without
// them: at most 3.
func BenchmarkLanesFlood(b *testing.B) {
	const members, quietFor, floodFor = 10, 4 * time.Second, 8 * time.Second
	binary := webtest.Built(b)
	for range b.N {
		server := webtest.ServeApart(b, binary)
		bad, other := server.From("127.0.0.2"), server.From("127.0.0.3")
		run, err := other.Post(b.Context(), "/runs", webtest.TwoThreads())
		if err != nil || run == "" {
			b.Fatal(run, err)
		}
		to, err := bad.Post(b.Context(), "/rooms", url.Values{"link": {webtest.ManyMoves(b, 300)}})
		if err != nil || to == "" {
			b.Fatal(to, err)
		}
		ctx, end := context.WithTimeout(b.Context(), quietFor)
		quiet := other.Visit(b, ctx, run)
		end()
		ctx, end = context.WithTimeout(b.Context(), floodFor)
		var flood sync.WaitGroup
		var drawn atomic.Int64
		for range members {
			conn, res, err := bad.Dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server.Base, "http")+strings.TrimSuffix(to, "/host")+"/socket?lang=en", nil)
			if err != nil {
				b.Fatal(err)
			}
			_ = res.Body.Close()
			flood.Go(func() {
				defer func() { _ = conn.Close() }()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				_ = conn.WriteJSON(webtest.Object{"id": 1, "do": "join", "part": "audience"})
				for id := 2; ; {
					_, text, err := conn.ReadMessage()
					if err != nil {
						return // its time is over
					}
					var f webtest.RoomFrame
					if json.Unmarshal(text, &f) != nil || f.Re == 0 {
						continue
					}
					_ = conn.WriteJSON(webtest.Object{"id": id, "do": "lanes", "branch": 0, "row": id % 300})
					id++
					if f.Lanes != "" {
						drawn.Add(1)
					}
				}
			})
		}
		worse := other.Visit(b, ctx, run)
		end()
		flood.Wait()
		webtest.Report(b, "page", quiet.Pages, worse.Pages)
		webtest.Report(b, "open", quiet.Opens, worse.Opens)
		b.ReportMetric(float64(drawn.Load()), "lanes")
	}
	b.ReportMetric(0, "ns/op")
}
