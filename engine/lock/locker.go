package lock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// Locker takes locks on one Redis. It is safe for concurrent use; calls for the
// same owner and key take turns.
type Locker struct {
	client Redis
	nodes  []Redis // client first, then the others of Redlock
	o      Options
	p      Protocol
	caller *protocol.Caller
	tells  bool         // client wants to know which call a command belongs to
	calls  atomic.Int64 // the last number given out

	// Deadlines of calls, if the clock is the system's; nil otherwise.
	windows, swiftWindows, releaseWindows *windows
	slow                                  slowness
	one                                   bool // the client asks one server, by that clock
	outage                                outage
	crew                                  crew
	rounds                                *rounds // of renewals; nil if each goes alone

	mu        sync.Mutex
	closed    bool
	opening   *opening // of the inbox; nil if no call is opening it
	stop      func()   // closes the inbox, nil while it is not open
	sessions  map[sessionKey]*session
	dormant   dormantSessions
	answering protocol.Answering         // its nodes
	keyed     map[string]*protocol.Keyed // at most mostKeyed
}

type sessionKey struct {
	key   string
	owner Owner
}

// New returns a Locker on client, which can be any go-redis client, however it is
// configured: the Locker sends commands once, whatever its MaxRetries, and calls end with
// their context, whatever its ContextTimeoutEnabled (without it, each call costs a
// goroutine and is slower). New sends nothing. It fails with ErrOptions.
func New(client Redis, o Options) (*Locker, error) {
	o, err := o.withDefaults(client)
	if err != nil {
		return nil, err
	}
	l := &Locker{
		o: o, p: o.Protocol, caller: protocol.NewCaller(o.ID, o.Lease),
		sessions: map[sessionKey]*session{}, keyed: map[string]*protocol.Keyed{},
	}
	own, real := o.Clock.(clock.System)
	for _, node := range append([]Redis{client}, o.Nodes...) {
		c := tamed(node)
		_, unknown := c.(foreign)
		if l.tells = l.tells || unknown; unknown && !real { // it goes by that clock
			c = node
		}
		l.nodes = append(l.nodes, c)
	}
	if l.client = l.nodes[0]; real {
		l.windows = &windows{clock: own, slack: o.Limit / 16}
		l.swiftWindows = &windows{clock: own, slack: swift / 4}
		l.releaseWindows = &windows{clock: own, slack: o.ReleaseWait / 16}
		// A Locker with the ID of an earlier one goes on above its numbers.
		l.calls.Store(own.Now().UnixMicro())
	}
	c, ours := l.client.(*goRedis)
	l.one = real && ours && c.joins() && l.p.Nodes == 0
	l.rounds = newRounds(l)
	return l, nil
}

// swift is how long a call of Lock waits for Redis before it moves to a task
// that the caller can abandon: much longer than Redis takes, and short enough
// for someone who cancels.
const swift = 100 * time.Millisecond

// slowness is how long to expect slow calls after one was slow: a second at
// first, then twice as long each time, until a call is swift again.
type slowness struct {
	until, span atomic.Int64 // Unix nanoseconds, and nanoseconds; 0 after a swift call
}

const slowest = 5 * time.Minute

func (s *slowness) was() {
	span := min(max(2*time.Duration(s.span.Load()), time.Second), slowest)
	s.span.Store(int64(span))
	s.until.Store(time.Now().Add(span).UnixNano()) //nolint:forbidigo // of the system clock's Lockers only
}

func (s *slowness) wasNot() {
	if s.span.Load() != 0 {
		s.span.Store(0)
		s.until.Store(0)
	}
}

func (s *slowness) is() bool {
	until := s.until.Load()
	return until != 0 && time.Now().UnixNano() < until //nolint:forbidigo // of the system clock's Lockers only
}

// isSwift reports whether calls can wait without a task: Redis has been
// answering quickly, and the client obeys deadlines.
func (l *Locker) isSwift() bool {
	c, ours := l.client.(*goRedis)
	return ours && !c.deaf && l.windows != nil && l.o.Limit > swift && l.p.Nodes == 0 && !l.slow.is()
}

