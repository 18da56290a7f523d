package web_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/web"
)

// searchFrame has what a search sends, alone and in a class.
type searchFrame struct {
	Explored *struct {
		Going          bool
		Found, Picture string
	}
	Mended *struct {
		Going bool
		HTML  string
	}
	Causes *struct {
		Row  int
		HTML string
	}
	Stands *struct {
		Branch, At, Dot, Lost int
		Way                   []int
		Outlooks              []struct {
			Choice            int
			Short, Says, Tone string
		}
		Says string
	}
	Goal *struct {
		Branch, Moves int
		HTML          string
	}
}

// exploreFrame is a frame to a page that searches.
type exploreFrame struct {
	searchFrame

	Re      int
	Went    *struct{ Branch, At int }
	Branch  *struct{ ID, Parent, Fork int }
	Dropped *int
	Done    bool
	Refused string
}

// searcher is a page that searches.
type searcher struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
	last exploreFrame // with what a search has found
}

func (s site) searcher(t *testing.T, scenario string) *searcher {
	t.Helper()
	p := &searcher{t: t, conn: s.page(t).conn}
	p.must(object{"do": "open", "scenario": scenario})
	return p
}

func (p *searcher) read() exploreFrame {
	p.t.Helper()
	var f exploreFrame
	_, text, err := p.conn.ReadMessage()
	if err == nil {
		err = json.Unmarshal(asRead(text), &f)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if f.Explored != nil || f.Mended != nil || f.Goal != nil {
		p.last = f
	}
	return f
}

// ask returns the frames that answer a command, the last of which is done or
// refused.
func (p *searcher) ask(command object) []exploreFrame {
	p.t.Helper()
	p.id++
	command["id"] = p.id
	if err := p.conn.WriteJSON(command); err != nil {
		p.t.Fatal(err)
	}
	var all []exploreFrame
	for {
		f := p.read()
		if f.Re == p.id {
			all = append(all, f)
		}
		if f.Re == p.id && (f.Done || f.Refused != "") {
			return all
		}
	}
}

func (p *searcher) must(command object) []exploreFrame {
	p.t.Helper()
	all := p.ask(command)
	if refused := all[len(all)-1].Refused; refused != "" {
		p.t.Fatalf("%v: %s", command, refused)
	}
	return all
}

// ended waits for the end of the search.
func (p *searcher) ended() (found, picture string) {
	p.t.Helper()
	for p.last.Explored == nil || p.last.Explored.Going {
		p.read()
	}
	return text(p.last.Explored.Found), p.last.Explored.Picture
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// text is what a person reads of HTML.
func text(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(html, " ")), " ")
}

func explore(delays int) object {
	return object{"do": "explore", "branch": 0, "moves": 0, "from": "start", "delays": delays, "faults": 0, "kinds": []string{}}
}

func TestExploreOverTheSocket(t *testing.T) {
	racetest.Skip(t)
	p := open(t, nil).searcher(t, leaseExpiry)
	p.must(explore(2))
	found, picture := p.ended()
	for _, want := range []string{"38 of 53 orders with at most 2 delays and no fault break a rule. All of them were tried.", "38 of 53 (72 %)", "Open as a branch : mutual-exclusion"} {
		if !strings.Contains(found, want) {
			t.Errorf("found is %q, without %q", found, want)
		}
	}
	if strings.Count(picture, "data-dot=") < 50 || !strings.Contains(picture, "<table") {
		t.Errorf("the picture: %.300s", picture)
	}

	// What becomes of where you are.
	at := func(branch, moves int) exploreFrame {
		return p.must(object{"do": "outlook", "branch": branch, "moves": moves, "names": object{"1": "the example"}})[0]
	}
	start := at(0, 0).Stands
	if start.Dot < 0 || !strings.Contains(start.Says, "From here 38 of 53 ways break a rule.") || len(start.Outlooks) != 2 || start.Outlooks[0].Short != "30 of 36 break" {
		t.Errorf("at the start: %+v", start)
	}

	// The example is a branch that breaks the rule, and you stand where that becomes inevitable.
	frames := p.must(object{"do": "example", "rule": "mutual-exclusion"})
	went := frames[len(frames)-2].Went
	if went == nil || went.At == 0 {
		t.Fatalf("the example: %+v", frames)
	}
	there := at(went.Branch, went.At).Stands
	if there.Dot < 0 || len(there.Way) < 2 || there.Lost != went.At || !strings.Contains(there.Says, "A rule is broken already.") || strings.Contains(there.Says, "no rule breaks") {
		t.Errorf("at the example: %+v", there)
	}

	// A walk goes to a state, on a branch that the next walk takes the place of.
	states := regexp.MustCompile(`data-state="(\d+)"`).FindAllStringSubmatch(picture, -1)
	walk := func(n int) []exploreFrame {
		state, err := strconv.Atoi(states[n][1])
		if err != nil {
			t.Fatal(err)
		}
		return p.must(object{"do": "walk", "state": state})
	}
	first := walk(40)
	onto := first[len(first)-2].Went
	if dot := at(onto.Branch, onto.At).Stands.Dot; dot < 0 {
		t.Errorf("a walk leads to %+v, which is nowhere", onto)
	}
	second := walk(60)
	if !slices.ContainsFunc(second, func(f exploreFrame) bool { return f.Dropped != nil && *f.Dropped == onto.Branch }) {
		t.Errorf("the next walk keeps branch %d: %+v", onto.Branch, second)
	}
}

