package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"relock/engine/effects"
	"relock/engine/explore/pct"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/resp"
	"relock/engine/store"
	"relock/engine/trace"
)

// Limits of a search.
const (
	MaxThreads   = 6
	MaxFaults    = 4
	MaxOrders    = 1_000_000
	maxDecisions = 1000 // of one order: a worker that makes more has forgotten its round
	maxSpin      = 8    // times that a thread may ask the same in vain before it must wait for others
	drainFor     = 2 * time.Second
	maxWaiting   = 4_000_000 // orders that wait to be tried
)

// Clocks of a search.
const (
	ClockGate = "gate"
	ClockWall = "wall"
)

// Options say what to search. With zero values the search finds Key out itself, and
// there is no Resource.
type Options struct {
	Command   []string // the worker; empty: any client that connects
	Env       []string // "K=V", for the workers
	Threads   int      // 1 to MaxThreads
	Faults    []string // kinds that may strike
	MaxFaults int      // in one order
	MaxOrders int      // that are tried in order; beyond, some are drawn at random
	Key       string   // the lock's
	Resource  string   // the key of what the lock protects
	Clock     string   // ClockGate or ClockWall
	Listen    string   // where the ports are: a host, or ListenAll; "" is loopback
	External  *store.External
	Seed      uint64        // of what is drawn
	Timeout   time.Duration // how long a worker may be silent
	Progress  func(orders, waiting, broken int)
	Full      bool // tests only: tries also orders that cannot differ
}

// Check fails with a clear sentence if options do not go together.
func (o Options) Check() error {
	switch {
	case o.Threads < 1 || o.Threads > MaxThreads:
		return phrase.New("-threads %d: allowed: 1 to %d", o.Threads, MaxThreads)
	case o.MaxFaults < 0 || o.MaxFaults > MaxFaults:
		return phrase.New("-max-faults %d: allowed: 0 to %d", o.MaxFaults, MaxFaults)
	case o.MaxOrders < 1 || o.MaxOrders > MaxOrders:
		return phrase.New("-max-orders %d: allowed: 1 to %d", o.MaxOrders, MaxOrders)
	case o.Clock != ClockGate && o.Clock != ClockWall:
		return phrase.New("-clock %.40q: allowed: %s, %s", o.Clock, ClockGate, ClockWall)
	case o.Timeout <= 0:
		return phrase.New("-timeout %s: allowed: more than 0", o.Timeout)
	case o.Key != "" && o.Key == o.Resource:
		return phrase.New("-key and -resource are both %.60q; the lock and what it protects are two keys", o.Key)
	}
	if o.External != nil && o.External.Cluster() && o.Key == "" {
		return phrase.New("-redis: on a cluster, the lab stands in front of the node that has the lock's key: name that key with -key")
	}
	for _, name := range o.Faults {
		i := slices.IndexFunc(kinds, func(k struct {
			name                     string
			wall, gate, ofConnection bool
		},
		) bool {
			return k.name == name
		})
		switch {
		case i < 0:
			return phrase.New("-faults %.40q: allowed: %s", name, phrase.Names(Faults()))
		case kinds[i].wall && o.Clock != ClockWall:
			return phrase.New("-faults %s needs -clock wall: it strikes the worker's process", name)
		case kinds[i].gate && (o.Clock != ClockGate || o.External != nil):
			return phrase.New("-faults %s needs the embedded Redis and -clock gate: it moves Redis' clock", name)
		}
	}
	return nil
}

// ListenAll is every address of this machine.
const ListenAll = "*"

// host is where the ports are.
func (o Options) host() string {
	switch o.Listen {
	case "":
		return "127.0.0.1"
	case ListenAll:
		return ""
	}
	return o.Listen
}

// Endings of a search.
const (
	Exhausted = "exhausted" // every order within the bounds was tried
	Bound     = "bound"     // there are more than MaxOrders
	Stopped   = "stopped"   // somebody has stopped it
	Worker    = "worker"    // a worker does not come
)

