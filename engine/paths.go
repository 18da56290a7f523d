package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Limits of paths.
const (
	MaxMoves = 5000 // of a path: for each the page holds what was possible

	// MaxSize is in bytes, as Paths.Size counts them: some 14,000 events of
	// sixteen threads and one lock, or 4,000 of sixteen threads and nine nodes.
	MaxSize = 32 << 20

	// maxKept is for the branches that a person can tell apart, and what was tried beside
	// them.
	maxKept = 8
)

// Errors of paths. A move that cannot be made fails with a *run.Refusal.
var (
	ErrMoves = phrase.New("a branch can have %d moves; run the scenario as a whole instead", MaxMoves)
	ErrSize  = sizeError{}
)

// sizeError is the type of ErrSize. Servers count how often this limit is met.
type sizeError struct{}

// Error implements error.
func (e sizeError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (sizeError) Says() phrase.Wording {
	return phrase.Say("a session can hold %d MB; drop a branch, or run the scenario as a whole", MaxSize>>20)
}

// Limit returns the limit's name in metrics and logs.
func (sizeError) Limit() string { return "session-size" }

// ErrUnrepeated is a bug in this program or its store: moves cannot be made again, and
// nobody can go on from there.
var ErrUnrepeated = errors.New("the moves of a path gave another run when they were made again")

// Paths answers what moves of a scenario come to, on the virtual clock. It keeps its
// newest answers, and one run that stands at the end of one of them: to go on from there
// takes no more than the next move, from elsewhere those before it are made again. It is
// safe for concurrent use, and nobody waits for what is kept. After Close it begins again.
// If a thread of the scenario panics, it fails with a *panics.Error.
type Paths struct {
	sc *scenario.Scenario

	mu      sync.Mutex   // held while a run moves
	live    *run.Stepper // has made the moves of on, or nil
	liveRun *run.Run
	on      *Path

	reading sync.Mutex // taken after mu, and held only to look up
	kept    []*Path    // the one used last is last
}

// NewPaths returns the paths of a scenario, whose own schedule is none of them.
func NewPaths(sc *scenario.Scenario) *Paths { return &Paths{sc: sc.WithSchedule(nil)} }

// Scenario returns the scenario, without a schedule.
func (p *Paths) Scenario() *scenario.Scenario { return p.sc }

// OpenSize is about how many bytes a run takes: its embedded Redis and its threads.
const OpenSize = 300 << 10

// Size estimates how many bytes of memory it takes: the events of the paths that are kept,
// what was possible at each of their positions, and OpenSize; 0 while there is nothing.
// Measured with six scenarios (BenchmarkHeldByASession), it was 0.8 to 1.1 of the heap.
func (p *Paths) Size() int {
	p.reading.Lock()
	defer p.reading.Unlock()
	if len(p.kept) == 0 {
		return 0
	}
	size := OpenSize
	for _, b := range p.kept {
		size += b.size
	}
	return size
}

// Close ends what it has running, and forgets all paths.
func (p *Paths) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}

// Rest is Close, unless it is used just now.
func (p *Paths) Rest() {
	if p.mu.TryLock() {
		defer p.mu.Unlock()
		p.forget()
	}
}

// forget is Close for callers that hold mu.
func (p *Paths) forget() {
	_ = panics.Try(p.stop)
	p.Retain(nil)
}

// Retain forgets all paths that these moves do not need.
func (p *Paths) Retain(wanted [][]scenario.Move) {
	p.reading.Lock()
	defer p.reading.Unlock()
	slices.SortFunc(wanted, func(a, b []scenario.Move) int { return len(b) - len(a) })
	var needed []*Path
	for _, moves := range wanted {
		has := func(b *Path) bool { return b.along(moves) != nil }
		if i := slices.IndexFunc(p.kept, has); i >= 0 && !slices.ContainsFunc(needed, has) {
			needed = append(needed, p.kept[i])
		}
	}
	p.kept = needed
}

// stop ends the run. The caller holds mu.
func (p *Paths) stop() {
	if live := p.live; live != nil {
		p.live, p.liveRun, p.on = nil, nil, nil
		live.Close(nil)
	}
}

