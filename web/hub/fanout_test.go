package hub_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"relock/web/hub"
)

// watch serves one viewer over a real websocket, because a prepared frame
// does not show its text, and returns the frames' texts and the close code.
func watch(t *testing.T, s *hub.Subscriber) (texts []string, code int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var up websocket.Upgrader
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for frame := range s.Frames() {
			if err := conn.WritePreparedMessage(frame); err != nil {
				t.Error(err)
				return
			}
		}
		if err := conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(s.Code(), "")); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for {
		kind, text, err := conn.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return texts, closed.Code
		}
		if err != nil || kind != websocket.TextMessage {
			t.Fatalf("a frame of kind %d: %v", kind, err)
		}
		texts = append(texts, string(text))
	}
}

func TestEveryViewerGetsEveryFrameInOrder(t *testing.T) {
	h := hub.New()
	early := []*hub.Subscriber{h.Subscribe(), h.Subscribe(), h.Subscribe()}
	var want []string
	var late *hub.Subscriber
	frame := make([]byte, 0, 16)
	for i := range 20 {
		if i == 12 {
			late = h.Subscribe()
		}
		// One buffer for all: what is queued must not change with it.
		frame = fmt.Appendf(frame[:0], "frame %02d", i)
		want = append(want, string(frame))
		if err := h.Publish(frame); err != nil {
			t.Fatal(err)
		}
	}
	h.Close(hub.CloseOver) // after what is queued, not instead of it
	check := func(name string, s *hub.Subscriber, want []string) {
		got, code := watch(t, s)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s got %q, want %q", name, got, want)
		}
		if code != hub.CloseOver {
			t.Errorf("%s was closed with %d, want %d", name, code, hub.CloseOver)
		}
	}
	for i, s := range early {
		check(fmt.Sprintf("viewer %d", i), s, want)
	}
	check("the late viewer", late, want[12:])
}

func TestASlowViewerIsToldSoAfterWhatItStillHas(t *testing.T) {
	h := hub.New()
	slow := h.Subscribe()
	for i := range 1000 {
		if err := h.Publish(fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatalf("a slow viewer fails the publisher: %v", err)
		}
	}
	if h.Viewers() != 0 {
		t.Errorf("%d viewers, want none", h.Viewers())
	}
	slow.Leave()  // as its connection ends
	h.Close(4321) // and as the run does: neither may change the reason
	got, code := watch(t, slow)
	if code != hub.CloseSlow {
		t.Errorf("closed with %d, want %d", code, hub.CloseSlow)
	}
	if len(got) == 0 || len(got) == 1000 {
		t.Fatalf("%d frames of 1000", len(got))
	}
	for i, text := range got { // without a gap, so that it can come back with the last
		if text != fmt.Sprint(i) {
			t.Fatalf("frame %d is %q", i, text)
		}
	}
}

func TestAViewerWhoLeavesGetsNoMore(t *testing.T) {
	h := hub.New()
	leaves, stays := h.Subscribe(), h.Subscribe()
	if err := h.Publish([]byte("first")); err != nil {
		t.Fatal(err)
	}
	leaves.Leave()
	if err := h.Publish([]byte("second")); err != nil {
		t.Fatal(err)
	}
	if h.Viewers() != 1 {
		t.Errorf("%d viewers, want 1", h.Viewers())
	}
	h.Close(hub.CloseOver)
	if got, code := watch(t, leaves); strings.Join(got, ",") != "first" || code != websocket.CloseNormalClosure {
		t.Errorf("who left got %q and %d", got, code)
	}
	if got, code := watch(t, stays); strings.Join(got, ",") != "first,second" || code != hub.CloseOver {
		t.Errorf("who stayed got %q and %d", got, code)
	}
}

func TestAClosedHubHasNoViewersAndTakesNoFrames(t *testing.T) {
	h := hub.New()
	h.Subscribe()
	h.Close(hub.CloseOver)
	after := h.Subscribe()
	if h.Viewers() != 0 {
		t.Errorf("%d viewers, want none", h.Viewers())
	}
	if err := h.Publish([]byte("x")); !errors.Is(err, hub.ErrClosed) {
		t.Errorf("publish: %v, want ErrClosed", err)
	}
	if got, code := watch(t, after); len(got) != 0 || code != hub.CloseOver {
		t.Errorf("who came after got %q and %d", got, code)
	}
	after.Leave()
	if after.Code() != hub.CloseOver {
		t.Errorf("leaving made the code %d", after.Code())
	}
}

// For the race detector, and for a send on a closed queue.
func TestViewersComeAndGoWhileFramesArePublished(t *testing.T) {
	h := hub.New()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				if err := h.Publish([]byte("x")); err != nil {
					if !errors.Is(err, hub.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	var viewers sync.WaitGroup
	for range 8 {
		viewers.Go(func() {
			for i := range 50 {
				s := h.Subscribe()
				_ = h.Viewers()
				if i%2 == 0 {
					<-s.Frames()
				}
				s.Leave()
				for range s.Frames() { // ends: the queue is closed
				}
				if code := s.Code(); code != websocket.CloseNormalClosure && code != hub.CloseSlow {
					t.Errorf("code %d", code)
				}
			}
		})
	}
	viewers.Wait()
	for range 2 {
		all.Go(func() { h.Close(hub.CloseOver) })
	}
	all.Wait()
	if h.Viewers() != 0 {
		t.Errorf("%d viewers, want none", h.Viewers())
	}
}
