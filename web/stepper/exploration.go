package stepper

import (
	"context"
	"errors"
	"sync"
	"time"

	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/page"
	"relock/web/site/limit"
)

// searching is a reader's search, if there is one, and what it looks for a cure
// with. One of the two is under way at most; what the other has found stays. It is
// safe for concurrent use.
type searching struct {
	mu     sync.Mutex
	going  *Exploration
	cures  *Exploration
	walked []scenario.Move // the moves of the branch that a walk has made, which the next walk replaces
}

// Exploration is a search, on its own goroutine. It is safe for concurrent use.
type Exploration struct {
	stop  context.CancelCauseFunc
	ended chan struct{} // closed when the goroutine ends
	from  time.Duration // since the run began
	scene int           // see branches

	mu        sync.Mutex
	account   *limit.Account
	space     *explore.Space // nil until it has ended
	picture   *page.SpacePicture
	forgotten bool // nobody asks for it any more
}

// forget ends the search, and gives back what it holds, without waiting for its
// goroutine.
func (x *Exploration) forget() {
	x.stop(errForgotten)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgotten, x.space, x.picture = true, nil, nil
	x.account.Close()
}

// IsForgotten reports whether nobody asks for the search any more.
func (x *Exploration) IsForgotten() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.forgotten
}

// hold accounts for what the search takes. It fails with a *limit.Error if that
// is too much.
func (x *Exploration) hold(bytes int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.forgotten {
		return nil
	}
	return x.account.Hold(bytes)
}

// has notes what was found.
func (x *Exploration) has(space *explore.Space, picture *page.SpacePicture) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.forgotten {
		x.space, x.picture = space, picture
	}
}

// found is what a search has found in a scenario of the class; it fails with
// errNotSearched while the search goes on, and if there is none.
func (s *searching) found(scene int) (*explore.Space, *page.SpacePicture, error) {
	s.mu.Lock()
	x := s.going
	s.mu.Unlock()
	if x == nil || x.scene != scene {
		return nil, nil, errNotSearched
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.space == nil {
		return nil, nil, errNotSearched
	}
	return x.space, x.picture, nil
}

// abandon ends the searches, if there are any, without waiting for that.
func (s *searching) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walked = nil
	for _, x := range []*Exploration{s.going, s.cures} {
		if x != nil {
			x.forget()
		}
	}
}

// errNotSearched is returned for what only a search knows.
var errNotSearched = phrase.New("there is no search here yet: send the command explore first")

// Why a search was ended.
var (
	errHalted    = errors.New("a person has stopped it")
	errForgotten = errors.New("nobody asks for it any more")
)
