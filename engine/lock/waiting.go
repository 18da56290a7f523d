package lock

import (
	"context"
	"strconv"
	"strings"
	"time"

	"relock/engine/lock/protocol"
)

// message is a message to a waiter.
type message struct {
	granted bool
	at      int64 // by Redis' clock, in milliseconds since the epoch
	number  int64 // of the waiting call
}

// hear delivers a message from the inbox to its waiter: "grant owner instant
// number key", or "wake" with zeros.
func (l *Locker) hear(text string) {
	if text == Missed {
		for _, s := range l.everySession() {
			s.wake()
		}
		return
	}
	parts := strings.SplitN(text, " ", 5)
	if len(parts) != 5 {
		return
	}
	at, err1 := strconv.ParseInt(parts[2], 10, 64)
	number, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil {
		return
	}
	owner, _ := protocol.Unlabelled(parts[1])
	for _, s := range l.waiters(parts[4], Owner(owner)) {
		s.mu.Lock()
		s.heard = &message{granted: parts[0] == "grant", at: at, number: number}
		s.mu.Unlock()
		s.wake()
	}
}

// waiters returns whom a message for an owner may concern: the session of the key or, if
// the client gives Redis other keys than it is given itself, all of the owner's. A grant
// has a number, and the others only ask once more.
func (l *Locker) waiters(key string, owner Owner) []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[sessionKey{key, owner}]; s != nil {
		return []*session{s}
	}
	var all []*session
	for k, s := range l.sessions {
		if k.owner == owner {
			all = append(all, s)
		}
	}
	return all
}

// opening is the opening of an inbox.
type opening struct {
	done chan struct{} // closed once it is open or could not be opened
	err  error         // why it could not be
}

// listen opens the inbox before anyone can be asked to write to it. It returns
// when the inbox is open, could not be opened, or ctx has ended. One call opens
// it, on a context of its own and within Options.Limit; the others wait for
// that call.
//
// It fails with ErrRefused if the user has no right to the messages. Otherwise
// a Lock without an inbox asks when its timers say so, and the next call opens
// it.
func (l *Locker) listen(ctx context.Context) error {
	if l.p.Leave == nil {
		return nil
	}
	l.mu.Lock()
	if l.stop != nil || l.closed {
		l.mu.Unlock()
		return nil
	}
	o := l.opening
	first := o == nil
	if first {
		o = &opening{done: make(chan struct{})}
		l.opening = o
	}
	l.mu.Unlock()
	switch {
	case first && ctx.Done() == nil:
		l.open(ctx, o)
	case first:
		l.o.Clock.AfterFunc(0, "listening", func() { l.open(context.WithoutCancel(ctx), o) })
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil
	}
	if protocol.Answered(o.err) && !protocol.Passing(o.err) {
		return o.err
	}
	return nil
}

// open opens the inbox.
func (l *Locker) open(ctx context.Context, o *opening) {
	var stop func()
	defer func() { // even if a simulated process dies in here
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stop = stop
		close(o.done)
		l.opening = nil
	}()
	ctx, cancel := l.o.Clock.WithDeadline(ctx, l.o.Clock.Now().Add(l.o.Limit))
	defer cancel()
	stop, o.err = l.o.Messenger.Listen(ctx, l.o.Inbox, l.hear)
}

// asked relates the two clocks: when a waiter asked, and when Redis answered.
type asked struct {
	sent time.Time // by the client's clock
	now  int64     // by Redis' clock, in milliseconds
}

// confirmAfter is how soon after a hand-over the first renewal makes a whole lease of the
// grant: a thread that has left the lock by then need not ask Redis for that.
const confirmAfter = 10 * time.Millisecond

// accept turns a grant that came as a message into a hold if enough of it is
// certain to be left, since the message may have taken long. Redis' clock gives
// the time from its answer to the waiter's last question to the grant, and that
// answer came after the question was sent.
func (s *session) accept(ctx context.Context, c Call) *Hold {
	s.mu.Lock()
	m := s.heard
	s.heard = nil
	s.mu.Unlock()
	if m == nil || !m.granted || m.number != c.Number || c.Level != 1 || s.lease.renew == NoWatchdog {
		return nil // ask Redis, which extends the grant to a whole lease
	}
	made := s.asked.sent.Add(time.Duration(m.at-s.asked.now) * time.Millisecond)
	grant := protocol.Grant(s.lease.length)
	until := made.Add(grant - s.lease.margin)
	if m.at <= s.asked.now || passed(s.l.o.Clock.Now(), until) {
		return nil // too old, or for an earlier wait: ask Redis
	}
	h := s.push(ctx, c.Level, 0, made)
	s.mu.Lock()
	s.stopping = false
	confirms := made.Add(min(grant/3, s.lease.renew))
	if soon := s.l.o.Clock.Now().Add(confirmAfter); soon.Before(confirms) {
		confirms = soon
	}
	sent := confirms.Add(-s.lease.renew)
	s.beat = sent.Add(s.lease.renew)
	s.relyUntil(until)
	s.next(sent)
	s.mu.Unlock()
	s.observe(ctx, Attempt{Call: c, Result: Acquired, Count: 1, Lease: grant, Until: until})
	return h
}

// leaveLine stops waiting for the level of c.
func (s *session) leaveLine(ctx context.Context, c Call) {
	if s.l.p.Leave == nil || c.Level != 1 {
		return
	}
	ctx, cancel := s.limited(ctx, s.l.o.Limit)
	defer cancel()
	leaves := Call{Name: protocol.CallLeave, Level: c.Level, Attempt: 1, Number: c.Number}
	_, _ = s.l.p.Leave(s.about(ctx, leaves), s.request(leaves)) // on failure its deadline ends the wait
}
