package web_test

import (
	"net/url"
	"testing"
)

// Somebody joins while all are asked, and asks for the film: what comes after the
// question's place may be what is asked, so it comes when that is told. Who leads, and the
// projector, have all of it.
func TestWhoIsAskedHasNoFilmOfWhatComes(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	const moves, place = 6, 2
	for range moves {
		host.must(object{"do": "step"})
	}
	host.must(object{"do": "go", "branch": 0, "at": place})
	host.must(object{"do": "ask", "kind": "predict"})
	for _, c := range []struct {
		part string
		want int
	}{{"stage", moves + 1}, {"player", place + 1}, {"audience", place + 1}} {
		v := s.visit(t, code, "en", nil).join(c.part, object{"rows": true})
		v.until("it is asked", func() bool { return v.room.Question != nil })
		if n := len(v.film.branches[0].positions); n != c.want {
			t.Errorf("%s: %d positions, want %d", c.part, n, c.want)
		}
		defer v.until("it has the rest", func() bool { return len(v.film.branches[0].positions) == moves+1 })
	}
	host.must(object{"do": "reveal"})
}
