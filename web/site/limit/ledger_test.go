package limit_test

import (
	"errors"
	"testing"

	"relock/web/site/limit"
)

func TestLedgerBoundsAddressAndServer(t *testing.T) {
	l := limit.NewLedger(10<<20, 16<<20)
	one := l.Open("a")
	hold := func(a *limit.Account, mb int, want error) {
		t.Helper()
		err := a.Hold(mb << 20)
		var full *limit.Error
		if !errors.Is(err, want) || want != nil && !errors.As(err, &full) {
			t.Errorf("%d MB: %v, want %v", mb, err, want)
		}
	}
	hold(one, 10, nil)
	hold(one, 11, limit.ErrFullAddress)
	hold(one, 10, nil) // a branch was dropped
	two := l.Open("a")
	hold(two, 1, limit.ErrFullAddress)
	two.Close()
	hold(l.Open("b"), 6, nil)
	last := l.Open("c")
	hold(last, 1, limit.ErrFullServer)
	last.Close()
	one.Close()
	hold(l.Open("d"), 10, nil)
	if held := l.Held(); held != 16<<20 {
		t.Errorf("%d held", held)
	}
}
