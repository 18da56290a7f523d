package class

import (
	"testing"
	"testing/synctest"
	"time"
)

// A member hears something all the while, and nothing once the verdict is there.
func TestWhileTelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		whileTelling(time.Second, func() { told++ }, func() { time.Sleep(3500 * time.Millisecond) })
		time.Sleep(time.Minute)
		if told != 3 {
			t.Errorf("told %d times in 3.5 s, want 3", told)
		}
	})
}
