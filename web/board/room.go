package board

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/trace"
	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/words"
)

// Config is what rooms need.
type Config struct {
	Journal Journal
	Log     *slog.Logger
	Ask     Asker
	Examine Examiner // nil where there is no course
	Plan    Planner
	Written Scripted // nil where there is no course
	// Runs adds what runs need to the context of all rooms. It may be nil.
	Runs func(context.Context) context.Context
	// Matters tells which events are marked: a run can go on to the next one.
	Matters func(trace.Event) bool
	// Turns are taken for the work of rooms, by their makers, so that nobody else
	// waits for it. It may be nil.
	Turns *turn.Turns
	// Ledger counts what rooms take of the memory, by their makers. It may be
	// nil.
	Ledger *limit.Ledger
	// Frame makes what members of a sight are shown of the room as it is now,
	// once for all of them; it is for News. As Look's f, it must be quick. It
	// may be nil.
	Frame func(View, Sight) (any, error)
	// Panicked is called with every panic that has ended a room's work on this
	// server; the room goes on from its log. It may be nil.
	Panicked func(*panics.Error)
}

// House keeps the rooms that have members on this server, and leads as many of them
// as it can. It is safe for concurrent use; Close ends it.
type House struct {
	c    Config
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	rooms map[string]*Room
	conns int // so far
}

// NewHouse returns a house without rooms. It resumes rooms of the journal as soon
// as somebody comes.
func NewHouse(c Config) *House {
	ctx := context.Background()
	if c.Runs != nil {
		ctx = c.Runs(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	return &House{c: c, ctx: ctx, stop: stop, rooms: map[string]*Room{}}
}

// Close ends the house's goroutines and the journal. Rooms stay in the journal.
func (h *House) Close() {
	h.mu.Lock()
	for _, r := range h.rooms {
		r.shut(Restarts)
	}
	h.stop() // from now on no room begins
	h.mu.Unlock()
	h.work.Wait()
	h.c.Journal.Close()
}

// Open makes a room. It returns its code and the secret of its host. It fails
// with ErrUnreached, and if the plan's moves cannot be made.
func (h *House) Open(ctx context.Context, p Plan) (code, secret string, err error) {
	scene, stand, err := p.scene(0)
	if err != nil {
		return "", "", err
	}
	run, err := scene.run(ctx)
	if err != nil {
		return "", "", err
	}
	run.Close() // the leader makes it again
	now := time.Now().UnixMilli()
	secret = NewSecret()
	whole := &State{
		Epoch: newEpoch(), By: p.By, Opened: now, Scene: *scene, Hosts: []string{Proof(secret), Proof(CoHost(secret))}, Made: 1, Stand: *stand,
		People: map[string]*Member{}, Seats: map[string]Seat{}, Rules: Rules{Allowed: []string{}}, Deserted: now,
	}
	if whole.Lesson = p.Lesson; p.Lesson != nil {
		whole.Taught.Stand = *stand
		whole.Rules.hold(p.Lesson.Steps[0])
	}
	for {
		code = NewCode()
		whole.Code = code
		err := h.c.Journal.Create(ctx, code, Entry{Seq: 1, At: now, Whole: whole})
		switch {
		case errors.Is(err, ErrTaken):
			continue
		case err != nil:
			return "", "", fmt.Errorf("%w: %w", ErrUnreached, err)
		}
		return code, secret, nil
	}
}

// Room returns a room as this server follows it. It fails with ErrNoRoom, and
// with ErrUnreached if the journal cannot be read.
func (h *House) Room(ctx context.Context, code string) (*Room, error) {
	if !h.Follows(code) {
		there, err := h.c.Journal.Exists(ctx, code)
		switch {
		case errors.Is(err, ErrSpoiled):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnreached, err)
		case !there:
			return nil, ErrNoRoom
		}
	}
	ctx, done := context.WithTimeoutCause(ctx, openLimit, ErrUnreached)
	defer done()
	for {
		r := h.room(code)
		if r == nil {
			return nil, context.Canceled
		}
		select {
		case <-r.ready:
		case <-r.ctx.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if spoiled := r.spoiled(); spoiled != nil {
			return nil, spoiled
		}
		switch r.stay() {
		case 0:
			return r, nil
		case Over:
			return nil, ErrNoRoom
		case Restarts, Removed, Elsewhere: // it begins again here
		}
	}
}

// room returns a room that is followed here, from now on if it was not; nil if
// the house is closed.
func (h *House) room(code string) *Room {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[code]; r != nil && r.ctx.Err() == nil {
		return r
	}
	if h.ctx.Err() != nil {
		return nil
	}
	r := &Room{house: h, code: code, ready: make(chan struct{}), clients: map[string]*Client{}}
	r.ctx, r.stop = context.WithCancel(h.ctx)
	if rest := h.c.Journal.Rest(); rest > 0 {
		r.used = time.Now()
		r.rest = time.AfterFunc(rest, r.leave)
	}
	h.rooms[code] = r
	h.work.Go(r.follow)
	h.work.Go(r.lead)
	return r
}

// Count is the load of a house.
type Count struct {
	Rooms   int // that have, or had lately, members here
	Members int // connected here
}

// Count returns the load.
func (h *House) Count() Count {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Count{Rooms: len(h.rooms)}
	for _, r := range h.rooms {
		r.mu.Lock()
		c.Members += len(r.clients)
		r.mu.Unlock()
	}
	return c
}

// Made returns how many rooms of a maker, Plan.By, are open. It fails with
// ErrUnreached.
func (h *House) Made(ctx context.Context, by string) (int, error) {
	codes, err := h.c.Journal.Made(ctx, by)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnreached, err)
	}
	return len(codes), nil
}