// Lock enters the lock of key for owner. It tries once, then up to
// Options.Retries times more. An owner that holds the lock enters one level
// deeper. The key stays locked until [Hold.Unlock], even after ctx ends; only the hold's
// context ends with ctx. If nothing in the program refers to a hold any more, not even a
// context that derives from it, nobody renews it: once the garbage collector has found
// that out, its lease runs out.
//
// It fails with ErrNotAcquired, joined with the outcome of the last attempt: ErrHeld,
// ErrUnknown if Redis did not answer, ErrRefused if Redis refused, say because the user
// has no right to; or with ErrOwner, ErrKey, ErrWrongType or ErrClosed; and with the
// context's error and cause as soon as ctx has ended. If Redis cannot run anything just
// now (LOADING, BUSY, READONLY, …), Lock asks again, as when it does not answer. If
// neither ctx nor Retries ends, Lock waits for such a Redis for ever: the Observer hears
// of each attempt.
//
// If the lease of the outer levels is gone, it fails with ErrLost; an owner that lost a
// hold and never unlocked it gets ErrLost once, and then starts afresh. If an outer level
// is unlocked meanwhile, it fails with ErrReleased.
func (l *Locker) Lock(ctx context.Context, key string, owner Owner, options ...LockOption) (*Hold, error) {
	return l.lock(ctx, key, owner, l.o.Retries, 0, options)
}

// TryLock is Lock with a single attempt, whatever Redis answers. If Redis does not answer
// within Options.ReleaseWait, it fails as Lock does at the end of ctx.
func (l *Locker) TryLock(ctx context.Context, key string, owner Owner, options ...LockOption) (*Hold, error) {
	var most time.Duration
	if l.windows != nil {
		most = l.o.ReleaseWait
	}
	return l.lock(ctx, key, owner, 0, most, options)
}

// Do runs f under the lock of key, and releases it when f returns or panics. F
// gets the hold's context and should return when it ends; [HoldOf] returns the
// hold, with its fencing token.
//
// A Do of the same key inside f, with a context derived from f's, re-enters the
// lock: it is one level deeper. If goroutines of f call Do at once, one is inside and the
// others wait for it. Any other Do is a separate owner: for another key, or with a
// context that outlives f's ([context.WithoutCancel]). F should return after everything
// that it started under the lock: if it returns before, it can no longer leave its level,
// and nobody renews it any more.
//
// It fails like Lock, and then f was not called; otherwise with f's error joined with
// Unlock's. ErrLost means that f did not have the lock to itself until it returned.
func (l *Locker) Do(ctx context.Context, key string, f func(ctx context.Context) error, options ...LockOption) (err error) {
	owner := NewOwner()
	if outer := heldIn(ctx, key); outer != nil && outer.s.l == l {
		if err := l.inTurn(ctx, outer, options); err != nil {
			return err
		}
		defer outer.inner.leave()
		if outer.isInnermost() {
			owner = outer.Owner()
		}
	}
	hold, err := l.Lock(ctx, key, owner, options...)
	if err != nil {
		return err
	}
	defer func() { err = both(err, hold.leave(ctx)) }()
	return f(hold.Context())
}

// both returns what one or two errors are, in one line.
func both(err, also error) error {
	switch {
	case err == nil:
		return also
	case also == nil:
		return err
	default:
		return fmt.Errorf("%w; %w", err, also)
	}
}

// inTurn waits until no other call of Do is inside a hold.
func (l *Locker) inTurn(ctx context.Context, outer *Hold, options []LockOption) error {
	_, wait, err := l.o.of(options)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	if wait > 0 {
		waits, cancel := l.o.Clock.WithDeadline(ctx, l.o.Clock.Now().Add(wait))
		defer cancel()
		ctx = waits
	}
	if outer.inner.tryTake() {
		return nil
	}
	// It may be the very Do that calls this one, with the context of its outer hold: a
	// sibling's call looks just the same.
	l.tellWait(ctx, Wait{Key: outer.s.key, Owner: outer.s.owner, For: wait, Err: errInside})
	if outer.inner.take(ctx, l.o.Clock) != nil {
		return notAcquired(outer.s.key, outer.label, errInside, ctx.Err(), context.Cause(ctx))
	}
	return nil
}

