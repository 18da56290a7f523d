package hub_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gorilla/websocket"

	"relock/web/runs/hub"
	"relock/web/site/wire"
)

func TestASlowViewerIsClosedAndNobodyElse(t *testing.T) {
	h := hub.New()
	slow, quick := h.Subscribe(), h.Subscribe()
	frames := 0
	for i := range 200 {
		if err := h.Publish(fmt.Appendf(nil, "frame %d", i)); err != nil {
			t.Fatal(err)
		}
		if _, ok := <-quick.Frames(); ok {
			frames++
		}
	}
	if frames != 200 {
		t.Errorf("the quick viewer got %d frames, want 200", frames)
	}
	queued := 0
	for range slow.Frames() { // ends: the queue was closed
		queued++
	}
	if slow.Code() != wire.CloseSlow || queued == 0 || queued == 200 {
		t.Errorf("the slow viewer was closed with %d after %d frames", slow.Code(), queued)
	}
	if h.Viewers() != 1 {
		t.Errorf("%d viewers, want 1", h.Viewers())
	}
}

func TestCloseTellsWhy(t *testing.T) {
	h := hub.New()
	before := h.Subscribe()
	h.Close(websocket.CloseGoingAway)
	h.Close(wire.CloseOver) // only the first counts
	after := h.Subscribe()
	for name, s := range map[string]*hub.Subscriber{"before": before, "after": after} {
		if _, ok := <-s.Frames(); ok || s.Code() != websocket.CloseGoingAway {
			t.Errorf("subscribed %s: open %v, code %d", name, ok, s.Code())
		}
		s.Leave()
	}
	if err := h.Publish(nil); !errors.Is(err, hub.ErrClosed) {
		t.Errorf("publish: %v", err)
	}
}

func TestLeaveTwice(t *testing.T) {
	h := hub.New()
	s := h.Subscribe()
	s.Leave()
	s.Leave()
	if h.Viewers() != 0 {
		t.Errorf("%d viewers", h.Viewers())
	}
}