// Spare ends an empty room to make space for a new one: a room of a maker, or of
// anybody if by is "". A room that no host has entered goes first, then the one
// that has been without a host for longest. It reports false if there is none.
func (h *House) Spare(ctx context.Context, by string) bool {
	h.mu.Lock()
	rooms := slices.Collect(maps.Values(h.rooms))
	h.mu.Unlock()
	var oldest *Room
	var entered bool
	var since int64
	for _, r := range rooms {
		r.mu.Lock()
		if s := r.state; s != nil && r.over == 0 && s.deserted() && !r.spared && (by == "" || s.By == by) {
			if oldest == nil || entered && !s.entered() || entered == s.entered() && s.Deserted < since {
				oldest, entered, since = r, s.entered(), s.Deserted
			}
		}
		r.mu.Unlock()
	}
	if oldest == nil {
		return false
	}
	oldest.mu.Lock()
	oldest.spared = true
	oldest.mu.Unlock()
	return h.c.Journal.Send(ctx, oldest.code, Request{Spare: true}) == nil
}

// Follows reports whether the house follows a room.
func (h *House) Follows(code string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rooms[code] != nil
}

// forget drops a room that has ended here.
func (h *House) forget(r *Room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rooms[r.code] == r {
		delete(h.rooms, r.code)
	}
}

// Room is a room as this server follows it. It is safe for concurrent use.
type Room struct {
	house *House
	code  string
	ctx   context.Context
	stop  context.CancelFunc
	ready chan struct{} // closed once there is a state
	runs  runs

	telling sync.Mutex // held while members are told, so that they are told in order; taken before mu
	then    []func()   // see after; guarded by telling

	mu      sync.Mutex
	state   *State
	clients map[string]*Client  // by connection
	members map[Sight][]*Client // see membersHere; nil when that has changed: who is being told keeps the old one
	shown   View
	quiet   *time.Timer // tells what can wait
	over    Closing     // why it is no longer followed, 0 while it is
	spared  bool        // it is to end
	broken  error       // ErrSpoiled, nil while it is followed
	used    time.Time   // when somebody last came here for it
	rest    *time.Timer // leaves the room to other servers, nil if there are none
	held
}

