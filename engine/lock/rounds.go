package lock

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// rounds renew the holds of a Locker together: those whose renewals fall due at about the
// same time, when the earliest of them does, in one round trip. Redis runs a script for
// each all the same, and each has its own answer. It is safe for concurrent use; whoever
// holds a session's mutex may call it.
type rounds struct {
	l     *Locker
	since time.Time

	mu   sync.Mutex
	open map[period]*round
}

// period is the number of a span of time, counted from when the Locker was made.
type period struct{ span, number int64 }

// round has the renewals that fall due in a period.
type round struct {
	period

	beats []*beat
	timer clock.Timer
	due   time.Time // of timer
}

// aheadAtMost is the share of its time that a renewal may come too early.
const aheadAtMost = 16

// atOnce is how many renewals go to Redis in one round trip at most.
const atOnce = 1000

// newRounds returns the rounds of a Locker whose holds can be renewed together: on one
// server, by one script each, and by the system's clock. It is nil for any other.
func newRounds(l *Locker) *rounds {
	if !l.one || l.p.RenewAll == nil {
		return nil
	}
	return &rounds{l: l, since: l.o.Clock.Now(), open: map[period]*round{}}
}

// beat is the next renewal of a session. It implements [clock.Timer].
type beat struct {
	clock.Over

	rounds *rounds
	due    time.Time
	s      *session // nil once only its holders keep it alive: then tether has it
	tether *tether

	// Guarded by rounds.mu.
	of   *round // until that begins
	at   int    // its place there
	gone bool   // it has begun, or was stopped
}

// join has a session renewed at an instant, or a little earlier. The caller holds s.mu.
func (r *rounds) join(s *session, due time.Time) *beat {
	b := &beat{rounds: r, due: due, tether: s.tether}
	if b.tether == nil {
		b.s = s
	}
	ahead := uint64(max(due.Sub(r.l.o.Clock.Now())/aheadAtMost, 1))
	span := int64(1) << (bits.Len64(ahead) - 1)
	p := period{span, int64(due.Sub(r.since)) / span}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.open[p]
	if of == nil {
		of = &round{period: p}
		r.open[p] = of
	}
	b.of, b.at = of, len(of.beats)
	of.beats = append(of.beats, b)
	if of.timer == nil || due.Before(of.due) {
		r.set(of, due)
	}
	return b
}

// set has a round begin at an instant. The caller holds mu.
func (r *rounds) set(of *round, due time.Time) {
	if of.timer != nil {
		of.timer.Stop()
	}
	of.due = due
	of.timer = r.l.o.Clock.AfterFunc(due.Sub(r.l.o.Clock.Now()), Watchdog, func() { r.begin(of) })
}

// begin runs a round whose time has come.
func (r *rounds) begin(of *round) {
	beats := r.take(of)
	for len(beats) > atOnce {
		some := beats[:atOnce]
		beats = beats[atOnce:]
		renewed, over := context.WithTimeout(context.Background(), swift)
		go func() {
			defer over()
			r.renew(some)
		}()
		<-renewed.Done() // or Redis is slow to answer on that connection
	}
	r.renew(beats)
}

// take returns the beats of a round that begins, none if it does not yet.
func (r *rounds) take(of *round) []*beat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[of.period] != of {
		return nil
	}
	if len(of.beats) > 0 { // those for whom the timer was set may have left
		first := slices.MinFunc(of.beats, func(a, b *beat) int { return a.due.Compare(b.due) })
		if first.due.After(r.l.o.Clock.Now()) {
			r.set(of, first.due)
			return nil
		}
	}
	delete(r.open, of.period)
	for _, b := range of.beats {
		b.of = nil
	}
	return of.beats
}

// renew runs some beats.
func (r *rounds) renew(beats []*beat) {
	var under []*renewal
	var requests []protocol.Request
	var tells, ends []func()
	var until time.Time // the last of their deadlines: who has an earlier one has a timer for it
	for _, b := range beats {
		if !b.begins() {
			continue
		}
		s, dropped := b.session()
		if s == nil {
			tells = append(tells, dropped, b.Finish)
			continue
		}
		w, tell := s.beginRenewal(func(w *renewal) context.CancelFunc {
			return func() { // the others go on
				w.cut = true
				b.Finish()
			}
		})
		if w == nil {
			tells = append(tells, tell, b.Finish)
			continue
		}
		under, requests = append(under, w), append(requests, w.request)
		ends = append(ends, b.Finish)
		if w.deadline.After(until) {
			until = w.deadline
		}
	}
	if len(under) > 0 {
		var others []func()
		ctx, cancel := r.l.o.Clock.WithDeadline(context.Background(), until)
		answers := r.l.renewAll(ctx, requests)
		ended := ctx.Err() != nil
		cancel()
		for i, w := range under { // all of them, before an Observer takes its time
			tell, lost := w.s.conclude(w, answers[i].Reply, answers[i].Err, ended)
			if lost { // and these first
				tells = append(tells, tell, ends[i])
			} else {
				others = append(others, tell, ends[i])
			}
		}
		tells = append(tells, others...)
	}
	for _, tell := range tells {
		tell()
	}
}

// renewAll renews in one round trip, or says for all why there is none.
func (l *Locker) renewAll(ctx context.Context, requests []protocol.Request) []protocol.Outcome {
	if why := l.refuses(); why != nil {
		return slices.Repeat([]protocol.Outcome{{Err: why}}, len(requests))
	}
	answers := l.p.RenewAll(ctx, l.client, requests)
	l.met(answers[0].Err)
	return answers
}

// session returns whose beat it is or, if nobody has that any more, what tells of the loss.
func (b *beat) session() (s *session, dropped func()) {
	if b.tether == nil {
		return b.s, nil
	}
	if s = b.tether.session.Value(); s == nil {
		dropped = b.tether.end()
	}
	return s, dropped
}

// Stop implements [clock.Timer].
func (b *beat) Stop() bool {
	r := b.rounds
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.gone {
		return false
	}
	if of := b.of; of != nil {
		last := len(of.beats) - 1
		of.beats[b.at] = of.beats[last]
		of.beats[b.at].at = b.at
		of.beats[last] = nil
		of.beats = of.beats[:last]
		b.of = nil
	}
	b.gone = true
	b.Finish()
	return true
}

// begins says that it begins, unless it was stopped.
func (b *beat) begins() bool {
	b.rounds.mu.Lock()
	defer b.rounds.mu.Unlock()
	if b.gone {
		return false
	}
	b.gone = true
	return true
}
