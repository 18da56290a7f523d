package wire_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/web/site/wire"
)

// between is a connection: serve has the server's end, the client's is returned.
func between(t *testing.T, frames *atomic.Int64, serve func(*wire.Conn, *http.Request)) *websocket.Conn {
	t.Helper()
	up := wire.NewUpgrader(func(*http.Request) bool { return true }, nil, func(n int, err error) {
		if err == nil {
			frames.Add(int64(n))
		}
	})
	served := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r)
		if err != nil {
			t.Error(err)
			return
		}
		defer close(served)
		defer conn.Close()
		serve(conn, r)
	}))
	dialer := websocket.Dialer{EnableCompression: true}
	client, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		<-served
		h.Close()
	})
	return client
}

// all reads frames until the other end closes, and returns them and its code.
func all(t *testing.T, client *websocket.Conn) (frames []string, code int) {
	t.Helper()
	for {
		_, text, err := client.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return frames, closed.Code
		case err != nil:
			t.Fatal(err)
		}
		frames = append(frames, string(text))
	}
}

func TestAMessageIsOnlySoLong(t *testing.T) {
	t.Parallel()
	var frames atomic.Int64
	heard := make(chan string, 2)
	client := between(t, &frames, func(conn *wire.Conn, r *http.Request) {
		_ = conn.Read(r.Context(), 1000, func(text []byte) { heard <- string(text) })
		close(heard)
	})
	long := strings.Repeat("a", 1000)
	for _, text := range []string{long, long + "a"} { // some twenty bytes on the line
		if err := client.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, code := all(t, client); code != websocket.CloseMessageTooBig {
		t.Errorf("closed with %d", code)
	}
	var got []string
	for text := range heard {
		got = append(got, text)
	}
	if !slices.Equal(got, []string{long}) {
		t.Errorf("heard %d messages", len(got))
	}
}

func TestABatchIsAllThatWaits(t *testing.T) {
	t.Parallel()
	var frames atomic.Int64
	client := between(t, &frames, func(conn *wire.Conn, _ *http.Request) {
		queue := make(chan *websocket.PreparedMessage, 3)
		for _, text := range []string{"b", "c"} {
			m, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(text))
			if err != nil {
				t.Error(err)
			}
			queue <- m
		}
		close(queue)
		first, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte("a"))
		if err != nil {
			t.Error(err)
		}
		if err := conn.Batch(first, queue); err != nil {
			t.Error(err)
		}
		if n := frames.Load(); n != 3 {
			t.Errorf("%d frames were counted", n)
		}
		if conn.End(4010) {
			conn.Part(nil)
		}
	})
	if got, code := all(t, client); !slices.Equal(got, []string{"a", "b", "c"}) || code != 4010 {
		t.Errorf("got %q, closed with %d", got, code)
	}
}

// Bytes sent before a goodbye may still be unread, and closing over them would reset the
// connection: the other end closes first.
func TestTheOtherEndClosesFirst(t *testing.T) {
	t.Parallel()
	var frames atomic.Int64
	var answered atomic.Bool
	sent := make(chan struct{})
	client := between(t, &frames, func(conn *wire.Conn, _ *http.Request) {
		<-sent
		if !conn.Goodbye(4029, wire.Notice{V: 1, Full: true, Refused: "no"}) {
			t.Error("it was not told")
		}
		if conn.Part(nil); !answered.Load() {
			t.Error("nobody waited for the other end")
		}
	})
	client.SetCloseHandler(func(code int, _ string) error {
		answered.Store(true)
		return client.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Time{})
	})
	for range 50 {
		if err := client.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	close(sent)
	if got, code := all(t, client); len(got) != 1 || strings.TrimSpace(got[0]) != `{"v":1,"full":true,"refused":"no"}` || code != 4029 {
		t.Errorf("got %q, closed with %d", got, code)
	}
}

func TestWhoNeverClosesHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	var frames atomic.Int64
	parted := make(chan struct{})
	between(t, &frames, func(conn *wire.Conn, _ *http.Request) {
		conn.End(1001)
		conn.Part(nil)
		close(parted)
	})
	<-parted
}
