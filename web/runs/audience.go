package runs

import (
	"fmt"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/runs/hub"
	"relock/web/runs/pack"
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