// Known returns the path of moves if it is kept, else nil. It does not wait.
func (p *Paths) Known(moves []scenario.Move) *Path {
	p.reading.Lock()
	defer p.reading.Unlock()
	for i, b := range slices.Backward(p.kept) {
		if is := b.along(moves); is != nil {
			p.kept = append(slices.Delete(p.kept, i, i+1), b)
			return is
		}
	}
	return nil
}

// before returns the longest kept path that these moves go on from, or nil.
func (p *Paths) before(moves []scenario.Move) (b *Path) {
	p.reading.Lock()
	defer p.reading.Unlock()
	for _, one := range p.kept {
		if n := len(one.Moves); common(one.Moves, moves) == n && (b == nil || n > len(b.Moves)) {
			b = one
		}
	}
	return b
}

// keep keeps a path, in the place of one of which it is more, if that is kept.
func (p *Paths) keep(b, instead *Path) {
	b.size = b.bytes()
	p.reading.Lock()
	defer p.reading.Unlock()
	p.kept = append(slices.DeleteFunc(p.kept, func(o *Path) bool { return o == instead }), b)
	if len(p.kept) > maxKept {
		p.kept = slices.Delete(p.kept, 0, 1)
	}
}

// Path returns what moves come to from the start, as a scenario with that schedule would
// go. It fails with run.ErrDiverged if they do not fit, with ErrMoves, ErrSize, a
// *panics.Error, or if a run cannot be begun.
func (p *Paths) Path(ctx context.Context, moves []scenario.Move) (b *Path, err error) {
	if b = p.Known(moves); b != nil {
		return b, nil
	}
	return p.working(func() (*Path, error) { return p.path(ctx, moves) })
}

// Try returns what moves come to, and after them one more that is wished for. A refused
// move leaves nothing behind. It fails like Path, or with a *run.Refusal.
func (p *Paths) Try(ctx context.Context, moves []scenario.Move, w Wish) (*Path, error) {
	return p.working(func() (*Path, error) {
		b, err := p.path(ctx, moves)
		switch {
		case err != nil:
			return nil, err
		case p.Size() > MaxSize: // before the expensive work
			return nil, ErrSize
		}
		return p.goOn(ctx, b, w)
	})
}

// working forgets all after anything but a refusal: nobody knows what it is in then.
func (p *Paths) working(f func() (*Path, error)) (b *Path, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err = panics.Catch(func() (err error) {
		b, err = f()
		return err
	})
	if err == nil {
		return b, nil
	}
	if _, told := phrase.Of(err); !told {
		p.forget()
	}
	return nil, err
}

// path is Path for callers that hold mu.
func (p *Paths) path(ctx context.Context, moves []scenario.Move) (*Path, error) {
	if b := p.Known(moves); b != nil {
		return b, nil
	}
	if len(moves) > MaxMoves {
		return nil, ErrMoves
	}
	b := p.before(moves)
	if b == nil {
		return p.replay(ctx, moves)
	}
	var err error
	for n := len(b.Moves); err == nil && n < len(moves); n++ {
		b, err = p.goOn(ctx, b, Wish{Move: &moves[n]})
	}
	if errors.As(err, new(*run.Refusal)) { // where no schedule has more moves, the run may have ended
		return p.replay(ctx, moves)
	}
	return b, err
}