// Two branches, one of which breaks a rule, are told by the last state that both
// have come by.
func TestThisIsTheMove(t *testing.T) {
	p := open(t, nil).searcher(t, leaseExpiry)
	p.must(explore(3))
	p.ended()
	p.must(object{"do": "run", "branch": 0, "to": "end"}) // breaks
	p.must(object{"do": "time", "branch": 0, "at": 0, "to": "event"})
	p.must(object{"do": "step", "branch": 1, "thread": "B"})
	p.must(object{"do": "run", "branch": 1, "to": "end"})
	says := text(p.must(object{"do": "outlook", "branch": 0, "moves": 0, "names": object{"0": "main", "1": "the other"}})[0].Stands.Says)
	for _, want := range []string{"This is the move. main breaks a rule, the other does not. The last state that they share is at 0 ms.", "main · A: starts: EXISTS … in lock, level 1. After that 74 of 89 break.", "the other · nobody moves until 10 ms. After that 31 of 55 break."} {
		if !strings.Contains(says, want) {
			t.Errorf("%q says nothing of %q", says, want)
		}
	}
}

func TestWhatCannotBeExplored(t *testing.T) {
	p := open(t, nil).searcher(t, leaseExpiry)
	for _, c := range []struct {
		change object
		want   string
	}{
		{object{"delays": 5}, "A page searches with 0 to 4 delays."},
		{object{"delays": -1}, "A page searches with 0 to 4 delays."},
		{object{"faults": 3}, "A page searches with 0 to 2 faults."},
		{object{"faults": 1}, "Choose at least one kind of fault, or no faults."},
		{object{"faults": 1, "kinds": []string{"crash", "fire"}}, `Fault "fire" cannot strike in this scenario; allowed: `},
		{object{"from": "the end"}, "A search begins at the start or here; allowed: start, here."},
		{object{"moves": 7}, "The branch has no such move."},
		{object{"do": "outlook"}, "That is not a command"},
	} {
		command := explore(1)
		for k, v := range c.change {
			command[k] = v
		}
		all := p.ask(command)
		if refused := all[len(all)-1].Refused; !strings.HasPrefix(refused, c.want) || p.last.Explored != nil {
			t.Errorf("%v: %q, want %q", c.change, refused, c.want)
		}
	}
	for _, command := range []object{{"do": "halt"}, {"do": "example", "rule": "orphan"}, {"do": "walk", "state": 1}, {"do": "outlook", "branch": 0, "moves": 0}} {
		all := p.ask(command)
		if refused := all[len(all)-1].Refused; refused != "There is no search here yet: send the command explore first." {
			t.Errorf("%v: %q", command, refused)
		}
	}
	p.must(explore(1))
	p.ended()
	for want, command := range map[string]object{
		"The search has found no order that breaks this rule.": {"do": "example", "rule": "orphan"},
		"The search has found no such state.":                  {"do": "walk", "state": 99999},
	} {
		all := p.ask(command)
		if refused := all[len(all)-1].Refused; refused != want {
			t.Errorf("%v: %q", command, refused)
		}
	}
}

// A search of orders without an end can be stopped before one has come to its end.
func TestNoOrderEnds(t *testing.T) {
	racetest.Skip(t)
	p := open(t, nil).searcher(t, `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: unlimited, interval: 20ms}}
defaults: {work: 10ms}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}, {thread: B, at: work, level: 1, do: stall}]
`)
	p.must(explore(0))
	for !strings.Contains(p.last.Explored.Found, "orphan") && !strings.Contains(p.last.Explored.Found, "mutual-exclusion") {
		p.read()
	}
	p.must(object{"do": "halt"})
	found, picture := p.ended()
	if !strings.Contains(found, "No order was tried to the end, but some unfinished ones break a rule.") || picture == "" {
		t.Errorf("found is %q", found)
	}
}

