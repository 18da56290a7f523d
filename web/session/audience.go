package session

import (
	"fmt"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/hub"
	"relock/web/pack"
	"relock/web/words"
)

// Frames are what there is to see of a run once some more events are there.
type Frames struct {
	Rows    []byte   // those that are new, or have changed
	Picture []byte   // of the whole run so far, of which only the newest counts; nil: there is none
	Packed  [][]byte // for those who had all before: both as the columns of a record; nil where Form says so
}

// Encode makes the frames of the events that are new. It is called for one run
// by one goroutine, with events in order; last of all without events, when the
// run has ended.
type Encode func(events []trace.Event, ended bool) (Frames, error)

// Form is what frames look like: the words in them, and how they are sent.
type Form struct {
	Language words.Language
	Packed   bool // records of a pack.Stream with Columns
}

// Columns is how many the records of packed frames have.
const Columns = 4

// audience is who looks at a run in one form: a frame is made once for all of
// them.
type audience struct {
	encode  Encode
	hub     *hub.Hub
	packed  *pack.Stream // of what is published; nil: as it is
	frames  []frame
	bytes   int    // of the frames
	picture []byte // the newest, nil before the first
	latest  []byte // the frame of how the threads are steered, nil before the first
}

type frame struct {
	last int // seq of its last event
	data []byte
}

// Encoder makes the frames of a run, in a language.
type Encoder interface {
	// Rows returns the function for the run's events.
	Rows(run *engine.Run, f Form) Encode
	// Controls is a frame of how the run's threads are steered.
	Controls(run *engine.Run, l words.Language) ([]byte, error)
}

// made is a frame, or frames, that were encoded.
func made[T any](data T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("session: a frame that cannot be written: %v", err))
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

// publish sends frames, or the columns of a record, to all who look on.
func (a *audience) publish(texts ...[]byte) {
	switch {
	case a.packed == nil:
		_ = a.hub.Publish(texts...) // closed: nobody is there
	case a.hub.Viewers() == 0: // nor does anybody come meanwhile
		a.packed.Pass(texts...)
	default:
		_ = a.hub.PublishPacked(a.packed.Add(texts...))
	}
}

// audience is that of a form. The first who wants it gets what there is so far
// in one frame. The caller holds showing.
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

// Backlog is what a viewer gets who joins, in this order, before what the hub
// publishes.
type Backlog struct {
	Frames [][]byte
	Start  []byte // of the pack.Stream whose parts follow; nil where frames follow
}

// Join returns the frames in f with events after seq, and all later ones in
// order: none is missing and none comes twice. The frame that says that the
// run has ended is always among them. Of a run that a panic has ended there are
// none.
func (s *Session) Join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
	defer s.grown() // in a form in which nobody has looked at it before
	s.guarded(func() { backlog, viewer = s.join(seq, f) })
	if viewer == nil {
		broken := hub.New()
		broken.Close(hub.CloseBroken)
		return Backlog{}, broken.Subscribe()
	}
	return backlog, viewer
}

func (s *Session) join(seq int, f Form) (backlog Backlog, viewer *hub.Subscriber) {
	s.showing.Lock()
	defer s.showing.Unlock()
	if s.closed == hub.CloseBroken {
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
