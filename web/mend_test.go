package web_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/link"
)

// cured waits for the end of a search for what mends a run.
func (p *searcher) cured() string {
	p.t.Helper()
	for p.last.Mended == nil || p.last.Mended.Going {
		p.read()
	}
	return p.last.Mended.HTML
}

var toPlay = regexp.MustCompile(`href="/play#(v1\.[^"]+)"`)

// Each change comes with its counts, what it leaves, and a link that opens it.
func TestMendOverTheSocket(t *testing.T) {
	racetest.Skip(t)
	p := open(t, nil).searcher(t, leaseExpiry)
	p.must(object{"do": "mend", "branch": 0})
	html := p.cured()
	for _, want := range []string{
		"As it is, 38 of 53 orders with at most 2 delays and no fault break a rule.", "A lease of 500 ms", "38 of 53 → 0 of ", "with a pause of 500 ms",
		"This mends it: A watchdog, every 66 ms. 3 of 341 orders break a rule, all only because a thread stood still longer than its lease", "13 of 13 changes tried.", "No better: 5",
	} {
		if !strings.Contains(text(html), want) {
			t.Errorf("no %q in %s", want, text(html))
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
	if all := p.ask(object{"do": "mend", "branch": 9}); all[len(all)-1].Refused != "There is no such branch." {
		t.Errorf("another branch: %+v", all)
	}
}

// How a branch came to break a rule is told by row, of a class's host, too; of one that
// breaks none there is nothing.
func TestCausesOverTheSocket(t *testing.T) {
	p := open(t, nil).searcher(t, leaseExpiry)
	if f := p.must(object{"do": "causes", "branch": 0, "row": 0}); f[0].Causes == nil || f[0].Causes.Row != 0 || f[0].Causes.HTML != "" {
		t.Errorf("before anything has happened: %+v", f[0].Causes)
	}
	p.must(object{"do": "run", "branch": 0, "to": "end"})
	first := p.must(object{"do": "causes", "branch": 0, "row": 1})[0].Causes
	if first == nil || first.Row == 0 || !strings.Contains(text(first.HTML), "its lease of 200 ms is over") || !strings.Contains(first.HTML, `data-row="1"`) {
		t.Errorf("at the end: %+v", first)
	}
	if f := p.ask(object{"do": "causes", "branch": 9, "row": 1}); f[len(f)-1].Refused != "There is no such branch." {
		t.Errorf("another branch: %+v", f)
	}
}

// A search for orders and one for changes are not under way together, what the other
// has found stays, and either is stopped by halt.
func TestOneSearchAtATime(t *testing.T) {
	p := open(t, nil).searcher(t, leaseExpiry)
	p.must(explore(2))
	p.ended()
	p.must(object{"do": "mend", "branch": 0})
	p.must(object{"do": "halt"})
	if html := p.cured(); !strings.Contains(html, "stopped") && !strings.Contains(html, "8 of 8") {
		t.Errorf("after halt: %s", text(html))
	}
	p.must(object{"do": "mend", "branch": 0})
	for !strings.Contains(p.last.Mended.HTML, "orders") { // until there is something to mend
		p.read()
	}
	p.must(object{"do": "halt"})
	if html := p.cured(); strings.Contains(html, "Something went wrong") || !strings.Contains(html, "# The lease") && !strings.Contains(html, "**What happened:**") {
		t.Errorf("halted in the middle: %s", text(html))
	}
	if f := p.ask(object{"do": "outlook", "branch": 0, "moves": 0}); f[len(f)-1].Refused != "" {
		t.Errorf("what was explored before: %s", f[len(f)-1].Refused)
	}
	p.must(object{"do": "open", "scenario": leaseExpiry})
	if f := p.ask(object{"do": "halt"}); f[len(f)-1].Refused != "There is no search here yet: send the command explore first." {
		t.Errorf("after another scenario: %+v", f)
	}
}

// In a class who sees the film asks for himself; phones cannot.
func TestAClassMends(t *testing.T) {
	racetest.Skip(t)
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	phone := s.visit(t, code, "en", nil).join("player", nil)
	host.found = searchFrame{}
	host.must(object{"do": "mend", "branch": 0})
	for host.found.Mended == nil || host.found.Mended.Going {
		host.read()
	}
	if !strings.Contains(text(host.found.Mended.HTML), "13 of 13 changes tried.") {
		t.Errorf("in a class: %s", text(host.found.Mended.HTML))
	}
	if f := phone.ask(object{"do": "mend", "branch": 0}); f.Refused != "Join with rows: true to ask for that." {
		t.Errorf("a phone: %q", f.Refused)
	}
}