// heldIn returns the innermost hold of a key, through any Locker, whose end would end ctx.
func heldIn(ctx context.Context, key string) *Hold {
	if ctx.Done() == nil { // of context.WithoutCancel
		return nil
	}
	h, _ := ctx.Value(keyed(key)).(*Hold)
	return h
}

// itself reports whether the call would wait for a hold that it is inside of, because it
// has another owner: it would wait until that is released, which ends ctx.
func (l *Locker) itself(ctx context.Context, key string, owner Owner) bool {
	h := heldIn(ctx, key)
	if h == nil {
		return false
	}
	h.s.mu.Lock()
	outer, held := h.parent, h.over == nil && h.s.isHeld(h)
	h.s.mu.Unlock()
	if h.s.l.p.Name != l.p.Name || !sameLock(h.s.l.client, l.client, key) { // a lock elsewhere, perhaps under this one
		return l.itself(outer, key, owner)
	}
	reenters := h.s.owner == owner && l.p.Nodes == 0 && (h.s.l == l || !l.p.Numbered)
	return held && !reenters
}

// lock is Lock with this many retries. It waits no longer than most, unless that is 0 or
// the options say how long it waits.
func (l *Locker) lock(ctx context.Context, key string, owner Owner, retries int, most time.Duration, options []LockOption) (*Hold, error) {
	mine, wait, err := l.o.of(options)
	if wait == 0 {
		wait = most
	}
	switch {
	case err != nil:
		return nil, notAcquired(key, "", err)
	case l.itself(ctx, key, owner):
		return nil, notAcquired(key, mine.label, ErrSelf)
	case wait == 0:
		return l.acquire(ctx, key, owner, retries, mine)
	}
	waits, cancel := l.o.Clock.WithDeadline(ctx, l.o.Clock.Now().Add(wait))
	defer cancel()
	h, err := l.acquire(waits, key, owner, retries, mine)
	if err != nil {
		return nil, err
	}
	h.s.mu.Lock()
	h.parent = ctx // not that of the wait, which is over
	h.s.mu.Unlock()
	return h, nil
}

func (l *Locker) acquire(ctx context.Context, key string, owner Owner, retries int, mine lease) (*Hold, error) {
	since := l.o.Clock.Now()
	if !owner.valid() {
		return nil, fmt.Errorf("%w: %w: it must not be empty, begin with # or have white space or control characters, given %q", ErrNotAcquired, ErrOwner, owner)
	}
	if err := l.checkKey(key); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	if err := l.listen(ctx); err != nil {
		return nil, notAcquired(key, mine.label, err)
	}
	s, err := l.enter(ctx, sessionKey{key, owner})
	if err != nil {
		return nil, notAcquired(key, mine.label, err, ctx.Err(), context.Cause(ctx))
	}
	s.begin(mine)
	s.since = since
	c := Call{Name: protocol.CallLock, Level: s.level() + 1, Number: s.number()}
	var a acquisition
	defer func() { // even if a simulated process dies in here
		if !a.abandoned { // otherwise the task that waits for the reply leaves
			s.leave()
		}
	}()
	done := false
	defer s.unless(&done, func() {
		if !a.abandoned {
			s.withdraw(ctx, c)
		}
	})
	h, err := s.askFor(ctx, c, retries, &a)
	done = true
	return h, err
}