// settleAfter is how long news that can wait do so: who has come, who has
// voted. So if a thousand come at once, a thousand hear of it ten times a second, not a
// thousand times.
const settleAfter = 100 * time.Millisecond

// openLimit is how long reading a room may take.
const openLimit = 10 * time.Second

// deleteLimit is how long deleting a room may take.
const deleteLimit = 5 * time.Second

// restAfter is how long to wait before trying again what the journal could not
// do.
const restAfter = 500 * time.Millisecond

// stay keeps following the room for the one who has come for it. It returns why that
// cannot be, or 0.
func (r *Room) stay() Closing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rest != nil {
		r.used = time.Now()
	}
	return r.over
}

// leave leaves the room to other servers, unless somebody is or was just here.
func (r *Room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.house.c.Journal.Rest()
	left := rest - time.Since(r.used)
	if len(r.clients) > 0 {
		left = rest
	}
	if left > 0 {
		r.rest.Reset(left)
		return
	}
	r.shutLocked(Restarts)
}

// follow takes what is in the log until the room or the house ends.
func (r *Room) follow() {
	defer r.house.forget(r)
	defer r.stop()
	err := panics.Catch(func() error { return r.house.c.Journal.Follow(r.ctx, r.code, r.take) })
	if errors.Is(err, ErrNoRoom) {
		r.shut(Over)
		return
	}
	var p *panics.Error
	if errors.Is(err, ErrSpoiled) || errors.As(err, &p) && !r.began() {
		r.mu.Lock()
		r.broken = fmt.Errorf("%w: %w", ErrSpoiled, err)
		r.mu.Unlock()
		r.note("follow", r.broken)
		r.shut(Restarts)
		return
	}
	r.trouble("follow", err)
	r.shut(Restarts) // who comes back finds what is in the log
}

// began reports whether there has been a state.
func (r *Room) began() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// spoiled returns why the room cannot be followed, nil if it can.
func (r *Room) spoiled() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// trouble notes what went wrong, and waits until it makes sense to try again.
func (r *Room) trouble(doing string, err error) {
	if r.ctx.Err() != nil || err == nil {
		return
	}
	r.note(doing, err)
	rest := time.NewTimer(restAfter)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-r.ctx.Done():
	}
}

// note reports what went wrong.
func (r *Room) note(doing string, err error) {
	var p *panics.Error
	if errors.As(err, &p) && r.house.c.Panicked != nil {
		r.house.c.Panicked(p)
		return
	}
	r.house.c.Log.WarnContext(r.ctx, "room", slog.String("code", r.code), slog.String("doing", doing), slog.String("error", err.Error()))
}

// take folds entries of the log, and tells the members who are here.
func (r *Room) take(list []Entry) {
	if r.state == nil { // it changes in this goroutine alone
		r.after(func() { r.fold(list) }, func() {})
		return
	}
	seat := r.seat(r.state)
	if seat.Take(r.ctx) == nil {
		r.after(func() { r.fold(list) }, seat.Done)
	}
}

// after makes a change, with mu and in a turn that done gives back, and then does
// what follows, without them: to send something to a thousand takes long.
func (r *Room) after(change, done func()) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.then = nil
	func() {
		defer done()
		r.mu.Lock()
		defer r.mu.Unlock()
		change()
	}()
	for _, do := range r.then {
		do()
	}
}

