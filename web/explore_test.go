package web_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// A host searches as somebody alone does, and where a search leads him everybody
// follows; others who see the film search for themselves.
func TestAClassExplores(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	viewer := s.Visit(t, code, "en", nil).Join("player", webtest.Object{"rows": true})
	phone := s.Visit(t, code, "en", nil).Join("player", nil)

	alone := s.Searcher(t, webtest.LeaseExpiry)
	alone.Must(webtest.Explore(2))
	want, _ := alone.Ended()
	for _, member := range []*webtest.Attendee{host, viewer} {
		found, picture := member.Explored(webtest.Explore(2))
		if got, _, _ := strings.Cut(found, "Open as"); !strings.HasPrefix(want, got) || picture == "" {
			t.Errorf("in the class is found %q, alone %q", found, want)
		}
	}
	here := host.Must(webtest.Object{"do": "outlook", "branch": 0, "moves": 0, "names": webtest.Object{"0": "main"}}).Stands
	same := alone.Must(webtest.Object{"do": "outlook", "branch": 0, "moves": 0})[0].Stands
	if here == nil || len(here.Outlooks) == 0 || !slices.Equal(here.Outlooks, same.Outlooks) {
		t.Errorf("the shares at the choices are %+v, alone %+v", here, same)
	}

	host.Must(webtest.Object{"do": "example", "rule": "mutual-exclusion"})
	if host.Room.Branch != 1 || host.Room.At == 0 {
		t.Errorf("the class stands at %d of branch %d", host.Room.At, host.Room.Branch)
	}
	for viewer.Room.Branch != 1 || viewer.Room.At != host.Room.At {
		viewer.Read()
	}
	for _, state := range []int{3, 4} { // the second walk takes the place of the first
		host.Must(webtest.Object{"do": "walk", "state": state})
		if n := len(host.Film.Branches); n > 3 {
			t.Errorf("after a walk there are %d branches", n)
		}
	}

	for _, c := range []struct {
		who     *webtest.Attendee
		command webtest.Object
		refused string
	}{
		{viewer, webtest.Object{"do": "example", "rule": "mutual-exclusion"}, "Only a host can do that."},
		{viewer, webtest.Object{"do": "walk", "state": 3}, "Only a host can do that."},
		{viewer, webtest.Object{"do": "explore", "branch": 9, "moves": 0, "from": "start"}, "There is no such branch."},
		{viewer, webtest.Object{"do": "outlook", "branch": 9, "moves": 0}, "There is no such branch."},
		{phone, webtest.Explore(1), "Join with rows: true to ask for that."},
		{phone, webtest.Object{"do": "halt"}, "Join with rows: true to ask for that."},
		{s.Visit(t, code, "en", nil), webtest.Explore(1), "The first command is join."},
	} {
		if f := c.who.Ask(c.command); f.Refused != c.refused {
			t.Errorf("%v: %q, want %q", c.command, f.Refused, c.refused)
		}
	}

	held := web.HeldBySearches(s.Web)
	host.Must(webtest.Object{"do": "open", "example": "two-threads"})
	if left := web.HeldBySearches(s.Web); held == 0 || left >= held {
		t.Errorf("what the host has searched held some of %d bytes, and of what the class has left %d are held", held, left)
	}
	for _, command := range []webtest.Object{{"do": "outlook", "branch": host.Room.Branch, "moves": 0}, {"do": "walk", "state": 3}, {"do": "example", "rule": "mutual-exclusion"}} {
		if f := host.Ask(command); f.Refused != "There is no search here yet: send the command explore first." {
			t.Errorf("after the class has gone on, %v: %q", command, f.Refused)
		}
	}
}
