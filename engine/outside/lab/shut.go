package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/store"
	"relock/engine/trace"
)

// unknown is what an attempt comes to that cannot be made.
const unknown time.Duration = -1

// attempts remembers what attempts to get in came to.
type attempts struct {
	alone map[string]int           // by thread: how often it enters in a round alone on an empty Redis
	ends  map[string]time.Duration // by what is left, and who tries: after how long it gets in
	locks map[string]bool          // keys that some thread has written while it was not inside: the others are what the lock protects
}

// learn takes which keys threads write while they are not inside.
func (a *attempts) learn(records []infer.Record, resource string) {
	inside := map[string]bool{}
	for _, r := range records {
		switch {
		case r.Mark == infer.MarkEnter:
			inside[r.Thread] = true
		case r.Mark != "":
			delete(inside, r.Thread)
		case !inside[r.Thread]:
			for _, t := range r.Keys {
				a.locks[t.Key] = t.Key != resource
			}
		}
	}
}

// protected is what is left of what the lock protects.
func (a *attempts) protected(left []store.Item) []store.Item {
	return slices.DeleteFunc(slices.Clone(left), func(i store.Item) bool { return a.locks[i.Name] })
}

// tries lets each thread try to get in, alone on what an order has left, where a round can
// be played once more: of workers that loop, on a clock that stands still.
func (s *search) tries(ctx context.Context, o *Order) error {
	b, left := s.leaves()
	if b == nil {
		return nil
	}
	o.final.Tried = true
	if len(left) == 0 { // that is how each order begins
		return nil
	}
	at := b.at
	if s.attempts.alone == nil {
		s.attempts = attempts{map[string]int{}, map[string]time.Duration{}, map[string]bool{}}
		for _, l := range s.g.lanes {
			n, err := s.entersAlone(ctx, b, l)
			if err != nil {
				return err
			}
			s.attempts.alone[l.name] = n
		}
	}
	s.attempts.learn(o.records, s.o.Resource)
	o.final.After = map[string]time.Duration{}
	last := 0 // who gets in last
	for i, l := range s.g.lanes {
		if s.attempts.alone[l.name] == 0 {
			continue
		}
		after, err := s.shuts(ctx, b, left, at, i)
		if err != nil {
			return err
		}
		if after == unknown {
			o.final.Tried = false
			return nil
		}
		if o.final.After[l.name] = after; after > o.final.After[s.names[last]] {
			last = i
		}
	}
	o.final.Tried = len(o.final.After) > 0
	after := o.final.After[s.names[last]]
	if after <= 0 {
		return nil
	}
	without := slices.DeleteFunc(slices.Clone(left), func(i store.Item) bool { return i.Name == s.g.key })
	other, err := s.opens(ctx, b, without, at, last)
	o.final.Beside = other >= after
	return err
}

// leaves returns the Redis of an order that is over, nil where nobody can try, and what is
// left there.
func (s *search) leaves() (*embedded, []store.Item) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if s.o.NoProbe || !s.marks || s.steered || len(s.g.nodes) != 1 {
		return nil, nil
	}
	b, ok := s.g.nodes[0].(*embedded)
	if !ok || b.wall || b.hung {
		return nil, nil
	}
	for _, l := range s.g.lanes {
		if _, _, atRound := l.pending(s.g); atRound == nil && !l.ended() { // whoever has ended is started again
			return nil, nil
		}
	}
	left, err := b.e.Contents()
	if err != nil { // of a kind that cannot be put back
		return nil, nil
	}
	return b, left
}

// put begins an attempt: every worker is at its round, and this is what is left.
func (s *search) put(ctx context.Context, b *embedded, left []store.Item, at time.Duration) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.still(ctx); err != nil {
		return err
	}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.failed = failures{}
	b.at = at
	if err := b.e.Fill(b.base.Add(at), left); err != nil {
		return fmt.Errorf("lab: put back what an order has left: %w", err)
	}
	return nil
}

