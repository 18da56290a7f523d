package class

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/site/wire"
)

// newGuest returns a guest of a room, and the other end of the connection.
func newGuest(t *testing.T) (*guest, *websocket.Conn) {
	t.Helper()
	journal, err := board.NewSolo("")
	if err != nil {
		t.Fatal(err)
	}
	house := board.NewHouse(board.Config{Journal: journal, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(house.Close)
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex, lease: 1s, watchdog: off}\nthreads: [{name: A, work: 1s}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	code, _, err := house.Open(t.Context(), board.Plan{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	room, err := house.Room(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	up := wire.NewUpgrader(func(*http.Request) bool { return true }, nil, func(int, error) {})
	upgraded := make(chan struct{})
	g := &guest{room: room}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := up.Upgrade(&g.conn, w, r); err != nil {
			t.Error(err)
		}
		close(upgraded)
	}))
	t.Cleanup(s.Close)
	other, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-upgraded
	room.Enter(&g.client, "en", "", g)
	t.Cleanup(func() {
		g.client.Leave()
		g.conn.Close()
		_ = other.Close()
	})
	return g, other
}

// A frame that goes in part is sent to its end though nothing follows it, and it
// is not told again.
func TestWhatACastHasLeftIsSent(t *testing.T) {
	t.Parallel()
	g, other := newGuest(t)
	large := bytes.Repeat([]byte("a"), 16<<20) // more than the kernel keeps
	if !g.Cast(&board.News{Changed: true, Frame: nowFrame{Frame: wire.NewText(large)}}) {
		t.Error("not taken: it would be told again")
	}
	read := make(chan int)
	go func() {
		_, text, _ := other.ReadMessage()
		read <- len(text)
	}()
	<-g.client.Bell()
	if over, why := g.deliver(context.WithoutCancel(t.Context())); over {
		t.Error("it is over", why)
	}
	if n := <-read; n != len(large) {
		t.Errorf("%d bytes of %d", n, len(large))
	}
}

// What a page needs more for than the frame of all, and what would overtake the
// frame that is being made, is no cast.
func TestWhatIsNotCast(t *testing.T) {
	t.Parallel()
	g, _ := newGuest(t)
	news := &board.News{Changed: true, Scene: 1, Frame: nowFrame{Frame: wire.NewText([]byte("now"))}}
	if !g.Cast(news) {
		t.Fatal("not cast to one who has nothing else to be told")
	}
	g.sending.Lock()
	if g.Cast(news) {
		t.Error("cast while frames are sent")
	}
	g.sending.Unlock()
	earlier, now := 0, 1
	for _, one := range []struct {
		to     string
		change func()
	}{
		{"a page of another scene", func() { g.page = &earlier }},
		{"a page without the sheet", func() { news.Frame = nowFrame{wire.NewText(nil), sheetKey{question: 1}} }},
		{"one who wants the film", func() { g.page, g.rows = &now, true }},
		{"one for whom no frame was made", func() { g.rows, news.Frame = false, nil }},
		{"one who was told that it is over", func() { g.conn.End(1001); news.Frame = nowFrame{Frame: wire.NewText(nil)} }},
	} {
		one.change()
		if g.Cast(news) {
			t.Errorf("cast to %s", one.to)
		}
	}
}
