package lock

import (
	"context"
	_ "embed" // the scripts
	"strings"
	"time"
)

var (
	//go:embed fair-queue.lua
	fairQueueSource string
	//go:embed fair-lock.lua
	fairLockSource string
	//go:embed fair-unlock.lua
	fairUnlockSource string
	//go:embed fair-leave.lua
	fairLeaveSource string
	//go:embed notify-wake.lua
	notifyWakeSource string
	//go:embed notify-lock.lua
	notifyLockSource string
	//go:embed notify-unlock.lua
	notifyUnlockSource string
	//go:embed notify-leave.lua
	notifyLeaveSource string

	fairLockScript     = newScript(CallLock, "fair-lock.lua", queued(fairLockSource, 4))
	fairUnlockScript   = newScript(CallUnlock, "fair-unlock.lua", queued(fairUnlockSource, 3))
	fairLeaveScript    = newScript(CallLeave, "fair-leave.lua", queued(fairLeaveSource, 3))
	notifyLockScript   = newScript(CallLock, "notify-lock.lua", notifyLockSource)
	notifyUnlockScript = newScript(CallUnlock, "notify-unlock.lua", notifyWakeSource+notifyUnlockSource)
	notifyLeaveScript  = newScript(CallLeave, "notify-leave.lua", notifyWakeSource+notifyLeaveSource)
)

// queued is a script of the fair lock with what all of them share before it.
// Its grant is the argument at that place.
func queued(source string, grant int) string {
	return strings.ReplaceAll(fairQueueSource, "GRANT", "ARGV["+string(rune('0'+grant))+"]") + source
}

// fair is Reentrant, first come first served: the releasing script gives the
// lock to the head of the queue and tells it, so that nobody races for it and
// an acquisition under contention costs two commands. A grant is short, a
// third of the lease, until its receiver renews it, which its watchdog does: a
// waiter that died holds up the queue no longer than that. Deadlines are by
// Redis' own clock. A safety timer, which has each waiter ask every quarter of
// the lease and when the lease or the grant before it ends, covers a message
// that was lost and a grant that was not taken. Source: this project; the idea
// of direct hand-over as in java.util.concurrent's fair locks.
//
// A message to nobody (PUBLISH answers 0) passes the turn on. In a cluster
// PUBLISH counts the receivers of one node only, and a waiter that was passed
// over would take the message for a grant all the same: New refuses a cluster.
func fair() protocol {
	keys := func(at steps) []string {
		return []string{at.key, companion(at.key, "queue"), companion(at.key, "waiters")}
	}
	return protocol{
		lock: scripted(fairLockScript, keys, func(at steps) []any {
			return []any{at.owner, at.level, at.lease.Milliseconds(), grantOf(at.lease).Milliseconds(), at.waiter(), at.patience.Milliseconds()}
		}),
		unlock: scripted(fairUnlockScript, keys, func(at steps) []any {
			return []any{at.owner, at.level, grantOf(at.lease).Milliseconds()}
		}),
		leave: scripted(fairLeaveScript, keys, func(at steps) []any {
			return []any{at.owner, at.waiter(), grantOf(at.lease).Milliseconds()}
		}),
		renew:   scripted(renewScript, lockKey, ownerAndLease),
		scripts: []Script{fairLockScript, fairUnlockScript, fairLeaveScript, renewScript},
		keys:    keys,
		fair:    true,
	}
}

// notify is Reentrant, with one waiter woken by a message when the lock is
// free, the longest first. It asks again then, and may find somebody faster.
// Who hears nothing asks after the retry's interval, as everywhere.
// Source: Redisson's RLock, but for one receiver instead of all.
func notify() protocol {
	keys := func(at steps) []string { return []string{at.key, companion(at.key, "waiters")} }
	return protocol{
		lock: scripted(notifyLockScript, keys, func(at steps) []any {
			return []any{at.owner, at.level, at.lease.Milliseconds(), at.waiter(), at.patience.Milliseconds()}
		}),
		unlock:  scripted(notifyUnlockScript, keys, ownerAndLevel),
		leave:   scripted(notifyLeaveScript, keys, func(at steps) []any { return []any{at.waiter()} }),
		renew:   scripted(renewScript, lockKey, ownerAndLease),
		scripts: []Script{notifyLockScript, notifyUnlockScript, notifyLeaveScript, renewScript},
		first:   map[string]string{CallUnlock: "HEXISTS", CallLeave: "ZREM"}, // what is before it in the source is run after it
		keys:    keys,
	}
}

// grantOf is how long the fair lock is kept for a waiter that has not renewed.
func grantOf(lease time.Duration) time.Duration {
	return max((lease / 3).Truncate(time.Millisecond), time.Millisecond)
}