// askFor asks for a level until it gets it, a reason stops it, or ctx ends. A is the
// outcome of the last attempt, and says whether a task has the turn now.
func (s *session) askFor(ctx context.Context, c Call, retries int, a *acquisition) (*Hold, error) {
	l := s.l
	w := l.newWaiting(retries)
	var last error      // the outcome of the attempt before
	var unanswered bool // an earlier attempt was, and may still be granted
	var sent bool       // an attempt was, so that Redis may know of the call
	for c.Attempt = 1; ; c.Attempt++ {
		s.waitsUntil(w.end())
		began := l.o.Clock.Now()
		*a = s.attempt(ctx, c)
		if a.abandoned {
			if last == nil || l.o.Clock.Now().Sub(began) >= swift {
				last = a.err
			}
			return nil, s.notAcquired(last, ctx.Err(), context.Cause(ctx))
		}
		if a.hold != nil {
			return a.hold, nil
		}
		unanswered = a.unknown || unanswered && (a.refused || a.unsent || c.Level == 1)
		a.unknown = unanswered
		sent = sent || !a.unsent
		last = a.err
		over := w.over(*a)
		switch {
		case a.final || (over && !a.held):
			if !a.unknown && (l.p.Leave == nil || c.Attempt == 1 || !sent) {
				return nil, s.notAcquired(a.err)
			}
			return nil, s.part(ctx, a.err, s.goodbye(ctx, c, a))
		case over:
			reason := fmt.Errorf("%w in %d attempts", ErrHeld, c.Attempt)
			err := s.notAcquired(reason)
			if sent && retries > 0 && l.p.Leave != nil || a.unknown {
				err = s.part(ctx, reason, s.goodbye(ctx, c, a))
			}
			s.observe(ctx, Attempt{Call: c, Result: Exhausted, Err: ErrNotAcquired})
			return nil, err
		}
		if err := s.wait(ctx, *a, &w); err != nil {
			if ctx.Err() == nil {
				last = err
			}
			if (l.p.Leave == nil || !sent) && !a.unknown {
				return nil, s.notAcquired(last, ctx.Err(), context.Cause(ctx))
			}
			err = s.notAcquired(last, ctx.Err(), context.Cause(ctx))
			left := *a
			a.abandoned = true
			s.forgo(ctx, c, left)
			return nil, err
		}
		next := c
		next.Attempt++
		if a.hold = s.accept(ctx, next); a.hold != nil {
			return a.hold, nil
		}
	}
}

// goodbye gives an acquisition up. What it returns gives back the place in the line of the
// call, and what Redis may still grant it; the caller need not wait for that.
func (s *session) goodbye(ctx context.Context, of Call, a *acquisition) func() {
	left := *a
	a.abandoned = true
	return func() {
		s.leaveLine(ctx, of)
		s.settle(ctx, of, left)
	}
}

// mostKeyed is how many keys the Locker caches a [protocol.Keyed] for.
const mostKeyed = 256

// keyedFor returns the cached part of a key's commands.
func (l *Locker) keyedFor(key string) *protocol.Keyed {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keyed[key]
	if k == nil {
		if len(l.keyed) >= mostKeyed {
			clear(l.keyed)
		}
		k = l.p.Keyed(key)
		l.keyed[key] = k
	}
	return k
}

// part tells Redis whatever is left to tell after a call failed for a reason, and ends the
// call's turn. The caller waits for that until ctx ends, and no longer than swift: if
// Redis does not answer, that goes on without the caller.
func (s *session) part(ctx context.Context, reason error, say func()) error {
	err := s.notAcquired(reason)
	if ctx.Done() == nil && s.l.windows == nil {
		defer s.leave()
		say()
		return err
	}
	label := s.lease.label // the turn may be another call's soon
	said := s.l.o.Clock.AfterFunc(0, settlement, func() {
		defer s.leave()
		say()
	})
	waits := ctx
	if s.l.windows != nil {
		var cancel context.CancelFunc
		waits, cancel = context.WithTimeout(ctx, swift)
		defer cancel()
	}
	if said.Wait(waits) != nil && ctx.Err() != nil {
		return notAcquired(s.key, label, reason, ctx.Err(), context.Cause(ctx))
	}
	return err
}

// checkKey rejects a key whose companions would land in another slot of a
// cluster, and one that is another lock's companion, which that lock may delete.
func (l *Locker) checkKey(key string) error {
	if protocol.IsCompanion(key) {
		return fmt.Errorf("%w: Redis keeps something of another lock there, given %q", ErrKey, key)
	}
	if key == "" || l.p.Companions != nil && !protocol.HasCompanions(key) {
		return fmt.Errorf("%w: it must not be empty, nor have a } without a {tag} before it, given %q", ErrKey, key)
	}
	return nil
}

