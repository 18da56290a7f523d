package lock

import (
	"context"
	"runtime"
	"sync"
	"weak"
)

// dormantSessions are sessions without a call in progress: of holds that were lost and
// never unlocked, so that their owners hear of it when they ask again, and of holds that
// have been renewed. They forget a session that nobody holds any more. The zero value is
// ready to use. It is safe for concurrent use.
type dormantSessions struct {
	mu    sync.Mutex
	named map[sessionKey]weak.Pointer[session]
}

// keep remembers a session for as long as somebody has one of its holds. First says that
// this is the first time.
func (l *dormantSessions) keep(s *session, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named == nil {
		l.named = map[sessionKey]weak.Pointer[session]{}
	}
	p := weak.Make(s)
	l.named[s.sessionKey] = p
	if first {
		runtime.AddCleanup(s, func(k sessionKey) { l.remove(k, p) }, s.sessionKey)
	}
}

func (l *dormantSessions) remove(k sessionKey, p weak.Pointer[session]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named[k] == p {
		delete(l.named, k)
	}
}

// find returns the dormant session of an owner, and forgets it; nil if there is none.
func (l *dormantSessions) find(k sessionKey) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.named[k]
	if !ok {
		return nil
	}
	delete(l.named, k)
	return p.Value()
}

// tether is all that a watchdog keeps of a session that only its holders keep alive.
type tether struct {
	session weak.Pointer[session]

	mu   sync.Mutex
	ends map[int]context.CancelCauseFunc // of the levels' contexts
	loss Loss                            // of the hold; no levels if it is over and was told of
	lost func(context.Context, Loss)     // the Observer's, or nil
}

// end ends the contexts of a session that nobody has any more, since somebody may still
// wait for one to be done, and returns what tells the Observer. The context given to Lock
// may have led to the hold, so the tether does not have it.
func (t *tether) end() (tell func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, end := range t.ends {
		end(ErrLost)
	}
	clear(t.ends)
	loss := t.loss
	t.loss.Levels = 0
	return func() {
		if t.lost != nil && loss.Levels > 0 {
			t.lost(context.Background(), loss)
		}
	}
}

// has notes how many levels there are that somebody relies on. The caller holds mu.
func (s *session) has(levels int) {
	if s.tether == nil {
		return
	}
	s.tether.mu.Lock()
	defer s.tether.mu.Unlock()
	s.tether.loss = Loss{Key: s.key, Owner: s.owner, Label: s.lease.label, Levels: levels, Err: ErrLost}
}

// letGo leaves the session to its holders: no timer keeps it in memory any more, only its
// holds and their contexts do. Other clocks than the system's show their timers, which must
// not depend on when memory is collected. The caller holds mu.
func (s *session) letGo() {
	if s.tether != nil || s.l.windows == nil {
		return
	}
	s.tether = &tether{session: weak.Make(s), ends: map[int]context.CancelCauseFunc{}, lost: s.l.o.Observer.Lost}
	s.has(len(s.holds))
	for _, h := range s.holds {
		if h.ctx != nil {
			s.tie(h)
		}
	}
}

// tie notes how the context of a hold ends, unless it derives from another one of the
// session, which ends it. The caller holds mu.
func (s *session) tie(h *Hold) {
	if h.ctx.within {
		return
	}
	s.tether.mu.Lock()
	defer s.tether.mu.Unlock()
	s.tether.ends[h.level] = h.ctx.stop
}

// later returns what a timer calls to do f. The caller holds mu.
func (s *session) later(f func(*session)) func() {
	t := s.tether
	if t == nil {
		return func() { f(s) }
	}
	return t.call(f)
}

func (t *tether) call(f func(*session)) func() {
	return func() {
		if s := t.session.Value(); s != nil {
			f(s)
			return
		}
		t.end()()
	}
}
