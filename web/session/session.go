// Package session keeps the runs that people look at: each with its audience,
// within limits, and no longer than somebody cares.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/hub"
	"relock/web/pack"
	"relock/web/turn"
	"relock/web/view"
	"relock/web/words"
)

// Limits bound what visitors can use up.
type Limits struct {
	Running           int           // scenarios running at once, in all
	RunningPerAddress int           // and from one address
	StartsPerMinute   int           // runs started from one address
	Kept              int           // runs kept, ended ones too; the oldest ended one goes first
	KeptBytes         int           // that all runs may hold, those going on too; one address' two thirds of that: see Session.size
	Idle              time.Duration // a run that nobody looked at for so long is forgotten
	Longest           time.Duration // a run that takes longer is stopped
	Stepping          int           // scenarios stepped through at once, in all: 0.3 MB each at first, 60 MB at most, and together BytesOfAll
	SteppingAddress   int           // and from one address
}

// DefaultLimits suit one small machine and a class of three hundred behind one
// address, who may all come at once, come back after a restart, and run
// something besides.
func DefaultLimits() Limits {
	return Limits{
		Running: 512, RunningPerAddress: 400, StartsPerMinute: 900, Kept: 1000, KeptBytes: 600 << 20,
		Idle: 30 * time.Minute, Longest: 10 * time.Minute, Stepping: 1024, SteppingAddress: 400,
	}
}

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

// Registry keeps sessions. It is safe for concurrent use.
type Registry struct {
	limits Limits
	held   *Ledger // by runs
	onHeld func(address string)
	turns  *turn.Turns // unlimited ones unless there are others
	ctx    context.Context
	stop   context.CancelCauseFunc
	runs   sync.WaitGroup

	// Panicked is told of every panic that has ended a run or its showing. It is
	// set before the first Start; nil is allowed.
	Panicked func(*panics.Error)

	mu       sync.Mutex
	closed   bool
	sessions map[string]*Session
	starts   map[string]*rate.Limiter
	stepping map[string]int // by address
}

// NewRegistry returns an empty registry. Close ends it.
func NewRegistry(limits Limits) *Registry {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &Registry{
		limits: limits, ctx: ctx, stop: stop, turns: turn.New(math.MaxInt, math.MaxInt),
		held:     NewLedger(limits.KeptBytes/3*2, limits.KeptBytes),
		sessions: map[string]*Session{}, starts: map[string]*rate.Limiter{}, stepping: map[string]int{},
	}
	r.runs.Go(r.forget)
	return r
}

// Session is one run and who looks at it. It is safe for concurrent use.
type Session struct {
	Run      *engine.Run
	Scenario *scenario.Scenario // before slow motion
	Slow     int                // times, at least 1
	visitor  string
	address  string
	account  *Account
	stop     context.CancelCauseFunc
	grown    func() // is called, without a lock, when it may hold more
	encoder  Encoder
	panicked func(*panics.Error)

	// showing guards what the audiences see. It is held while a frame is made.
	showing   sync.Mutex
	audiences map[Form]*audience
	shown     int  // seq of the last event that they have
	steered   bool // they have been told how the threads are steered
	over      bool // they have been told that the run has ended
	events    int  // bytes that its events take
	closed    int  // the code with which they were closed, 0 before

	mu    sync.Mutex
	ended bool
	seen  time.Time
}

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

// Visitor is who starts a run: an address that limits count, and a name that
// nobody else knows, "" for one who may not steer.
type Visitor struct{ Address, Name string }

