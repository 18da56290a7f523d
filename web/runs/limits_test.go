package runs_test

import (
	"errors"
	"testing"
	"time"

	"relock/web/runs"
	"relock/web/site/limit"
)

// A visitor who was too fast hears when there is room for one more start.
func TestALimitSaysWhenToTryAgain(t *testing.T) {
	for most, want := range map[int]time.Duration{1: 61 * time.Second, 7: 9 * time.Second, 900: time.Second} {
		limits := runs.DefaultLimits()
		limits.StartsPerMinute = most
		r := runs.NewRegistry(limits)
		var full *limit.Error
		err := error(nil)
		for err == nil {
			err = r.Allow("a")
		}
		if !errors.As(err, &full) || full.After() != want {
			t.Errorf("at %d a minute: %v, want %v", most, err, want)
		}
		r.Close()
	}
}
