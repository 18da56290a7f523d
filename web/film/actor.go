package film

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/web/words"
)

// actor is what a thread does, and what it has done and heard.
type actor struct {
	standing

	waits     bool   // it has done nothing since it began to wait
	unlocking bool   // Redis runs an unlock of it, of which it has not heard yet
	aside     bool   // it goes on with the old master of two
	unwatched bool   // its watchdog has stopped since it has the lock
	parting   bool   // it is leaving
	reached   bool   // and Redis has run a command of its last unlock
	answered  string // or has answered it with this error

	asking   bool         // its lock call is under way
	wants    string       // of several locks, the one that it asks for
	refusals int          // of its call so far
	message  bool         // it waits for one
	unsure   bool         // it does not know what came of its lock call
	cause    trace.Cause  // why
	lost     *loss        // it was told so
	relies   trace.Millis // until then it may rely on the lock, or 0
	renewed  trace.Millis // when its watchdog last did, or -1
	wrote    string       // its last write
	ended    trace.Result
	left     trace.Millis // when it ended
	looked   trace.Result // of a heartbeat: what it last heard

	outcome   trace.Outcome // of its last lock or unlock
	heardOf   string        // of several locks, the one of its last outcome of a lock call
	exhausted trace.Outcome
}

// loss is how a thread was told that it had lost the lock.
type loss struct {
	call string
	at   trace.Millis
}

// standing is what a thread is doing while others act. Its wording depends on
// the instant: a person can let time pass without moving threads that could
// move.
type standing struct {
	idle   idle
	level  int // at which it works; 0: it waits
	until  trace.Millis
	timed  bool         // it works or waits until a known time
	still  trace.Millis // until when its process is paused
	byHand bool         // it is paused until somebody resumes it
	since  trace.Millis // since when it has been paused by hand
	pause  trace.Millis // when its last pause ends
}

// idle is what a thread does that does nothing that takes time.
type idle int

const (
	unstarted idle = iota
	moving
	hanging
	over
)

// take takes the next event of the thread.
func (t *actor) take(e trace.Event) {
	t.waits = t.waits && beside(e.Body)
	switch b := e.Body.(type) {
	case trace.Command:
		t.sends(e.Lock, b)
	case trace.Outcome:
		if b.Call == lock.CallLock {
			t.heardOf = e.Lock
		}
		t.hears(e.At, b)
	case trace.Work:
		if t.worksFor(e.At+b.For, b.Level); b.State == trace.WorkEnd {
			t.moves()
		}
	case trace.Wait:
		t.worksFor(e.At+b.For, 0)
		t.waits, t.message = true, b.Why == trace.WaitNotify
	case trace.Resource:
		if b.Op == trace.OpWrite && !b.Refused {
			if t.wrote = wrote(b); b.Effect {
				t.wrote = ""
			}
		}
	case trace.Fault:
		t.suffers(e.At, b)
		if b.Do == fault.LoseReply && b.At == fault.AtLock {
			t.unsure, t.cause = true, trace.Cause{}
		}
		if t.parting && b.Do == fault.AnswerError && b.At == lock.CallUnlock && b.Level == 1 && refuses(b.Error) {
			t.answered = b.Error
		}
	case trace.End:
		t.standing = standing{idle: over}
		t.ended, t.left, t.unlocking = b.Result, e.At, false
	}
}

// beside tells what can happen to a thread while it waits: its watchdog's
// renewals, faults, and what arrives late.
func beside(b trace.Body) bool {
	switch b := b.(type) {
	case trace.Command:
		return b.Call == lock.CallRenew || b.Late
	case trace.Outcome:
		return b.Call == lock.CallRenew
	case trace.Fault:
		return true
	default:
		return false
	}
}

// leaving notes whether the thread is on its way out.
func (t *actor) leaving(e trace.Event) {
	if leaves := slices.Contains(e.Leaving, e.Thread); leaves != t.parting {
		t.parting, t.reached, t.answered = leaves, false, ""
	}
}

// sends notes a command of one of its calls.
func (t *actor) sends(of string, b trace.Command) {
	if b.Late {
		return
	}
	t.unlocking = b.Call == lock.CallUnlock || t.unlocking && b.Call == lock.CallRenew
	t.reached = t.reached || t.parting && b.Call == lock.CallUnlock && b.Level == 1
	if b.Call == lock.CallLock && !b.GivesBack {
		t.wants, t.asking, t.unsure, t.lost = of, true, false, nil
	}
}

