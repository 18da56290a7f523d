package labs

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"relock/engine/outside/lab"
	"relock/web/site/limit"
)

// Limits bound the resources of visitors' labs: each is a separate process.
type Limits struct {
	Open        int           // at once, in all
	OpenAddress int           // and from one address
	Idle        time.Duration // one that nobody has looked at for so long is closed
}

// DefaultLimits returns limits for one small machine.
func DefaultLimits() Limits { return Limits{Open: 16, OpenAddress: 8, Idle: 15 * time.Minute} }

// The limits of Open.
var (
	ErrTooMany    = &limit.Limit{Name: "max-labs", Says: "this server is at its limit of labs (-max-labs=%d); try again in a while"}
	ErrTooManyOwn = &limit.Limit{Name: "max-labs-per-address", Own: true, Says: "your address is at its limit of labs (%d); close one"}
)

// Start starts a lab, usually as a separate process.
type Start func(ctx context.Context, o lab.Options) (lab.Desk, error)

// Labs keeps the labs of a server. It is safe for concurrent use. Close ends them.
type Labs struct {
	limits Limits
	start  Start
	ledger *limit.Ledger
	ctx    context.Context
	stop   context.CancelFunc
	works  sync.WaitGroup

	mu      sync.Mutex
	labs    map[string]*Lab
	opening map[string]int // by address
	fixed   string         // the id of the one that is always there, or ""
}

// New returns labs that start launches, and that count the bytes they hold in a
// ledger.
func New(limits Limits, start Start, ledger *limit.Ledger) *Labs {
	ctx, stop := context.WithCancel(context.Background())
	l := &Labs{limits: limits, start: start, ledger: ledger, ctx: ctx, stop: stop, labs: map[string]*Lab{}, opening: map[string]int{}}
	l.works.Go(l.forget)
	return l
}

// Open opens a lab for a visitor, whose address limits count. Title names its
// subject. It fails with ErrTooMany or ErrTooManyOwn, or if the lab does not start.
func (l *Labs) Open(ctx context.Context, address, visitor, title string, o lab.Options) (*Lab, error) {
	if err := l.admit(address); err != nil {
		return nil, err
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.opening[address]--; l.opening[address] == 0 {
			delete(l.opening, address)
		}
	}()
	desk, err := l.start(ctx, o)
	if err != nil {
		return nil, err
	}
	return l.keep(desk, address, visitor, title)
}

// keep begins a lab, and finds it again.
func (l *Labs) keep(desk lab.Desk, address, visitor, title string) (*Lab, error) {
	one, err := open(l.ctx, rand.Text(), title, desk, l.ledger.Open(address))
	if err != nil {
		desk.Close()
		return nil, err
	}
	one.owner, one.address = visitor, address
	l.mu.Lock()
	l.labs[one.ID] = one
	l.mu.Unlock()
	return one, nil
}

// Fix keeps a lab that the caller has started, for every visitor, until Close. Call
// it once, before others open one.
func (l *Labs) Fix(desk lab.Desk, title string) (*Lab, error) {
	one, err := l.keep(desk, "", "", title)
	if err == nil {
		l.fixed = one.ID
	}
	return one, err
}

// Fixed returns the id of the lab of Fix, or "".
func (l *Labs) Fixed() string { return l.fixed }

func (l *Labs) admit(address string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, own := len(l.labs), l.opening[address]
	for _, n := range l.opening {
		all += n
	}
	for _, one := range l.labs {
		if one.address == address {
			own++
		}
	}
	switch {
	case all >= l.limits.Open:
		return ErrTooMany.Met(l.limits.Open)
	case own >= l.limits.OpenAddress:
		return ErrTooManyOwn.Met(l.limits.OpenAddress)
	}
	l.opening[address]++
	return nil
}

// Get returns a lab.
func (l *Labs) Get(id string) (*Lab, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.labs[id]
	return one, ok
}

// End closes a lab.
func (l *Labs) End(one *Lab) {
	l.mu.Lock()
	_, there := l.labs[one.ID]
	delete(l.labs, one.ID)
	l.mu.Unlock()
	if there {
		one.close()
	}
}

// Close closes all labs, and returns when they have ended.
func (l *Labs) Close() {
	l.stop()
	l.works.Wait()
	l.mu.Lock()
	all := l.labs
	l.labs = map[string]*Lab{}
	l.mu.Unlock()
	var ends sync.WaitGroup
	for _, one := range all {
		ends.Go(one.close)
	}
	ends.Wait()
}

// forget closes labs that nobody looks at any more.
func (l *Labs) forget() {
	t := time.NewTicker(max(l.limits.Idle/10, time.Second))
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case now := <-t.C:
			l.forgetBefore(now)
		}
	}
}

func (l *Labs) forgetBefore(now time.Time) {
	l.mu.Lock()
	var old []*Lab
	for _, one := range l.labs {
		if _, err := one.State(); one.ID != l.fixed && (one.idle(now) > l.limits.Idle || errors.Is(err, ErrClosed) && one.idle(now) > 0) {
			old = append(old, one)
		}
	}
	l.mu.Unlock()
	for _, one := range old {
		l.End(one)
	}
}
