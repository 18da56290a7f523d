package stepper_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/link"
	"relock/web/webtest"
)

var toPlay = regexp.MustCompile(`href="/play#(v1\.[^"]+)"`)

// Each change comes with its counts, what it leaves, and a link that opens it.
func TestMendOverTheSocket(t *testing.T) {
	racetest.Skip(t)
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	p.Must(webtest.Object{"do": "mend", "branch": 0})
	html := p.Cured()
	for _, want := range []string{
		"As it is, 38 of 53 orders with at most 2 delays and no fault break a rule.", "A lease of 500 ms", "38 of 53 → 0 of ", "with a pause of 500 ms",
		"This mends it: A watchdog, every 66 ms. 3 of 341 orders break a rule, all only because a thread stood still longer than its lease", "13 of 13 changes tried.", "No better: 5",
	} {
		if !strings.Contains(webtest.Text(html), want) {
			t.Errorf("no %q in %s", want, webtest.Text(html))
		}
	}
	links := toPlay.FindAllStringSubmatch(html, -1)
	if len(links) < 8 {
		t.Fatalf("%d links in %s", len(links), html)
	}
	for _, l := range links {
		state, err := link.Decode(l[1])
		if err != nil || state.Scenario.Title == "" {
			t.Errorf("%+v, %v", state, err)
		}
	}
	if all := p.Ask(webtest.Object{"do": "mend", "branch": 9}); all[len(all)-1].Refused != "There is no such branch." {
		t.Errorf("another branch: %+v", all)
	}
}

// How a branch came to break a rule is told by row, of a class's host, too; of one that
// breaks none there is nothing.
func TestCausesOverTheSocket(t *testing.T) {
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	if f := p.Must(webtest.Object{"do": "causes", "branch": 0, "row": 0}); f[0].Causes == nil || f[0].Causes.Row != 0 || f[0].Causes.HTML != "" {
		t.Errorf("before anything has happened: %+v", f[0].Causes)
	}
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"})
	first := p.Must(webtest.Object{"do": "causes", "branch": 0, "row": 1})[0].Causes
	if first == nil || first.Row == 0 || !strings.Contains(webtest.Text(first.HTML), "its lease of 200 ms is over") || !strings.Contains(first.HTML, `data-row="1"`) {
		t.Errorf("at the end: %+v", first)
	}
	if f := p.Ask(webtest.Object{"do": "causes", "branch": 9, "row": 1}); f[len(f)-1].Refused != "There is no such branch." {
		t.Errorf("another branch: %+v", f)
	}
}

// A search for orders and one for changes are not under way together, what the other
// has found stays, and either is stopped by halt.
func TestOneSearchAtATime(t *testing.T) {
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	p.Must(webtest.Explore(2))
	p.Ended()
	p.Must(webtest.Object{"do": "mend", "branch": 0})
	p.Must(webtest.Object{"do": "halt"})
	if html := p.Cured(); !strings.Contains(html, "stopped") && !strings.Contains(html, "8 of 8") {
		t.Errorf("after halt: %s", webtest.Text(html))
	}
	p.Must(webtest.Object{"do": "mend", "branch": 0})
	for !strings.Contains(p.Last.Mended.HTML, "orders") { // until there is something to mend
		p.Read()
	}
	p.Must(webtest.Object{"do": "halt"})
	if html := p.Cured(); strings.Contains(html, "Something went wrong") || !strings.Contains(html, "# The lease") && !strings.Contains(html, "**What happened:**") {
		t.Errorf("halted in the middle: %s", webtest.Text(html))
	}
	if f := p.Ask(webtest.Object{"do": "outlook", "branch": 0, "moves": 0}); f[len(f)-1].Refused != "" {
		t.Errorf("what was explored before: %s", f[len(f)-1].Refused)
	}
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	if f := p.Ask(webtest.Object{"do": "halt"}); f[len(f)-1].Refused != "There is no search here yet: send the command explore first." {
		t.Errorf("after another scenario: %+v", f)
	}
}

// In a class who sees the film asks for himself; phones cannot.
func TestAClassMends(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	phone := s.Visit(t, code, "en", nil).Join("player", nil)
	host.Found = webtest.SearchFrame{}
	host.Must(webtest.Object{"do": "mend", "branch": 0})
	for host.Found.Mended == nil || !strings.Contains(webtest.Text(host.Found.Mended.HTML), " of 13 changes tried.") {
		host.Read()
	}
	if f := phone.Ask(webtest.Object{"do": "mend", "branch": 0}); f.Refused != "Join with rows: true to ask for that." {
		t.Errorf("a phone: %q", f.Refused)
	}
}