// Found is the result of a search.
type Found struct {
	Ending   string
	Orders   int // tried, without those that were drawn
	Broken   int // of them, those that break a rule
	Diverged int // replays that went another way
	First    *Divergence
	Rules    []Rule
	Key      string // the lock's, "" if no command has made one
	Store    string
	Failed   *WorkerError // of the ending Worker
	Drawn    *Drawn       // of the ending Bound
	Took     time.Duration
	Started  bool // each order took new processes: a worker asks for no rounds

	roles effects.Roles // what commands were seen to do to the lock, in any order
}

// Divergence is where a replay first went another way.
type Divergence struct {
	At   int // decision, from 1
	Want Decision
	Have string
}

// Rule is a broken rule, with the smallest order that breaks it.
type Rule struct {
	Name   string
	Orders int // that break it
	By     string
	Order  *Order
}

// Drawn is the result of orders drawn at random.
type Drawn struct {
	Orders, Broken int
	Rules          []string
	Low, High      float64 // share that breaks a rule among orders so drawn, with 95 % confidence
	Odds           float64 // a break that needs one decision more than the faults is drawn once in so many, on average
}

// Order is one order of decisions, and its result.
type Order struct {
	Decisions []Decision
	Faults    int
	Rules     []string // broken

	records  []effects.Record
	began    time.Time // the instant, by the wall's clock, from which its records count
	final    trace.KeyState
	waiting  []string
	asking   []string
	marks    bool
	lease    int64 // the longest of rounds before it, in ms
	hash     bool  // their lock was one
	diverged *Divergence
	cut      bool // it cannot differ from one that was tried
}

// item of the search: a way to go on.
type branch struct {
	way    []Decision
	asleep []sleeper // what needs not be tried first after it
	again  bool
}

// sleeper is a choice that was tried in its place: before what is independent of it, it
// comes to the same.
type sleeper struct {
	d Decision
	f effects.Footprint
}

// search is one search.
type search struct {
	o       Options
	g       *Gate
	roles   effects.Roles
	names   []string
	steered bool // by a person: nothing is held back, and nobody is ended
	met     bool // the lock's key was named in this round
	marks   bool
	version int // of the keys: grows with each change
	used    int // faults so far in this order
	struck  map[string]bool
	found   *Found
	waiting [][]branch // by cost
}

// Search starts the workers and tries every order within the bounds, fewest faults
// first, each depth-first. If orders differ only in commands that cannot affect each
// other, it tries one of them. It fails if it cannot search at all; a worker that does
// not come is an ending. Ctx ends it early, and it returns what it has found.
func Search(ctx context.Context, o Options) (*Found, error) {
	s, done, err := open(o)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.outcome(ctx)
}

// outcome tries every order, and says what that came to.
func (s *search) outcome(ctx context.Context) (*Found, error) {
	began := time.Now()
	err := panics.Catch(func() error { return s.all(ctx) })
	s.found.Took = time.Since(began)
	var failed *WorkerError
	switch {
	case errors.As(err, &failed):
		s.found.Ending, s.found.Failed = Worker, failed
	case err != nil && ctx.Err() != nil:
		s.found.Ending = Stopped
	case err != nil:
		return nil, err
	}
	s.g.mu.Lock()
	s.found.Key = s.g.key
	s.found.Started = slices.ContainsFunc(s.g.lanes, func(l *lane) bool { return l.worker != nil && l.spoken && !l.rounds })
	s.g.mu.Unlock()
	s.sort()
	return s.found, nil
}

// Replay plays one order, and at its end goes on as the search would. It fails like
// Search, or with a *WorkerError.
func Replay(ctx context.Context, o Options, way []Decision) (*Order, *Found, error) {
	for _, d := range way {
		if d.Thread != "" && !slices.Contains(threadNames(o.Threads), d.Thread) {
			return nil, nil, phrase.New("-replay: the order has a thread %.20q; there are %d threads", d.Thread, o.Threads)
		}
	}
	s, done, err := open(o)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if err := s.warm(ctx); err != nil {
		return nil, s.found, err
	}
	order, err := s.play(ctx, branch{way: way}, nil)
	if err != nil {
		return nil, s.found, err
	}
	if s.count(order); order.diverged != nil {
		s.found.Diverged, s.found.First = 1, order.diverged
	}
	s.found.Ending, s.found.Key = Exhausted, s.g.key
	s.sort()
	return order, s.found, nil
}

func threadNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = Thread(i)
	}
	return names
}