// A search goes on while the page steps, can be stopped, and another takes its
// place.
func TestASearchIsStopped(t *testing.T) {
	p := open(t, nil).searcher(t, `
lock: {lease: 200ms}
threads: [{name: A, depth: 2}, {name: B, depth: 2}, {name: C, depth: 2}]
`)
	p.must(explore(4))
	p.must(object{"do": "step", "branch": 0})
	if !p.last.Explored.Going {
		t.Fatal("too small a search")
	}
	p.must(object{"do": "halt"})
	found, _ := p.ended()
	if !strings.Contains(found, "The search was cut short: it was stopped. ") {
		t.Errorf("stopped: %q", found)
	}
	here := p.must(object{"do": "outlook", "branch": 0, "moves": 0})[0].Stands
	if says := text(here.Says); here.Lost >= 0 || strings.Contains(says, "no rule is broken") || strings.Contains(says, "every order") {
		t.Errorf("of a search that was stopped: %q", says)
	}
	for _, o := range here.Outlooks {
		if o.Tone == "none" || o.Tone == "all" {
			t.Errorf("of a search that was stopped: %+v", o)
		}
	}
	p.must(explore(4))
	p.must(object{"do": "explore", "branch": 0, "moves": 1, "from": "here", "delays": 0, "faults": 0})
	if found, _ = p.ended(); !strings.Contains(found, "Every order from 0 ms on.") || !strings.Contains(found, "with no delay") {
		t.Errorf("from here: %q", found)
	}
	p.must(explore(4))
	p.must(object{"do": "open", "scenario": leaseExpiry})
	all := p.ask(object{"do": "outlook", "branch": 0, "moves": 0})
	if refused := all[len(all)-1].Refused; refused == "" {
		t.Error("what was searched in another scenario is known")
	}
}

// explored searches in a class, and waits for the end.
func (v *attendee) explored(command object) (found, picture string) {
	v.t.Helper()
	v.found = searchFrame{}
	v.must(command)
	for v.found.Explored == nil || v.found.Explored.Going {
		v.read()
	}
	return text(v.found.Explored.Found), v.found.Explored.Picture
}

// A host searches as somebody alone does, and where a search leads him everybody
// follows; others who see the film search for themselves.
func TestAClassExplores(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	viewer := s.visit(t, code, "en", nil).join("player", object{"rows": true})
	phone := s.visit(t, code, "en", nil).join("player", nil)

	alone := s.searcher(t, leaseExpiry)
	alone.must(explore(2))
	want, _ := alone.ended()
	for _, member := range []*attendee{host, viewer} {
		found, picture := member.explored(explore(2))
		if got, _, _ := strings.Cut(found, "Open as"); !strings.HasPrefix(want, got) || picture == "" {
			t.Errorf("in the class is found %q, alone %q", found, want)
		}
	}
	here := host.must(object{"do": "outlook", "branch": 0, "moves": 0, "names": object{"0": "main"}}).Stands
	same := alone.must(object{"do": "outlook", "branch": 0, "moves": 0})[0].Stands
	if here == nil || len(here.Outlooks) == 0 || !slices.Equal(here.Outlooks, same.Outlooks) {
		t.Errorf("the shares at the choices are %+v, alone %+v", here, same)
	}

	host.must(object{"do": "example", "rule": "mutual-exclusion"})
	if host.room.Branch != 1 || host.room.At == 0 {
		t.Errorf("the class stands at %d of branch %d", host.room.At, host.room.Branch)
	}
	for viewer.room.Branch != 1 || viewer.room.At != host.room.At {
		viewer.read()
	}
	for _, state := range []int{3, 4} { // the second walk takes the place of the first
		host.must(object{"do": "walk", "state": state})
		if n := len(host.film.branches); n > 3 {
			t.Errorf("after a walk there are %d branches", n)
		}
	}

	for _, c := range []struct {
		who     *attendee
		command object
		refused string
	}{
		{viewer, object{"do": "example", "rule": "mutual-exclusion"}, "Only a host can do that."},
		{viewer, object{"do": "walk", "state": 3}, "Only a host can do that."},
		{viewer, object{"do": "explore", "branch": 9, "moves": 0, "from": "start"}, "There is no such branch."},
		{viewer, object{"do": "outlook", "branch": 9, "moves": 0}, "There is no such branch."},
		{phone, explore(1), "Join with rows: true to ask for that."},
		{phone, object{"do": "halt"}, "Join with rows: true to ask for that."},
		{s.visit(t, code, "en", nil), explore(1), "The first command is join."},
	} {
		if f := c.who.ask(c.command); f.Refused != c.refused {
			t.Errorf("%v: %q, want %q", c.command, f.Refused, c.refused)
		}
	}

	held := web.HeldBySearches(s.web)
	host.must(object{"do": "open", "example": "two-threads"})
	if left := web.HeldBySearches(s.web); held == 0 || left >= held {
		t.Errorf("what the host has searched held some of %d bytes, and of what the class has left %d are held", held, left)
	}
	for _, command := range []object{{"do": "outlook", "branch": host.room.Branch, "moves": 0}, {"do": "walk", "state": 3}, {"do": "example", "rule": "mutual-exclusion"}} {
		if f := host.ask(command); f.Refused != "There is no search here yet: send the command explore first." {
			t.Errorf("after the class has gone on, %v: %q", command, f.Refused)
		}
	}
}
