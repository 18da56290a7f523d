package runs

import (
	"errors"
	"sync"
	"testing"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/web/site/wire"
	"relock/web/words"
)

// mistaken is an encoder that panics, or makes what is no frame, where it is
// told to.
type mistaken struct {
	sequences

	rows     func(seq int) bool // of the last event of a frame
	language words.Language     // in which Rows panics at once
	controls bool
}

var errMistake = errors.New("planted")

func (m mistaken) Controls(r *engine.Run, l words.Language) ([]byte, error) {
	if m.controls {
		return nil, errMistake
	}
	return m.sequences.Controls(r, l)
}

func (m mistaken) Rows(r *engine.Run, f Form) Encode {
	encode := m.sequences.Rows(r, f)
	return func(events []trace.Event, ended bool) (Frames, error) {
		if f.Language == m.language {
			panic(errMistake)
		}
		if m.rows != nil && len(events) > 0 && m.rows(events[len(events)-1].Seq) {
			return Frames{}, errMistake
		}
		return encode(events, ended)
	}
}

// Any panic while a run is shown ends that run: its viewers hear of it, even those who
// come later, and another run goes on.
func TestAPanicEndsOneRun(t *testing.T) {
	const gated = "threads: [{name: A, work: 1h}]\nlock: {lease: 1h, watchdog: off}"
	never := words.Language{}
	for _, c := range []struct {
		name    string
		encoder mistaken
		plant   func(s *Live)
	}{
		{"a frame cannot be written", mistaken{language: never, rows: func(seq int) bool { return seq > 1 }}, nil},
		{"who joins in another language", mistaken{language: words.Match("zh")}, func(s *Live) { s.Join(0, Form{Language: words.Match("zh")}) }},
		{"how threads are steered", mistaken{language: never, controls: true}, func(s *Live) { _ = s.Run.Steer("A", run.Gate) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewRegistry(DefaultLimits())
			defer r.Close()
			var mu sync.Mutex
			told := 0
			r.Panicked = func(p *panics.Error) {
				mu.Lock()
				defer mu.Unlock()
				if told++; !errors.Is(p, errMistake) && p.Value == nil {
					t.Errorf("told of %v", p)
				}
			}
			other := start(t, r, gated, engine.Options{Wall: true})
			s, err := r.Start(Visitor{"here", "me"}, other.Scenario, engine.Options{Wall: true}, c.encoder)
			if err != nil {
				t.Fatal(err)
			}
			_, viewer := s.Join(0, Form{Language: words.English})
			defer viewer.Leave()
			if c.plant != nil {
				c.plant(s)
			}
			for range viewer.Frames() {
				// until it is closed
			}
			_, later := s.Join(0, Form{Language: words.English})
			_, open := <-later.Frames()
			if viewer.Code() != wire.CloseBroken || open || later.Code() != wire.CloseBroken {
				t.Errorf("closed with %d, who comes later with %d", viewer.Code(), later.Code())
			}
			if err := s.Run.Wait(); err == nil {
				t.Error("the run went on")
			}
			if ended, _ := s.state(); !ended {
				t.Error("it counts as running")
			}
			if got := r.Count().Running; got != 1 {
				t.Errorf("%d run, want the other", got)
			}
			mu.Lock()
			defer mu.Unlock()
			if told != 1 {
				t.Errorf("told of %d panics", told)
			}
		})
	}
}
