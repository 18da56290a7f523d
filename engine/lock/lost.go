package lock

import (
	"runtime"
	"sync"
	"weak"
)

// lostSessions are the sessions whose holds were lost and never unlocked, so
// that their owners are told of it when they ask again. One of which nobody has
// a hold any more is forgotten. The zero value is ready to use. It is safe for
// concurrent use.
type lostSessions struct {
	mu    sync.Mutex
	named map[sessionKey]weak.Pointer[session]
}

// keep remembers a session for as long as somebody has a hold of it.
func (l *lostSessions) keep(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named == nil {
		l.named = map[sessionKey]weak.Pointer[session]{}
	}
	p := weak.Make(s)
	l.named[s.sessionKey] = p
	runtime.AddCleanup(s, func(k sessionKey) { l.remove(k, p) }, s.sessionKey)
}

func (l *lostSessions) remove(k sessionKey, p weak.Pointer[session]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named[k] == p {
		delete(l.named, k)
	}
}

// find returns the session of an owner's lost holds, and forgets it; nil if
// there is none.
func (l *lostSessions) find(k sessionKey) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.named[k]
	if !ok {
		return nil
	}
	delete(l.named, k)
	return p.Value()
}
