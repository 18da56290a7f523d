package webtest

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/link"
)

// Attendee is a member of a room, as a bot would be one: by the contract alone.
type Attendee struct {
	t    testing.TB
	Conn *websocket.Conn
	Id   int
	Room struct {
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
		Question     *RoomQuestion
		Says, Why    string
		Stage        film.Stage
		Broken       string
		Veiled, Held bool
		Lobby        bool
		Lost, Doubts *int
		Awaits       bool
		Apart        bool
		Scripts      int
		Lesson       *taughtNow
		Goal         *struct {
			Text string
			course.Verdict
		}
		People []struct{ Member, Part string }
	}
	epoch  string
	Seq    int
	Film   PlayPage        // as far as it came
	Set    json.RawMessage // what a page had to have of another scenario
	Sheet  *RoomSheet      // the last one
	Found  SearchFrame     // the last of a search
	Member string
	Token  string
}

// RoomQuestion is what a class is asked, as a frame has it.
type RoomQuestion struct {
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

// RoomSheet is what a page has beside an item's question.
type RoomSheet struct {
	Question    int
	HTML, After string
}

// RoomFrame is a frame of a room.
type RoomFrame struct {
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

	Set   json.RawMessage
	Sheet *RoomSheet

	SearchFrame
}

// Visit opens the socket of a room.
func (s Site) Visit(t testing.TB, code, lang string, headers http.Header) *Attendee {
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
	return &Attendee{t: t, Conn: conn, Film: PlayPage{T: t, Branches: map[int]*PageBranch{}}}
}

// Read takes in one frame.
func (v *Attendee) Read() RoomFrame {
	v.t.Helper()
	_ = v.Conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, text, err := v.Conn.ReadMessage()
	if err != nil {
		v.t.Fatal(err)
	}
	text = AsRead(text)
	var f RoomFrame
	if err := json.Unmarshal(text, &f); err != nil {
		v.t.Fatal(err)
	}
	switch {
	case f.Room != nil:
		if f.Epoch != v.epoch && v.epoch != "" || f.Seq < v.Seq {
			v.t.Errorf("epoch %s seq %d after %s %d", f.Epoch, f.Seq, v.epoch, v.Seq)
		}
		v.epoch, v.Seq = f.Epoch, f.Seq
		v.Room.Question, v.Room.Threads, v.Room.Going, v.Room.Lesson, v.Room.Goal = nil, nil, nil, nil, nil
		v.Room.Stage = film.Stage{}
		if err := json.Unmarshal(f.Room, &v.Room); err != nil {
			v.t.Fatal(err)
		}
	case f.Set != nil:
		v.Set = f.Set
	case f.Sheet != nil:
		v.Sheet = f.Sheet
	case f.Explored != nil || f.Mended != nil:
		v.Found = f.SearchFrame
	case f.Re == 0:
		var film PlayFrame
		if err := json.Unmarshal(text, &film); err != nil {
			v.t.Fatal(err)
		}
		v.Film.take(film)
	}
	return f
}

// Ask sends a command and reads until its answer.
func (v *Attendee) Ask(command Object) RoomFrame {
	v.t.Helper()
	v.Id++
	command["id"] = v.Id
	if err := v.Conn.WriteJSON(command); err != nil {
		v.t.Fatal(err)
	}
	for {
		if f := v.Read(); f.Re == v.Id {
			return f
		}
	}
}

// Must hands in a command that is not refused.
func (v *Attendee) Must(command Object) RoomFrame {
	v.t.Helper()
	f := v.Ask(command)
	if !f.Done {
		v.t.Fatalf("%v: %s", command, f.Refused)
	}
	return f
}

// Until reads until the room is as wanted.
func (v *Attendee) Until(what string, is func() bool) {
	v.t.Helper()
	for !is() {
		if f := v.Read(); f.Refused != "" {
			v.t.Fatalf("waiting until %s: %s", what, f.Refused)
		}
	}
}

// Join has somebody be in the room.
func (v *Attendee) Join(part string, more Object) *Attendee {
	v.t.Helper()
	command := Object{"do": "join", "part": part}
	for key, value := range more {
		command[key] = value
	}
	f := v.Must(command)
	if f.Member == "" || f.Token == "" || f.Name == "" {
		v.t.Errorf("the answer to join: %+v", f)
	}
	v.Member, v.Token = f.Member, f.Token
	return v
}

// Closed reads until the connection is closed, and returns the code.
func (v *Attendee) Closed() int {
	v.t.Helper()
	_ = v.Conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		if _, _, err := v.Conn.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				v.t.Fatal(err)
			}
			return closed.Code
		}
	}
}

// MakeRoom makes a room, and returns its code and what its host proves itself by.
func (s Site) MakeRoom(t testing.TB, form url.Values) (code, secret string) {
	t.Helper()
	res, body := s.Do(t, "POST", "/rooms", form, "Accept", "application/json")
	var made struct{ Code, Secret string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || res.StatusCode != http.StatusCreated || len(made.Code) != 6 || made.Secret == "" {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	return made.Code, made.Secret
}

// taughtNow is what a host sees of the lesson.
type taughtNow struct {
	Title string
	Step  int
	Steps []string
	Notes string
	Next  string
}

// Next goes on in the lesson, and returns what the host sees then.
func (v *Attendee) Next() *taughtNow {
	v.t.Helper()
	v.Must(Object{"do": "lesson", "to": "next"})
	return v.Room.Lesson
}

// ManyMoves is a link of a few hundred bytes with so many moves of sixteen
// threads, each of which takes much.
func ManyMoves(tb testing.TB, moves int) string {
	tb.Helper()
	sc := Parsed(tb, "lock: {lease: 3ms, watchdog: 1ms, retry: {times: 1000, interval: 1m}}\ndefaults: {repeat: 100, work: 1h}\n"+Crowd(""))
	text, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(make([]scenario.Move, moves))})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// WaitFor waits until a condition holds.
func WaitFor(tb testing.TB, what string, holds func() bool) {
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

// VisitFrom is visit from an address of its own.
func (s Site) VisitFrom(tb testing.TB, ip, code string) *Attendee {
	tb.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	dialer := &websocket.Dialer{NetDialContext: d.DialContext}
	conn, res, err := dialer.DialContext(tb.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/room/"+code+"/socket?lang=en", http.Header{"Origin": {s.URL}})
	if err != nil {
		tb.Fatal(err, res)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &Attendee{t: tb, Conn: conn, Film: PlayPage{T: tb, Branches: map[int]*PageBranch{}}}
}
