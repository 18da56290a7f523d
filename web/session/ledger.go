package session

import (
	"errors"
	"sync"
)

// How many events those who step may have on the server. Measured with a page
// each: a branch of 20,000 events holds 82 MB with sixteen threads, 3 to 4 KB
// an event, the rows and all that was possible at each move included.
const (
	EventsOfStepper = 16_000  // 66 MB at most: all branches together
	EventsOfAddress = 160_000 // 640 MB: four hundred people at four hundred each
	EventsOfAll     = 320_000 // 1.3 GB
)

// Errors of Ledger.
var (
	ErrFull        = errors.New("this session holds as many events as it may")
	ErrFullAddress = errors.New("those who step from this address hold as many events as they may")
	ErrFullServer  = errors.New("those who step hold as many events as this server can keep")
)

// Ledger counts the events that stepping sessions hold. It is safe for
// concurrent use.
type Ledger struct {
	mu        sync.Mutex
	all       int
	addresses map[string]int
}

// NewLedger returns a ledger on which nothing is held.
func NewLedger() *Ledger { return &Ledger{addresses: map[string]int{}} }

// Account is what one session holds. It belongs to one goroutine.
type Account struct {
	of      *Ledger
	address string
	held    int
}

// Open opens the account of a session from an address. Close ends it.
func (l *Ledger) Open(address string) *Account { return &Account{of: l, address: address} }

// Address is whose account it is.
func (a *Account) Address() string { return a.address }

// Hold notes that the session holds so many events now. Where that is more than
// it may, it fails with ErrFull, ErrFullAddress or ErrFullServer: then the
// session should hold no more. What it holds already is counted all the same,
// as it is there.
func (a *Account) Hold(events int) error {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	more := events - a.held
	a.held = events
	a.of.all += more
	if a.of.addresses[a.address] += more; a.of.addresses[a.address] == 0 {
		delete(a.of.addresses, a.address)
	}
	switch {
	case events == 0:
		return nil
	case events > EventsOfStepper:
		return ErrFull
	case a.of.addresses[a.address] > EventsOfAddress:
		return ErrFullAddress
	case a.of.all > EventsOfAll:
		return ErrFullServer
	default:
		return nil
	}
}

// Close gives back what the session held.
func (a *Account) Close() { _ = a.Hold(0) }
