// Package runs has what people see of runs: runs on the wall clock, each with
// its viewers, within limits, and kept only while somebody looks; and the films
// and frames of runs and traces, made once for everybody who watches. The
// entrances are Registry, which starts a run and finds it again, Live.Join,
// with which a viewer watches it, and Films. It must not know the routes.
package runs

import (
	"context"
	"errors"
	"sync"
	"time"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/runs/hub"
	"relock/web/runs/pack"
	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/site/wire"
)

// Live is one run and its viewers. It is safe for concurrent use.
type Live struct {
	Run      *engine.Run
	Scenario *scenario.Scenario // before slow motion
	Slow     int                // factor of slow motion, at least 1
	visitor  string
	address  string
	account  *limit.Account
	stop     context.CancelCauseFunc
	grown    func() // called without a lock when it may hold more
	encoder  Encoder
	panicked func(*panics.Error)

	// showing guards the audiences. It is held while a frame is made.
	showing   sync.Mutex
	audiences map[Form]*audience
	shown     int  // seq of the last event the audiences have
	steered   bool // they have been told how the threads are steered
	over      bool // they have been told that the run has ended
	events    int  // bytes that its events take
	closed    int  // the code with which they were closed, 0 before

	mu    sync.Mutex
	ended bool
	seen  time.Time
	grew  time.Time // when the last event came
}

// guarded calls f. A panic in it ends the run and closes its viewers with
// wire.CloseBroken. The caller does not hold showing.
func (s *Live) guarded(f func()) {
	p := panics.Try(f)
	if p == nil {
		return
	}
	s.report(p)
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.close(wire.CloseBroken)
	s.Run.Stop()
}

// report reports err if it is a panic.
func (s *Live) report(err error) {
	var p *panics.Error
	if errors.As(err, &p) && s.panicked != nil {
		s.panicked(p)
	}
}

// Owned reports whether a visitor started the run, and so may steer it.
func (s *Live) Owned(visitor string) bool { return visitor != "" && visitor == s.visitor }

// announce tells all viewers how the threads are steered now.
func (s *Live) announce() {
	s.showing.Lock()
	defer s.showing.Unlock()
	if s.closed == wire.CloseBroken {
		return
	}
	s.steered = true
	for f, a := range s.audiences {
		a.latest = made(s.encoder.Controls(s.Run, f.Language))
		a.publish(a.latest)
	}
}

// size estimates how many bytes the run holds: 1 to 4 KB per event, and for
// each form in which somebody has looked at it what film.EventSize says, the
// frames, and the windows of the pack.Stream.
func (s *Live) size() int {
	s.showing.Lock()
	defer s.showing.Unlock()
	size := s.events
	for _, a := range s.audiences {
		size += a.bytes + s.shown*film.EventSize(s.Scenario)
		if a.packed != nil {
			size += Columns * pack.Window
		}
	}
	return size
}

func (s *Live) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = time.Now()
}

// Quiet returns the time since the last event, 0 before the first.
func (s *Live) Quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grew.IsZero() {
		return 0
	}
	return time.Since(s.grew)
}

func (s *Live) state() (ended bool, seen time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.seen
}

// close closes all viewers, and later ones at once, with code. Only the first
// close counts.
func (s *Live) close(code int) {
	s.showing.Lock()
	defer s.showing.Unlock()
	s.shut(code)
}

// shut is close for callers that hold showing.
func (s *Live) shut(code int) {
	if s.closed != 0 {
		return
	}
	s.closed = code
	for _, a := range s.audiences {
		a.hub.Close(code)
	}
}

// Viewers returns the number of current viewers, of all kinds.
func (s *Live) Viewers() int {
	s.showing.Lock()
	defer s.showing.Unlock()
	n := 0
	for _, a := range s.audiences {
		n += a.hub.Viewers()
	}
	return n
}

// apart is the shortest time between two frames: as long as a screen shows a
// picture or two. Everything that happens meanwhile comes in one frame.
const apart = 33 * time.Millisecond

// pump shows new events, all of them in one frame. Until ctx ends, frames are
// made in turns.
func (s *Live) pump(ctx context.Context, seat *turn.Seat) {
	seq := 0
	pace := time.NewTicker(apart)
	defer pace.Stop()
	for ; ; <-pace.C {
		events, closed, err := s.Run.Log().Wait(context.Background(), seq)
		if err != nil {
			return // cannot be: the log closes with the run
		}
		s.mu.Lock()
		s.grew = time.Now()
		s.mu.Unlock()
		seq += len(events)
		over := len(events) == 0 && closed
		s.showInTurn(ctx, seat, events, over)
		s.grown()
		if over {
			return
		}
	}
}

func (s *Live) showInTurn(ctx context.Context, seat *turn.Seat, events []trace.Event, over bool) {
	_ = seat.Take(ctx) // after ctx's end the last frames are made at once
	defer seat.Done()
	s.show(events, over)
}

func (s *Live) show(events []trace.Event, over bool) {
	s.showing.Lock()
	defer s.showing.Unlock()
	s.shown += len(events)
	for _, e := range events {
		s.events += e.Size()
	}
	for _, a := range s.audiences {
		a.add(s.shown, events, over)
	}
	if over {
		s.over = true
		s.shut(wire.CloseOver)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
	}
}

// audience returns the audience of a form. The first viewer in a form gets
// everything so far in one frame. The caller holds showing.
func (s *Live) audience(f Form) *audience {
	if a := s.audiences[f]; a != nil {
		return a
	}
	a := &audience{encode: s.encoder.Rows(s.Run, f), hub: hub.New()}
	if f.Packed {
		a.packed = pack.New(Columns)
	}
	if events, _ := s.Run.Log().Since(0); s.shown > 0 {
		a.add(s.shown, events[:s.shown], false)
	}
	if s.over {
		a.add(s.shown, nil, true)
	}
	if s.steered {
		a.latest = made(s.encoder.Controls(s.Run, f.Language))
	}
	if s.closed != 0 {
		a.hub.Close(s.closed)
	}
	s.audiences[f] = a
	return a
}

// Backlog is what a new viewer gets, in this order, before what the hub
// publishes.
type Backlog struct {
	Frames [][]byte
	Start  []byte // of the pack.Stream whose parts follow; nil if frames follow
}

// Join returns the frames in f with events after seq, and a viewer for all later
// ones in order: none is missing and none comes twice. They always include the
// frame that says that the run has ended. A run ended by a panic has no frames.
func (s *Live) Join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
	defer s.grown() // this may be the first viewer in this form
	s.guarded(func() { backlog, viewer = s.join(seq, f) })
	if viewer == nil {
		broken := hub.New()
		broken.Close(wire.CloseBroken)
		return Backlog{}, broken.Subscribe()
	}
	return backlog, viewer
}

func (s *Live) join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
	s.showing.Lock()
	defer s.showing.Unlock()
	if s.closed == wire.CloseBroken {
		return Backlog{}, nil
	}
	a := s.audience(f)
	if a.picture != nil && (s.shown > seq || f.Packed && !s.over) {
		backlog.Frames = append(backlog.Frames, a.picture)
	}
	for i, f := range a.frames {
		if f.last > seq || s.over && i == len(a.frames)-1 {
			backlog.Frames = append(backlog.Frames, f.data)
		}
	}
	if a.latest != nil && !s.over {
		backlog.Frames = append(backlog.Frames, a.latest)
	}
	if a.packed != nil {
		backlog.Start = a.packed.Start()
	}
	return backlog, a.hub.Subscribe()
}
