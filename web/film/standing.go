package film

import (
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/web/words"
)

// standing is what a thread is doing while others act. Its wording depends on
// the instant: a person can let time pass without moving threads that could
// move.
type standing struct {
	text   string // if it does nothing that takes time
	level  int    // at which it works; 0: it waits
	until  trace.Millis
	timed  bool         // it works or waits until a known time
	still  trace.Millis // until when its process is paused
	byHand bool         // it is paused until somebody resumes it
	since  trace.Millis // since when it has been paused by hand
}

// moves forgets what the thread was doing.
func (s *standing) moves() { s.text, s.timed, s.still = "", false, 0 }

func (s *standing) works(until trace.Millis, level int) {
	s.text, s.timed, s.until, s.level = "", true, until, level
}

func (s *standing) waits(until trace.Millis) { s.works(until, 0) }

// suffers notes a fault that strikes the thread at an instant. A pause
// postpones the end of work, but not the end of a sleep.
func (s *standing) suffers(l words.Language, at trace.Millis, b trace.Fault) {
	switch b.Do {
	case fault.Resume:
		if s.byHand && s.timed && s.level > 0 {
			s.until += at - s.since
		}
		s.byHand, s.still = false, 0
	case fault.Pause:
		if b.ForMS == 0 {
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
		s.text = l.Say("hangs for ever")
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

func (s *standing) say(l words.Language, at trace.Millis) string {
	length := func(m trace.Millis) string { return l.Duration(m.Duration()) }
	last := s.last()
	switch {
	case s.byHand:
		return l.Say("paused by hand")
	case s.still > at && s.timed && s.level > 0:
		return l.Say("paused until %s, then working until %s", length(s.still), length(last))
	case s.still > at && last > s.still:
		return l.Say("paused until %s, waiting until %s", length(s.still), length(last))
	case s.still > at:
		return l.Say("paused until %s", length(s.still))
	case !s.timed && (s.text != "" || s.still == 0):
		return s.text
	case last < at:
		return l.Say("could have moved since %s", length(last))
	case last == at:
		return l.Say("can move now")
	case s.level > 0:
		return l.Say("working, level %d", s.level)
	default:
		return l.Say("waiting until %s", length(last))
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
