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
	s := open(t, func(c *web.Config) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	other := s.page(t)
	other.must(object{"do": "open", "scenario": leaseExpiry})
	live := s.run(t, twoThreads("store", "wall", "yaml", "threads: [{name: A, work: 10m}]"))
	counted := func(of, want string) {
		t.Helper()
		if got := s.metric(t, `relock_panics_total{ended="`+of+`"}`); got != want {
			t.Errorf("%s panics of a %s, want %s", got, of, want)
		}
		other.must(object{"do": "step", "branch": 0})
	}

	t.Run("stepping", func(t *testing.T) {
		p := s.page(t)
		p.must(object{"do": "open", "scenario": brokenText})
		if err := p.conn.WriteJSON(object{"id": 9, "do": "run", "branch": 0, "to": "end"}); err != nil {
			t.Fatal(err)
		}
		told, code := lastWords(t, p.conn)
		if !told.Broken || !strings.Contains(told.Refused, "A bug in this program has ended your session.") || code != wire.CloseBroken {
			t.Errorf("told %+v and closed with %d", told, code)
		}
		counted("play", "1")
	})
	t.Run("what the others do, on several locks", func(t *testing.T) {
		p := s.page(t)
		p.must(object{"do": "open", "scenario": brokenText})
		if refused, _ := p.ask(object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "value"}}); refused != "Something went wrong here. It was logged." {
			t.Errorf("refused: %q", refused)
		}
		p.must(object{"do": "step", "branch": 0}) // it hurt a copy
		_ = p.conn.Close()
		counted("play", "2")
	})
	t.Run("an export", func(t *testing.T) {
		res, body := s.post(t, "/export?format=csv", whole(packed(t, brokenText, 0)))
		if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "Something went wrong here") {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
		counted("page", "1")
	})
	for i, store := range []string{"virtual", "wall"} {
		t.Run("a run, "+store, func(t *testing.T) {
			path := s.run(t, twoThreads("yaml", brokenText, "store", store))
			frames := s.ended(t, path)
			if last := frames[len(frames)-1]; !last.Ended {
				t.Errorf("the last frame %+v", last)
			}
			if _, body := s.do(t, http.MethodGet, path, nil); !strings.Contains(body, "A bug in this program ended the run.") {
				t.Errorf("the page does not say how it ended")
			}
			if _, body := s.do(t, http.MethodGet, path+"/trace", nil); !strings.Contains(body, `"error":"`+run.ErrMistake.Error()+`"`) {
				t.Errorf("the trace does not say how it ended: %s", body)
			}
			counted("run", string(rune('1'+i)))
		})
	}

	if running := s.metric(t, "relock_runs_running"); running != "1" {
		t.Errorf("%s runs go on, want the other's", running)
	}
	log.mu.Lock()
	if n := strings.Count(log.b.String(), `"msg":"panic"`); n != 5 || !strings.Contains(log.b.String(), "panics_test.go") {
		t.Errorf("%d of 5 panics were written down, or not where they were: %s", n, log.b.String())
	}
	log.mu.Unlock()
	if res, body := s.do(t, http.MethodGet, live, nil); res.StatusCode != http.StatusOK || strings.Contains(body, "was ended by a mistake") {
		t.Errorf("the other's run: status %d", res.StatusCode)
	}
	_ = other.conn.Close()
	s.settled(t, "1")
}

// A branch is played again when it is gone on with. Where that gives another
// run, as with a Redis that fails for a moment, its rows and positions would not
// fit each other: the command is refused, and the branch stays as it was.
func TestABranchThatDoesNotRepeatStaysAsItWas(t *testing.T) {
	s := open(t, nil)
	p := s.page(t)
	p.must(object{"do": "open", "scenario": "lock: {key: " + forgotten + ", watchdog: off}\nthreads: [{name: A, depth: 3, work: 20ms}, {name: B, start: 1s}]"})
	for range 2 {
		p.must(object{"do": "step", "branch": 0, "thread": "A"})
		p.must(object{"do": "time", "branch": 0, "to": "by", "by": "20ms"})
	}
	p.must(object{"do": "step", "branch": 0, "thread": "A"}) // level 3
	p.must(object{"do": "cut", "branch": 0, "at": 1})
	p.must(object{"do": "step", "branch": 1, "thread": "A"}) // whose run now is the one that stands
	before := len(p.branches[0].positions)
	forgetful.Store(true)
	refused, _ := p.ask(object{"do": "time", "branch": 0, "to": "by", "by": "1ms"})
	forgetful.Store(false)
	if refused != "Something went wrong here. It was logged." || len(p.branches[0].positions) != before {
		t.Errorf("refused: %q; %d positions, %d before", refused, len(p.branches[0].positions), before)
	}
	p.must(object{"do": "run", "branch": 0, "to": "end"})
	if tip := p.branches[0].tip(); !tip.Over || tip.Row != len(p.branches[0].rows) {
		t.Errorf("it went on to %+v, %d rows", tip, len(p.branches[0].rows))
	}
	if n := s.metric(t, `relock_panics_total{ended="play"}`); n != "0" {
		t.Errorf("%s panics", n)
	}
}

// settled waits until nobody steps and nothing runs.
func (s site) settled(t *testing.T, runs string) {
	t.Helper()
	for range 500 {
		if s.metric(t, "relock_steppers") == "0" && s.metric(t, "relock_runs_running") == runs && s.metric(t, `relock_sockets{for="play"}`) == "0" {
			return
		}
	}
	t.Errorf("%s step, %s run", s.metric(t, "relock_steppers"), s.metric(t, "relock_runs_running"))
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
