package scenario

import (
	"fmt"
	"slices"
	"time"

	"relock/engine/phrase"
)

// MaxSlow is the greatest factor of slow motion.
const MaxSlow = 100

// ErrSlow is returned by Slowed if a scenario cannot be slowed down so far.
var ErrSlow = phrase.New("in slow motion a time of this scenario would be longer than allowed: %s for retries, %s for others", phrase.Duration(MaxInterval), phrase.Duration(MaxDuration))

// Slowed returns the scenario with all durations multiplied by times, 1 to
// MaxSlow, so that a person can follow it on the wall clock. It fails with
// ErrSlow for other factors, and if a duration would leave its range.
func (s *Scenario) Slowed(times int) (*Scenario, error) {
	if times < 1 || times > MaxSlow {
		return nil, fmt.Errorf("%w: slow motion is from 1 to %d times, given %d", ErrSlow, MaxSlow, times)
	}
	longest := time.Duration(0)
	slow := func(d time.Duration) time.Duration {
		d *= time.Duration(times)
		longest = max(longest, d, -d)
		return d
	}
	span := func(r Range) Range { return Range{slow(r.Min), slow(r.Max)} }
	retry := func(r Retry) Retry {
		r.Interval, r.Jitter = slow(r.Interval), span(r.Jitter)
		if r.Interval > MaxInterval || r.Jitter.Max > MaxInterval {
			longest = MaxDuration + 1
		}
		return r
	}
	other := *s
	other.Lock.Lease, other.Lock.Watchdog = slow(s.Lock.Lease), slow(s.Lock.Watchdog)
	other.Lock.Retry = retry(s.Lock.Retry)
	other.Threads, other.Faults = slices.Clone(s.Threads), slices.Clone(s.Faults)
	for i := range other.Threads {
		t := &other.Threads[i]
		t.Start, t.Work, t.After, t.Retry = slow(t.Start), span(t.Work), span(t.After), retry(t.Retry)
	}
	for i := range other.Faults {
		f := &other.Faults[i]
		f.Time, f.For, f.By = slow(f.Time), slow(f.For), slow(f.By)
	}
	if longest > MaxDuration {
		return nil, fmt.Errorf("%d times slower: %w", times, ErrSlow)
	}
	return &other, nil
}
