package webtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"relock/web/page"
)

// PlayPage is a page that steps through a scenario, as far as a test needs one.
type PlayPage struct {
	T        testing.TB
	Conn     *websocket.Conn
	id       int
	Opened   map[string]any
	Branches map[int]*PageBranch
	Last     int // the branch that the last command has changed
}

// PageBranch is a branch as a page has it.
type PageBranch struct {
	Parent, Fork int
	Positions    []Position
	Rows         []string
}

// Position is a place of a branch, as a page has it.
type Position struct {
	Move    any
	Row     int
	At      string
	Options []page.Option
	Over    bool

	Pointless []page.Pointless
}

// PlayFrame is a frame of a page that steps.
type PlayFrame struct {
	V, Re     int
	Opened    map[string]any
	Branch    *struct{ ID, Parent, Fork int }
	From      int
	Positions []Position
	Rows      []struct {
		Step int
		HTML string
	}
	Dropped  *int
	Compared string
	Trace    string
	Done     bool
	Refused  string
}

// Page opens a page that steps, in English.
func (s Site) Page(t *testing.T) *PlayPage {
	t.Helper()
	return s.PageIn(t, "en")
}

// PageIn opens a page that steps.
func (s Site) PageIn(t *testing.T, language string) *PlayPage {
	t.Helper()
	u := "ws" + strings.TrimPrefix(s.URL, "http") + "/play/socket?lang=" + language
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), u, http.Header{"Origin": {s.URL}})
	if err != nil {
		t.Fatal(err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &PlayPage{T: t, Conn: conn, Branches: map[int]*PageBranch{}}
}

// Ask sends a command, takes what comes of it, and returns the refusal.
func (p *PlayPage) Ask(command map[string]any) (refused string, last PlayFrame) {
	p.T.Helper()
	p.id++
	command["id"] = p.id
	if err := p.Conn.WriteJSON(command); err != nil {
		p.T.Fatal(err)
	}
	for {
		var f PlayFrame
		_, text, err := p.Conn.ReadMessage()
		if err == nil {
			err = json.Unmarshal(AsRead(text), &f)
		}
		if err != nil {
			p.T.Fatal(command, ": ", err)
		}
		if f.V != 1 || f.Re != p.id {
			p.T.Fatalf("frame %+v in answer to %d", f, p.id)
		}
		if f.Done || f.Refused != "" {
			return f.Refused, last
		}
		p.take(f)
		last = f
	}
}

func (p *PlayPage) take(f PlayFrame) {
	p.T.Helper()
	if f.Opened != nil {
		p.Opened, p.Branches = f.Opened, map[int]*PageBranch{}
	}
	if f.Dropped != nil {
		delete(p.Branches, *f.Dropped)
	}
	if f.Branch == nil {
		return
	}
	p.Last = f.Branch.ID
	b := p.Branches[f.Branch.ID]
	if b == nil {
		b = &PageBranch{Parent: f.Branch.Parent, Fork: f.Branch.Fork}
		if from := p.Branches[b.Parent]; from != nil {
			b.Positions = slices.Clone(from.Positions[:f.From])
			b.Rows = slices.Clone(from.Rows[:b.Positions[f.From-1].Row])
		}
		p.Branches[f.Branch.ID] = b
	}
	if f.From != len(b.Positions) {
		p.T.Fatalf("branch %d: positions from %d, the page has %d", f.Branch.ID, f.From, len(b.Positions))
	}
	b.Positions = append(b.Positions, f.Positions...)
	for _, row := range f.Rows {
		b.Rows = append(b.Rows, row.HTML)
		if row.Step != len(b.Rows) || !strings.Contains(row.HTML, fmt.Sprintf(`id="row-%d"`, row.Step)) {
			p.T.Fatalf("branch %d: row %d is the page's %d", f.Branch.ID, row.Step, len(b.Rows))
		}
	}
}

// Must is ask for what must not be refused.
func (p *PlayPage) Must(command map[string]any) PlayFrame {
	p.T.Helper()
	refused, last := p.Ask(command)
	if refused != "" {
		p.T.Fatalf("%v: %s", command, refused)
	}
	return last
}

// Moves are those of the branch, as a page sends them.
func (b *PageBranch) Moves() []any {
	moves := []any{}
	for _, p := range b.Positions[1:] {
		moves = append(moves, p.Move)
	}
	return moves
}

// Tip is the position after the last move.
func (b *PageBranch) Tip() Position { return b.Positions[len(b.Positions)-1] }

// Object is a JSON object.
type Object = map[string]any

// LeaseExpiry is a scenario whose lease ends before its work.
const LeaseExpiry = `
lock: {lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}
threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]
`

// Why is what a position says of a fault, or "" where it would strike.
func (p Position) Why(do, thread, at string) string {
	for _, one := range p.Pointless {
		if (len(one.Do) == 0 || slices.Contains(one.Do, do)) && (one.Thread == "" || one.Thread == thread) && (len(one.At) == 0 || slices.Contains(one.At, at)) {
			return one.Why
		}
	}
	return ""
}

// SearchFrame has what a search sends, alone and in a class.
type SearchFrame struct {
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

// ExploreFrame is a frame to a page that searches.
type ExploreFrame struct {
	SearchFrame

	Re      int
	Went    *struct{ Branch, At int }
	Branch  *struct{ ID, Parent, Fork int }
	Dropped *int
	Done    bool
	Refused string
}

// SearchPage is a page that searches.
type SearchPage struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
	Last ExploreFrame // with what a search has found
}

// Searcher opens a page that searches a scenario.
func (s Site) Searcher(t *testing.T, scenario string) *SearchPage {
	t.Helper()
	p := &SearchPage{t: t, conn: s.Page(t).Conn}
	p.Must(Object{"do": "open", "scenario": scenario})
	return p
}

func (p *SearchPage) Read() ExploreFrame {
	p.t.Helper()
	var f ExploreFrame
	_, text, err := p.conn.ReadMessage()
	if err == nil {
		err = json.Unmarshal(AsRead(text), &f)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if f.Explored != nil || f.Mended != nil || f.Goal != nil {
		p.Last = f
	}
	return f
}

// Ask returns the frames that answer a command, the last of which is done or
// refused.
func (p *SearchPage) Ask(command Object) []ExploreFrame {
	p.t.Helper()
	p.id++
	command["id"] = p.id
	if err := p.conn.WriteJSON(command); err != nil {
		p.t.Fatal(err)
	}
	var all []ExploreFrame
	for {
		f := p.Read()
		if f.Re == p.id {
			all = append(all, f)
		}
		if f.Re == p.id && (f.Done || f.Refused != "") {
			return all
		}
	}
}

// Must hands in a command that is not refused.
func (p *SearchPage) Must(command Object) []ExploreFrame {
	p.t.Helper()
	all := p.Ask(command)
	if refused := all[len(all)-1].Refused; refused != "" {
		p.t.Fatalf("%v: %s", command, refused)
	}
	return all
}

// Ended waits for the end of the search.
func (p *SearchPage) Ended() (found, picture string) {
	p.t.Helper()
	for p.Last.Explored == nil || p.Last.Explored.Going {
		p.Read()
	}
	return Text(p.Last.Explored.Found), p.Last.Explored.Picture
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// Text is what a person reads of HTML.
func Text(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(html, " ")), " ")
}

// Explore is the command that tries every order with at most so many delays.
func Explore(delays int) Object {
	return Object{"do": "explore", "branch": 0, "moves": 0, "from": "start", "delays": delays, "faults": 0, "kinds": []string{}}
}

// Explored searches in a class, and waits for the end.
func (v *Attendee) Explored(command Object) (found, picture string) {
	v.t.Helper()
	v.Found = SearchFrame{}
	v.Must(command)
	for v.Found.Explored == nil || v.Found.Explored.Going {
		v.Read()
	}
	return Text(v.Found.Explored.Found), v.Found.Explored.Picture
}

// Cured waits for the end of a search for what mends a run.
func (p *SearchPage) Cured() string {
	p.t.Helper()
	for p.Last.Mended == nil || p.Last.Mended.Going {
		p.Read()
	}
	return p.Last.Mended.HTML
}
