package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// A visitor who waits for a judgement holds no memory for it yet: however many wait, none
// hears that the memory is full.
func TestWhoWaitsForAJudgementHoldsNothing(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil) // that no script runs here is said at its turn
	var hold []func()
	for _, whose := range []string{"one", "two"} {
		done, err := web.Searching(t.Context(), s.Web, whose)
		if err != nil {
			t.Fatal(err)
		}
		hold = append(hold, done)
	}
	const waiting = 30
	answered := make(chan int, waiting)
	for range waiting {
		go func() {
			res, err := s.Client().PostForm(s.URL+"/learn/lock/mend-the-unlock", url.Values{"script": {"return 1"}})
			if err != nil {
				answered <- 0
				return
			}
			_ = res.Body.Close()
			answered <- res.StatusCode
		}()
	}
	webtest.WaitFor(t, "all wait", func() bool { return web.Searches(s.Web) == waiting+len(hold) || len(answered) > 0 })
	if held := web.HeldBySearches(s.Web); held != 0 {
		t.Errorf("%d who wait hold %d bytes", waiting, held)
	}
	for _, done := range hold {
		done()
	}
	for range waiting {
		if status := <-answered; status != http.StatusUnprocessableEntity {
			t.Errorf("answered %d", status)
		}
	}
	if web.Searches(s.Web) != 0 {
		t.Errorf("%d searches are in line at the end", web.Searches(s.Web))
	}
}
