package lab

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/verdict"
)

// Limits of a search.
const (
	MaxThreads   = 6
	MaxNodes     = scenario.MaxNodes
	MaxFaults    = 4
	MaxOrders    = 1_000_000
	maxDecisions = 1000 // of one order: a worker that makes more has forgotten its round
	maxSpin      = 8    // times that a thread may ask the same in vain before it must wait for others; from then on, once
	drainFor     = 2 * time.Second
	maxWaiting   = 4_000_000 // orders that wait to be tried
)

// item of the search: a way to go on.
type branch struct {
	way    []Decision
	asleep []sleeper // choices that would repeat a tried order, before the last decision
	did    *effect   // of the last decision
	again  bool
}

// sleeper is a choice that was tried already: a move that is independent of it may come
// before it or after it, and the result is the same.
type sleeper struct {
	d   Decision
	f   infer.Footprint
	did *effect
}

// search is one search.
type search struct {
	o         Options
	g         *Gate
	roles     infer.Roles
	names     []string
	steered   bool            // by a person: nothing is held back, and nobody is ended
	met       bool            // the lock's key was named in this round
	endless   map[string]bool // what threads ask until they are granted it, by thread and command
	afresh    bool            // the search begins again: one more was found
	marks     bool
	version   int            // of the keys: grows with each change
	used      int            // faults so far in this order
	elsewhere map[place]bool // other keys than the lock's that were there in this round
	seen      sight
	struck    map[string]bool
	found     *Found
	waiting   [][]branch // by cost

	evidence   verdict.Evidence
	failed     failures
	everInside verdict.Witness         // of all orders
	lastSaid   map[string]infer.Record // of each thread
	leased     bool                    // the lock's key had an expiry
	users      map[string]bool         // threads that have read or written what the lock protects
	replays    int
	made       []string // keys that may be the lock, in the order in which commands made them

	attempts attempts

	tried, drawn tally // of orders that break a rule
}

// newSearch returns a search that has found nothing yet.
func newSearch(o Options, g *Gate, roles infer.Roles, store string) *search {
	s := &search{o: o, g: g, roles: roles, names: threadNames(o.Threads), struck: map[string]bool{}, elsewhere: map[place]bool{}, endless: map[string]bool{}}
	s.forget(store)
	return s
}

// forget forgets what was found.
func (s *search) forget(store string) {
	s.found = &Found{Store: store, roles: s.roles}
	s.evidence, s.failed, s.lastSaid = s.o.evidence(), failures{}, map[string]infer.Record{}
	s.users = map[string]bool{}
	s.everInside, s.leased, s.replays, s.tried, s.drawn, s.afresh = verdict.Witness{}, false, 0, tally{}, tally{}, false
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
	s.found.Key, s.found.Sent = s.g.key, s.g.came
	s.found.Started = slices.ContainsFunc(s.g.lanes, func(l *lane) bool { return l.worker != nil && l.spoken && !l.rounds })
	s.g.mu.Unlock()
	s.sort()
	s.conclude()
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
	failed := func(err error) (*Order, *Found, error) {
		s.found.Ending = Worker
		s.conclude()
		return nil, s.found, err
	}
	if err := s.warm(ctx); err != nil {
		return failed(err)
	}
	s.afresh = false
	order, err := s.play(ctx, branch{way: way}, nil)
	if err == nil && s.afresh { // when the search knew which questions are in vain
		s.afresh = false
		order, err = s.play(ctx, branch{way: way}, nil)
	}
	if err != nil {
		return failed(err)
	}
	s.replays = 1
	if s.count(order); order.diverged != nil {
		s.found.Diverged, s.found.First = 1, order.diverged
	}
	s.found.Ending, s.found.Key = Exhausted, s.g.key
	s.sort()
	s.conclude()
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
	b, err := o.backends()
	if err != nil {
		return nil, nil, err
	}
	g, err := listen(o.host(), o.Threads, b)
	if err != nil {
		b.close()
		return nil, nil, err
	}
	g.key, g.also, g.resource, g.second = o.Key, o.Also, o.Resource, o.Second
	kind, _ := b.kind()
	s := newSearch(o, g, infer.Roles{}, kind)
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
		if s.afresh { // it would try orders that only repeat questions in vain
			s.forget(s.found.Store)
			s.waiting = make([][]branch, s.o.MaxFaults+1)
			s.waiting[0] = []branch{{}}
			continue
		}
		if len(b.way) > 0 {
			s.replays++
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

func (s *search) judge(o *Order) infer.Fold {
	return o.read(s.o, s.g.key, s.marks, s.roles)
}

// read folds an order.
func (o *Order) read(opts Options, key string, marks bool, known infer.Roles) infer.Fold {
	j := opts.fold(key, marks, known)
	j.SetStart(o.began)
	for _, r := range o.records {
		j.See(r)
	}
	j.Finish(o.final)
	return j
}

// warm plays a round that does not count, or two: it tells whether the workers come at
// all, which key is the lock, whether there are marks, and what each script is for.
// Their commands before the first round belong to it.
func (s *search) warm(ctx context.Context) error {
	known, found := s.g.key != "", s.g.key != ""
	for {
		order, err := s.play(ctx, branch{}, nil)
		if err != nil {
			return err
		}
		s.judge(order)
		if known {
			return nil
		}
		if key := order.marked(); key != "" && s.o.Key == "" {
			s.name(key)
			found = true
		}
		if !found {
			if err := s.find(ctx); err != nil {
				return err
			}
			found = true
		}
		if s.g.key == "" {
			return nil
		}
		known = true
	}
}

// play plays one order: as b goes, and then on with the first choice. With push, every
// other choice on the way is one more branch.
func (s *search) play(ctx context.Context, b branch, push func(branch)) (*Order, error) {
	asleep := b.asleep
	var last *choice // before which they were asleep
	return s.round(ctx, func(o *Order, list []choice) (c choice, cut bool) {
		n, at := len(o.Decisions), 0
		if last != nil {
			asleep, last = s.awake(asleep, last), nil
		}
		switch {
		case n < len(b.way):
			at = slices.IndexFunc(list, func(c choice) bool { return c.d.same(b.way[n]) })
			if at < 0 || b.way[n].Command != "" && list[at].d.Command != b.way[n].Command {
				o.diverged = &Divergence{n + 1, b.way[n], s.have(list, b.way[n])}
				b.way, asleep, push = b.way[:n], nil, nil
				at = max(at, 0)
			}
			if n == len(b.way)-1 {
				list[at].did = b.did
				last = &list[at]
			}
		default:
			if at, cut = s.branch(o, list, asleep, push); cut {
				return c, true
			}
			last = &list[at]
		}
		return list[at], false
	})
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
		did := &effect{}
		if at < 0 && c.d.Do == "" {
			at = i
			list[i].did = did
		} else {
			others = append(others, branch{way: append(slices.Clone(o.Decisions), c.d), asleep: slices.Clone(tried), did: did})
		}
		tried = append(tried, sleeper{c.d, c.f, did})
	}
	for _, b := range slices.Backward(others) {
		push(b)
	}
	return max(at, 0), at < 0
}
