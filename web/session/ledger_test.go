package session_test

import (
	"errors"
	"testing"

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