// Start runs sc for a visitor. It fails with one of the package's errors, or
// where the scenario cannot be run.
func (r *Registry) Start(v Visitor, sc *scenario.Scenario, o engine.Options, encoder Encoder) (*Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(v.Address); err != nil {
		return nil, err
	}
	steered := make(chan struct{}, 1)
	o.Steered = func() {
		select {
		case steered <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.limits.Longest,
		fmt.Errorf("it took longer than %v", r.limits.Longest))
	ctx, stop := context.WithCancelCause(ctx)
	work := r.turns.SeatLater(v.Address)
	ctx = pause.With(ctx, work.Pause)
	o.Turn = func(ctx context.Context) (func(), error) {
		err := r.turns.TakeLater(ctx, v.Address)
		return func() { r.turns.Done(v.Address) }, err
	}
	run, err := engine.Start(ctx, sc, o)
	if err != nil {
		stop(nil)
		cancel()
		return nil, fmt.Errorf("session: %w", err)
	}
	s := &Session{
		Run: run, Scenario: sc, Slow: max(o.Slow, 1), visitor: v.Name, address: v.Address, encoder: encoder, panicked: r.Panicked,
		audiences: map[Form]*audience{}, seen: time.Now(),
	}
	s.account, s.stop = r.held.Open(v.Address), stop
	s.grown = func() { r.weigh(s) }
	r.sessions[run.ID()] = s
	ended := make(chan struct{})
	r.runs.Go(func() {
		defer close(ended)
		defer cancel()
		defer stop(nil)
		s.guarded(func() { s.pump(r.ctx, r.turns.SeatLater(v.Address)) })
		s.report(s.Run.Wait())
	})
	r.runs.Go(func() {
		_ = run.Wait() // its log says how it ended
		work.Done()
	})
	r.runs.Go(func() {
		for {
			select {
			case <-steered:
				s.guarded(s.announce)
			case <-ended:
				return
			}
		}
	})
	return s, nil
}

// guarded does f. A panic in it ends the run, and its viewers are closed with
// hub.CloseBroken. The caller does not hold showing.
func (s *Session) guarded(f func()) {
	p := panics.Try(f)
	if p == nil {
		return
	}
	s.report(p)
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.close(hub.CloseBroken)
	s.Run.Stop()
}

// report tells of a panic, if err is one.
func (s *Session) report(err error) {
	var p *panics.Error
	if errors.As(err, &p) && s.panicked != nil {
		s.panicked(p)
	}
}

// TakeTurns has runs work, and their frames be made, in these turns of their
// visitors' addresses; before that they do so at once. It is called before Start.
func (r *Registry) TakeTurns(turns *turn.Turns) { r.turns = turns }

// OnHeld has f be called, with the visitor's address, when a run is stopped
// because runs hold as much as they may. It is called before Start; f must not
// block.
func (r *Registry) OnHeld(f func(address string)) { r.onHeld = f }

// Owned tells whether that visitor started the run, and so may steer it.
func (s *Session) Owned(visitor string) bool { return visitor != "" && visitor == s.visitor }

// announce tells all viewers how the threads are steered now.
func (s *Session) announce() {
	s.showing.Lock()
	defer s.showing.Unlock()
	if s.closed == hub.CloseBroken {
		return
	}
	s.steered = true
	for f, a := range s.audiences {
		a.latest = made(s.encoder.Controls(s.Run, f.Language))
		a.publish(a.latest)
	}
}

// admit checks the limits and makes room. The caller holds mu.
func (r *Registry) admit(address string) error {
	if r.closed {
		return ErrClosed
	}
	running, own := 0, 0
	var over []*Session
	for _, s := range r.sessions {
		if ended, _ := s.state(); ended {
			over = append(over, s)
			continue
		}
		running++
		if s.address == address {
			own++
		}
	}
	switch {
	case running >= r.limits.Running, running >= r.limits.Kept:
		return ErrTooMany.met(min(r.limits.Running, r.limits.Kept))
	case own >= r.limits.RunningPerAddress:
		return ErrTooManyOwn.met(r.limits.RunningPerAddress)
	}
	if !r.allow(address) {
		return ErrTooFast.met(r.limits.StartsPerMinute)
	}
	r.makeRoom(over)
	return nil
}

// allow counts a start from address. The caller holds mu.
func (r *Registry) allow(address string) bool {
	l := r.starts[address]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.limits.StartsPerMinute)/60, r.limits.StartsPerMinute)
		r.starts[address] = l
	}
	return l.Allow()
}

// Allow counts something that is done as rarely as runs are started. It fails
// with ErrTooFast or ErrClosed.
func (r *Registry) Allow(address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case !r.allow(address):
		return ErrTooFast.met(r.limits.StartsPerMinute)
	default:
		return nil
	}
}

// Enter admits somebody who steps through a scenario until leave is called.
// The context ends with the registry, and Close waits for leave. It fails with
// ErrTooFast, ErrStepping, ErrSteppingOwn or ErrClosed.
func (r *Registry) Enter(address string) (ctx context.Context, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, n := range r.stepping {
		all += n
	}
	switch {
	case r.closed:
		return nil, nil, ErrClosed
	case all >= r.limits.Stepping:
		return nil, nil, ErrStepping.met(r.limits.Stepping)
	case r.stepping[address] >= r.limits.SteppingAddress:
		return nil, nil, ErrSteppingOwn.met(r.limits.SteppingAddress)
	case !r.allow(address):
		return nil, nil, ErrTooFast.met(r.limits.StartsPerMinute)
	}
	r.stepping[address]++
	r.runs.Add(1)
	return r.ctx, sync.OnceFunc(func() {
		defer r.runs.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stepping[address]--; r.stepping[address] == 0 {
			delete(r.stepping, address)
		}
	}), nil
}

// Count is how much there is of what limits bound.
type Count struct {
	Running  int // runs going on
	Kept     int // runs, these and those that have ended
	Stepping int // scenarios stepped through
}

// Count counts it.
func (r *Registry) Count() Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Count{Kept: len(r.sessions)}
	for _, s := range r.sessions {
		if ended, _ := s.state(); !ended {
			c.Running++
		}
	}
	for _, n := range r.stepping {
		c.Stepping += n
	}
	return c
}

// Closed tells whether Close was called: nothing is admitted any more.
func (r *Registry) Closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// makeRoom drops ended runs while there are too many. The caller holds mu.
func (r *Registry) makeRoom(over []*Session) {
	for len(over) > 0 && len(r.sessions) >= r.limits.Kept {
		i := leastMissed(over)
		r.drop(over[i])
		over = slices.Delete(over, i, i+1)
	}
}