// fold takes entries into the state. What follows tells the members, and then
// answers those who have asked for it. It is a change.
func (r *Room) fold(list []Entry) {
	if r.over != 0 {
		return
	}
	urgent := false
	answers := []func(){}
	for _, e := range list {
		if r.state == nil {
			r.begin(e)
			continue
		}
		r.state.Fold(e)
		if e.Scene != nil {
			r.set()
		}
		if e.Dropped != nil {
			r.shown.Run.retain(r.state)
		}
		if e.Whole != nil || e.People != nil || e.Gone != nil || e.Seats != nil {
			r.shown.Company = e.Seq
		}
		answers = append(answers, r.answer(e))
		urgent = urgent || len(e.Made) > 0 || e.Going != nil || e.Dropped != nil || e.Stand != nil || e.Question != nil || e.Shelved || e.Rules != nil || e.Taught != nil
	}
	clear(r.shown.Fresh)
	clear(r.shown.frames)
	r.base = r.state.size()
	switch {
	case r.state.Ended:
	case urgent:
		r.tell()
	case r.quiet == nil:
		seat := r.seat(r.state)
		r.quiet = time.AfterFunc(settleAfter, func() {
			if seat.Take(r.ctx) == nil {
				r.after(r.tell, seat.Done)
			}
		})
	}
	r.then = append(r.then, answers...) // who has one has been told what came of it
	if r.state.Ended {
		r.then = append(r.then, func() { r.shut(Over) })
	}
}

// begin takes over the whole state that the log begins with. The caller holds
// mu.
func (r *Room) begin(e Entry) {
	r.state = &State{}
	r.state.Fold(e)
	r.set()
	r.keep()
	close(r.ready)
}

// set shows the scene that the class is in, and nothing of those before. The
// caller holds mu.
func (r *Room) set() {
	run, err := r.runs.of(len(r.state.Earlier), r.state.Scenario)
	if err != nil {
		panic(err) // it was parsed when the scene was opened
	}
	r.runs.leave(len(r.state.Earlier))
	r.shown = View{
		Context: r.ctx, State: r.state, Run: run, Company: r.state.Seq, Fresh: map[string]any{}, Kept: map[string]any{},
		frame: r.house.c.Frame, frames: map[Sight]any{},
	}
}

// tell has what follows give the members who are here the room as it is now, hosts
// last: there are few, and who is here takes long to tell. It is a change.
func (r *Room) tell() {
	if r.quiet != nil {
		r.quiet.Stop()
		r.quiet = nil
	}
	members := r.membersHere()
	everybody, hosts := []Sight{}, []Sight{}
	for sees := range members {
		if sees.Host {
			hosts = append(hosts, sees)
		} else {
			everybody = append(everybody, sees)
		}
	}
	for _, sees := range append(everybody, hosts...) {
		news := &News{Changed: true, Sees: sees, Scene: len(r.state.Earlier)}
		_ = panics.Catch(func() (err error) { // those it is shown to meet the same error, and say so
			news.Frame, err = r.shown.Frame(sees)
			return err
		})
		r.then = append(r.then, func() {
			for _, c := range members[sees] {
				c.show(news)
			}
		})
	}
	_ = r.weigh() // what is in the log is shown
}

// membersHere returns who has joined, by what they see. The caller holds mu.
func (r *Room) membersHere() map[Sight][]*Client {
	if r.members == nil {
		r.members = map[Sight][]*Client{}
		for _, c := range r.clients {
			if c.member != "" {
				r.members[c.sees] = append(r.members[c.sees], c)
			}
		}
	}
	return r.members
}

// answer ends the connections that an entry ends, and lets in the member who joins by it.
// It returns a function that gives the answer to whoever waits for it here. The caller
// holds mu.
func (r *Room) answer(e Entry) (give func()) {
	for _, m := range e.People {
		for _, c := range r.clients {
			if c.member != m.ID {
				continue
			}
			c.sees.Host, r.members = m.Part == Host, nil
			switch {
			case m.Removed:
				c.end(Removed)
			case m.Conn == "":
				c.end(Restarts) // this server counted as gone; a member who comes back is here again
			case m.Conn != c.conn:
				c.end(Elsewhere)
			}
		}
	}
	c := r.clients[e.Conn]
	if c == nil || e.ID == 0 {
		return func() {}
	}
	a := Answer{ID: e.ID, Refused: e.Refused}
	m := r.state.People[e.Member]
	switch {
	case e.Do == DoJoin:
		a.Joined = c.join(e, r.state)
		if e.Refused != "" && m != nil && m.Removed {
			c.end(Removed)
		}
		c.answer(a) // frames are for members
		return func() {}
	case e.Do == DoRename && e.Refused == "" && m != nil:
		name := m.Name
		a.Renamed = &name
	}
	return func() { c.answer(a) }
}

