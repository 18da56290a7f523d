package session

import "sync"

// How many bytes those who step, and the runs that are kept, may hold on the
// server. Measured (BenchmarkHeldByASession): a scenario that has just been
// opened holds 0.3 MB; a session with its page 4 KB an event with sixteen
// threads, 14 KB with nine nodes as well, and some 60 MB at most, since
// engine.MaxSize bounds it without its page.
const (
	BytesOfAddress = 640 << 20 // four hundred people at a thousand of the usual events each
	BytesOfAll     = 1280 << 20
)

// Ledger counts the bytes that are held. It is safe for concurrent use.
type Ledger struct {
	ofAddress, ofAll int

	mu        sync.Mutex
	all       int
	addresses map[string]int
}

// NewLedger returns a ledger on which nothing is held, and one address may hold
// so many bytes, all together so many.
func NewLedger(ofAddress, ofAll int) *Ledger {
	return &Ledger{ofAddress: ofAddress, ofAll: ofAll, addresses: map[string]int{}}
}

// Account is what one session holds. It belongs to one goroutine.
type Account struct {
	of      *Ledger
	address string
	held    int
}

// Open opens the account of a session from an address. Close ends it.
func (l *Ledger) Open(address string) *Account { return &Account{of: l, address: address} }

// Held is how many bytes are held in all.
func (l *Ledger) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Address is whose account it is.
func (a *Account) Address() string { return a.address }

// Hold notes that the session holds so many bytes now. Where that is more than
// its address or the server may, it fails with a *LimitError, of megabytes: the
// session should hold no more. What it holds already is counted all the same,
// as it is there.
func (a *Account) Hold(bytes int) error {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	more := bytes - a.held
	a.held = bytes
	a.of.all += more
	if a.of.addresses[a.address] += more; a.of.addresses[a.address] == 0 {
		delete(a.of.addresses, a.address)
	}
	switch {
	case bytes == 0:
		return nil
	case a.of.addresses[a.address] > a.of.ofAddress:
		return ErrFullAddress.met(a.of.ofAddress >> 20)
	case a.of.all > a.of.ofAll:
		return ErrFullServer.met(a.of.ofAll >> 20)
	default:
		return nil
	}
}

// Close gives back what the session held.
func (a *Account) Close() { _ = a.Hold(0) }
