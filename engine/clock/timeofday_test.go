package clock_test

import (
	"testing"
	"time"

	"relock/engine/clock"
)

// The time of day can be set; what measures spans goes on as before.
func TestATimeOfDayIsSet(t *testing.T) {
	v := clock.NewVirtual()
	p := clock.NewDrifting(v.Process("A"), 0)
	before := p.Now()
	p.Jump(-time.Hour)
	p.Jump(time.Minute)
	if now := p.Now(); !now.Equal(before) {
		t.Errorf("Now is at %v, was at %v", now, before)
	}
	if got := clock.TimeOfDay(p).Sub(before); got != time.Minute-time.Hour {
		t.Errorf("its time of day was set by %v", got)
	}
	if got := clock.TimeOfDay(v.Process("B")); !got.Equal(before) {
		t.Errorf("another's is at %v", got)
	}
}