// leastMissed is the place of an ended run of the address that has most of
// them, so that a flood from one takes nobody else's: the one that was not
// looked at for longest.
func leastMissed(over []*Session) int {
	runs := map[string]int{}
	for _, s := range over {
		runs[s.address]++
	}
	at := 0
	for i, s := range over {
		_, seen := s.state()
		_, longest := over[at].state()
		if c := cmp.Compare(runs[s.address], runs[over[at].address]); c > 0 || c == 0 && seen.Before(longest) {
			at = i
		}
	}
	return at
}

// drop forgets a run. The caller holds mu.
func (r *Registry) drop(s *Session) {
	delete(r.sessions, s.Run.ID())
	s.account.Close()
}

// weigh notes what a run holds now. Where that is too much, ended ones are
// dropped, of its own address if that is what holds too much; if that does not
// help, it is stopped.
func (r *Registry) weigh(s *Session) {
	size := s.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.Run.ID()] != s {
		return // it was dropped
	}
	for {
		err := s.account.Hold(size)
		if err == nil {
			return
		}
		var over []*Session
		for _, one := range r.sessions {
			if ended, _ := one.state(); ended && one != s && (one.address == s.address || !errors.Is(err, ErrFullAddress)) {
				over = append(over, one)
			}
		}
		if len(over) == 0 {
			s.stop(engine.ErrHeld)
			if r.onHeld != nil {
				r.onHeld(s.address)
			}
			return
		}
		r.drop(over[leastMissed(over)])
	}
}

// size is about how many bytes the run holds: 1 to 4 KB an event, and for each
// form in which somebody has looked at it what view.EventSize says, the frames,
// and the windows of what is packed.
func (s *Session) size() int {
	s.showing.Lock()
	defer s.showing.Unlock()
	size := s.events
	for _, a := range s.audiences {
		size += a.bytes + s.shown*view.EventSize(s.Scenario)
		if a.packed != nil {
			size += Columns * pack.Window
		}
	}
	return size
}

// Get returns the session of a run and notes that somebody looked at it.
func (r *Registry) Get(id string) (*Session, bool) {
	r.mu.Lock()
	s, ok := r.sessions[id]
	r.mu.Unlock()
	if ok {
		s.touch()
	}
	return s, ok
}

// Close stops all runs, closes all viewers with 1001, and returns when
// everything that the registry started has ended.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	for _, s := range r.sessions {
		s.close(websocket.CloseGoingAway)
	}
	r.mu.Unlock()
	r.stop(ErrClosed)
	r.runs.Wait()
}

// forget drops what nobody looks at any more.
func (r *Registry) forget() {
	t := time.NewTicker(max(r.limits.Idle/10, time.Second))
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case now := <-t.C:
			r.forgetBefore(now.Add(-r.limits.Idle))
		}
	}
}

func (r *Registry) forgetBefore(then time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		over, seen := s.state() // who looked at one that is over was closed
		if over && seen.Before(then) {
			r.drop(s)
		}
	}
	for address, l := range r.starts {
		if l.Tokens() >= float64(l.Burst()) {
			delete(r.starts, address)
		}
	}
}

func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = time.Now()
}

func (s *Session) state() (ended bool, seen time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.seen
}

// close closes all viewers, and later ones at once, with code. Only the first
// close counts.
func (s *Session) close(code int) {
	s.showing.Lock()
	defer s.showing.Unlock()
	s.shut(code)
}

// shut is close for who holds showing.
func (s *Session) shut(code int) {
	if s.closed != 0 {
		return
	}
	s.closed = code
	for _, a := range s.audiences {
		a.hub.Close(code)
	}
}

// Viewers is how many there are now, in all forms.
func (s *Session) Viewers() int {
	s.showing.Lock()
	defer s.showing.Unlock()
	n := 0
	for _, a := range s.audiences {
		n += a.hub.Viewers()
	}
	return n
}

// made is a frame, or frames, that were encoded.
func made[T any](data T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("session: a frame that cannot be written: %v", err))
	}
	return data
}

// apart is how long after a frame the next one comes at the soonest: as long as
// a screen shows a picture or two. What happens meanwhile comes in one frame.
const apart = 33 * time.Millisecond

// pump shows new events, all that there are in one frame. Frames are made in
// turn, until ctx ends.
func (s *Session) pump(ctx context.Context, seat *turn.Seat) {
	seq := 0
	pace := time.NewTicker(apart)
	defer pace.Stop()
	for ; ; <-pace.C {
		events, closed, err := s.Run.Log().Wait(context.Background(), seq)
		if err != nil {
			return // cannot be: the log closes with the run
		}
		seq += len(events)
		over := len(events) == 0 && closed
		s.showInTurn(ctx, seat, events, over)
		s.grown()
		if over {
			return
		}
	}
}

func (s *Session) showInTurn(ctx context.Context, seat *turn.Seat, events []trace.Event, over bool) {
	_ = seat.Take(ctx) // ended: the last frames are made at once
	defer seat.Done()
	s.show(events, over)
}

func (s *Session) show(events []trace.Event, over bool) {
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
		s.shut(hub.CloseOver)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
	}
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