func open(o Options) (*search, func(), error) {
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	var b backend = newEmbedded(o.Clock == ClockWall, o.Timeout)
	if o.External != nil {
		b.close()
		x, err := newExternal(o.External, o.Key, o.Timeout)
		if err != nil {
			return nil, nil, err
		}
		b = x
	}
	g, err := listen(o.host(), o.Threads, b)
	if err != nil {
		b.close()
		return nil, nil, err
	}
	g.key, g.resource = o.Key, o.Resource
	s := &search{o: o, g: g, roles: effects.Roles{}, names: threadNames(o.Threads), found: &Found{}, struck: map[string]bool{}}
	s.found.roles = s.roles
	s.found.Store, _ = b.kind()
	return s, func() {
		for _, l := range g.lanes {
			if l.worker != nil && !l.worker.ended() {
				l.worker.signal(syscall.SIGCONT)
				l.worker.kill()
			}
		}
		g.Close()
		b.close()
	}, nil
}

// all tries every order.
func (s *search) all(ctx context.Context) error {
	if err := s.warm(ctx); err != nil {
		return err
	}
	s.waiting = make([][]branch, s.o.MaxFaults+1)
	s.waiting[0] = []branch{{}}
	for {
		b, ok := s.next()
		if !ok {
			s.found.Ending = Exhausted
			return nil
		}
		if s.found.Orders >= s.o.MaxOrders {
			s.found.Ending = Bound
			return s.draw(ctx)
		}
		order, err := s.play(ctx, b, s.push)
		if err != nil {
			return err
		}
		if order.cut {
			continue
		}
		if order.diverged != nil {
			s.found.Diverged++
			if s.found.First == nil {
				s.found.First = order.diverged
			}
			if !b.again { // the worker's own clock may have been in the way: once more
				b.again = true
				s.waiting[b.cost()] = append(s.waiting[b.cost()], b)
				continue
			}
		}
		s.count(order)
		if s.o.Progress != nil {
			s.o.Progress(s.found.Orders, s.left(), s.found.Broken)
		}
	}
}

func (b branch) cost() (n int) {
	for _, d := range b.way {
		if d.Do != "" {
			n++
		}
	}
	return n
}

func (s *search) left() (n int) {
	for _, list := range s.waiting {
		n += len(list)
	}
	return n
}

// next takes the newest of the cheapest branches.
func (s *search) next() (branch, bool) {
	for i, list := range s.waiting {
		if n := len(list); n > 0 {
			b := list[n-1]
			s.waiting[i] = list[:n-1]
			return b, true
		}
	}
	return branch{}, false
}

func (s *search) push(b branch) {
	if cost := b.cost(); cost <= s.o.MaxFaults && s.left() < maxWaiting {
		s.waiting[cost] = append(s.waiting[cost], b)
	}
}

// count adds an order that was tried.
func (s *search) count(o *Order) {
	s.found.Orders++
	o.Rules = s.judge(o).Rules()
	if len(o.Rules) > 0 {
		s.found.Broken++
	}
	for _, name := range o.Rules {
		i := slices.IndexFunc(s.found.Rules, func(r Rule) bool { return r.Name == name })
		if i < 0 {
			s.found.Rules = append(s.found.Rules, Rule{Name: name, Order: o, By: s.by()})
			i = len(s.found.Rules) - 1
		}
		r := &s.found.Rules[i]
		r.Orders++
		if o.smaller(r.Order) {
			r.Order = o
		}
	}
}

func (s *search) by() string {
	if s.marks {
		return trace.ByMarks
	}
	return trace.ByEffects
}

func (o *Order) smaller(than *Order) bool {
	if o.Faults != than.Faults {
		return o.Faults < than.Faults
	}
	return len(o.Decisions) < len(than.Decisions)
}

// sort puts the rule with the smallest order first.
func (s *search) sort() {
	slices.SortStableFunc(s.found.Rules, func(a, b Rule) int {
		switch {
		case a.Order.smaller(b.Order):
			return -1
		case b.Order.smaller(a.Order):
			return 1
		default:
			return slices.Index(effects.Rules(), a.Name) - slices.Index(effects.Rules(), b.Name)
		}
	})
}