// replay makes moves from the start. The caller holds mu.
func (p *Paths) replay(ctx context.Context, moves []scenario.Move) (*Path, error) {
	b := &Path{atOnce: len(moves)}
	err := p.begin(ctx, b)
	if err == nil {
		b.Header = p.liveRun.Header()
		err = p.note(ctx, b)
	}
	if err == nil {
		err = p.live.Replay(ctx, moves, func(m scenario.Move) error { return p.note(ctx, b, m) })
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	p.keep(b, nil)
	return b, nil
}

// begin begins a run, of b's moves.
func (p *Paths) begin(ctx context.Context, b *Path) error {
	p.stop()
	r, err := run.New(p.sc, run.Options{})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	live, err := r.Begin(ctx)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	p.live, p.liveRun, p.on = live, r, b
	return nil
}

// goOn makes a move after all those of a path. The caller holds mu.
func (p *Paths) goOn(ctx context.Context, b *Path, w Wish) (*Path, error) {
	if len(b.Moves) == MaxMoves {
		return nil, ErrMoves
	}
	next, err := p.made(ctx, b, w)
	if err != nil {
		p.stop() // time may have passed
		return nil, err
	}
	p.on = next
	return next, nil
}

// made is goOn's result; the run then has made the move.
func (p *Paths) made(ctx context.Context, b *Path, w Wish) (*Path, error) {
	if err := p.stand(ctx, b); err != nil {
		return nil, err
	}
	m, err := w.make(ctx, p.live)
	if err != nil {
		return nil, err
	}
	if !p.keeps(b) { // it is the beginning of others
		if known := p.Known(append(slices.Clip(b.Moves), m)); known != nil {
			return known, nil
		}
	}
	next := *b
	next.size = b.bytes()
	if err := p.note(ctx, &next, m); err != nil {
		return nil, err
	}
	p.keep(&next, b)
	return &next, nil
}

// keeps reports whether a path itself is kept.
func (p *Paths) keeps(b *Path) bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	return slices.Contains(p.kept, b)
}

// stand takes the run to the end of a path.
func (p *Paths) stand(ctx context.Context, b *Path) error {
	if p.on != nil && len(p.on.Moves) == len(b.Moves) && common(p.on.Moves, b.Moves) == len(b.Moves) {
		p.on = b
		return nil
	}
	if err := p.begin(ctx, b); err != nil {
		return err
	}
	if err := p.live.Replay(ctx, b.Moves, func(scenario.Move) error { return nil }); err != nil {
		return err
	}
	return p.repeats(b)
}

// repeats fails if the run, having made b's moves, differs from b: then all that is known
// of b would be wrong, and it cannot be continued.
func (p *Paths) repeats(b *Path) error {
	now, _ := p.liveRun.Log().Since(0)
	same := func(a, b trace.Event) bool {
		return a.Step == b.Step && a.At == b.At && a.Thread == b.Thread && a.Kind() == b.Kind()
	}
	if !slices.EqualFunc(now, b.Events, same) {
		return fmt.Errorf("%w: %d moves, %d events and %d now", ErrUnrepeated, len(b.Moves), len(b.Events), len(now))
	}
	return nil
}

// note adds to b where the run is, and the move that led there. There may be none: a
// fault can strike before anybody moves. If note fails, the move was not made.
func (p *Paths) note(ctx context.Context, b *Path, made ...scenario.Move) error {
	at, err := p.position(ctx)
	if err != nil {
		return err
	}
	size := p.Size()
	if !p.keeps(p.on) {
		size += b.size
	}
	if size > MaxSize {
		return ErrSize
	}
	events, _ := p.liveRun.Log().Since(len(b.Events))
	b.Events = append(b.Events, events...)
	b.Moves = append(b.Moves, made...)
	b.Positions = append(b.Positions, at)
	b.size += b.bytesAt(len(b.Positions) - 1)
	return nil
}

func (p *Paths) position(ctx context.Context) (Position, error) {
	pointless, err := p.live.Pointless(ctx)
	if err != nil {
		return Position{}, fmt.Errorf("engine: %w", err)
	}
	at := Position{At: p.live.Now(), Options: p.live.Options(), Over: p.live.Over(), Plans: p.live.Plans(), Pointless: pointless}
	if next, ok := p.live.NextEvent(); ok {
		at.Next = next
	}
	if seen, ok := p.live.NextSeen(); ok {
		at.Seen = seen
	}
	if expiry, ok := p.live.Expiry(); ok {
		at.Expiry = expiry
	}
	if events, _ := p.liveRun.Log().Since(0); len(events) > 0 {
		last := events[len(events)-1]
		at.Seq, at.Row = last.Seq, last.Step
	}
	return at, nil
}
