package session

import "sync"

// How many bytes stepping sessions and kept runs may hold on the server.
// Measured (BenchmarkHeldByASession): a new session holds 0.3 MB; with its page
// it holds 4 KB per event with sixteen threads, 14 KB with nine nodes as well,
// and some 60 MB at most, since engine.MaxSize bounds it without its page.
const (
	BytesOfAddress = 640 << 20 // four hundred people with a thousand usual events each
	BytesOfAll     = 1280 << 20
)

// Ledger counts held bytes. It is safe for concurrent use.
type Ledger struct {
	ofAddress, ofAll int

	mu        sync.Mutex
	all       int
	addresses map[string]int
}

// NewLedger returns an empty ledger, with the bytes that one address and all
// together may hold.
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

// Held returns how many bytes are held in total.
func (l *Ledger) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Address returns the address of the account.
func (a *Account) Address() string { return a.address }

// Hold notes how many bytes the session holds now. If that is more than its
// address or the server may hold, Hold fails with a *LimitError, in megabytes:
// the session should take no more. What it holds already counts all the same.
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

// Close gives back everything the session held.
func (a *Account) Close() { _ = a.Hold(0) }