func (s *search) judge(o *Order) *effects.Reading {
	j := effects.New(s.names, s.g.key, s.o.Resource, s.marks, s.roles)
	for _, r := range o.records {
		j.See(r)
	}
	j.Finish(o.final, o.asking, o.waiting)
	return j
}

// warm plays a round that does not count, or two: it tells whether the workers come at
// all, which key is the lock, whether there are marks, and what each script is for.
// What they do before their first round belongs to it.
func (s *search) warm(ctx context.Context) error {
	known := s.g.key != ""
	for {
		order, err := s.play(ctx, branch{}, nil)
		if err != nil {
			return err
		}
		s.judge(order)
		if known || s.g.key == "" {
			return nil
		}
		known = true
	}
}

// begin waits until every worker is at its round, starts those that have ended, and lets
// them go on an empty Redis.
func (s *search) begin(ctx context.Context) error {
	s.used, s.met = 0, false
	clear(s.struck)
	if err := s.start(); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.release()
}

// start starts the workers that are not there, where there is a command.
func (s *search) start() error {
	for i, l := range s.g.lanes {
		if len(s.o.Command) > 0 && l.worker.ended() {
			if l.worker != nil {
				s.g.mu.Lock()
				for _, c := range slices.Clone(l.conns) {
					s.g.hangUp(c)
				}
				l.spoken, l.rounds, l.late = false, false, nil
				s.g.mu.Unlock()
			}
			w, err := spawn(s.o.Command, s.o.Env, s.names[i], l.l.Addr().String())
			if err != nil {
				return phrase.New("cannot start the worker: %s", err)
			}
			s.g.mu.Lock()
			l.worker, l.moved = w, time.Now()
			s.g.mu.Unlock()
			s.g.wg.Go(func() {
				<-w.done // Close of the search kills it
				s.g.mu.Lock()
				defer s.g.mu.Unlock()
				s.g.tell()
			})
		}
	}
	return nil
}

// release empties Redis, and lets every worker go on that is at its round.
func (s *search) release() error {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	touched := make([]string, 0, len(s.g.touched))
	for k := range s.g.touched {
		touched = append(touched, k)
	}
	slices.Sort(touched)
	if err := s.g.redis.reset(touched); err != nil {
		return err
	}
	for _, l := range s.g.lanes {
		l.spin = spin{}
		if _, _, it := l.pending(s.g); it != nil {
			it.c.queue = it.c.queue[1:]
			l.moved = time.Now()
			s.g.reply(it.c, resp.Bulk(effects.MarkRound))
			s.g.pump(it.c)
		}
	}
	return nil
}

func (s *search) settle(ctx context.Context) error {
	return s.g.settle(ctx, s.o.Timeout, func(l *lane) bool { return s.struck[l.name] || s.used > 0 })
}

// choice is what can be decided.
type choice struct {
	d    Decision
	it   *item
	lane *lane
	f    effects.Footprint
}

// choices are what can be decided now: first whose command is answered, then the faults.
// Over says that every round has ended; stuck are the threads that wait though nobody can
// move, and asking those of them that ask in vain.
func (s *search) choices() (list []choice, over bool, stuck, asking []string) {
	over = true
	var faults []choice
	for _, l := range s.g.lanes {
		items, held, atRound := l.pending(s.g)
		ended := atRound != nil || l.ended()
		items = append(slices.Clone(items), l.late...)
		if ended && atRound != nil { // what a worker sends behind its round is of the next
			items = slices.Clone(l.late)
		}
		if !ended || len(items) > 0 {
			over = false
		}
		if held && len(items) == 0 && !ended {
			stuck = append(stuck, l.name)
		}
		for n, it := range items {
			d := Decision{Thread: l.name, Nth: n, Command: effects.Shown(it.args)}
			c := choice{d, it, l, s.print(it)}
			late := slices.Contains(l.late, it)
			if !late && !s.steered && l.spin.times >= maxSpin && l.spin.command == d.Command && l.spin.version == s.version {
				stuck, asking = append(stuck, l.name), append(asking, l.name)
				continue
			}
			list = append(list, c)
			if s.used >= s.o.MaxFaults || late {
				continue
			}
			for _, k := range s.o.Faults {
				if effects.Mark(it.args) != "" && k != Crash && k != Pause { // a mark is no command; who is inside can stand still
					continue
				}
				if !ofCommand(k) || k == LoseMessage && !s.g.listened() || (k == Crash || k == Pause) && l.worker == nil {
					continue
				}
				f := c
				f.d.Do = k
				if k == Delay || k == Crash || k == Pause || k == LoseMessage {
					f.f = effects.Everything
				}
				faults = append(faults, f)
			}
		}
	}
	if over {
		return nil, true, nil, nil
	}
	if s.used < s.o.MaxFaults && (len(list) > 0 || s.steered) {
		if _, some := s.g.redis.expiry(); some && slices.Contains(s.o.Faults, LeaseEnds) {
			faults = append(faults, choice{d: Decision{Do: LeaseEnds}, f: effects.Everything})
		}
		if slices.Contains(s.o.Faults, Evict) && s.g.state().Exists() {
			faults = append(faults, choice{d: Decision{Do: Evict}, f: effects.Footprint{Keys: []string{s.g.key}, Writes: true}})
		}
	}
	return append(list, faults...), false, stuck, asking
}

