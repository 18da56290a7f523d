package lab

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// The states of a thread while a person steers.
const (
	Away    = "away"     // no client has come to its port
	Waits   = "waits"    // a command of it waits for a decision
	Held    = "held"     // it waits for others, inside Redis
	Busy    = "busy"     // it has its answer, and has sent nothing since
	AtRound = "at-round" // it is ready for a round
	Gone    = "gone"     // its client has left
)

// Limits of steering.
const (
	replayFor = 10 * time.Second       // how long a client may be silent while a round is run again
	answerIn  = 150 * time.Millisecond // how long a decision waits for what the client sends next

	maxSteered = 2000 // decisions of a round: a page holds some 14 KB for each
)

// Errors of steering.
var (
	ErrNoChoice = phrase.New("that cannot be decided now: no such command waits")
	ErrSteering = phrase.New("wait: a round is running again, or a search of every order is running")
	ErrNobody   = phrase.New("no client has come yet: start one with the address of a thread")
	ErrTooLong  = phrase.New("a round has at most %d decisions", maxSteered)
	errClosed   = phrase.New("the lab is closed")
)

// RoundlessError says that a round cannot run again because a client has not asked
// for one.
type RoundlessError struct{ Thread string }

// Error implements error.
func (e *RoundlessError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *RoundlessError) Says() phrase.Wording {
	return phrase.Say("%s has not asked for a round (ECHO %s), so what it did cannot be run again", e.Thread, infer.MarkRound)
}

// DivergedError says that the replay of a round diverged.
type DivergedError struct{ Divergence }

// Error implements error.
func (e *DivergedError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *DivergedError) Says() phrase.Wording {
	return phrase.Say("the replay diverged: decision %d expected %s and got %s; does a client read a clock, or draw at random", e.At, e.Want.String(), e.Have)
}

// Standing is the current state of a thread.
type Standing struct {
	Name    string   `json:"name"`
	Address string   `json:"address"`          // of its port
	Nodes   []string `json:"nodes,omitempty"`  // of several, the address of each
	Client  string   `json:"client,omitempty"` // what its client has called itself
	Clients int      `json:"clients"`          // connections
	State   string   `json:"state"`            // Away, Waits, …
	Last    string   `json:"last,omitempty"`   // its last command, in words
	Words   string   `json:"words,omitempty"`  // the last line that its process has written, once that has ended
}

// Choice is a possible decision.
type Choice struct {
	Decision

	Text string `json:"text,omitempty"` // the command in words
	Late bool   `json:"late,omitempty"` // its client has given it up
}

// Look is the open decisions.
type Look struct {
	Threads []Standing    `json:"threads"`
	Choices []Choice      `json:"choices"`
	Key     string        `json:"key,omitempty"` // the lock's, once it is known; of several with commas between them
	Rounds  int           `json:"rounds"`        // begun so far
	Order   []Decision    `json:"order"`         // of this round
	Over    bool          `json:"over,omitempty"`
	Expiry  time.Duration `json:"expiry,omitempty"` // until the next key expires, by the gate's clock; 0: none does
	Busy    bool          `json:"busy,omitempty"`   // see ErrSteering
	Version int           `json:"version"`          // grows with each record
}

// Track is the round so far as a trace, with the place after each decision. A later one
// of the same Telling has the same events, and perhaps more, decisions and owners.
type Track struct {
	Header  trace.Header  `json:"header"` // without the order, see Ordered
	Events  []trace.Event `json:"events"`
	After   []int         `json:"after"` // so many events before the first decision, and after each
	Over    bool          `json:"over,omitempty"`
	Telling int           `json:"telling"`
}

// Steering is a lab in which a person decides. Its methods are safe for concurrent use.
type Steering struct {
	o    Options
	s    *search
	done func()
	stop context.CancelFunc
	wg   sync.WaitGroup

	acting  sync.Mutex // taken first, by who decides
	mu      sync.Mutex // taken before the gate's
	order   *Order
	ended   map[string]bool
	records []int // so many after each decision
	rounds  int
	over    bool
	busy    bool
	closed  bool
	changed chan struct{}
	told    *telling // the round as a trace
	track   *Track   // as last reported, nil for a new round
}

// Steer opens a port for each thread, and starts the workers if there is a command. It
// fails if the options do not go together, or if it cannot listen or start them. Close
// ends it.
func Steer(ctx context.Context, o Options) (*Steering, error) {
	o.Faults, o.MaxFaults = nil, 0
	for _, k := range kinds {
		if k.fits(o) {
			o.Faults = append(o.Faults, k.name)
		}
	}
	s, done, err := open(o)
	if err != nil {
		return nil, err
	}
	s.o.MaxFaults, s.steered = math.MaxInt, true
	if !o.starts() {
		s.o.Timeout = min(s.o.Timeout, replayFor)
	}
	t := &Steering{o: o, s: s, done: done, told: &telling{}, changed: make(chan struct{})}
	t.renew(&Order{})
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	if o.starts() {
		if err := s.start(); err != nil {
			t.stop()
			done()
			return nil, err
		}
	}
	t.wg.Go(func() { t.follow(ctx) })
	return t, nil
}