// number returns the number of a new call, or 0 if calls have none.
func (s *session) number() int64 {
	if !s.l.p.Numbered {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.l.calls.Add(1)
	return s.last
}

// waiting tracks how long a call of Lock goes on.
type waiting struct {
	l     *Locker
	polls int       // attempts left, not counting the first and those after a message
	until time.Time // when one that gets messages gives up, by time; else zero
	rests bool      // while the lock is held it hardly asks: a message says when it is free
	idle  int       // polls in a row that found the lock held
	fails int       // attempts in a row that Redis refused to run, or that were not sent
	due   time.Time // of the next poll
	woken bool      // by a message, before due
}

func (l *Locker) newWaiting(retries int) waiting {
	w := waiting{l: l, polls: retries}
	switch {
	case l.p.Granting:
		w.until = l.o.Clock.Now().Add(times(retries, l.o.Interval))
	case l.p.Leave != nil && l.windows != nil: // a run polls as often as it says
		w.rests = true
		w.until = l.o.Clock.Now().Add(times(retries, l.o.Interval+(l.o.JitterMin+l.o.JitterMax)/2))
	}
	return w
}

// times returns n × d, at most a century.
func times(n int, d time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if d > 0 && time.Duration(n) > century/d {
		return century
	}
	return time.Duration(n) * d
}

// end returns when the call gives up, as far as that is known. Only waiters
// that get messages need it.
func (w *waiting) end() time.Time {
	switch {
	case !w.until.IsZero():
		return w.until
	case w.l.p.Leave != nil:
		return w.l.o.Clock.Now().Add(times(w.polls, w.l.o.Interval+w.l.o.JitterMax))
	default:
		return time.Time{}
	}
}

// over reports whether the attempt that ended with a was the last.
func (w *waiting) over(a acquisition) bool {
	if !w.until.IsZero() {
		return !w.l.o.Clock.Now().Before(w.until) && (a.held || w.polls <= 0)
	}
	return w.polls <= 0
}

// isIdle reports whether the waiter may rest after the attempt that ended with a. The first
// pause is as short as that of waiters that poll: many locks are free by then.
func (w *waiting) isIdle(a acquisition) bool {
	return w.rests && a.held && !w.woken && w.idle > 0 && w.l.listens()
}

// next returns how long to sleep after the attempt that ended with a.
func (w *waiting) next(a acquisition, lease time.Duration) time.Duration {
	o := &w.l.o
	now := o.Clock.Now()
	w.fails++
	if !a.refused && !a.unsent {
		w.fails = 0
	}
	if w.l.p.Granting && a.held && a.pttl > 0 {
		// Only a message can come before the lease ends. But a short grant
		// nobody has heard of may soon take its place: this poll finds it while
		// it lasts, and then sleeps no longer than it does.
		d := min(a.pttl+time.Millisecond, lease/4, w.until.Sub(now))
		return max(d, time.Millisecond)
	}
	if w.woken && !w.rests {
		return max(w.due.Sub(now), 0) // the poll is still due
	}
	jitter := o.JitterMin
	if span := o.JitterMax - o.JitterMin; span > 0 {
		jitter += time.Duration(o.Random(int64(span/time.Microsecond)+1)) * time.Microsecond
	}
	d := o.Interval + jitter
	switch {
	case a.held && a.left != nil:
		// No message comes when a lease runs out, and one can be lost, together with a
		// process that was woken and then stopped.
		d = min(times(1<<min(w.idle, 10), d), max(lease/10, d))
		d -= time.Duration(o.Random(int64(d/4) + 1))
		d = min(d, *a.left+time.Millisecond+jitter)
	case a.unsent: // all of the Locker's owners meet with that at once
		d = max(d, w.l.crowded(pause(o.Interval, w.fails)))
	case w.fails > 0:
		d = max(d, pause(o.Interval, w.fails))
	}
	if w.rests && a.held {
		d = max(min(d, w.until.Sub(now)), 0)
	}
	w.idle++
	if !a.held || w.woken {
		w.idle = 0
	}
	w.due = now.Add(d)
	return d
}

// listens reports whether the inbox is open.
func (l *Locker) listens() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop != nil
}

