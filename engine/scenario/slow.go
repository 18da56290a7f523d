package scenario

import (
	"fmt"
	"reflect"
	"time"

	"relock/engine/phrase"
)

// MaxSlow is the greatest factor of slow motion.
const MaxSlow = 100

// ErrSlow is returned by Slowed if a scenario cannot be slowed down so far.
var ErrSlow = phrase.New("in slow motion a time of this scenario would be longer than allowed: %s for retries, %s for others", phrase.Duration(MaxInterval), phrase.Duration(MaxDuration))

// Slowed returns the scenario with all durations multiplied by times, 1 to
// MaxSlow, so that a person can follow it on the wall clock. Its schedule stays as it is:
// it is for the virtual clock. It fails with ErrSlow for other factors, and if a duration
// would leave its range.
func (s *Scenario) Slowed(times int) (*Scenario, error) {
	if times < 1 || times > MaxSlow {
		return nil, fmt.Errorf("%w: slow motion is from 1 to %d times, given %d", ErrSlow, MaxSlow, times)
	}
	other, longest := *s, time.Duration(0)
	for _, part := range []any{&other.Lock, &other.Resource, &other.Threads, &other.Faults} {
		longest = max(longest, slow(reflect.ValueOf(part).Elem(), time.Duration(times)))
	}
	if longest > MaxDuration {
		return nil, fmt.Errorf("%d times slower: %w", times, ErrSlow)
	}
	return &other, nil
}

// slow multiplies all durations of a value, in copies of what it points to, and returns the
// longest: MaxDuration is the most that is allowed.
func slow(v reflect.Value, times time.Duration) (longest time.Duration) {
	switch v.Kind() {
	case reflect.Int64:
		if d, ok := v.Addr().Interface().(*time.Duration); ok {
			*d *= times
			return max(*d, -*d)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			v.Set(fresh)
			return slow(fresh.Elem(), times)
		}
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		for i := range v.Len() {
			longest = max(longest, slow(v.Index(i), times))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			longest = max(longest, slow(v.Field(i), times))
		}
		if r, ok := v.Addr().Interface().(*Retry); ok && max(r.Interval, r.Jitter.Max) > MaxInterval {
			longest = MaxDuration + 1
		}
	}
	return longest
}
