package wire_test

import (
	"context"
	"errors"
	"net"
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
	return dialed(t, websocket.Dialer{EnableCompression: true}, frames, serve)
}

func dialed(t *testing.T, dialer websocket.Dialer, frames *atomic.Int64, serve func(*wire.Conn, *http.Request)) *websocket.Conn {
	t.Helper()
	up := wire.NewUpgrader(func(*http.Request) bool { return true }, nil, func(n int, err error) {
		if err == nil {
			frames.Add(int64(n))
		}
	})
	served := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := &wire.Conn{}
		if err := up.Upgrade(conn, w, r); err != nil {
			t.Error(err)
			return
		}
		defer close(served)
		defer conn.Close()
		serve(conn, r)
	}))
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
		queue := make(chan *wire.Frame, 3)
		for _, text := range []string{"b", "c"} {
			queue <- wire.NewText([]byte(text))
		}
		close(queue)
		if err := conn.Batch(wire.NewText([]byte("a")), queue); err != nil {
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

// counted is how many bytes have come over a connection.
type counted struct {
	net.Conn

	read *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// Frames for many are read by any client: those that have asked for compressed
// ones get them, and no others do.
func TestAFrameForMany(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, n := range []int{0, 1, 125, 126, 1<<16 - 1, 1 << 16, 1 << 20} {
		texts = append(texts, strings.Repeat("so many ", n/8+1)[:n])
	}
	sizes := map[bool]int64{}
	for _, compressed := range []bool{false, true} {
		var frames, read atomic.Int64
		dialer := websocket.Dialer{EnableCompression: compressed, NetDialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, to)
			return counted{c, &read}, err
		}}
		client := dialed(t, dialer, &frames, func(conn *wire.Conn, _ *http.Request) {
			for _, text := range texts {
				for _, f := range []*wire.Frame{wire.NewText([]byte(text)), wire.NewBinary([]byte(text))} {
					taken, left := conn.Try(f)
					if left {
						taken = conn.Flush() == nil
					}
					if !taken || conn.Batch(f, nil) != nil {
						t.Error("not sent")
					}
				}
			}
			if conn.End(4010) {
				if taken, _ := conn.Try(wire.NewText(nil)); taken || conn.Batch(wire.NewText(nil), nil) == nil {
					t.Error("sent after the end")
				}
				conn.Part(nil)
			}
		})
		for _, text := range texts {
			for n, want := range []int{websocket.TextMessage, websocket.TextMessage, websocket.BinaryMessage, websocket.BinaryMessage} {
				kind, got, err := client.ReadMessage()
				if err != nil || kind != want || string(got) != text {
					t.Fatalf("compressed %v, %d bytes, message %d: kind %d, %d bytes, %v", compressed, len(text), n, kind, len(got), err)
				}
			}
		}
		if rest, code := all(t, client); len(rest) > 0 || code != 4010 || frames.Load() != int64(4*len(texts)) {
			t.Errorf("then %q, %d; %d frames were counted", rest, code, frames.Load())
		}
		sizes[compressed] = read.Load()
	}
	if sizes[true]*20 > sizes[false] {
		t.Errorf("%d bytes compressed, %d without", sizes[true], sizes[false])
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
