package web_test

import (
	"net/url"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// Lanes are drawn once in a state, for all who ask in a language; and few of
// them are kept.
func TestLanesAreDrawnOnceAState(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	host.Must(webtest.Object{"do": "step"})
	lanes := func(v *webtest.Attendee, row int) string {
		return v.Must(webtest.Object{"do": "lanes", "branch": 0, "row": row}).Lanes
	}
	first := lanes(host, 1)
	drawn := web.Drawings(t.Context(), s.Web, code)
	again := lanes(host, 1)
	if now := web.Drawings(t.Context(), s.Web, code); first == "" || again != first || len(drawn) != 1 || len(now) != 1 || now[0] != drawn[0] {
		t.Errorf("drawn once: %v, and again: %v", drawn, now)
	}
	for row := range 200 {
		lanes(host, row)
	}
	if n := len(web.Drawings(t.Context(), s.Web, code)); n < 2 || n > 64 {
		t.Errorf("%d drawings are kept", n)
	}
	host.Must(webtest.Object{"do": "step"})
	if other := lanes(host, 1); other == first {
		t.Error("lanes of before the step")
	}
}