func ofCommand(name string) bool {
	for _, k := range kinds {
		if k.name == name {
			return k.ofConnection
		}
	}
	return false
}

// listened reports whether anybody waits for messages.
func (g *Gate) listened() bool {
	for _, l := range g.lanes {
		for _, c := range l.conns {
			if c.in != nil {
				return true
			}
		}
	}
	return false
}

// print is the effects.Footprint of a command. What may publish depends on whatever goes before
// somebody listens, which is no decision; a transaction on what its connection watches.
func (s *search) print(it *item) effects.Footprint {
	if effects.Mark(it.args) != "" {
		return effects.Everything
	}
	f := effects.Touches(it.args)
	for _, t := range it.tx {
		one := effects.Touches(t)
		f.All = f.All && effects.Verb(it.args) != "EXEC" || one.All
		f.Keys, f.Writes = append(f.Keys, one.Keys...), true
		if effects.Verb(t) == "PUBLISH" {
			return effects.Everything
		}
	}
	if effects.Verb(it.args) == "EXEC" {
		f.Keys = append(f.Keys, it.c.watched...)
	}
	text, scripted := s.g.text(it.args)
	publishes := effects.Verb(it.args) == "PUBLISH" || strings.Contains(strings.ToUpper(text), "PUBLISH") || scripted && s.g.listened()
	if publishes || s.o.Full {
		return effects.Everything
	}
	return f
}

// play plays one order: as b goes, and then on with the first choice. With push, every
// other choice on the way is one more branch.
func (s *search) play(ctx context.Context, b branch, push func(branch)) (*Order, error) {
	asleep := b.asleep
	return s.round(ctx, func(o *Order, list []choice) (c choice, cut bool) {
		n, at := len(o.Decisions), 0
		switch {
		case n < len(b.way):
			at = slices.IndexFunc(list, func(c choice) bool { return c.d.same(b.way[n]) })
			if at < 0 || b.way[n].Command != "" && list[at].d.Command != b.way[n].Command {
				o.diverged = &Divergence{n + 1, b.way[n], s.have(list, b.way[n])}
				b.way, asleep, push = b.way[:n], nil, nil
				at = max(at, 0)
			}
		default:
			if at, cut = s.branch(o, list, asleep, push); cut {
				return c, true
			}
		}
		if n >= len(b.way) {
			asleep = awake(asleep, list[at])
		}
		return list[at], false
	})
}

// round plays one order of what choose says. Where that cuts it, the rest is played
// without being judged.
func (s *search) round(ctx context.Context, choose func(*Order, []choice) (c choice, cut bool)) (*Order, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	o := &Order{Decisions: []Decision{}, began: time.Now()}
	ended := map[string]bool{}
	for {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.g.mu.Lock()
		s.ends(o, ended)
		list, over, stuck, asking := s.choices()
		if over {
			o.final = s.g.state()
			s.g.mu.Unlock()
			break
		}
		if len(list) == 0 {
			moved := s.pass(o)
			s.g.mu.Unlock()
			if moved {
				continue
			}
			o.final, o.waiting, o.asking = s.finalState(), stuck, asking
			if err := s.drain(ctx); err != nil {
				return nil, err
			}
			break
		}
		if n := len(o.Decisions); n >= maxDecisions {
			err := list[0].lane.failed("has forgotten its round: after %d decisions it has neither asked for the next one nor ended", n)
			s.g.mu.Unlock()
			return nil, err
		}
		c, cut := choose(o, list)
		if cut {
			s.g.mu.Unlock()
			o.cut = true
			return o, s.drain(ctx)
		}
		o.Decisions = append(o.Decisions, c.d)
		if err := s.decide(ctx, o, c); err != nil {
			return nil, err
		}
	}
	o.marks = s.marks
	return o, nil
}

