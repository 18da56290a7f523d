package lab

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// begin waits until every worker is at its round, starts those that have ended, and lets
// them go on an empty Redis.
func (s *search) begin(ctx context.Context) error {
	s.used, s.met = 0, false
	clear(s.elsewhere)
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
		if s.o.starts() && l.worker.ended() {
			if l.worker != nil {
				s.g.mu.Lock()
				for _, c := range slices.Clone(l.conns) {
					s.g.hangUp(c)
				}
				l.spoken, l.rounds, l.late = false, false, nil
				s.g.mu.Unlock()
			}
			w, err := s.o.begin(s.names[i], l.addresses())
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
	if err := s.g.nodes.reset(touched); err != nil {
		return err
	}
	s.g.failed = failures{}
	for i, l := range s.g.lanes {
		l.spin, l.told, l.heard = spin{}, uint64(i), 0
		if _, _, it := l.pending(s.g); it != nil {
			it.c.queue = it.c.queue[1:]
			l.moved = time.Now()
			s.g.reply(it.c, resp.Bulk(infer.MarkRound))
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
	f    infer.Footprint
	did  *effect // what it came to; nil where nobody asks
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
		items = slices.Clone(items)
		if atRound != nil && len(s.g.nodes) == 1 { // a worker's commands after its round belong to the next; with several nodes it may not have waited for all
			items = nil
		}
		if len(s.g.nodes) > 1 { // a client takes any connection of its pool
			slices.SortFunc(items, func(a, b *item) int { return a.nth - b.nth })
		}
		items = append(items, l.late...)
		if !ended || len(items) > 0 {
			over = false
		}
		if held && len(items) == 0 && !ended {
			stuck = append(stuck, l.name)
		}
		before := make([]int, len(s.g.nodes)) // items of each node
		for _, it := range items {
			node := it.c.node
			d := Decision{Thread: l.name, Node: s.g.numbered(node), Nth: before[node], Command: infer.Shown(it.args)}
			before[node]++
			c := choice{d: d, it: it, lane: l, f: s.print(it)}
			late := slices.Contains(l.late, it)
			if !late && !s.steered && l.spin.times >= s.patience(l, d.Command) && l.spin.command == d.Command && l.spin.version == s.version {
				stuck, asking = append(stuck, l.name), append(asking, l.name)
				continue
			}
			list = append(list, c)
			if s.used >= s.o.MaxFaults || late {
				continue
			}
			for _, k := range s.o.Faults {
				if infer.Mark(it.args) != "" && k != Crash && k != Pause { // a mark is no command; who is inside can stand still
					continue
				}
				if !kindNamed(k).ofCommand || k == LoseMessage && !s.g.listened() || (k == Crash || k == Pause) && l.worker == nil {
					continue
				}
				f := c
				f.d.Do = k
				if k == Delay || k == Crash || k == Pause || k == LoseMessage {
					f.f = infer.Everything
				}
				faults = append(faults, f)
			}
		}
	}
	if over {
		return nil, true, nil, nil
	}
	if s.used < s.o.MaxFaults && (len(list) > 0 || s.steered) {
		if _, some := s.g.nodes.expiry(); some && slices.Contains(s.o.Faults, LeaseEnds) {
			faults = append(faults, choice{d: Decision{Do: LeaseEnds}, f: infer.Everything})
		}
		for node := range s.g.nodes {
			for nth, key := range s.keys() {
				if slices.Contains(s.o.Faults, Evict) && s.g.nodes[node].key(key).Exists() {
					at := s.g.numbered(node)
					faults = append(faults, choice{d: Decision{Node: at, Nth: nth, Do: Evict}, f: infer.Footprint{Keys: []string{key}, Writes: true, Node: at}})
				}
			}
		}
	}
	return append(list, faults...), false, stuck, asking
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

// print is the effects.Footprint of a command. A command that may publish depends on everything
// before somebody listens, which is no decision; a transaction on the keys that its connection
// watches.
func (s *search) print(it *item) infer.Footprint {
	if s.o.Full {
		return infer.Everything
	}
	if infer.Mark(it.args) != "" { // what others do to its lock is judged by it
		if len(s.g.nodes) > 1 { // see commute
			return infer.Footprint{Keys: []string{infer.Channel(infer.MarkEnter)}, Writes: true}
		}
		return infer.Everything
	}
	f := s.printed(it)
	f.Node = s.g.numbered(it.c.node)
	return f
}

// printed is the footprint of a command on its node.
func (s *search) printed(it *item) infer.Footprint {
	f := infer.Touches(it.args)
	for _, t := range it.tx {
		one := infer.Touches(t)
		f.All = f.All && infer.Verb(it.args) != "EXEC" || one.All
		f.Keys, f.Writes = append(f.Keys, one.Keys...), true
		if infer.Verb(t) == "PUBLISH" {
			return infer.Everything
		}
	}
	if infer.Verb(it.args) == "EXEC" {
		f.Keys = append(f.Keys, it.c.watched...)
	}
	text, scripted := s.g.text(it.args)
	publishes := infer.Verb(it.args) == "PUBLISH" || strings.Contains(strings.ToUpper(text), "PUBLISH") || scripted && s.g.listened()
	if publishes {
		return infer.Everything
	}
	return f
}

// round plays one order of what choose says. If that cuts it short, the rest is played
// but not judged.
func (s *search) round(ctx context.Context, choose func(*Order, []choice) (c choice, cut bool)) (*Order, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	o := &Order{Decisions: []Decision{}, began: time.Now(), struck: map[string]bool{}}
	ended := map[string]bool{}
	s.sights(o)
	for {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.g.mu.Lock()
		s.ends(o, ended)
		s.seen.settled()
		list, over, stuck, asking := s.choices()
		if over {
			o.final, o.failed = s.final(), s.g.failed
			s.g.mu.Unlock()
			break
		}
		if len(list) == 0 {
			moved := s.pass(o, asking)
			o.failed = s.g.failed
			s.g.mu.Unlock()
			if moved {
				continue
			}
			o.final = s.finalState()
			o.final.Waiting, o.final.Asking = stuck, asking
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
		s.seen.before(c)
		if err := s.decide(ctx, o, c); err != nil {
			return nil, err
		}
	}
	o.marks = s.marks
	if len(o.final.Waiting) > 0 { // it is not over
		return o, nil
	}
	return o, s.tries(ctx, o)
}

// finalState is the state of the lock's key. The caller must not hold the gate.
func (s *search) finalState() infer.Over {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return s.final()
}

// final is the lock's key at the end of an order: of several nodes the records have them.
func (s *search) final() infer.Over {
	over := infer.Over{Key: s.g.state(0), At: s.g.nodes.now()}
	for _, key := range s.g.also {
		over.Also = append(over.Also, s.g.nodes[0].key(key))
	}
	return over
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
			r := infer.Record{Thread: l.name, Ended: result, After: s.g.state(0), At: s.g.nodes.now()}
			s.g.opens(&r, 0)
			s.g.closes(&r, 0)
			o.note(r)
		}
	}
}

// pass lets time pass, because nobody can move: to the first instant at which a waiter
// would stop waiting, or a key expires. It reports whether there was any. Asking are the
// threads that ask in vain.
func (s *search) pass(o *Order, asking []string) bool {
	var first *item
	for _, l := range s.g.lanes {
		for _, c := range l.conns {
			if len(c.queue) > 0 && c.queue[0].blocking && c.queue[0].deadline > 0 && (first == nil || c.queue[0].deadline < first.deadline) {
				first = c.queue[0]
			}
		}
	}
	now := s.g.nodes.now()
	left, expires := s.g.nodes.expiry()
	_, wall := s.g.nodes.kind()
	switch {
	case expires && (first == nil || now+left < first.deadline):
		s.lapse(o, left, wall, asking)
	case first != nil:
		s.lapse(o, first.deadline-now, wall, asking)
		o.note(s.g.expire(first))
	default:
		return false
	}
	s.version++
	return true
}

// lapse moves Redis' clock, and reports whether that ended the lock's lease.
func (s *search) lapse(o *Order, d time.Duration, wall bool, asking []string) bool {
	before := make([]infer.Record, len(s.g.nodes))
	for node := range before {
		before[node] = infer.Record{Node: s.g.numbered(node), Do: LeaseEnds, Asking: asking, Before: s.g.state(node)}
		s.g.opens(&before[node], node)
	}
	if wall {
		time.Sleep(d + time.Millisecond)
	}
	s.g.nodes.advance(d)
	ended := false
	for node, r := range before {
		r.After, r.At = s.g.state(node), s.g.nodes.now()
		s.g.closes(&r, node)
		over := func(c infer.Change) bool { return c.Before.Exists() && !c.After.Exists() }
		if over(infer.Change{Before: r.Before, After: r.After}) || slices.ContainsFunc(r.Also, over) {
			ended = true
			o.note(r)
		}
	}
	return ended
}

// strikes notes a fault that has struck.
func (o *Order) strikes(fault string) {
	if o.struck == nil {
		o.struck = map[string]bool{}
	}
	o.struck[fault] = true
}

// decide carries out a choice, and lets go of the gate.
func (s *search) decide(_ context.Context, o *Order, c choice) error {
	defer s.g.mu.Unlock()
	if c.d.Do != "" {
		s.used++
		o.Faults++
		if c.d.Do != LeaseEnds {
			o.strikes(c.d.Do)
		}
		if c.d.Thread != "" {
			s.struck[c.d.Thread] = true
		}
	}
	_, wall := s.g.nodes.kind()
	switch c.d.Do {
	case LeaseEnds:
		left, _ := s.g.nodes.expiry()
		var first int64
		for node := range s.g.nodes {
			for _, key := range s.keys() {
				if pttl := s.g.nodes[node].key(key).PTTL; pttl > 0 && (first == 0 || pttl < first) { // of a lock, where there are other keys
					first = pttl
					left = time.Duration(pttl) * time.Millisecond
				}
			}
		}
		if s.lapse(o, left, wall, nil) {
			o.strikes(LeaseEnds)
		}
		s.version++
		return nil
	case Evict:
		node := max(c.d.Node-1, 0)
		r := infer.Record{Node: c.d.Node, Do: Evict, Before: s.g.state(node)}
		s.g.opens(&r, node)
		s.g.nodes[node].evict(s.keys()[min(c.d.Nth, len(s.g.also))])
		s.g.closes(&r, node)
		r.After, r.At = s.g.state(node), s.g.nodes.now()
		o.note(r)
		s.version++
		return nil
	case Crash, Pause:
		return s.strike(o, c)
	}
	if m := infer.Mark(c.it.args); m == infer.MarkEnter || m == infer.MarkLeave {
		s.marks = true
	}
	f := infer.Touches(c.it.args)
	f.Node = c.it.c.node
	gone, before := s.gone(f.Node), s.others(f)
	r := s.g.perform(c.it, c.d.Do)
	r.Gone = gone
	if why := s.g.nodes.lost(); !why.IsZero() {
		return c.lane.failedBy(why)
	}
	after := s.others(f)
	for key, k := range after {
		at := place{f.Node, key}
		s.elsewhere[at] = s.elsewhere[at] || k.Exists()
	}
	s.learn(c, &r, f.All || !maps.EqualFunc(before, after, alike))
	o.note(r)
	return nil
}

// patience is how often a thread may ask something in vain before it must wait for others.
func (s *search) patience(l *lane, command string) int {
	if s.endless[l.name+" "+command] {
		return 1
	}
	return maxSpin
}

// learn notes what a command has shown: which key is the lock, and who asks in vain.
// Elsewhere says that another key has changed, or may have.
func (s *search) learn(c choice, r *infer.Record, elsewhere bool) {
	s.met = s.met || infer.Touches(r.Args).Names(s.g.key) || slices.ContainsFunc(r.Tx, func(args []string) bool { return infer.Touches(args).Names(s.g.key) })
	// A person who steers may bring other clients, whose lock has another key.
	if s.o.Key == "" && !s.steered && s.replays == 0 {
		if key := s.lockKey(*r); key != "" && !slices.Contains(s.made, key) {
			s.made = append(s.made, key)
		}
	}
	if s.g.key == "" || s.steered && s.o.Key == "" && !s.met {
		if key := s.lockKey(*r); key != "" {
			s.g.key, s.met = key, true
			r.After = s.g.state(c.it.c.node)
		}
	}
	changed := !infer.Equal(r.Before, r.After) || r.Do != "" || elsewhere
	l := c.lane
	switch name := c.d.Command; {
	case changed:
		s.version++
		l.spin = spin{}
	case l.spin.command == name && l.spin.version == s.version:
		if l.spin.times++; l.spin.times == maxSpin && !s.steered && !s.endless[l.name+" "+name] {
			s.endless[l.name+" "+name], s.afresh = true, true
		}
	default:
		l.spin = spin{name, 1, s.version}
	}
}

// keys are the locks' keys, none while nobody knows.
func (s *search) keys() []string {
	if s.g.key == "" {
		return nil
	}
	return append([]string{s.g.key}, s.g.also...)
}

// place is a key on a node, from 0.
type place struct {
	node int
	key  string
}

// others is the keys that a command writes on its node, from 0, beside the lock's, as they
// are.
func (s *search) others(f infer.Footprint) map[string]trace.KeyState {
	states := map[string]trace.KeyState{}
	for _, key := range f.Keys {
		switch {
		case !f.Writes || key == s.g.key:
		case strings.HasPrefix(key, infer.Channel("")): // nobody can look at it
			states[key] = trace.KeyState{Type: "channel"}
		default:
			states[key] = s.g.nodes[f.Node].key(key)
		}
	}
	return states
}

// gone is the keys of a node that were there after an earlier command and no longer are.
func (s *search) gone(node int) []string {
	var list []string
	for at, was := range s.elsewhere {
		if was && at.node == node && !s.g.nodes[node].key(at.key).Exists() {
			list = append(list, at.key)
			delete(s.elsewhere, at)
		}
	}
	slices.Sort(list)
	return list
}

// alike reports whether a key is as it was, as far as the lab knows: for a list and
// similar types it knows only the type.
func alike(a, b trace.KeyState) bool {
	known := func(k trace.KeyState) bool {
		return !k.Exists() || k.Value != nil || k.Fields != nil
	}
	return known(a) && known(b) && infer.Equal(a, b)
}

// lockKey returns the key that a command has made, if it may be the lock: a string or a
// hash that is not the resource.
func (s *search) lockKey(r infer.Record) string {
	if r.Err != "" || r.Args == nil {
		return ""
	}
	var keys []string
	for _, args := range append([][]string{r.Args}, r.Tx...) {
		if infer.MakesLock(args) {
			keys = append(keys, infer.Touches(args).Keys...)
		}
	}
	for _, key := range keys {
		if key == s.o.Resource || key == "" || key[0] == 0 {
			continue
		}
		if k := s.g.nodes[max(r.Node-1, 0)].key(key); k.Type == trace.TypeString || k.Type == trace.TypeHash {
			return key
		}
	}
	return ""
}

// strike stops or ends a worker's process for real.
func (s *search) strike(o *Order, c choice) error {
	w := c.lane.worker
	node := c.it.c.node
	r := infer.Record{Thread: c.d.Thread, Node: c.d.Node, Args: c.it.args, Do: c.d.Do, Before: s.g.state(node)}
	s.g.opens(&r, node)
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
	r.After, r.At = s.g.state(node), s.g.nodes.now()
	s.g.closes(&r, node)
	if r.Before.Exists() && !r.After.Exists() && c.d.Do == Pause {
		was := r.Before
		r.Lapsed = &was
	}
	for i, k := range r.Also {
		if k.Before.Exists() && !k.After.Exists() && c.d.Do == Pause {
			r.Also[i].Lapsed = &k.Before
		}
	}
	o.note(r)
	s.version++
	return nil
}

// drain brings the workers to their next round, whatever they do: nothing of it is
// judged. A worker that fails is started again.
func (s *search) drain(ctx context.Context) error {
	until := time.Now().Add(drainFor)
	s.g.mu.Lock()
	s.g.nodes.flush()
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
			if why := s.g.nodes.lost(); !why.IsZero() {
				s.g.mu.Unlock()
				return l.failedBy(why)
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
			return l.failed("never starts its next round: for %s it has not sent ECHO %s", drainFor, infer.MarkRound)
		default:
			l.worker.kill()
		}
	}
	return nil
}
