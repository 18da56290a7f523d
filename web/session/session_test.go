package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/hub"
	"relock/web/words"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sequences encodes a frame as the numbers of its events.
type sequences struct{}

func (sequences) Controls(r *engine.Run, _ words.Language) ([]byte, error) {
	return json.Marshal(r.Controls())
}

func (sequences) Rows(*engine.Run, words.Language) Encode {
	return func(events []trace.Event, ended bool) (rows, picture []byte, err error) {
		seqs := []int{}
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
		if ended {
			seqs = append(seqs, -1)
		}
		rows, err = json.Marshal(seqs)
		return rows, nil, err
	}
}

func start(t *testing.T, r *Registry, text string, o engine.Options) *Session {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Start(Visitor{"here", "me"}, sc, o, sequences{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const short = "threads: [{name: A, work: 5ms}]"

// follow waits for the run's end and returns what all its frames hold.
func follow(t *testing.T, s *Session) []int {
	t.Helper()
	_, viewer := s.Join(0, words.English)
	defer viewer.Leave()
	for range viewer.Frames() {
		// until the hub is closed; a late viewer finds the frames below
	}
	frames, _ := s.Join(0, words.English)
	var all []int
	for _, f := range frames {
		var seqs []int
		if err := json.Unmarshal(f, &seqs); err != nil {
			t.Fatal(err)
		}
		all = append(all, seqs...)
	}
	return all
}

func TestFramesHoldEveryEventOnceAndThenTheEnd(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	defer r.Close()
	s := start(t, r, short, engine.Options{})
	got := follow(t, s)
	for i, seq := range got[:len(got)-1] {
		if seq != i+1 {
			t.Fatalf("events %v", got)
		}
	}
	if n := s.Run.Log().Len(); len(got) != n+1 || got[n] != -1 {
		t.Errorf("%d events and the end, want %d", len(got)-1, n)
	}
}

// spoken encodes a frame as its language and the numbers of its events.
type spoken struct{ sequences }

func (spoken) Rows(_ *engine.Run, l words.Language) Encode {
	return func(events []trace.Event, ended bool) (rows, picture []byte, err error) {
		return fmt.Appendf(nil, "%s %d %v", l.Code(), len(events), ended), nil, nil
	}
}

func TestEachLanguageHasFramesOfItsOwn(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	defer r.Close()
	sc, err := scenario.Parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Start(Visitor{"here", "me"}, sc, engine.Options{}, spoken{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []words.Language{words.Chinese, words.English, words.Chinese} { // the first may see the run go on, the later find it ended
		_, viewer := s.Join(0, l)
		for range viewer.Frames() {
			// until the run is over
		}
		frames, viewer := s.Join(0, l)
		if code := viewer.Code(); code != hub.CloseOver {
			t.Errorf("%s: closed with %d", l.Code(), code)
		}
		events := 0
		for i, f := range frames {
			var code string
			var n int
			var ended bool
			if _, err := fmt.Sscanf(string(f), "%s %d %t", &code, &n, &ended); err != nil {
				t.Fatal(err)
			}
			events += n
			if code != l.Code() || ended != (i == len(frames)-1) {
				t.Errorf("%s: frame %d of %d is %q", l.Code(), i+1, len(frames), f)
			}
		}
		if want := s.Run.Log().Len(); events != want {
			t.Errorf("%s: %d events, want %d", l.Code(), events, want)
		}
	}
}

func TestWhoJoinsAfterCloseIsSentAway(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	s := start(t, r, "threads: [{name: A, work: 1h}]", engine.Options{Wall: true})
	r.Close()
	_, viewer := s.Join(0, words.Chinese)
	for range viewer.Frames() {
		t.Error("a frame after the close")
	}
	if code := viewer.Code(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d, want 1001", code)
	}
}

func TestRunsThatNobodyLooksAtAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.Idle = time.Minute
		r := NewRegistry(limits)
		defer r.Close()
		s := start(t, r, short, engine.Options{})
		_ = s.Run.Wait()
		time.Sleep(50 * time.Second)
		if _, ok := r.Get(s.Run.ID()); !ok {
			t.Error("forgotten too early")
		}
		time.Sleep(50 * time.Second)
		if _, ok := r.Get(s.Run.ID()); !ok {
			t.Error("forgotten though somebody looked")
		}
		time.Sleep(2 * time.Minute)
		if _, ok := r.Get(s.Run.ID()); ok {
			t.Error("kept for ever")
		}
	})
}

func TestALongRunIsStopped(t *testing.T) {
	limits := DefaultLimits()
	limits.Longest = 20 * time.Millisecond
	r := NewRegistry(limits)
	defer r.Close()
	s := start(t, r, "threads: [{name: A, work: 1h}]", engine.Options{Wall: true})
	if err := s.Run.Wait(); err == nil || err.Error() != "it took longer than 20ms" {
		t.Errorf("ended with %v", err)
	}
}

// Also one that has not come to begin.
func TestARunIsStoppedWhileItBegins(t *testing.T) {
	limits := DefaultLimits()
	limits.Longest = time.Nanosecond
	r := NewRegistry(limits)
	defer r.Close()
	s := start(t, r, "threads: [{name: A, work: 1h}]", engine.Options{Wall: true})
	if err := s.Run.Wait(); err == nil || err.Error() != "it took longer than 1ns" {
		t.Errorf("ended with %v", err)
	}
}

func TestKeptEventsAreBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.KeptEvents = 1
	r := NewRegistry(limits)
	defer r.Close()
	first := start(t, r, short, engine.Options{})
	follow(t, first)
	start(t, r, short, engine.Options{})
	if _, ok := r.Get(first.Run.ID()); ok {
		t.Error("a run beyond the bound is kept")
	}
}

func TestNothingStartsAfterClose(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	r.Close()
	sc, err := scenario.Parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(Visitor{"here", "me"}, sc, engine.Options{}, sequences{}); !errors.Is(err, ErrClosed) {
		t.Errorf("started: %v", err)
	}
}
