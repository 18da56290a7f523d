package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
)

func TestCodesCannotBeGuessed(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	code, _ := s.MakeRoom(t, url.Values{"example": {"two-threads"}})
	status := 0
	for range 1000 { // a busy machine gives back almost as many as it takes
		res, _ := s.Do(t, "GET", "/room/222222/branches", nil)
		if status = res.StatusCode; status != http.StatusNotFound {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("after a thousand guesses: %d", status)
	}
	for range 60 {
		_, _ = s.Do(t, "GET", "/room/222222/branches", nil) // each costs a second
	}
	elsewhere, err := web.NewRoom(t.Context(), s.Web)
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := s.Do(t, "GET", "/room/"+elsewhere+"/branches", nil); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a right guess is told from a wrong one: %d", res.StatusCode)
	}
	if res, _ := s.Do(t, "GET", "/room/"+code+"/branches", nil); res.StatusCode != http.StatusOK {
		t.Errorf("one who guesses shuts the others out of a room that was made here: %d", res.StatusCode)
	}
}