// finalState is the state of the lock's key. The caller must not hold the gate.
func (s *search) finalState() trace.KeyState {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return s.g.state()
}

// have says what there is in the place of what an order wants.
func (s *search) have(list []choice, want Decision) string {
	for _, c := range list {
		if c.d.Thread == want.Thread && (want.Thread != "" || c.d.Do == want.Do) {
			return Decision{Thread: c.d.Thread, Command: c.d.Command}.String()
		}
	}
	return "nothing of the kind"
}

// branch chooses where an order is new: the first choice that costs nothing and does not
// sleep. All others are pushed, each with those before it asleep. Cut says that whatever
// is left comes to what was tried elsewhere.
func (s *search) branch(o *Order, list []choice, asleep []sleeper, push func(branch)) (at int, cut bool) {
	if push == nil {
		return 0, false
	}
	sleeps := func(c choice) bool {
		return slices.ContainsFunc(asleep, func(z sleeper) bool { return z.d.same(c.d) })
	}
	at = -1
	tried := slices.Clone(asleep)
	var others []branch
	for i, c := range list {
		if sleeps(c) {
			continue
		}
		if at < 0 && c.d.Do == "" {
			at = i
		} else {
			others = append(others, branch{way: append(slices.Clone(o.Decisions), c.d), asleep: awake(tried, c)})
		}
		tried = append(tried, sleeper{c.d, c.f})
	}
	for _, b := range slices.Backward(others) {
		push(b)
	}
	return max(at, 0), at < 0
}

// awake is what still sleeps after a choice: what is independent of it, and of another
// thread.
func awake(asleep []sleeper, c choice) []sleeper {
	var list []sleeper
	for _, z := range asleep {
		if z.d.Thread != c.d.Thread && !z.f.Conflicts(c.f) {
			list = append(list, z)
		}
	}
	return list
}

// ends notes the rounds that have ended since.
func (s *search) ends(o *Order, ended map[string]bool) {
	for _, l := range s.g.lanes {
		_, _, atRound := l.pending(s.g)
		over := atRound != nil || l.worker != nil && l.worker.ended()
		if over && !ended[l.name] {
			ended[l.name] = true
			result := trace.Done
			if l.worker != nil && l.worker.killed {
				result = trace.Crashed
			}
			o.records = append(o.records, effects.Record{Thread: l.name, Ended: result, After: s.g.state(), At: s.g.redis.now()})
		}
	}
}

// pass lets time pass, as nobody can move: to the first instant at which one that waits
// would wait no more, or a key expires. It reports whether there was any.
func (s *search) pass(o *Order) bool {
	var first *item
	for _, l := range s.g.lanes {
		for _, c := range l.conns {
			if len(c.queue) > 0 && c.queue[0].blocking && c.queue[0].deadline > 0 && (first == nil || c.queue[0].deadline < first.deadline) {
				first = c.queue[0]
			}
		}
	}
	now := s.g.redis.now()
	left, expires := s.g.redis.expiry()
	_, wall := s.g.redis.kind()
	switch {
	case expires && (first == nil || now+left < first.deadline):
		s.lapse(o, left, wall)
	case first != nil:
		s.lapse(o, first.deadline-now, wall)
		o.records = append(o.records, s.g.expire(first))
	default:
		return false
	}
	s.version++
	return true
}

// lapse moves Redis' clock.
func (s *search) lapse(o *Order, d time.Duration, wall bool) {
	r := effects.Record{Do: LeaseEnds, Before: s.g.state()}
	if wall {
		time.Sleep(d + time.Millisecond)
	}
	s.g.redis.advance(d)
	r.After, r.At = s.g.state(), s.g.redis.now()
	if r.Before.Exists() && !r.After.Exists() {
		o.records = append(o.records, r)
	}
}

