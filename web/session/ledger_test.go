package session_test

import (
	"errors"
	"testing"
	"time"

	"relock/web/session"
)

func TestLedgerBoundsAddressAndServer(t *testing.T) {
	l := session.NewLedger(10<<20, 16<<20)
	one := l.Open("a")
	hold := func(a *session.Account, mb int, want error) {
		t.Helper()
		err := a.Hold(mb << 20)
		var limit *session.LimitError
		if !errors.Is(err, want) || want != nil && !errors.As(err, &limit) {
			t.Errorf("%d MB: %v, want %v", mb, err, want)
		}
	}
	hold(one, 10, nil)
	hold(one, 11, session.ErrFullAddress)
	hold(one, 10, nil) // a branch was dropped
	two := l.Open("a")
	hold(two, 1, session.ErrFullAddress)
	two.Close()
	hold(l.Open("b"), 6, nil)
	last := l.Open("c")
	hold(last, 1, session.ErrFullServer)
	last.Close()
	one.Close()
	hold(l.Open("d"), 10, nil)
	if held := l.Held(); held != 16<<20 {
		t.Errorf("%d held", held)
	}
}

// Who was too fast hears when there is room for one more start.
func TestALimitSaysWhenToTryAgain(t *testing.T) {
	for most, want := range map[int]time.Duration{1: 61 * time.Second, 7: 9 * time.Second, 900: time.Second} {
		limits := session.DefaultLimits()
		limits.StartsPerMinute = most
		r := session.NewRegistry(limits)
		var limit *session.LimitError
		err := error(nil)
		for err == nil {
			err = r.Allow("a")
		}
		if !errors.As(err, &limit) || limit.After() != want {
			t.Errorf("at %d a minute: %v, want %v", most, err, want)
		}
		r.Close()
	}
}