// lead decides the room's requests whenever this server leads it.
func (r *Room) lead() {
	for r.ctx.Err() == nil {
		err := panics.Catch(func() error {
			term, err := r.house.c.Journal.Lead(r.ctx, r.code)
			if err != nil {
				return err
			}
			defer term.Resign()
			return r.govern(term)
		})
		if errors.Is(err, ErrNoRoom) {
			return // who follows it notices, too
		}
		if errors.Is(err, ErrFenced) {
			continue
		}
		r.trouble("lead", err)
	}
}

// govern decides requests until the term or the room ends.
func (r *Room) govern(term Term) error {
	list, lost, err := term.Log(r.ctx)
	if err != nil {
		return err
	}
	f := &referee{state: &State{}, runs: &r.runs, ask: r.house.c.Ask, exam: r.house.c.Examine, plan: r.house.c.Plan, written: r.house.c.Written, matters: r.house.c.Matters, now: time.Now, note: func(err error) { r.note("decide", err) }}
	for _, e := range list {
		f.state.Fold(e)
	}
	if f.state.Ended {
		return r.delete()
	}
	if f.run, err = r.runs.of(len(f.state.Earlier), f.state.Scenario); err != nil {
		return err
	}
	seat := r.seat(f.state)
	defer seat.Done() // also after a panic
	f.full = r.full
	defer func() {
		r.runs.close() // what was tried, and maybe never came into the log
		_ = r.full()   // it takes less
	}()
	var entries []Entry
	if lost {
		entries = f.log(Entry{Epoch: newEpoch()})
	}
	var requests []Request
	var roll time.Time // when it was last asked who is gone
	for {
		if err := seat.Pause(r.ctx); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(roll) >= rollEvery {
			roll = now
			entries = append(entries, f.left(Request{Gone: r.house.c.Journal.Gone(f.state.servers())})...)
		}
		entries = append(entries, f.tick(pause.With(r.ctx, seat))...)
		seat.Done()
		_ = r.full() // before the next move it is asked again
		if err := term.Append(r.ctx, entries); err != nil {
			r.refuse(term, requests, err)
			return err
		}
		if f.state.Ended {
			return r.delete()
		}
		requests, err = term.Next(r.ctx, r.wakes(f, roll))
		if err != nil {
			return err
		}
		entries = nil
		for _, o := range requests {
			if f.state.Ended {
				break
			}
			if err := seat.Pause(r.ctx); err != nil {
				return err
			}
			entries = append(entries, f.decide(pause.With(r.ctx, seat), o)...)
		}
	}
}

// refuse tells those who are here that the log has not taken what they asked for,
// and whatever waits: they can try again. If another server leads by now, that one
// decides.
func (r *Room) refuse(term Term, requests []Request, why error) {
	if r.ctx.Err() != nil || errors.Is(why, ErrFenced) || errors.Is(why, ErrBroken) || errors.Is(why, ErrNoRoom) {
		return
	}
	more, _ := term.Next(r.ctx, time.Now()) // where it fails nobody waits
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range append(requests, more...) {
		c := r.clients[o.Conn]
		if c == nil || o.Command.ID == 0 {
			continue
		}
		if o.Command.Do == DoJoin {
			c.joining = false
		}
		refused, _ := words.Match(o.Lang).OnPages().Explain(ErrUnreached)
		c.answer(Answer{ID: o.Command.ID, Refused: refused})
	}
}

