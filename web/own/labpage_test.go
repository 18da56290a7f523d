package own_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/web"
	"relock/web/labs"
	"relock/web/webtest"
)

// labPage is a page of a lab, as its script has it.
type labPage struct {
	t        *testing.T
	conn     *websocket.Conn
	id       int
	told     int // positions so far
	branches map[int]*labBranch
}

type labBranch struct {
	Parent, Fork int
	Positions    []json.RawMessage
	Rows         map[int]json.RawMessage
}

// ask sends a command, takes what comes until its end, and returns where the page is to go.
func (p *labPage) ask(command string) (went int, refused string) {
	p.t.Helper()
	p.id++
	went = -1
	if err := p.conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"id":%d,%s}`, p.id, command)); err != nil {
		p.t.Fatal(err)
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, text, err := p.conn.ReadMessage()
		if err != nil {
			p.t.Fatal(command, err)
		}
		var f struct {
			Re        int
			Branch    *struct{ ID, Parent, Fork int }
			From      int
			Positions []json.RawMessage
			Rows      []json.RawMessage
			Opened    *struct{}
			Dropped   *int
			Went      *struct{ Branch int }
			Done      bool
			Refused   string
		}
		if err := json.Unmarshal(text, &f); err != nil {
			p.t.Fatal(err)
		}
		if f.Opened != nil {
			p.branches = map[int]*labBranch{}
		}
		if f.Dropped != nil {
			delete(p.branches, *f.Dropped)
		}
		if f.Went != nil {
			went = f.Went.Branch
		}
		if f.Branch != nil {
			b := p.branches[f.Branch.ID]
			if b == nil || f.From == 0 {
				b = &labBranch{f.Branch.Parent, f.Branch.Fork, nil, map[int]json.RawMessage{}}
				p.branches[f.Branch.ID] = b
			}
			b.Positions = append(b.Positions[:f.From:f.From], f.Positions...)
			p.told += len(f.Positions)
			for _, row := range f.Rows {
				var is struct{ Step int }
				_ = json.Unmarshal(row, &is)
				b.Rows[is.Step] = row
			}
		}
		if f.Re == p.id && (f.Done || f.Refused != "") {
			return went, f.Refused
		}
	}
}

// openLab opens a lab with two clients that send commands round after round, and returns what opens a page of it.
func openLab(t *testing.T, commands func(thread string) [][]string) (page func() *labPage) {
	t.Helper()
	s := webtest.Open(t, func(c *web.Config) {
		c.Lab = web.LabConfig{Limits: labs.DefaultLimits(), Start: func(ctx context.Context, o lab.Options) (lab.Desk, error) { return lab.Steer(ctx, o) }}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Client().Jar = jar
	res, _ := s.Do(t, http.MethodPost, "/lab", url.Values{"threads": {"2"}, "key": {"k"}})
	at := res.Header.Get("Location")
	_, body := s.Do(t, http.MethodGet, at, nil)
	for i, found := range regexp.MustCompile(`<code>REDIS_URL=redis://([0-9.:]+)`).FindAllStringSubmatch(body, -1) {
		conn, err := net.Dial("tcp", found[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			r := bufio.NewReader(conn)
			for {
				for _, words := range append([][]string{{"ECHO", infer.MarkRound}}, commands(lab.Thread(i))...) {
					_, _ = fmt.Fprintf(conn, "*%d\r\n", len(words))
					for _, w := range words {
						_, _ = fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(w), w)
					}
					line, err := r.ReadString('\n')
					if err == nil && line[0] == '$' && line[1] != '-' {
						_, err = r.ReadString('\n')
					}
					if err != nil {
						return
					}
				}
			}
		}()
	}
	return func() *labPage {
		d := websocket.Dialer{Jar: jar}
		conn, res, err := d.Dial("ws"+strings.TrimPrefix(s.URL, "http")+at+"/socket", http.Header{"Origin": {s.URL}})
		if err != nil {
			t.Fatal(err, res)
		}
		t.Cleanup(func() { _ = conn.Close() })
		p := &labPage{t: t, conn: conn}
		p.ask(`"do":"open"`)
		return p
	}
}