// hears notes what a call has come to.
func (t *actor) hears(at trace.Millis, b trace.Outcome) {
	why := causeOf(b.Cause, b.Error)
	t.unlocking = t.unlocking && b.Call == lock.CallRenew
	if b.Call != lock.CallRenew {
		t.moves()
	}
	switch {
	case b.Result == trace.Acquired:
		t.unwatched = false
	case b.Result == trace.Aged, b.Call == lock.CallRenew && b.Result == trace.Lost:
		t.unwatched = true
	case t.parting && b.Call == lock.CallUnlock && b.Level == 1 && why.Kind == trace.Answered:
		t.answered = why.Code
	}
	if b.Call == lock.CallLock || b.Call == lock.CallUnlock {
		t.outcome = b
	}
	if b.Result == trace.Exhausted {
		t.exhausted = b
	}
	if !b.GivesBack {
		t.believes(at, b, why)
	}
}

// believes notes what the thread makes of what a call has come to.
func (t *actor) believes(at trace.Millis, b trace.Outcome, why trace.Cause) {
	if b.Call == lock.CallLock {
		t.asking, t.unsure = false, false
	}
	switch b.Result {
	case trace.Acquired, trace.Reentered:
		t.refusals, t.lost, t.relies = 0, nil, b.Until
		if b.Result == trace.Acquired {
			t.renewed = -1
		}
	case trace.Refused:
		t.refusals = b.Attempt
	case trace.Renewed:
		t.renewed, t.relies = at, b.Until
	case trace.Lost, trace.NotHeld:
		if b.Call == lock.CallRenew && b.Result == trace.NotHeld {
			return // such a watchdog tells nobody, and goes on
		}
		t.refusals, t.lost = 0, &loss{b.Call, at}
	case trace.Failed:
		if b.Call == lock.CallLock {
			t.unsure, t.cause = true, why
		}
	case trace.Exhausted, trace.Cancelled:
		t.refusals = 0
	case trace.Released:
		t.relies, t.lost = 0, nil
	case trace.Online, trace.Offline:
		t.looked = b.Result
	}
}

// moves forgets what the thread was doing.
func (s *standing) moves() { s.idle, s.timed, s.still = moving, false, 0 }

// worksFor notes that it works at a level until an instant; at 0 it waits.
func (s *standing) worksFor(until trace.Millis, level int) {
	s.idle, s.timed, s.until, s.level = moving, true, until, level
}

// suffers notes a fault that strikes the thread at an instant. A pause
// postpones the end of work, but not the end of a sleep.
func (s *standing) suffers(at trace.Millis, b trace.Fault) {
	switch b.Do {
	case fault.Resume:
		if s.byHand && s.timed && s.level > 0 {
			s.until += at - s.since
		}
		s.byHand, s.still, s.pause = false, 0, 0
	case fault.Pause:
		if s.pause = at + b.ForMS; b.ForMS == 0 {
			s.byHand, s.since = true, at
			return
		}
		end, from := at+b.ForMS, max(at, s.still)
		if end > from && s.timed && s.level > 0 {
			s.until += end - from
		}
		s.still = max(s.still, end)
	case fault.Stall:
		s.moves()
		s.idle = hanging
	default:
		if b.At != lock.CallRenew {
			s.moves()
		}
	}
}

// last is the instant at which the thread can move again, as far as that is known.
func (s *standing) last() trace.Millis {
	if s.timed {
		return max(s.still, s.until)
	}
	return s.still
}

// ahead is last where say names it as one to come after at, or 0.
func (s *standing) ahead(at trace.Millis) trace.Millis {
	if last := s.last(); !s.byHand && last > at && (s.still > at || s.level == 0) {
		return last
	}
	return 0
}

func (t *actor) say(l words.Language, at trace.Millis) string {
	length := func(m trace.Millis) string { return l.Duration(m.Duration()) }
	last := t.last()
	switch {
	case t.byHand:
		return l.Say("paused by hand")
	case t.still > at && t.timed && t.level > 0:
		return l.Say("paused until %s, then working until %s", length(t.still), length(last))
	case t.still > at && last > t.still:
		return l.Say("paused until %s, waiting until %s", length(t.still), length(last))
	case t.still > at:
		return l.Say("paused until %s", length(t.still))
	case !t.timed && (t.idle != moving || t.still == 0):
		return t.idles(l)
	case last < at:
		return l.Say("could have moved since %s", length(last))
	case last == at:
		return l.Say("can move now")
	case t.level > 0:
		return l.Say("working, level %d", t.level)
	default:
		return l.Say("waiting until %s", length(last))
	}
}

// idles says what the thread does that does nothing that takes time, "" where it could move.
func (t *actor) idles(l words.Language) string {
	switch t.idle {
	case unstarted:
		return l.Say("not started")
	case hanging:
		return l.Say("hangs for ever")
	case over:
		return l.Say("ended: %s", Result(l, t.ended))
	default:
		return ""
	}
}

func (s *standing) doing(at trace.Millis) Doing {
	switch {
	case s.byHand || s.still > at:
		return Paused
	case s.timed && s.level == 0:
		return Waiting
	default:
		return ""
	}
}
