package infer_test

import (
	"testing"
	"time"

	"relock/engine/outside/infer"
)

// An instant is a whole number of seconds, milliseconds or microseconds near now, wherever it
// stands in a text: no count, no part of a longer number, no year.
func TestInstantsInATextAreFound(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_500)
	for text, want := range map[string]time.Duration{
		"1790000002":                       1500 * time.Millisecond,
		"1790000002500":                    2 * time.Second,
		"1790000000500001":                 time.Microsecond,
		`{"by":"a","until":1790000001500}`: time.Second,
		"a:1789999999500":                  -time.Second,
		"1790086401":                       0, // more than a day
		"3":                                0,
		"":                                 0,
		"17900000025001":                   0,
		"2026":                             0,
		"99999999999999999999999":          0,
	} {
		got := infer.Instants(text, now)
		if (want == 0) != (len(got) == 0) || len(got) > 0 && got[0].Sub(now) != want {
			t.Errorf("%q has %v, want %v from now", text, got, want)
		}
	}
}
