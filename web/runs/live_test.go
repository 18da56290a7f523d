package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/site/limit"
	"relock/web/site/wire"
	"relock/web/words"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sequences encodes a frame as the numbers of its events.
type sequences struct{}

func (sequences) Controls(r *engine.Run, _ words.Language) ([]byte, error) {
	return json.Marshal(r.Controls())
}

func (sequences) Rows(*engine.Run, Form) Encode {
	return func(events []trace.Event, ended bool) (f Frames, err error) {
		seqs := []int{}
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
		if ended {
			seqs = append(seqs, -1)
		}
		f.Rows, err = json.Marshal(seqs)
		return f, err
	}
}

func start(t *testing.T, r *Registry, text string, o engine.Options) *Live {
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
func follow(t *testing.T, s *Live) []int {
	t.Helper()
	_, viewer := s.Join(0, Form{Language: words.English})
	defer viewer.Leave()
	for range viewer.Frames() {
		// until the hub is closed; a late viewer finds the frames below
	}
	backlog, _ := s.Join(0, Form{Language: words.English})
	var all []int
	for _, f := range backlog.Frames {
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

func (spoken) Rows(_ *engine.Run, f Form) Encode {
	return func(events []trace.Event, ended bool) (Frames, error) {
		return Frames{Rows: fmt.Appendf(nil, "%s %d %v", f.Language.Code(), len(events), ended)}, nil
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
	for _, l := range []words.Language{words.Match("zh"), words.English, words.Match("zh")} { // the first may see the run go on, the later find it ended
		_, viewer := s.Join(0, Form{Language: l})
		for range viewer.Frames() {
			// until the run is over
		}
		backlog, viewer := s.Join(0, Form{Language: l})
		if code := viewer.Code(); code != wire.CloseOver {
			t.Errorf("%s: closed with %d", l.Code(), code)
		}
		events := 0
		for i, f := range backlog.Frames {
			var code string
			var n int
			var ended bool
			if _, err := fmt.Sscanf(string(f), "%s %d %t", &code, &n, &ended); err != nil {
				t.Fatal(err)
			}
			events += n
			if code != l.Code() || ended != (i == len(backlog.Frames)-1) {
				t.Errorf("%s: frame %d of %d is %q", l.Code(), i+1, len(backlog.Frames), f)
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
	_, viewer := s.Join(0, Form{Language: words.Match("zh")})
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

// A run that goes on is kept, however long ago somebody looked at it.
func TestARunThatGoesOnIsKept(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	defer r.Close()
	s := start(t, r, "threads: [{name: A, work: 1h}]", engine.Options{Wall: true})
	r.forgetBefore(time.Now().Add(time.Hour))
	if _, ok := r.Get(s.Run.ID()); !ok {
		t.Error("forgotten while it goes on")
	}
}

// A viewer who has all events, and comes back when the run is over, is told so.
func TestTheEndIsToldToWhoHasAllEvents(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	defer r.Close()
	s := start(t, r, short, engine.Options{})
	all := follow(t, s)
	backlog, viewer := s.Join(len(all)-1, Form{Language: words.English})
	defer viewer.Leave()
	if len(backlog.Frames) != 1 || !strings.HasSuffix(string(backlog.Frames[0]), "-1]") {
		t.Errorf("after %d events: %q", len(all)-1, backlog.Frames)
	}
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

// The memory of runs is bounded in bytes: the oldest of their address goes first, and one
// that is too large by itself is stopped.
func TestWhatRunsHoldIsBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.KeptBytes = 300 << 10
	r := NewRegistry(limits)
	defer r.Close()
	held := make(chan string, 1)
	r.OnHeld(func(address string) {
		select {
		case held <- address:
		default: // told once is enough
		}
	})
	sc, err := scenario.Parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.Start(Visitor{"there", "you"}, sc, engine.Options{}, sequences{})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, other)
	first := start(t, r, short, engine.Options{})
	follow(t, first)
	for range 100 {
		follow(t, start(t, r, short, engine.Options{}))
	}
	if _, ok := r.Get(first.Run.ID()); ok || r.Count().Kept < 5 || r.Count().Kept > 50 {
		t.Errorf("the first is kept: %v, of %d", ok, r.Count().Kept)
	}
	if _, ok := r.Get(other.Run.ID()); !ok {
		t.Error("somebody else's was dropped")
	}
	if len(held) > 0 || r.held.Held() > limits.KeptBytes {
		t.Errorf("%d runs stopped, %d bytes held", len(held), r.held.Held())
	}
	long := start(t, r, "lock: {lease: 30ms, watchdog: 1ms}\nthreads: [{name: A, work: 10s}]", engine.Options{})
	err = long.Run.Wait()
	if told := <-held; !errors.Is(err, engine.ErrHeld) || told != "here" {
		t.Errorf("ended with %v, told of %q", err, told)
	}
}

// A run that has ended makes room for others, and not for itself: who looks at
// it keeps it.
func TestAnEndedRunIsNotDroppedForItself(t *testing.T) {
	r := NewRegistry(DefaultLimits())
	defer r.Close()
	held := ""
	r.OnHeld(func(address string) { held = address })
	s := start(t, r, short, engine.Options{})
	follow(t, s)
	s.account = limit.NewLedger(1, 1<<20).Open("here") // it has less room now
	r.weigh(s)
	if _, ok := r.Get(s.Run.ID()); !ok || held != "here" {
		t.Errorf("it is kept: %v, told of %q", ok, held)
	}
}

// To tidy up is no way to start more than the limit.
func TestHowOftenAnAddressStartedIsNotForgotten(t *testing.T) {
	limits := DefaultLimits()
	limits.StartsPerMinute = 1
	r := NewRegistry(limits)
	defer r.Close()
	if err := r.Allow("here"); err != nil {
		t.Fatal(err)
	}
	r.forgetBefore(time.Now())
	if err := r.Allow("here"); !errors.Is(err, ErrTooFast) {
		t.Errorf("a second start: %v", err)
	}
}

// A flood from one address takes nobody else's runs.
func TestWhoHasMostRunsLosesOne(t *testing.T) {
	limits := DefaultLimits()
	limits.Kept = 4
	r := NewRegistry(limits)
	defer r.Close()
	sc, err := scenario.Parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.Start(Visitor{"there", "you"}, sc, engine.Options{}, sequences{})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, other)
	for range 10 {
		follow(t, start(t, r, short, engine.Options{}))
	}
	if _, ok := r.Get(other.Run.ID()); !ok {
		t.Error("the only run of another address is gone")
	}
	if n := r.Count().Kept; n != limits.Kept {
		t.Errorf("%d kept", n)
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