// waiter is the caller as the queue knows it.
func (at steps) waiter() string { return at.owner + " " + at.inbox }

// Keys are all keys that a protocol uses for a lock's key, that one first.
func (p Protocol) Keys(key string) []string {
	found := protocols()[p]
	switch {
	case p == Fenced:
		return []string{key, TokenKey(key)}
	case found.keys != nil:
		return found.keys(steps{key: key})
	default:
		return []string{key}
	}
}

// message is what a waiter was told.
type message struct {
	granted bool
	at      int64 // by Redis' clock, in milliseconds since the epoch
}

// hear takes a message from the inbox to the waiter that it is for.
func (l *Locker) hear(text string) {
	parts := strings.SplitN(text, " ", 4)
	if len(parts) != 4 {
		return
	}
	m := message{granted: parts[0] == "grant"}
	for _, digit := range parts[2] {
		m.at = m.at*10 + int64(digit-'0')
	}
	l.mu.Lock()
	s := l.sessions[sessionKey{parts[3], Owner(parts[1])}]
	l.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.heard = &m
	s.mu.Unlock()
	s.signal.Fire()
}

// listen opens the inbox before anybody can be asked to write to it, and
// returns when it is open or cannot be opened, or when ctx has ended. One call
// is at it at a time, at most for Options.Limit and on a context of its own:
// others wait for the same inbox.
func (l *Locker) listen(ctx context.Context) {
	if l.p.leave == nil {
		return
	}
	l.mu.Lock()
	if l.stop != nil {
		l.mu.Unlock()
		return
	}
	opening := l.opening
	first := opening == nil
	if first {
		opening = make(chan struct{})
		l.opening = opening
	}
	l.mu.Unlock()
	switch {
	case first && ctx.Done() == nil:
		l.open(ctx)
	case first:
		l.o.Clock.AfterFunc(0, "listening", func() { l.open(context.WithoutCancel(ctx)) })
	}
	select {
	case <-opening:
	case <-ctx.Done():
	}
}

// open opens the inbox.
func (l *Locker) open(ctx context.Context) {
	var stop func()
	defer func() { // also where a simulated process dies in here
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stop = stop
		close(l.opening)
		l.opening = nil
	}()
	ctx, cancel := l.o.Clock.WithDeadline(ctx, l.o.Clock.Now().Add(l.o.Limit))
	defer cancel()
	stop, _ = l.o.Messenger.Listen(ctx, l.o.Inbox, l.hear) // else the timers have to do, and the next call tries again
}

// Close ends what a Locker has running while nobody holds a lock: the
// listening of ReentrantNotify and ReentrantFair. Locks that are held stay. It
// waits for a listening that is about to begin.
func (l *Locker) Close() {
	l.mu.Lock()
	for l.opening != nil {
		opening := l.opening
		l.mu.Unlock()
		<-opening
		l.mu.Lock()
	}
	stop := l.stop
	l.stop = nil
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// asked is when Redis answered a waiter, by both clocks.
type asked struct {
	sent time.Time // by the client's, before
	now  int64     // by Redis', in milliseconds
}

// accept makes a grant that came as a message into a hold, if enough of it is
// left for certain: the message may have been long on its way. Redis' clock
// says how long after the waiter's own question the grant was made, and that
// question was answered after it was sent.
func (s *session) accept(ctx context.Context, c Call) *Hold {
	s.mu.Lock()
	m := s.heard
	s.heard = nil
	s.mu.Unlock()
	if m == nil || !m.granted || c.Level != 1 || s.l.o.Renew == NoWatchdog {
		return nil // ask Redis, which confirms a grant for a whole lease
	}
	made := s.asked.sent.Add(time.Duration(m.at-s.asked.now) * time.Millisecond)
	grant := grantOf(s.l.o.Lease)
	until := made.Add(grant - s.l.o.Margin)
	if m.at <= s.asked.now || !s.l.o.Clock.Now().Before(until) {
		return nil // too old, or of an earlier wait: ask Redis
	}
	h := s.push(ctx, c.Level, 0, made)
	s.mu.Lock()
	s.relyUntil(until)
	s.stopping = false
	if s.l.o.Renew != NoWatchdog {
		s.next(made.Add(min(grant/3, s.l.o.Renew) - s.l.o.Renew))
	}
	s.mu.Unlock()
	s.l.observe(Attempt{Call: c, Result: Acquired, Count: 1})
	return h
}

// leaveLine stops waiting for the level of c.
func (s *session) leaveLine(ctx context.Context, c Call) {
	if s.l.p.leave == nil || c.Level != 1 {
		return
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	_, _ = s.l.p.leave(WithCall(ctx, Call{Name: CallLeave, Level: c.Level, Attempt: 1}), s.steps(c)) // else its deadline ends it
}