// decide carries out a choice, and lets go of the gate.
func (s *search) decide(_ context.Context, o *Order, c choice) error {
	defer s.g.mu.Unlock()
	if c.d.Do != "" {
		s.used++
		o.Faults++
		if c.d.Thread != "" {
			s.struck[c.d.Thread] = true
		}
	}
	_, wall := s.g.redis.kind()
	switch c.d.Do {
	case LeaseEnds:
		left, _ := s.g.redis.expiry()
		if pttl := s.g.state().PTTL; pttl > 0 { // of the lock, where there are others
			left = time.Duration(pttl) * time.Millisecond
		}
		s.lapse(o, left, wall)
		s.version++
		return nil
	case Evict:
		r := effects.Record{Do: Evict, Before: s.g.state()}
		s.g.redis.evict(s.g.key)
		r.After, r.At = s.g.state(), s.g.redis.now()
		o.records = append(o.records, r)
		s.version++
		return nil
	case Crash, Pause:
		return s.strike(o, c)
	}
	if m := effects.Mark(c.it.args); m == effects.MarkEnter || m == effects.MarkLeave {
		s.marks = true
	}
	r := s.g.perform(c.it, c.d.Do)
	if why := s.g.redis.lost(); why != "" {
		return c.lane.failed("%s", why)
	}
	s.learn(c, &r)
	o.records = append(o.records, r)
	return nil
}

// learn notes what a command has shown: which key is the lock, and who asks in vain.
func (s *search) learn(c choice, r *effects.Record) {
	s.met = s.met || effects.Touches(r.Args).Names(s.g.key) || slices.ContainsFunc(r.Tx, func(args []string) bool { return effects.Touches(args).Names(s.g.key) })
	// Who steers may bring other clients, whose lock has another key.
	if s.g.key == "" || s.steered && s.o.Key == "" && !s.met {
		if key := s.lockKey(*r); key != "" {
			s.g.key, s.met = key, true
			r.After = s.g.state()
		}
	}
	changed := !effects.Equal(r.Before, r.After) || r.Do != "" || effects.Touches(r.Args).Writes && !slices.Contains(effects.Touches(r.Args).Keys, s.g.key)
	l := c.lane
	switch name := c.d.Command; {
	case changed:
		s.version++
		l.spin = spin{}
	case l.spin.command == name && l.spin.version == s.version:
		l.spin.times++
	default:
		l.spin = spin{name, 1, s.version}
	}
}

// lockKey returns the key that a command has made, if it may be the lock: a string or a
// hash that is not the resource.
func (s *search) lockKey(r effects.Record) string {
	if r.Err != "" || r.Args == nil {
		return ""
	}
	var keys []string
	for _, args := range append([][]string{r.Args}, r.Tx...) {
		if effects.MakesLock(args) {
			keys = append(keys, effects.Touches(args).Keys...)
		}
	}
	for _, key := range keys {
		if key == s.o.Resource || key == "" || key[0] == 0 {
			continue
		}
		if k := s.g.redis.key(key); k.Type == trace.TypeString || k.Type == trace.TypeHash {
			return key
		}
	}
	return ""
}

// strike stops or ends a worker's process for real.
func (s *search) strike(o *Order, c choice) error {
	w := c.lane.worker
	r := effects.Record{Thread: c.d.Thread, Args: c.it.args, Do: c.d.Do, Before: s.g.state()}
	if c.d.Do == Crash {
		w.kill()
		for _, cn := range slices.Clone(c.lane.conns) {
			s.g.hangUp(cn)
		}
	} else {
		// Nobody is answered meanwhile: its lease runs out, and nothing else happens.
		r.Passed = delayed
		if r.Before.PTTL > 0 {
			r.Passed = time.Duration(r.Before.PTTL)*time.Millisecond + 2*time.Millisecond
		}
		w.signal(syscall.SIGSTOP)
		time.Sleep(r.Passed)
		w.signal(syscall.SIGCONT)
		c.lane.moved = time.Now()
	}
	r.After, r.At = s.g.state(), s.g.redis.now()
	if r.Before.Exists() && !r.After.Exists() && c.d.Do == Pause {
		was := r.Before
		r.Lapsed = &was
	}
	o.records = append(o.records, r)
	s.version++
	return nil
}

