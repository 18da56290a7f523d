package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/run"
	"relock/web"
	"relock/web/site/wire"
	"relock/web/webtest"
)

// Keys that no other test has: unlocks of the first panic, and the third
// level of the second fails while forgetful is set.
const (
	broken    = "broken-unlock"
	forgotten = "forgotten"
)

var forgetful atomic.Bool

func init() {
	for _, p := range exhibit.All() {
		unlock := p.Unlock
		p.Unlock = func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
			if strings.HasSuffix(r.Key, broken) {
				panic(io.ErrUnexpectedEOF)
			}
			return unlock(ctx, r)
		}
		lock := p.Lock
		p.Lock = func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
			if forgetful.Load() && r.Level == 3 && strings.HasSuffix(r.Key, forgotten) {
				return protocol.Reply{}, io.ErrUnexpectedEOF
			}
			return lock(ctx, r)
		}
	}
}

const brokenText = "lock: {key: " + broken + ", watchdog: off}\nthreads: [{name: A}, {name: B}]\ndefaults: {work: 20ms}"

// A panic ends what it happened in, whose people are told; all else goes on,
// and nothing is counted that is not there any more.
func TestAPanicEndsOneSession(t *testing.T) {
	var log lockedBuffer
	s := webtest.Open(t, func(c *web.Config) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	other := s.Page(t)
	other.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	live := s.Run(t, webtest.TwoThreads("store", "wall", "yaml", "threads: [{name: A, work: 10m}]"))
	counted := func(of, want string) {
		t.Helper()
		if got := s.Metric(t, `relock_panics_total{ended="`+of+`"}`); got != want {
			t.Errorf("%s panics of a %s, want %s", got, of, want)
		}
		other.Must(webtest.Object{"do": "step", "branch": 0})
	}

	t.Run("stepping", func(t *testing.T) {
		p := s.Page(t)
		p.Must(webtest.Object{"do": "open", "scenario": brokenText})
		if err := p.Conn.WriteJSON(webtest.Object{"id": 9, "do": "run", "branch": 0, "to": "end"}); err != nil {
			t.Fatal(err)
		}
		told, code := lastWords(t, p.Conn)
		if !told.Broken || !strings.Contains(told.Refused, "A bug in this program has ended your session.") || code != wire.CloseBroken {
			t.Errorf("told %+v and closed with %d", told, code)
		}
		counted("play", "1")
	})
	t.Run("what the others do, on several locks", func(t *testing.T) {
		p := s.Page(t)
		p.Must(webtest.Object{"do": "open", "scenario": brokenText})
		if refused, _ := p.Ask(webtest.Object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "value"}}); refused != "Something went wrong here. It was logged." {
			t.Errorf("refused: %q", refused)
		}
		p.Must(webtest.Object{"do": "step", "branch": 0}) // it hurt a copy
		_ = p.Conn.Close()
		counted("play", "2")
	})
	t.Run("an export", func(t *testing.T) {
		res, body := s.Post(t, "/export?format=csv", whole(webtest.Packed(t, brokenText, 0)))
		if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "Something went wrong here") {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
		counted("page", "1")
	})
	for i, store := range []string{"virtual", "wall"} {
		t.Run("a run, "+store, func(t *testing.T) {
			path := s.Run(t, webtest.TwoThreads("yaml", brokenText, "store", store))
			frames := s.Ended(t, path)
			if last := frames[len(frames)-1]; !last.Ended {
				t.Errorf("the last frame %+v", last)
			}
			if _, body := s.Do(t, http.MethodGet, path, nil); !strings.Contains(body, "A bug in this program ended the run.") {
				t.Errorf("the page does not say how it ended")
			}
			if _, body := s.Do(t, http.MethodGet, path+"/trace", nil); !strings.Contains(body, `"error":"`+run.ErrMistake.Error()+`"`) {
				t.Errorf("the trace does not say how it ended: %s", body)
			}
			counted("run", string(rune('1'+i)))
		})
	}

	if running := s.Metric(t, "relock_runs_running"); running != "1" {
		t.Errorf("%s runs go on, want the other's", running)
	}
	log.mu.Lock()
	if n := strings.Count(log.b.String(), `"msg":"panic"`); n != 5 || !strings.Contains(log.b.String(), "panics_test.go") {
		t.Errorf("%d of 5 panics were written down, or not where they were: %s", n, log.b.String())
	}
	log.mu.Unlock()
	if res, body := s.Do(t, http.MethodGet, live, nil); res.StatusCode != http.StatusOK || strings.Contains(body, "was ended by a mistake") {
		t.Errorf("the other's run: status %d", res.StatusCode)
	}
	_ = other.Conn.Close()
	s.Settled(t, "1")
}

// A branch is played again when it is gone on with. Where that gives another
// run, as with a Redis that fails for a moment, its rows and positions would not
// fit each other: the command is refused, and the branch stays as it was.
func TestABranchThatDoesNotRepeatStaysAsItWas(t *testing.T) {
	s := webtest.Open(t, nil)
	p := s.Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": "lock: {key: " + forgotten + ", watchdog: off}\nthreads: [{name: A, depth: 3, work: 20ms}, {name: B, start: 1s}]"})
	for range 2 {
		p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
		p.Must(webtest.Object{"do": "time", "branch": 0, "to": "by", "by": "20ms"})
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"}) // level 3
	p.Must(webtest.Object{"do": "cut", "branch": 0, "at": 1})
	p.Must(webtest.Object{"do": "step", "branch": 1, "thread": "A"}) // whose run now is the one that stands
	before := len(p.Branches[0].Positions)
	forgetful.Store(true)
	refused, _ := p.Ask(webtest.Object{"do": "time", "branch": 0, "to": "by", "by": "1ms"})
	forgetful.Store(false)
	if refused != "Something went wrong here. It was logged." || len(p.Branches[0].Positions) != before {
		t.Errorf("refused: %q; %d positions, %d before", refused, len(p.Branches[0].Positions), before)
	}
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"})
	if tip := p.Branches[0].Tip(); !tip.Over || tip.Row != len(p.Branches[0].Rows) {
		t.Errorf("it went on to %+v, %d rows", tip, len(p.Branches[0].Rows))
	}
	if n := s.Metric(t, `relock_panics_total{ended="play"}`); n != "0" {
		t.Errorf("%s panics", n)
	}
}

// whole is a link without a position: the run to its end.
func whole(link string) string {
	text, _, _ := strings.Cut(link, "~")
	return text
}

type farewell struct {
	Broken  bool
	Refused string
}

// lastWords are the last frame of a socket that the server closes, and the
// code.
func lastWords(t *testing.T, conn *websocket.Conn) (last farewell, code int) {
	t.Helper()
	for {
		_, text, err := conn.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return last, closed.Code
		}
		if err != nil {
			t.Fatal(err)
		}
		last = farewell{}
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
}
