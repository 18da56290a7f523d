package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
)

// dearestMoves are as many as a room takes of those of manyMoves.
const dearestMoves = 850

// heldByRooms makes rooms of so many moves, has two hosts of different languages
// see all of each, and has them leave. It returns what is on the heap while they
// are there and when they have left, and what is counted then.
func heldByRooms(tb testing.TB, rooms, moves int) (there, left, counted int64) {
	tb.Helper()
	s := webtest.Open(tb, nil)
	path := []string{}
	for range rooms {
		code, secret := s.MakeRoom(tb, url.Values{"link": {webtest.ManyMoves(tb, moves)}})
		path = append(path, code, secret)
	}
	before := webtest.Heap()
	var all []*webtest.Attendee
	for i := 0; i < len(path); i += 2 {
		for _, lang := range []string{"en", "zh-CN"} {
			host := s.Visit(tb, path[i], lang, nil).Join("host", webtest.Object{"secret": path[i+1], "rows": true})
			host.Until("the film is there", func() bool {
				return len(host.Film.Branches) > 0 && len(host.Film.Branches[0].Positions) > moves && host.Room.Length > 0
			})
			host.Film.Branches = nil // the test's own
			all = append(all, host)
		}
	}
	there, counted = webtest.Heap()-before, int64(web.Held(s.Web))
	for _, one := range all {
		_ = one.Conn.Close()
	}
	webtest.WaitFor(tb, "what nobody looks at to go", func() bool { return web.Held(s.Web) < rooms<<21 })
	left = webtest.Heap() - before
	tb.Logf("%d rooms of %d moves: %d MB while somebody is there, %d counted; %d MB when all have left", rooms, moves, there>>20, counted>>20, left>>20)
	return there, left, counted
}

// Rooms hold little when everybody has left, and what they hold while somebody is
// there is counted.
func TestRoomsHoldLittle(t *testing.T) {
	racetest.Skip(t)
	const rooms, each = 2, 4 << 20
	there, left, counted := heldByRooms(t, rooms, 400)
	if left > rooms*each {
		t.Errorf("%d rooms in which nobody is hold %d MB", rooms, left>>20)
	}
	if part := float64(counted) / float64(there); part < .5 || part > 2 {
		t.Errorf("while somebody is there they hold %d MB, and %d are counted", there>>20, counted>>20)
	}
}

// A run that takes more than a room's may is not made by a link either.
func TestALinkBringsNoLongerRun(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	long := url.Values{"link": {webtest.ManyMoves(t, 3000)}}
	res, body := s.Do(t, "POST", "/rooms?lang=en", long)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "8 MB") {
		t.Errorf("a room of 3,000 moves of sixteen threads: %d %.200s", res.StatusCode, body)
	}
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	if f := host.Ask(webtest.Object{"do": "open", "link": long.Get("link")}); !strings.Contains(f.Refused, "8 MB") {
		t.Errorf("it is opened: %+v", f)
	}
}

// BenchmarkHeldByRooms is what the dearest rooms hold that there can be.
func BenchmarkHeldByRooms(b *testing.B) {
	const rooms = 5
	for range b.N {
		there, left, counted := heldByRooms(b, rooms, dearestMoves)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(there>>20), "MB")
		b.ReportMetric(float64(counted)/float64(there), "counted/heap")
		b.ReportMetric(float64(left>>20), "MB-when-all-have-left")
	}
}
