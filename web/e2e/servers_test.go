package e2e_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"

	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/lessons"
	"relock/web"
	"relock/web/runs"
)

// A page that follows a run through another server steers it, and says so when
// the server that has the run ends.
func TestALiveRunFollowedThroughAnotherServer(t *testing.T) {
	t.Parallel()
	redis := storetest.URL(t)
	var servers []*web.Server
	var now atomic.Int32 // the balancer's choice
	for range 2 {
		external, err := store.Connect(t.Context(), redis)
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewUnstartedServer(nil)
		s, err := web.New(web.Config{
			Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(),
			External: external, Listening: h.Listener.Addr(),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Config.Handler = s
		h.Start()
		t.Cleanup(func() {
			s.Close()
			h.Close()
			_ = external.Close()
		})
		servers = append(servers, s)
	}
	sockets := make(chan struct{}) // they open once it is closed
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if now.Load() == 1 && websocket.IsWebSocketUpgrade(r) {
			select {
			case <-sockets:
			case <-r.Context().Done():
				return
			}
		}
		servers[now.Load()].ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)

	ctx := tab(t)
	do(
		ctx, t,
		chromedp.Navigate(balancer.URL+"/edit?example=heartbeat&store=wall"),
		click(`#scenario button[value="run"]`),
		chromedp.WaitVisible(chromedp.CSS(`#controls [data-steer="pause"]`)),
	)
	now.Store(1)
	do(
		ctx, t,
		chromedp.Reload(),
		chromedp.WaitVisible(chromedp.CSS(`#controls [data-steer="pause"]:disabled`)),
	)
	close(sockets)
	do(
		ctx, t,
		click(`#controls [data-steer="pause"]`),
		chromedp.WaitVisible(chromedp.CSS(`#controls [data-steer="resume"]`)),
	)
	if rows := get[int](ctx, t, `document.querySelectorAll("#rows tr").length`); rows == 0 {
		t.Error("no row came through the other server")
	}
	servers[0].Close()
	do(ctx, t, chromedp.Poll[chromedp.Void](`document.getElementById("refused").innerText !== ""`))
	if said := get[string](ctx, t, `document.getElementById("refused").innerText`); !strings.Contains(said, "That server has ended, and so has the run") {
		t.Errorf("it says %q", said)
	}
	if get[bool](ctx, t, `!!document.getElementById("controls")`) || get[bool](ctx, t, `!document.getElementById("link").hidden`) {
		t.Error("it can still be steered, or the connection is said to be lost")
	}
}
