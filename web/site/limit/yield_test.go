package limit

import (
	"errors"
	"testing"
	"time"
)

// Who gives way, and who does not.
func TestAccountsGiveWay(t *testing.T) {
	const mb = 1 << 20
	now := time.Unix(0, 0)
	var l *Ledger
	var gave []string
	at := func(seconds int) { now = time.Unix(int64(seconds), 0) }
	open := func(address, name string) *Account {
		return l.OpenYielding(address, func(why error) {
			var met *Error
			if !errors.As(why, &met) || met.Met != ErrWaiting && met.Met != ErrWaitingAddress {
				t.Errorf("%s gives way because of %v", name, why)
			}
			gave = append(gave, name)
		})
	}
	fresh := func(ofAddress, ofAll int) {
		l, gave = NewWaiting(ofAddress, ofAll), nil
		l.now = func() time.Time { return now }
		at(0)
	}
	want := func(what string, err, limit error, names ...string) {
		t.Helper()
		if !errors.Is(err, limit) || len(gave) != len(names) {
			t.Fatalf("%s: %v; %v gave way, want %v and %v", what, err, gave, limit, names)
		}
		for i, name := range names {
			if gave[i] != name {
				t.Fatalf("%s: %v gave way, want %v", what, gave, names)
			}
		}
	}

	fresh(10*mb, 100*mb)
	first, second := open("a", "first"), open("a", "second")
	_, _ = first.Hold(4*mb), second.Hold(4*mb)
	at(4)
	refused := open("a", "refused")
	want("an address is full of what moves", refused.Hold(4*mb), ErrWaitingAddress)
	refused.Close()
	_ = first.Hold(3 * mb)
	at(6)
	want("of what stands still, first moved last", open("a", "third").Hold(4*mb), nil, "second")
	want("who gave way holds nothing", second.Hold(9*mb), nil, "second")
	second.Close()
	if l.Held() != 7*mb {
		t.Errorf("%d MB are held, want 7", l.Held()/mb)
	}
	want("one alone is too large", open("b", "x").Hold(11*mb), ErrWaitingAddress, "second")

	fresh(60*mb, 64*mb)
	_ = open("slow", "slow").Hold(1 * mb)
	at(1)
	_, _ = open("many", "many 1").Hold(30*mb), open("many", "many 2").Hold(30*mb)
	at(2)
	want("the address with most", open("new", "new").Hold(10*mb), nil, "many 1")
	want("who brings most itself, while others move", open("huge", "huge").Hold(40*mb), ErrWaiting, "many 1")

	fresh(60*mb, 64*mb)
	for i := range 64 {
		at(i)
		_ = open(string(rune('A'+i)), string(rune('A'+i))).Hold(1 * mb)
	}
	want("where all have little, who stood still for longest", open("new", "new").Hold(mb/2), nil, "A")

	fresh(10*mb, 10*mb)
	_ = l.Open("a").Hold(10 * mb)
	want("a session never gives way", open("b", "b").Hold(1*mb), ErrWaiting)
}