// owners returns how many owners of keys there are.
func (l *Locker) owners() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sessions)
}

// stops returns why a waiting call must stop, or nil.
func (s *session) stops() error {
	switch {
	case s.l.isClosed():
		return ErrClosed
	case s.parts():
		return ErrReleased
	default:
		return nil
	}
}

// wait sleeps until the next attempt or until a message comes. It fails with
// ErrClosed, with ErrReleased if an outer level is left, and when ctx has ended.
func (s *session) wait(ctx context.Context, a acquisition, w *waiting) error {
	l := s.l
	if w.isIdle(a) {
		a.left = s.left(ctx)
	}
	d := w.next(a, s.lease.length)
	l.tellWait(ctx, Wait{Key: s.key, Owner: s.owner, For: d, Err: a.err})
	signal := s.wakeUp()
	if err := s.stops(); err != nil { // Close and Unlock wake only those they find waiting
		return err
	}
	told, err := l.o.Clock.Await(ctx, d, signal)
	if err == nil {
		err = s.stops()
	}
	w.woken = told && l.p.Leave != nil
	if !w.woken {
		w.polls--
	}
	return err
}

// left returns how long the lock stays held if nobody renews it, nil if Redis does not say
// soon, or it is gone by now.
func (s *session) left(ctx context.Context) *time.Duration {
	ctx, cancel := context.WithTimeout(ctx, swift)
	defer cancel()
	ms, err := protocol.Request{Client: s.l.client, Key: s.key}.Int(cuttable{ctx}, "PTTL", s.key)
	left := time.Duration(ms) * time.Millisecond
	switch {
	case err == nil && ms == -1: // it does not end by itself
		left = slowest
	case err != nil, ms < 0:
		return nil
	}
	return &left
}

// notAcquired joins ErrNotAcquired, for a key and who asked, with every reason there is, in
// one line.
func notAcquired(key, label string, reasons ...error) error {
	what := strconv.Quote(key)
	if label != "" {
		what += " for " + label
	}
	errs := []error{ErrNotAcquired}
	for _, e := range reasons {
		if e != nil && !slices.ContainsFunc(errs, func(had error) bool { return errors.Is(had, e) }) {
			errs = append(errs, e)
		}
	}
	said := []any{ErrNotAcquired, what}
	for _, e := range errs[1:] {
		said = append(said, e)
	}
	return fmt.Errorf("%w: %s"+strings.Repeat(": %w", len(errs)-1), said...)
}

func (s *session) notAcquired(reasons ...error) error {
	return notAcquired(s.key, s.lease.label, reasons...)
}

// enter takes the turn of the session of one owner and key, until leave. It
// fails with ctx's error, and with ErrClosed.
func (l *Locker) enter(ctx context.Context, k sessionKey) (*session, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	s := l.sessions[k]
	if s == nil {
		s = l.dormant.find(k)
	}
	if s == nil {
		s = &session{l: l, sessionKey: k}
		s.holds = s.room[:0]
		if l.p.Nodes > 0 {
			s.lanes = &protocol.Lanes{Enter: s.stay, Leave: s.drop}
			if l.windows != nil { // a run has no crowds
				s.lanes.Answering = &l.answering
			}
		}
	}
	l.sessions[k] = s
	s.users++
	l.mu.Unlock()
	if err := s.turns.take(ctx, l.o.Clock); err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

func (l *Locker) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// everySession returns the sessions that have a call in progress or a new hold.
func (l *Locker) everySession() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.sessions))
}

// Close closes the Locker: calls waiting for a lock, and all later ones, fail
// with ErrClosed. Held locks stay held, are still renewed, and can still be unlocked.
// Close waits while an inbox is being opened. Closing twice is harmless.
func (l *Locker) Close() {
	l.mu.Lock()
	l.closed = true
	for l.opening != nil {
		o := l.opening
		l.mu.Unlock()
		<-o.done
		l.mu.Lock()
	}
	stop := l.stop
	l.stop = nil
	l.mu.Unlock()
	for _, s := range l.everySession() {
		s.wake()
	}
	if stop != nil {
		stop()
	}
}