// still waits as settle does. That a worker ends is no failure of the search here.
func (s *search) still(ctx context.Context) error {
	return s.g.settle(ctx, s.o.Timeout, func(*lane) bool { return true })
}

// entersAlone returns how often a thread enters in a round alone on an empty Redis.
func (s *search) entersAlone(ctx context.Context, b *embedded, l *lane) (int, error) {
	if err := s.put(ctx, b, nil, 0); err != nil {
		return 0, err
	}
	a := &attempt{s: s, l: l}
	if err := a.goOn(ctx, false); err != nil {
		return 0, err
	}
	return a.entered, s.home(ctx)
}

// shuts returns for how long what is left shuts a thread out of the lock, 0 being not at all: a
// thread that has no work does not ask for the lock, so what is left of that must not be why.
func (s *search) shuts(ctx context.Context, b *embedded, left []store.Item, at time.Duration, who int) (time.Duration, error) {
	after, err := s.opens(ctx, b, left, at, who)
	data := s.attempts.protected(left)
	if err != nil || after <= 0 || len(data) == 0 {
		return after, err
	}
	alone, err := s.opens(ctx, b, data, at, who)
	switch {
	case err != nil || alone == unknown:
		return unknown, err
	case alone >= after:
		return 0, nil
	}
	return after, nil
}

// opens is attempt, which it makes once for each end.
func (s *search) opens(ctx context.Context, b *embedded, left []store.Item, at time.Duration, who int) (time.Duration, error) {
	end := fmt.Sprint(left, s.names[who])
	after, known := s.attempts.ends[end]
	if !known {
		var err error
		if after, err = s.attempt(ctx, b, left, at, who); err != nil {
			return unknown, err
		}
		s.attempts.ends[end] = after
	}
	return after, nil
}

// attempt returns after how long a thread gets in, on what is left at an instant; of a lock
// of several permits, the last of as many threads as there are permits.
func (s *search) attempt(ctx context.Context, b *embedded, left []store.Item, at time.Duration, who int) (time.Duration, error) {
	if err := s.put(ctx, b, left, at); err != nil {
		return unknown, err
	}
	further := check.GoesOn()
	for _, l := range s.team(who) {
		a := &attempt{s: s, l: l, want: 1, further: further}
		if l == s.g.lanes[who] {
			a.want = s.attempts.alone[l.name]
		}
		if err := a.goOn(ctx, true); err != nil {
			return unknown, err
		}
		if a.entered < a.want {
			after := check.Never
			if !a.over {
				after = unknown
			}
			return byItsClock(after, left), s.home(ctx)
		}
		further = a.further
	}
	s.g.mu.Lock()
	after := b.at - at
	s.g.mu.Unlock()
	return byItsClock(after, left), s.home(ctx)
}

// byItsClock is after how long a thread gets in that may go by its own clock, which does not
// go on as Redis' does: not before a deadline that stands in the data. Without a lease, an
// instant that is over may be one from which it counts.
func byItsClock(after time.Duration, left []store.Item) time.Duration {
	now, past := time.Now(), false
	for _, i := range left {
		texts := append(slices.Collect(maps.Values(i.Hash)), i.Text)
		for _, s := range i.Set {
			texts = append(texts, trace.Score(s.Score))
		}
		for _, text := range slices.Concat(texts, i.List) {
			for _, at := range infer.Instants(text, now) {
				const exact = 100 * time.Millisecond // the worker's clock is no better known
				if past = past || at.Before(now); at.After(now) {
					after = min(after, at.Sub(now).Round(exact))
				}
			}
		}
	}
	if after == check.Never && past {
		return unknown
	}
	return after
}

// team is who is to be inside at once, with this thread as the last.
func (s *search) team(who int) []*lane {
	var team []*lane
	n := len(s.g.lanes)
	for i := 1; i < n && len(team) < s.o.Kind.Permits-1; i++ {
		if l := s.g.lanes[(who+i)%n]; s.attempts.alone[l.name] > 0 {
			team = append(team, l)
		}
	}
	return append(team, s.g.lanes[who])
}

