package class_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/link"
	"relock/web/webtest"
)

// asking is a class that is asked what comes at a place, and a host who has been to
// what comes there. It returns how one tells.
func asking(t *testing.T, s webtest.Site) (code, secret string, host *webtest.Attendee) {
	t.Helper()
	code, secret = s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host = s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	for range movesMade {
		host.Must(webtest.Object{"do": "step"})
	}
	host.Must(webtest.Object{"do": "go", "branch": 0, "at": placeAsked})
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	return code, secret, host
}

// Of those of asking.
const movesMade, placeAsked = 6, 2

// Somebody joins while all are asked, and asks for the film: what comes after the
// question's place may be what is asked, so it comes when that is told, or when the
// class goes there. Who leads, also on a stage, has all of it; anybody can say to be a
// stage.
func TestWhoIsAskedHasNoFilmOfWhatComes(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	code, secret, host := asking(t, s)
	var all, asked []*webtest.Attendee
	has := func(v *webtest.Attendee) int { return len(v.Film.Branches[0].Positions) }
	for _, c := range []struct {
		part, secret string
		want         int
	}{{"stage", secret, movesMade + 1}, {"stage", "", placeAsked + 1}, {"player", "", placeAsked + 1}, {"player", secret, placeAsked + 1}, {"audience", "", placeAsked + 1}} {
		v := s.Visit(t, code, "en", nil).Join(c.part, webtest.Object{"rows": true, "secret": c.secret})
		v.Until("it is asked", func() bool { return v.Room.Question != nil })
		if n := has(v); n != c.want {
			t.Errorf("%s: %d positions, want %d", c.part, n, c.want)
		}
		if all = append(all, v); c.want <= placeAsked+1 {
			asked = append(asked, v)
		}
	}
	for lang, want := range map[string]int{"en": movesMade + 1, "en&embedded": placeAsked + 1} { // a frame is for everybody, whose browser it is
		v := s.Visit(t, code, lang, http.Header{"Cookie": {"relock-room-" + code + "=" + secret}}).Join("stage", webtest.Object{"rows": true})
		v.Until("it is asked", func() bool { return v.Room.Question != nil })
		if n := has(v); n != want {
			t.Errorf("a stage in a host's browser, %s: %d positions, want %d", lang, n, want)
		}
	}
	host.Must(webtest.Object{"do": "go", "branch": 0, "at": placeAsked + 1})
	for _, v := range asked {
		v.Until("the class is one on", func() bool { return v.Room.At == placeAsked+1 })
		if n := has(v); n != placeAsked+2 {
			t.Errorf("%d positions where the class is one on", n)
		}
	}
	host.Must(webtest.Object{"do": "reveal"})
	for _, v := range all {
		v.Until("it has the rest", func() bool { return has(v) == movesMade+1 })
	}
}

// While a question is open, a member sends requests that no page would send then: the
// lanes of later rows, two branches side by side, a search, the links to take home. None
// of it tells the answer until the votes are counted; who leads is told.
func TestWhoIsAskedIsToldNothingByHand(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret, host := asking(t, s)
	whole := host.Must(webtest.Object{"do": "lanes", "branch": 0, "row": 6}).Lanes
	if !strings.Contains(whole, `data-step="6"`) {
		t.Fatalf("the host has no row T6: %s", whole)
	}
	bare, bareSecret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	early := s.Visit(t, bare, "en", nil).Join("host", webtest.Object{"secret": bareSecret, "rows": true})
	for range placeAsked {
		early.Must(webtest.Object{"do": "step"})
	}
	moves := func(header ...string) int {
		t.Helper()
		_, body := s.Do(t, http.MethodGet, "/room/"+code+"/branches", nil, header...)
		var links []struct{ Link string }
		if err := json.Unmarshal([]byte(body), &links); err != nil || len(links) != 1 {
			t.Fatal(err, body)
		}
		home, err := link.Decode(strings.TrimPrefix(links[0].Link, "/play#"))
		if err != nil {
			t.Fatal(err)
		}
		return len(home.Scenario.Schedule)
	}
	reads := []webtest.Object{
		{"do": "compare", "branch": 0, "with": 0},
		{"do": "trace", "branch": 0},
		{"do": "explore", "branch": 0, "from": "start", "delays": 0},
		{"do": "mend", "branch": 0},
		{"do": "causes", "branch": 0},
		{"do": "goal", "branch": 0, "moves": 0, "item": "lease/outlast"},
		{"do": "outlook", "branch": 0, "moves": 0},
	}
	cheats := []*webtest.Attendee{}
	for _, part := range []string{"player", "audience", "stage"} {
		v := s.Visit(t, code, "en", nil).Join(part, webtest.Object{"rows": true})
		cheats = append(cheats, v)
		for _, row := range []int{0, 2, 6} {
			if got, want := v.Must(webtest.Object{"do": "lanes", "branch": 0, "row": row}).Lanes, early.Must(webtest.Object{"do": "lanes", "branch": 0, "row": row}).Lanes; got != want {
				t.Errorf("%s: the lanes around T%d are not those of two moves: %s", part, row, got)
			}
		}
		for _, read := range reads {
			if f := v.Ask(read); !strings.Contains(f.Refused, "question is open") {
				t.Errorf("%s: %v is answered: %.200q", part, read, f.Refused+f.Trace+f.Compared)
			}
		}
	}
	if n := moves(); n != placeAsked {
		t.Errorf("the link to take home has %d moves", n)
	}
	if n := moves("Authorization", "Bearer "+secret); n != movesMade {
		t.Errorf("the host's link to take home has %d moves", n)
	}
	host.Must(webtest.Object{"do": "trace", "branch": 0})
	host.Must(webtest.Object{"do": "reveal"})
	for _, v := range cheats {
		v.Until("the votes are counted", func() bool { return v.Room.Question.Closed })
		if got := v.Must(webtest.Object{"do": "lanes", "branch": 0, "row": 6}).Lanes; got != whole {
			t.Errorf("afterwards the lanes are %s", got)
		}
		v.Must(webtest.Object{"do": "trace", "branch": 0})
	}
	if n := moves(); n != movesMade {
		t.Errorf("afterwards the link to take home has %d moves", n)
	}
}