// Close ends all connections, and the workers that were started.
func (t *Steering) Close() {
	t.stop()
	t.wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.told.close()
		t.done()
	}
}

// Changed is closed when Look has changed.
func (t *Steering) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

func (t *Steering) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// follow watches for what comes by itself, until ctx ends.
func (t *Steering) follow(ctx context.Context) {
	for {
		t.s.g.mu.Lock()
		changed := t.s.g.changed
		t.s.g.mu.Unlock()
		again := t.observe(ctx)
		timer := time.NewTimer(again)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// observe notes what has come, begins the first round when every thread is ready for
// it, and lets time pass where that is all that can happen. It returns after how long to
// look again if nothing comes.
func (t *Steering) observe(ctx context.Context) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	if t.busy || t.closed {
		return time.Hour
	}
	t.s.g.mu.Lock()
	ready := 0
	for _, l := range t.s.g.lanes {
		if _, _, atRound := l.pending(t.s.g); atRound != nil {
			ready++
		}
	}
	if t.rounds == 0 && ready == len(t.s.g.lanes) {
		t.s.g.mu.Unlock()
		if err := t.s.begin(ctx); err != nil {
			return time.Hour // the one who decides hears what is wrong
		}
		t.fresh()
		return answerIn
	}
	waitsFor, next, err := t.s.g.unsettled(t.struck)
	t.seen(waitsFor == nil && err == nil)
	t.s.g.mu.Unlock()
	return max(next, time.Millisecond)
}

func (t *Steering) struck(l *lane) bool { return t.s.struck[l.name] || t.s.used > 0 }

// seen notes which rounds have ended. If everything is settled and nobody can move, time
// passes, as in a search. The caller holds the gate.
func (t *Steering) seen(settled bool) {
	if t.rounds == 0 || t.over {
		return
	}
	t.s.ends(t.order, t.ended)
	for {
		list, over, stuck, asking := t.s.choices()
		free := slices.ContainsFunc(list, func(c choice) bool { return c.d.Do == "" })
		switch {
		case over:
			t.over, t.order.final = true, t.s.final()
			return
		case free || !settled || slices.ContainsFunc(t.s.g.lanes, func(l *lane) bool { return l.worker == nil && !l.rounds && l.spoken }):
			return
		case !t.s.pass(t.order, asking):
			t.over, t.order.final = true, t.s.final()
			t.order.final.Waiting, t.order.final.Asking = stuck, asking
			return
		}
		waitsFor, _, err := t.s.g.unsettled(t.struck) // one that has waited in vain goes on
		settled = waitsFor == nil && err == nil
	}
}

// fresh is the round that has begun. The caller holds mu.
func (t *Steering) fresh() {
	t.renew(&Order{began: time.Now(), lease: t.order.lease, hash: t.order.hash})
	t.rounds++
}

// renew makes an order the one that is decided.
func (t *Steering) renew(o *Order) {
	t.told.close()
	t.order, t.ended, t.records, t.over, t.track = o, map[string]bool{}, nil, false, nil
	t.told = &telling{o: o, opts: t.o, store: t.s.found.Store, times: t.told.times}
}

// Look returns the open decisions.
func (t *Steering) Look() Look {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.g.mu.Lock()
	defer t.s.g.mu.Unlock()
	look := Look{Key: strings.Join(t.s.keys(), ","), Rounds: t.rounds, Order: slices.Clip(t.order.Decisions), Over: t.over, Busy: t.busy, Version: len(t.order.records)}
	for i, l := range t.s.g.lanes {
		look.Threads = append(look.Threads, t.standing(l, t.s.g.Ports()[i]))
	}
	if t.busy || t.closed {
		return look
	}
	look.Expiry, _ = t.s.g.nodes.expiry()
	if t.over {
		return look
	}
	list, _, _, _ := t.s.choices()
	for _, c := range list {
		one := Choice{Decision: c.d}
		if c.it != nil {
			one.Text, one.Late = outline(c.it.args), slices.Contains(c.lane.late, c.it)
		}
		look.Choices = append(look.Choices, one)
	}
	return look
}

func (t *Steering) standing(l *lane, addresses []string) Standing {
	s := Standing{Name: l.name, Address: addresses[0], Clients: len(l.conns), Last: l.last, State: Busy}
	if len(addresses) > 1 {
		s.Nodes = addresses
	}
	for _, c := range l.conns {
		name := strings.TrimSpace(c.library["LIB-NAME"] + " " + c.library["LIB-VER"])
		if name == "" {
			name = c.name
		}
		if name != "" {
			s.Client = infer.Short(name, 60)
		}
	}
	list, held, atRound := l.pending(t.s.g)
	switch {
	case l.worker != nil && l.worker.ended():
		s.State = Gone
		lines := strings.Split(l.worker.out.String(), "\n")
		s.Words = infer.Short(strings.TrimSpace(lines[len(lines)-1]), 200)
	case !l.spoken:
		s.State = Away
	case len(list) > 0:
		s.State = Waits
	case atRound != nil:
		s.State = AtRound
	case held:
		s.State = Held
	case len(l.conns) == 0:
		s.State = Gone
	}
	return s
}

// Decide carries out a decision, and waits a moment for the client's next command. It
// fails with ErrNoChoice, ErrSteering, ErrTooLong, a *WorkerError, or ctx's error; then it
// has decided nothing, except with a *WorkerError.
func (t *Steering) Decide(ctx context.Context, d Decision) error {
	if err := t.free(); err != nil {
		return err
	}
	t.acting.Lock()
	defer t.acting.Unlock()
	return t.decide(ctx, d)
}

// free fails where nobody can decide now.
func (t *Steering) free() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errClosed
	case t.busy:
		return ErrSteering
	}
	return nil
}

