package class_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
)

// Nine addresses that make as many rooms as they can do not keep a teacher out:
// neither with rooms in which nobody is, nor with a host in each.
func TestNineAddressesLeaveRoomForATeacher(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, func(c *web.Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	ask := func(from string) (code, secret string, status int) {
		res, body := s.Do(t, "POST", "/rooms", url.Values{"example": {"two-threads"}}, "Accept", "application/json", "X-Forwarded-For", from)
		var made struct{ Code, Secret string }
		_ = json.Unmarshal([]byte(body), &made)
		return made.Code, made.Secret, res.StatusCode
	}
	all := 0
	for n := range 9 {
		from := fmt.Sprintf("10.0.0.%d", n)
		own := 0
		for ; own < 62; own++ {
			code, secret, status := ask(from)
			if status != http.StatusCreated {
				break
			}
			s.Visit(t, code, "en", http.Header{"X-Forwarded-For": {from}}).Join("host", webtest.Object{"secret": secret})
		}
		if all += own; own > 60 {
			t.Fatalf("an address made %d rooms", own)
		}
	}
	if _, _, status := ask("192.0.2.1"); status != http.StatusCreated || all < 200 {
		t.Errorf("the teacher is answered %d beside %d rooms", status, all)
	}
	var first string
	for n := range 70 { // nobody enters them
		code, _, status := ask("192.0.2.1")
		if n == 0 {
			first = code
		}
		if status != http.StatusCreated {
			t.Fatalf("room %d: %d, though others are deserted", n, status)
		}
	}
	webtest.WaitFor(t, "the oldest to go", func() bool {
		res, _ := s.Do(t, "GET", "/room/"+first, nil)
		return res.StatusCode == http.StatusNotFound
	})
}