// rollEvery is how often the leader of a room asks which servers are gone.
const rollEvery = 2 * time.Second

// wakes returns when there is something to do even if nobody makes a request,
// zero for never.
func (r *Room) wakes(f *referee, roll time.Time) time.Time {
	at := f.deadline()
	next := roll.Add(rollEvery)
	if (at.IsZero() || next.Before(at)) && f.state.elsewhere(r.house.c.Journal.Server()) {
		return next
	}
	return at
}

// newEpoch returns a name for the time in which a room's log has lost nothing.
func newEpoch() string { return rand.Text()[:8] }

// delete removes all that is kept of the room, though everybody has left it.
func (r *Room) delete() error {
	ctx, done := context.WithTimeout(context.WithoutCancel(r.ctx), deleteLimit)
	defer done()
	return r.house.c.Journal.Delete(ctx, r.code)
}

// elsewhere reports whether a member is connected by another server. It is asked
// before each move.
func (s *State) elsewhere(server string) bool {
	server += "/"
	for _, m := range s.People {
		if m.Conn != "" && !strings.HasPrefix(m.Conn, server) {
			return true
		}
	}
	return false
}

// servers returns the servers by which members are connected.
func (s *State) servers() []string {
	seen := map[string]bool{}
	for _, m := range s.People {
		if server, _, ok := strings.Cut(m.Conn, "/"); ok {
			seen[server] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// View is the data of a room's frames.
type View struct {
	Context context.Context // ends with the room, unlike the context of whoever happens to look first
	State   *State
	Run     *Run
	Company int64          // grows whenever it changes who there are, and what they do
	Fresh   map[string]any // kept until the state changes
	Kept    map[string]any // kept as long as the room is followed, and the class is in the same scene

	frame  func(View, Sight) (any, error)
	frames map[Sight]any // kept until the state changes
}

// Frame returns what Config.Frame makes for a sight, nil without one.
func (v View) Frame(sees Sight) (any, error) {
	if made, ok := v.frames[sees]; ok || v.frame == nil {
		return made, nil
	}
	made, err := v.frame(v, sees)
	if err == nil {
		v.frames[sees] = made
	}
	return made, err
}

// Look calls f with the current view. F must be quick, keep nothing of the state,
// and not use the room.
func (r *Room) Look(f func(View) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := f(r.shown)
	_ = r.weigh() // what is in the log can be looked at
	if len(r.clients) == 0 && r.over == 0 {
		r.idle.Reset(idleAfter)
	}
	return err
}

// Log returns the room's log, from the newest whole entry on. It fails with
// ErrNoRoom, or if the journal cannot be read.
func (r *Room) Log(ctx context.Context) ([]Entry, error) {
	r.mu.Lock()
	want := r.state.Seq
	r.mu.Unlock()
	ctx, done := context.WithCancelCause(ctx)
	defer done(nil)
	var list []Entry
	err := r.house.c.Journal.Follow(ctx, r.code, func(more []Entry) {
		if list = append(list, more...); list[len(list)-1].Seq >= want {
			done(errRead)
		}
	})
	if errors.Is(err, errRead) {
		return list, nil
	}
	return nil, err
}

var errRead = errors.New("board: read as far as it was")

// Code returns the room's code.
func (r *Room) Code() string { return r.code }

// shut ends everybody's connection here.
func (r *Room) shut(why Closing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shutLocked(why)
}

// shutLocked is shut for callers that hold mu.
func (r *Room) shutLocked(why Closing) {
	if r.over != 0 {
		return
	}
	r.over = why
	if r.quiet != nil {
		r.quiet.Stop()
	}
	if r.rest != nil {
		r.rest.Stop()
	}
	for _, c := range r.clients {
		c.end(why)
	}
	r.settle()
	r.runs.close()
	r.stop()
}
