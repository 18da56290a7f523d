package engine

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"relock/engine/explore"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Path is what moves of a scenario have come to. It never changes, and nobody may change
// it.
type Path struct {
	Moves     []scenario.Move
	Positions []Position // before the first move, and after each
	Header    trace.Header
	Events    []trace.Event

	atOnce int // so many moves were made as a schedule, see along
	size   int // in bytes, about
}

// Position is where a path is after some of its moves.
type Position struct {
	Seq     int           // of the last event
	Row     int           // its step
	At      time.Duration // since the run began
	Options []run.Option
	Next    time.Duration // when something next happens by itself, or 0
	Seen    time.Duration // when something of it can be seen, or 0
	Expiry  time.Duration // when Redis will drop the key, or 0
	Over    bool          // the run has ended
	Plans   []run.Plan    // what will be by itself

	Pointless []run.Pointless // faults that would change nothing; shared among positions
}

// Movable reports whether somebody can move there; else time passes by itself.
func (p Position) Movable() bool {
	return slices.ContainsFunc(p.Options, func(o run.Option) bool { return o.Choice >= 0 })
}

// PathOf returns the path of sc's schedule. It fails like Paths.Path.
func PathOf(ctx context.Context, sc *scenario.Scenario) (*Path, error) {
	p := NewPaths(sc)
	defer p.Close()
	return p.Path(ctx, sc.Schedule)
}

// End is the position after all moves.
func (b *Path) End() Position { return b.Positions[len(b.Positions)-1] }

// Trace returns the trace, with the moves as the schedule of sc, whose path it is. As far
// as the moves go, such a scenario gives the same bytes.
func (b *Path) Trace(sc *scenario.Scenario) (trace.Header, []trace.Event, error) {
	text, err := sc.WithSchedule(b.Moves).MarshalJSON()
	if err != nil {
		return trace.Header{}, nil, fmt.Errorf("engine: %w", err)
	}
	h := b.Header
	h.Scenario = text
	return h, b.Events, nil
}

// Stands are where the path was before its first move and after each, for
// explore.Space.Follow.
func (b *Path) Stands() []explore.Stand {
	stands := make([]explore.Stand, len(b.Positions))
	for i, p := range b.Positions {
		stands[i] = explore.Stand{At: p.At, Can: p.Movable()}
	}
	return stands
}

// along returns the path of moves if b begins with it, else nil; also where it may be
// another one: a run that stands still for good ends, unless moves of its schedule are
// still to be made.
func (b *Path) along(moves []scenario.Move) *Path {
	n := len(moves)
	switch {
	case common(b.Moves, moves) < n, n > 0 && n < min(b.atOnce, len(b.Moves)):
		return nil
	case n == len(b.Moves):
		return b
	}
	end := b.Positions[n].Seq
	return &Path{Moves: b.Moves[:n:n], Positions: b.Positions[: n+1 : n+1], Header: b.Header, Events: b.Events[:end:end], atOnce: min(b.atOnce, n)}
}

// bytes is about how much memory the path takes.
func (b *Path) bytes() int {
	if b.size == 0 {
		for i := range b.Positions {
			b.size += b.bytesAt(i)
		}
	}
	return b.size
}

// bytesAt is how much of it came with a position.
func (b *Path) bytesAt(i int) int {
	p, before := b.Positions[i], Position{}
	if i > 0 {
		before = b.Positions[i-1]
	}
	size := int(unsafe.Sizeof(p)+unsafe.Sizeof(scenario.Move{})) * 5 / 4
	if n := len(p.Pointless); n > 0 && (len(before.Pointless) == 0 || &p.Pointless[0] != &before.Pointless[0]) {
		size += n * int(unsafe.Sizeof(p.Pointless[0]))
	}
	size += len(p.Plans) * int(unsafe.Sizeof(run.Plan{})) * 5 / 4
	for _, o := range p.Options {
		size += int(unsafe.Sizeof(o)) * 5 / 4
		size += len(o.Armed) * int(unsafe.Sizeof(scenario.Fault{}))
	}
	for _, e := range b.Events[before.Seq:p.Seq] {
		size += e.Size() + int(unsafe.Sizeof(e))*5/4 // the run's log has it, too
	}
	return size
}

// common is how many moves two lists have in common at their start.
func common(a, b []scenario.Move) int {
	most := min(len(a), len(b))
	if most > 0 && &a[0] == &b[0] {
		return most // of the same path
	}
	for n := range most {
		if !a[n].Equal(b[n]) {
			return n
		}
	}
	return most
}
