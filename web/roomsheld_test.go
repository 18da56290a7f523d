package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web"
	"relock/web/link"
)

// dearestMoves are as many as a room takes of those of manyMoves.
const dearestMoves = 850

// manyMoves is a link of a few hundred bytes with so many moves of sixteen
// threads, each of which takes much.
func manyMoves(tb testing.TB, moves int) string {
	tb.Helper()
	sc := parsed(tb, "lock: {lease: 3ms, watchdog: 1ms, retry: {times: 1000, interval: 1m}}\ndefaults: {repeat: 100, work: 1h}\n"+crowd(""))
	text, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(make([]scenario.Move, moves))})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// waitFor waits until a condition holds.
func waitFor(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(time.Minute)
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}

// heldByRooms makes rooms of so many moves, has two hosts of different languages
// see all of each, and has them leave. It returns what is on the heap while they
// are there and when they have left, and what is counted then.
func heldByRooms(tb testing.TB, rooms, moves int) (there, left, counted int64) {
	tb.Helper()
	s := open(tb, nil)
	path := []string{}
	for range rooms {
		code, secret := s.makeRoom(tb, url.Values{"link": {manyMoves(tb, moves)}})
		path = append(path, code, secret)
	}
	before := heap()
	var all []*attendee
	for i := 0; i < len(path); i += 2 {
		for _, lang := range []string{"en", "zh-CN"} {
			host := s.visit(tb, path[i], lang, nil).join("host", object{"secret": path[i+1], "rows": true})
			host.until("the film is there", func() bool {
				return len(host.film.branches) > 0 && len(host.film.branches[0].positions) > moves && host.room.Length > 0
			})
			host.film.branches = nil // the test's own
			all = append(all, host)
		}
	}
	there, counted = heap()-before, int64(web.Held(s.web))
	for _, one := range all {
		_ = one.conn.Close()
	}
	waitFor(tb, "what nobody looks at to go", func() bool { return web.Held(s.web) < rooms<<21 })
	left = heap() - before
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
	s := open(t, nil)
	long := url.Values{"link": {manyMoves(t, 3000)}}
	res, body := s.do(t, "POST", "/rooms?lang=en", long)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "8 MB") {
		t.Errorf("a room of 3,000 moves of sixteen threads: %d %.200s", res.StatusCode, body)
	}
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	if f := host.ask(object{"do": "open", "link": long.Get("link")}); !strings.Contains(f.Refused, "8 MB") {
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