// drain brings the workers to their next round, whatever they do: nothing of it is
// judged. One that does not come is started again.
func (s *search) drain(ctx context.Context) error {
	until := time.Now().Add(drainFor)
	s.g.mu.Lock()
	s.g.redis.flush()
	s.g.mu.Unlock()
	for n := 0; n < maxDecisions && time.Now().Before(until); n++ {
		waits, cancel := context.WithDeadline(ctx, until)
		err := s.settle(waits)
		late := waits.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed *WorkerError
		if late || errors.As(err, &failed) {
			break
		}
		s.g.mu.Lock()
		moved := false
		for _, l := range s.g.lanes {
			items, _, atRound := l.pending(s.g)
			l.late = nil
			if atRound != nil {
				continue
			}
			for _, c := range l.conns {
				if len(c.queue) > 0 && c.queue[0].blocking && !slices.Contains(items, c.queue[0]) {
					s.g.expire(c.queue[0])
					moved = true
				}
			}
			if len(items) > 0 {
				s.g.perform(items[0], "")
				moved = true
			}
			if why := s.g.redis.lost(); why != "" {
				s.g.mu.Unlock()
				return l.failed("%s", why)
			}
		}
		s.g.mu.Unlock()
		if !moved {
			break
		}
	}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	for _, l := range s.g.lanes {
		_, _, atRound := l.pending(s.g)
		switch {
		case atRound != nil || l.ended():
		case l.worker == nil:
			return l.failed("does not come to its next round: for %s it has not sent ECHO %s", drainFor, effects.MarkRound)
		default:
			l.worker.kill()
		}
	}
	return nil
}

// draw tries orders at random, by PCT.
func (s *search) draw(ctx context.Context) error {
	const most = 200
	d := &Drawn{Rules: []string{}}
	s.found.Drawn = d
	decisions, tasks := 1, 1
	broken := map[string]bool{}
	for i := 0; i < min(most, s.o.MaxOrders); i++ {
		p := pct.New(s.o.Seed, uint64(i))
		order, err := s.random(ctx, p, decisions)
		if err != nil {
			return err
		}
		d.Orders++
		decisions, tasks = max(decisions, len(order.Decisions)), max(tasks, p.Tasks())
		order.Rules = s.judge(order).Rules()
		if len(order.Rules) > 0 {
			d.Broken++
		}
		for _, name := range order.Rules {
			broken[name] = true
			if !slices.ContainsFunc(s.found.Rules, func(r Rule) bool { return r.Name == name }) {
				s.found.Rules = append(s.found.Rules, Rule{Name: name, Order: order, By: s.by()})
			}
		}
	}
	for _, name := range effects.Rules() {
		if broken[name] {
			d.Rules = append(d.Rules, name)
		}
	}
	d.Low, d.High = pct.Wilson(float64(d.Broken)/float64(max(d.Orders, 1)), float64(d.Orders))
	d.Odds = float64(tasks)
	for range s.o.MaxFaults {
		d.Odds *= float64(decisions * max(len(s.o.Faults), 1))
	}
	return nil
}

// random plays one order that p draws.
func (s *search) random(ctx context.Context, p *pct.Priorities, decisions int) (*Order, error) {
	strikes := p.Places(s.o.MaxFaults, decisions)
	// Where no fault strikes, a change of priorities does: else each thread would run to
	// its end.
	changes := p.Places(2, decisions)
	return s.round(ctx, func(o *Order, list []choice) (choice, bool) {
		n := len(o.Decisions)
		var free, faults []choice
		var tasks []string
		for _, c := range list {
			if c.d.Do == "" {
				free, tasks = append(free, c), append(tasks, fmt.Sprint(c.d.Thread, c.d.Nth))
			} else {
				faults = append(faults, c)
			}
		}
		at := p.First(tasks)
		c := free[at]
		if slices.Contains(changes, n) || slices.Contains(strikes, n) {
			p.Lower(tasks[at], n)
			c = free[p.First(tasks)]
		}
		if slices.Contains(strikes, n) && len(faults) > 0 {
			c = faults[p.Random.IntN(len(faults))]
		}
		return c, false
	})
}

// Diverged returns where the order first differed from its decisions, or nil.
func (o *Order) Diverged() *Divergence { return o.diverged }
