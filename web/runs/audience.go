package runs

import (
	"fmt"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/runs/hub"
	"relock/web/runs/pack"
	"relock/web/site/wire"
	"relock/web/words"
)

// Frames are what viewers get when a run has new events.
type Frames struct {
	Rows    []byte   // the new and the changed ones
	Picture []byte   // of the whole run so far; only the newest counts; nil if there is none
	Packed  [][]byte // both as the columns of a record, for viewers that had all before; nil unless the Form is packed
}

// Encode makes the frames of new events. It is called by one goroutine for one
// run, with events in order, and a last time without events when the run has
// ended.
type Encode func(events []trace.Event, ended bool) (Frames, error)

// Form is the form of frames: the language of their texts, and how they are
// sent.
type Form struct {
	Language words.Language
	Packed   bool // records of a pack.Stream with Columns
}

// Columns is how many columns the records of packed frames have.
const Columns = 4

// audience is everybody watching a run in one form. Each frame is made once for
// all of them.
type audience struct {
	encode  Encode
	hub     *hub.Hub
	packed  *pack.Stream // of what is published; nil if that is not packed
	frames  []frame
	bytes   int    // of the frames
	picture []byte // the newest, nil before the first
	latest  []byte // the newest frame of Controls, nil before the first
}

type frame struct {
	last int // seq of its last event
	data []byte
}

// Encoder makes the frames of a run, in a language.
type Encoder interface {
	// Rows returns the function for the run's events.
	Rows(run *engine.Run, f Form) Encode
	// Controls returns a frame of how the run's threads are steered.
	Controls(run *engine.Run, l words.Language) ([]byte, error)
}

// made is the result of encoding.
func made[T any](data T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("runs: a frame that cannot be written: %v", err))
	}
	return data
}

// add makes the frames of the events up to last, and publishes them.
func (a *audience) add(last int, events []trace.Event, over bool) {
	f := made(a.encode(events, over))
	a.frames = append(a.frames, frame{last, f.Rows})
	a.bytes += len(f.Rows)
	if f.Picture != nil {
		a.picture = f.Picture
	}
	if a.packed != nil {
		a.publish(f.Packed...)
		return
	}
	if f.Picture != nil {
		a.publish(f.Picture, f.Rows)
		return
	}
	a.publish(f.Rows)
}

// publish sends frames, or the columns of a record, to all viewers.
func (a *audience) publish(texts ...[]byte) {
	switch {
	case a.packed == nil:
		_ = a.hub.Publish(texts...) // closed: nobody is there
	case a.hub.Viewers() == 0: // and nobody joins meanwhile
		a.packed.Pass(texts...)
	default:
		_ = a.hub.PublishPacked(a.packed.Add(texts...))
	}
}

// audience returns the audience of a form. The first viewer in a form gets
// everything so far in one frame. The caller holds showing.
func (s *Session) audience(f Form) *audience {
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

// Join returns the frames in f with events after seq, and a viewer for all
// later ones in order: none is missing and none comes twice. The frame that
// says that the run has ended is always among them. A run ended by a panic has
// no frames.
func (s *Session) Join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
	defer s.grown() // this may be the first viewer in this form
	s.guarded(func() { backlog, viewer = s.join(seq, f) })
	if viewer == nil {
		broken := hub.New()
		broken.Close(wire.CloseBroken)
		return Backlog{}, broken.Subscribe()
	}
	return backlog, viewer
}

func (s *Session) join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
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