// home lets everybody end its round, whatever that takes.
func (s *search) home(ctx context.Context) error {
	for _, l := range s.g.lanes {
		a := &attempt{s: s, l: l, ends: true}
		if err := a.goOn(ctx, false); err != nil {
			return err
		}
	}
	return s.drain(ctx)
}

// attempt is a thread that goes on alone.
type attempt struct {
	s       *search
	l       *lane
	want    int             // how often it is to enter, 0: as often as it does
	ends    bool            // it only ends its round
	further []time.Duration // how far the clock goes on where nothing expires

	entered int
	spin    spin
	over    bool // time has passed, and there is nothing more to wait for
}

// goOn lets the thread go on until it has entered as often as it should, or has ended its
// round. With again, it tries again whenever something has expired.
func (a *attempt) goOn(ctx context.Context, again bool) error {
	began := a.ends
	for range maxDecisions {
		err := a.s.still(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed *WorkerError
		if errors.As(err, &failed) {
			return nil // nobody knows what it would do
		}
		if err != nil {
			return err
		}
		if a.step(&began, again) {
			return nil
		}
	}
	return nil
}

// step is the next of the thread's commands, or that time passes. It reports whether there
// is nothing more to do.
func (a *attempt) step(began *bool, again bool) (done bool) {
	g := a.s.g
	g.mu.Lock()
	defer g.mu.Unlock()
	items, _, atRound := a.l.pending(g)
	switch {
	case a.l.ended() || !g.nodes.lost().IsZero():
		return true
	case atRound != nil && !*began:
		*began = true
		a.begins(atRound)
	case atRound != nil && !again:
		return true
	case atRound != nil:
		if !a.wait() {
			return true
		}
		a.entered = 0
		a.begins(atRound)
	case len(items) > 0:
		name := infer.Shown(items[0].args)
		if a.spin.command == name && a.spin.times >= a.s.patience(a.l, name) {
			if !again || !a.wait() {
				return true
			}
		}
		return a.performs(items[0], name)
	default: // it waits inside Redis
		return !again || !a.wait()
	}
	return false
}

// begins lets the thread begin a round.
func (a *attempt) begins(it *item) {
	it.c.queue = it.c.queue[1:]
	a.l.moved, a.spin = time.Now(), spin{}
	a.s.g.reply(it.c, resp.Bulk(infer.MarkRound))
	a.s.g.pump(it.c)
}

// performs answers a command, and reports whether the thread is in.
func (a *attempt) performs(it *item, name string) (in bool) {
	r := a.s.g.perform(it, "")
	changed := !infer.Equal(r.Before, r.After) || len(r.Keys) > 0
	switch {
	case changed || r.Mark != "":
		a.spin = spin{}
	case a.spin.command == name:
		a.spin.times++
	default:
		a.spin = spin{command: name, times: 1}
	}
	if r.Mark == infer.MarkEnter {
		a.entered++
		return a.want > 0 && a.entered >= a.want
	}
	return false
}

// wait lets time pass until something may be otherwise, and reports whether it did.
func (a *attempt) wait() bool {
	g := a.s.g
	a.spin = spin{}
	now := g.nodes.now()
	left, some := g.nodes.expiry()
	var first *item
	for _, c := range a.l.conns {
		if len(c.queue) > 0 && c.queue[0].blocking && c.queue[0].deadline > 0 && (first == nil || c.queue[0].deadline < first.deadline) {
			first = c.queue[0]
		}
	}
	switch {
	case first != nil && (!some || first.deadline <= now+left):
		g.nodes.advance(first.deadline - now)
		g.expire(first)
	case some:
		g.nodes.advance(left)
	case len(a.further) > 0:
		g.nodes.advance(a.further[0])
		a.further = a.further[1:]
	default:
		a.over = true
		return false
	}
	return true
}
