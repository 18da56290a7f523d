package session_test

import (
	"errors"
	"testing"

	"relock/web/session"
)

func TestLedgerBoundsSessionAddressAndServer(t *testing.T) {
	l := session.NewLedger()
	one := l.Open("a")
	if err := one.Hold(session.EventsOfStepper); err != nil {
		t.Error(err)
	}
	if err := one.Hold(session.EventsOfStepper + 1); !errors.Is(err, session.ErrFull) {
		t.Errorf("one more: %v", err)
	}
	if err := one.Hold(10); err != nil { // a branch was dropped
		t.Error(err)
	}
	fill := func(address string, events int, want error) {
		t.Helper()
		for events > 0 {
			n := min(events, session.EventsOfStepper)
			if err := l.Open(address).Hold(n); !errors.Is(err, want) {
				t.Fatalf("%d left of %s: %v, want %v", events, address, err, want)
			}
			events -= n
		}
	}
	fill("a", session.EventsOfAddress-10, nil)
	fill("a", 1, session.ErrFullAddress)
	fill("b", session.EventsOfAll-session.EventsOfAddress-1, nil)
	last := l.Open("c")
	if err := last.Hold(1); !errors.Is(err, session.ErrFullServer) {
		t.Errorf("beyond all: %v", err)
	}
	last.Close()
	one.Close()
	if err := l.Open("d").Hold(5); err != nil {
		t.Errorf("after others left: %v", err)
	}
}
