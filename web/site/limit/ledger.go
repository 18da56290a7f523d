package limit

import (
	"container/list"
	"sync"
	"time"
)

// How many bytes stepping sessions and rooms may hold on the server.
// Measured (BenchmarkHeldByASession): a new session holds 0.3 MB; with its page
// it holds 4 KB per event with sixteen threads, 14 KB with nine nodes as well,
// and some 60 MB at most, since engine.MaxSize bounds it without its page.
const (
	BytesOfAddress = 640 << 20 // four hundred people with a thousand usual events each
	BytesOfAll     = 1280 << 20
)

// Ledger counts the bytes that are held. When there are too many, accounts that
// can give way do so before others are refused. It is safe for concurrent use.
type Ledger struct {
	ofAddress, ofAll int
	own, every       *Limit // that are met

	now       func() time.Time
	mu        sync.Mutex
	all       int
	addresses map[string]*holder
	yielding  list.List // of *Account: those that can give way, the one unchanged for longest first
}

// holder is what an address holds.
type holder struct {
	bytes    int
	yielding list.List // as the ledger's
}

// NewLedger returns an empty ledger, with the bytes that one address and all
// together may hold.
func NewLedger(ofAddress, ofAll int) *Ledger {
	return newLedger(ofAddress, ofAll, ErrFullAddress, ErrFullServer)
}

// NewWaiting is NewLedger for what waits for the lines of visitors: its limits
// are ErrWaitingAddress and ErrWaiting.
func NewWaiting(ofAddress, ofAll int) *Ledger {
	return newLedger(ofAddress, ofAll, ErrWaitingAddress, ErrWaiting)
}

func newLedger(ofAddress, ofAll int, own, every *Limit) *Ledger {
	return &Ledger{ofAddress: ofAddress, ofAll: ofAll, own: own, every: every, now: time.Now, addresses: map[string]*holder{}}
}

// Account is what one session, or one request, holds. It belongs to one
// goroutine.
type Account struct {
	of      *Ledger
	address string
	held    int

	yield func(why error) // nil for one that never gives way
	gone  bool            // it has given way
	moved time.Time
	among [2]*list.Element // where it is in its holder's list, and in the ledger's; nil while it holds nothing
}

// Open opens the account of a session from an address. Close ends it.
func (l *Ledger) Open(address string) *Account { return &Account{of: l, address: address} }

// OpenYielding is Open for what can make room for others. Yield is then called
// once, with the *Error that was met. It must neither wait nor ask the ledger, and
// must free at once what is held: that no longer counts.
func (l *Ledger) OpenYielding(address string, yield func(why error)) *Account {
	return &Account{of: l, address: address, yield: yield}
}

// Held returns how many bytes are held in total.
func (l *Ledger) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Address returns the address of the account.
func (a *Account) Address() string { return a.address }

// When an account gives way.
const (
	standsStill = 5 * time.Second // after this long without a change, it gives way to others of its own address
	fewOf       = 64              // an address with less than this fraction of everything holds little
)

// Hold notes how many bytes the account holds now. If that is more than its
// address or the server may hold, and nobody gives way, Hold fails with a
// *Error, in megabytes: the account should take no more. Its bytes already count all the
// same.
//
// When an address is full, its unchanged accounts give way. When the server is full, the
// account that has been unchanged for longest gives way, at the address that holds most,
// or anywhere if all addresses hold little.
func (a *Account) Hold(bytes int) error {
	l := a.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.gone {
		return nil
	}
	a.put(bytes)
	if bytes == 0 {
		return nil
	}
	own := l.addresses[a.address]
	for own.bytes > l.ofAddress {
		if full := l.own.Met(l.ofAddress >> 20); !l.evict(&own.yielding, a, standsStill, full) {
			return full
		}
	}
	for l.all > l.ofAll {
		from, still := &l.yielding, time.Duration(0)
		if most := l.largest(); most != nil && most.bytes > l.ofAll/fewOf {
			from = &most.yielding
			if most == own {
				still = standsStill
			}
		}
		if full := l.every.Met(l.ofAll >> 20); !l.evict(from, a, still, full) {
			return full
		}
	}
	return nil
}

// Close gives back everything the account held.
func (a *Account) Close() { _ = a.Hold(0) }

// put notes what an account holds. The caller holds mu.
func (a *Account) put(bytes int) {
	h := a.of.addresses[a.address]
	if h == nil {
		h = &holder{}
		a.of.addresses[a.address] = h
	}
	a.of.all += bytes - a.held
	if h.bytes += bytes - a.held; h.bytes == 0 {
		delete(a.of.addresses, a.address)
	}
	a.held, a.moved = bytes, a.of.now()
	if a.yield == nil {
		return
	}
	for i, on := range []*list.List{&h.yielding, &a.of.yielding} {
		switch {
		case bytes > 0 && a.among[i] == nil:
			a.among[i] = on.PushBack(a)
		case bytes > 0:
			on.MoveToBack(a.among[i])
		case a.among[i] != nil:
			on.Remove(a.among[i])
			a.among[i] = nil
		}
	}
}

// evict evicts the account of a list that has been idle longest, never to's own, and only
// if it has been idle for still or longer. It reports false where there is none. The caller
// holds mu.
func (l *Ledger) evict(on *list.List, to *Account, still time.Duration, why error) bool {
	first := on.Front()
	if first != nil && first.Value == any(to) {
		first = first.Next()
	}
	if first == nil {
		return false
	}
	one, _ := first.Value.(*Account)
	if l.now().Sub(one.moved) < still {
		return false
	}
	one.put(0)
	one.gone = true
	one.yield(why)
	return true
}

// largest returns what the address holds that holds most, among those where
// somebody can give way; nil for none. The caller holds mu.
func (l *Ledger) largest() *holder {
	var most *holder
	for _, h := range l.addresses {
		if h.yielding.Len() > 0 && (most == nil || h.bytes > most.bytes) {
			most = h
		}
	}
	return most
}
