package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// All tests have one browser. A page that has said more than was heard when its test ends
// takes no other test down.
func TestAPageThatTalksIsClosed(t *testing.T) {
	said := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/said" {
			close(said)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<script>function talk() { for (let i = 0; i < 20000; i++) console.log(i); fetch("/said"); }</script>`))
	}))
	t.Cleanup(site.Close)
	t.Run("talks", func(t *testing.T) {
		ctx := tab(t)
		do(ctx, t, chromedp.Navigate(site.URL))
		get[bool](ctx, t, `(setTimeout(talk, 500), true)`)
		heard := make(chan struct{})
		t.Cleanup(sync.OnceFunc(func() { close(heard) }))
		if err := chromedp.Listen(ctx, func(any) { <-heard }); err != nil {
			t.Fatal(err)
		}
		<-said
	})
	if got := get[int](tab(t), t, "6 * 7"); got != 42 {
		t.Error(got)
	}
}