// decide is Decide for who acts.
func (t *Steering) decide(ctx context.Context, d Decision) error {
	l, err := t.carryOut(ctx, d)
	if err != nil {
		return err
	}
	return t.next(ctx, l)
}

// carryOut carries out a decision, and returns whose it was, nil of one that befell Redis.
func (t *Steering) carryOut(ctx context.Context, d Decision) (*lane, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	if len(t.order.Decisions) >= maxSteered {
		return nil, ErrTooLong
	}
	t.s.g.mu.Lock()
	list, _, _, _ := t.s.choices()
	at := slices.IndexFunc(list, func(c choice) bool { return c.d.same(d) && (d.Command == "" || c.d.Command == d.Command) })
	if at < 0 || t.over {
		t.s.g.mu.Unlock()
		return nil, ErrNoChoice
	}
	if t.rounds == 0 { // of clients that ask for none, the first is on
		t.rounds = 1
	}
	c := list[at]
	t.order.Decisions = append(t.order.Decisions, c.d)
	err := t.s.decide(ctx, t.order, c)
	t.records = append(t.records, len(t.order.records))
	return c.lane, err
}

// next waits a moment for what a thread sends next.
func (t *Steering) next(ctx context.Context, l *lane) error {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	for {
		t.mu.Lock()
		t.s.g.mu.Lock()
		waitsFor, wait, err := t.s.g.unsettled(t.struck)
		settled := waitsFor == nil && err == nil
		come := l == nil
		if l != nil {
			list, held, atRound := l.pending(t.s.g)
			come = len(list) > 0 || held || atRound != nil
		}
		t.seen(settled)
		changed := t.s.g.changed
		t.s.g.mu.Unlock()
		t.mu.Unlock()
		var failed *WorkerError
		if errors.As(err, &failed) || settled && come {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done(): // what it sends later is seen then
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// Again runs the round again: on an empty Redis, the decisions of way. It fails with a
// *RoundlessError, ErrNobody, ErrSteering or ErrTooLong, and then nothing has changed; with
// a *DivergedError if it diverges, and then stays there; or with a *WorkerError.
func (t *Steering) Again(ctx context.Context, way []Decision) error {
	if err := t.take(len(way)); err != nil {
		return err
	}
	defer t.give()
	if err := t.s.drain(ctx); err != nil {
		return err
	}
	if err := t.s.begin(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	t.fresh()
	t.mu.Unlock()
	for n, d := range way {
		if err := t.s.settle(ctx); err != nil {
			return err
		}
		t.mu.Lock()
		t.s.g.mu.Lock()
		t.seen(true)
		list, _, _, _ := t.s.choices()
		have := t.s.have(list, d)
		t.s.g.mu.Unlock()
		t.mu.Unlock()
		_, err := t.carryOut(ctx, d)
		if errors.Is(err, ErrNoChoice) {
			return &DivergedError{Divergence{n + 1, d, have}}
		}
		if err != nil {
			return err
		}
	}
	return t.next(ctx, nil)
}

// take makes the lab busy, where every client can begin a round.
func (t *Steering) take(decisions int) error {
	if err := t.free(); err != nil {
		return err
	}
	if decisions > maxSteered {
		return ErrTooLong
	}
	t.acting.Lock()
	if err := t.occupy(); err != nil {
		t.acting.Unlock()
		return err
	}
	return nil
}

// occupy is take for who acts.
func (t *Steering) occupy() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.g.mu.Lock()
	defer t.s.g.mu.Unlock()
	somebody := t.o.starts()
	for _, l := range t.s.g.lanes {
		somebody = somebody || l.spoken
		if l.spoken && !l.rounds && l.worker == nil {
			return &RoundlessError{l.name}
		}
	}
	if !somebody {
		return ErrNobody
	}
	t.busy = true
	t.tell()
	return nil
}

func (t *Steering) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	t.tell()
	t.acting.Unlock()
}

// Track returns the round so far, with a title. It fails if the frame of the trace
// cannot be written.
func (t *Steering) Track(title string) (Track, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy && t.track != nil {
		return *t.track, nil
	}
	t.told.title = title
	if err := t.told.goOn(t.s.g.key, t.s.marks); err != nil { // also of a mark that came later: the whole round is read alike
		return Track{}, err
	}
	if t.over {
		t.told.finish()
	}
	events := t.told.reading.Events()
	track := &Track{Header: t.told.header, Events: slices.Clip(events), After: make([]int, 1, len(t.records)+1), Over: t.over, Telling: t.told.times}
	for _, n := range t.records {
		track.After = append(track.After, t.told.after[n])
	}
	track.After[len(t.records)] = len(events)
	t.track = track
	return *track, nil
}

// Bounds is the bounds of a search.
type Bounds struct {
	Faults    []string `json:"faults"`
	MaxFaults int      `json:"max_faults"`
	MaxOrders int      `json:"max_orders"`
}

// Tried is the result of a search.
type Tried struct {
	Ending   string       `json:"ending"` // Exhausted, Bound, Stopped or Worker
	Orders   int          `json:"orders"`
	Broken   int          `json:"broken"`
	Diverged int          `json:"diverged"`
	First    *Divergence  `json:"first,omitempty"`
	Rules    []Broken     `json:"rules"` // the smallest order first
	Drawn    *Drawn       `json:"drawn,omitempty"`
	Took     float64      `json:"took"` // seconds
	Failed   *WorkerError `json:"failed,omitempty"`

	Evidence verdict.Evidence `json:"evidence"`
}

// Judgement is what we can say about the lock.
func (t Tried) Judgement() verdict.Judgement { return t.Evidence.Judge() }

// Broken is a broken rule that a search has found.
type Broken struct {
	Rule   string     `json:"rule"`
	By     string     `json:"by"`
	Orders int        `json:"orders"` // 0: in one that was drawn
	Order  []Decision `json:"order"`  // the smallest

	ForEver bool `json:"for_ever,omitempty"` // in it, what stays shuts somebody out for ever
}

// BrokenIn returns the rules that an order breaks, as its trace has it. Whether somebody is shut
// out for ever it does not say.
func BrokenIn(h trace.Header, events []trace.Event) []Broken {
	var list []Broken
	var order []Decision
	if h.Lab != nil && json.Unmarshal(h.Lab.Order, &order) != nil {
		return nil
	}
	for _, e := range events {
		v, is := e.Body.(trace.Violation)
		if is && !slices.ContainsFunc(list, func(b Broken) bool { return b.Rule == v.Rule }) {
			list = append(list, Broken{Rule: v.Rule, Order: order})
		}
	}
	return list
}

// Search tries every order as the function Search does, with the connected clients. It
// fails with a *RoundlessError, ErrNobody or ErrSteering, or if the options do not go
// together. Afterwards, begin a round with Again.
func (t *Steering) Search(ctx context.Context, in Bounds, progress func(orders, waiting, broken int)) (Tried, error) {
	o := t.o
	o.Faults, o.MaxFaults, o.MaxOrders, o.Progress = in.Faults, in.MaxFaults, in.MaxOrders, progress
	if err := o.Check(); err != nil {
		return Tried{}, err
	}
	if err := t.take(0); err != nil {
		return Tried{}, err
	}
	defer t.give()
	o.Timeout = t.s.o.Timeout
	if o.Key == "" { // of these clients, and not of others that came before them
		t.s.g.mu.Lock()
		t.s.g.key = ""
		t.s.g.mu.Unlock()
	}
	s := newSearch(o, t.s.g, t.s.roles, t.s.found.Store)
	if err := t.s.drain(ctx); err != nil {
		return Tried{}, err
	}
	found, err := s.outcome(ctx)
	t.mu.Lock()
	t.s.marks = t.s.marks || s.marks
	t.fresh()
	t.over = true
	t.mu.Unlock()
	if err != nil {
		return Tried{}, err
	}
	tried := Tried{
		Ending: found.Ending, Orders: found.Orders, Broken: found.Broken, Diverged: found.Diverged, First: found.First, Rules: []Broken{},
		Drawn: found.Drawn, Took: found.Took.Seconds(), Failed: found.Failed, Evidence: found.Evidence,
	}
	tried.Rules = append(tried.Rules, found.Smallest()...)
	return tried, nil
}