// ready waits until both clients can move.
func (p *labPage) ready() {
	p.t.Helper()
	for late := time.Now().Add(time.Minute); time.Now().Before(late); {
		p.ask(`"do":"open"`)
		if b := p.branches[0]; b != nil && strings.Count(string(b.Positions[len(b.Positions)-1]), `"can":true`) == 2 {
			return
		}
	}
	p.t.Fatal("nobody has come")
}

// What a page of a lab has been told piece by piece is what one gets that opens it now: on the
// branch that goes on, on those that left it, and where somebody's name was not known before.
func TestALabsPageHasItAll(t *testing.T) {
	t.Parallel()
	const unlock = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	page := openLab(t, func(thread string) (list [][]string) {
		for i := range 6 {
			token := fmt.Sprintf("%s-%012d", thread, i)
			take := []string{"SET", "k", token, "NX", "PX", "2000"}
			list = append(list, take, take, []string{"GET", "k"}, []string{"EVAL", unlock, "1", "k", token})
		}
		return list
	})
	p := page()
	p.ready()
	for _, c := range []struct {
		command string
		went    int
		refused string
	}{
		{`"do":"step","branch":0,"thread":"A"`, -1, ""},
		{`"do":"step","branch":0,"thread":"B"`, -1, ""}, // refused, with a token that is nobody's yet
		{`"do":"step","branch":0,"thread":"A"`, -1, ""},
		{`"do":"step","branch":0,"thread":"A"`, -1, ""},
		{`"do":"step","branch":0,"thread":"A"`, -1, ""}, // its script gives the lock back
		{`"do":"step","branch":0,"thread":"B"`, -1, ""}, // the token is B's
		{`"do":"step","branch":0`, -1, ""},
		{`"do":"time","branch":0,"to":"expiry"`, -1, ""},
		{`"do":"time","branch":0,"to":"event"`, -1, "A lab's clock only moves"},
		{`"do":"strike","branch":0,"fault":{"do":"burn"}`, -1, `There is no fault "burn"`},
		{`"do":"step","branch":0,"at":2,"thread":"A"`, 1, ""},
		{`"do":"cut","branch":1,"at":2`, 2, ""},
		{`"do":"run","branch":2,"to":"end"`, -1, ""},
		{`"do":"drop","branch":1`, -1, ""},
		{`"do":"drop","branch":1`, -1, "There is no such branch"},
		{`"do":"step","branch":0,"at":99,"thread":"A"`, -1, "The branch has no such move"},
		{`"do":"again"`, 3, ""},
		{`"do":"step","branch":3,"thread":"B"`, -1, ""},
		{`"do":"strike","branch":3,"at":0,"fault":{"do":"lose-reply","thread":"A"}`, 4, ""},
	} {
		went, refused := p.ask(c.command)
		if went != c.went || (refused == "") != (c.refused == "") || !strings.Contains(refused, c.refused) {
			t.Errorf("%s leads to branch %d, %q; want %d, %q", c.command, went, refused, c.went, c.refused)
		}
	}
	p.ask(`"do":"lanes","branch":4`) // whatever has come meanwhile was shown before
	if diff := cmp.Diff(page().branches, p.branches); diff != "" {
		t.Errorf("what came at once, and piece by piece: %s", diff)
	}
}

// A page of a lab hears only what is new: a place comes again only while more happens there.
func TestALabsPageIsToldNews(t *testing.T) {
	t.Parallel()
	const decisions = 200
	page := openLab(t, func(thread string) (list [][]string) {
		for i := range decisions {
			list = append(list, []string{"SET", "k", fmt.Sprintf("%s-%012d", thread, i), "NX", "PX", "2000"}, []string{"DEL", "k"})
		}
		return list
	})
	p := page()
	p.ready()
	p.told = 0
	for i := range decisions {
		if _, refused := p.ask(fmt.Sprintf(`"do":"step","branch":0,"thread":%q`, "AABABB"[i%6:i%6+1])); refused != "" {
			t.Fatalf("decision %d: %s", i, refused)
		}
	}
	if all := len(p.branches[0].Positions); all != decisions+1 || p.told > 12*decisions {
		t.Errorf("%d positions, told as %d", all, p.told)
	}
}
