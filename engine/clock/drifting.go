package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Drifting is a [Process] whose clock runs faster or slower than that of the process it
// wraps: all times that it returns and all durations that it takes go by its own clock.
// Work does not: it is effort. It is as safe for concurrent use as the process it is made
// of.
type Drifting struct {
	Process

	begun time.Time    // both clocks show it
	ahead atomic.Int64 // of the time of day that it shows, in nanoseconds
	rate  int64        // millionths that pass by its own clock while a million do by the other
}

// million is the rate of a clock that does not drift.
const million = 1_000_000

// endless is a length that is meant to have no end, and is not converted.
const endless = time.Duration(1) << 60

// NewDrifting returns p with a clock that runs faster by so many millionths, or
// slower: -500,000 to 500,000. From now on the two go apart.
func NewDrifting(p Process, millionths int) *Drifting {
	return &Drifting{Process: p, begun: p.Now(), rate: million + int64(millionths)}
}

// own is how much passes by its own clock in d.
func (p *Drifting) own(d time.Duration) time.Duration {
	if p.rate == million || d > endless {
		return d
	}
	whole, rest := d/million, d%million
	return whole*time.Duration(p.rate) + rest*time.Duration(p.rate)/million
}

// others is how much passes by the other clocks while d does by its own, in
// whole microseconds and never less: who sleeps until an instant does not wake
// before it.
func (p *Drifting) others(d time.Duration) time.Duration {
	if p.rate == million || d <= 0 || d > endless {
		return d
	}
	rate := time.Duration(p.rate)
	whole, rest := d/rate, d%rate
	return (whole*million + (rest*million+rate-1)/rate + time.Microsecond - 1).Truncate(time.Microsecond)
}

// Now implements [Clock].
func (p *Drifting) Now() time.Time { return p.begun.Add(p.own(p.Process.Now().Sub(p.begun))) }

// Jump sets the time of day forward, or back where by is negative. Now and all timers,
// which measure spans, go on as before.
func (p *Drifting) Jump(by time.Duration) { p.ahead.Add(int64(by)) }

// TimeOfDay is what it shows as the time of day, see the function TimeOfDay.
func (p *Drifting) TimeOfDay() time.Time { return p.Now().Add(time.Duration(p.ahead.Load())) }

// Elsewhere is what the other clocks show when its own shows at.
func (p *Drifting) Elsewhere(at time.Time) time.Time { return p.begun.Add(p.others(at.Sub(p.begun))) }

// Sleep implements [Clock].
func (p *Drifting) Sleep(ctx context.Context, d time.Duration) error {
	return p.Process.Sleep(ctx, p.others(d))
}

// AfterFunc implements [Clock].
func (p *Drifting) AfterFunc(d time.Duration, doing string, f func()) Timer {
	return p.Process.AfterFunc(p.others(d), doing, f)
}

// Await implements [Clock].
func (p *Drifting) Await(ctx context.Context, d time.Duration, s Signal) (bool, error) {
	return p.Process.Await(ctx, p.others(d), s)
}

// WithDeadline implements [Clock].
func (p *Drifting) WithDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return p.Process.WithDeadline(ctx, p.Elsewhere(deadline))
}
