package board

import (
	"sync/atomic"
	"time"

	"relock/web/site/limit"
	"relock/web/site/turn"
)

// idleAfter is how long what can be made again is kept in a room in which
// nobody is here: long enough for a page that is loaded again.
const idleAfter = 2 * time.Second

// Sized is what a View keeps and the ledger counts.
type Sized interface {
	Size() int // in bytes, about
}

// About how many bytes a room takes of what cannot be made again.
const (
	sizeOfEntry  = 400
	sizeOfMember = 600
	sizeOfVote   = 50
)

// size is how many bytes the state takes, and the log that leads to it.
func (s *State) size() int {
	n := int(s.Seq-s.Began+Overlap) * sizeOfEntry
	for _, scene := range s.Scenes() {
		n += 2 * scene.size() // the referee has it, too
	}
	n += len(s.People) * sizeOfMember
	for _, q := range s.Questions() {
		for _, votes := range q.Rounds() {
			n += len(votes) * sizeOfVote
		}
		for _, script := range q.Scripts {
			n += len(script)
		}
	}
	return n + s.Wrote
}

// held is what a room takes of the server's memory, in the ledger. Whatever it has
// computed from its log gives way to others, and goes when nobody is here: it computes
// that again when needed.
type held struct {
	account *limit.Account // nil without a ledger
	bytes   int            // as the ledger has it
	base    int            // of what cannot be made again
	idle    *time.Timer    // has what can be made again dropped
	wanted  atomic.Bool    // by others, though somebody is here
}

// maker is how the ledger, and the turns, name the room's maker.
func (r *Room) maker(s *State) string {
	if s.By == "" {
		return "room " + r.code
	}
	return "rooms of " + s.By
}

// seat returns one of the room's maker. A goroutine that waits for its turn must not have
// mu: others wait for mu in their turn.
func (r *Room) seat(s *State) *turn.Seat {
	if turns := r.house.c.Turns; turns != nil {
		return turns.Seat(r.maker(s))
	}
	return turn.New(1, 1).Seat("")
}

// keep begins to count. The caller holds mu.
func (r *Room) keep() {
	r.idle = time.AfterFunc(idleAfter, r.rested)
	r.account = r.newAccount()
}

func (r *Room) newAccount() *limit.Account {
	if r.house.c.Ledger == nil {
		return nil
	}
	return r.house.c.Ledger.OpenYielding(r.maker(r.state), func(error) {
		r.wanted.Store(true)
		r.idle.Reset(0)
	})
}

// weigh tells the ledger what the room takes. If that is too much, what can be
// made again goes at once, and weigh fails with a *limit.Error. The caller
// holds mu.
func (r *Room) weigh() error {
	if r.account == nil || r.over != 0 {
		return nil
	}
	if r.wanted.Swap(false) {
		r.unload() // rested comes later, and finds it done
	}
	size := r.base + r.runs.size()
	for _, kept := range []map[string]any{r.shown.Kept, r.shown.Fresh} {
		for _, one := range kept {
			if one, ok := one.(Sized); ok {
				size += one.Size()
			}
		}
	}
	if size == r.bytes {
		return nil
	}
	r.bytes = size
	err := r.account.Hold(size)
	if err != nil {
		r.unload()
	}
	return err
}

// full weighs the room, and says why there may be no more of it now.
func (r *Room) full() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.weigh()
}

// rested drops what can be made again, unless somebody needs it.
func (r *Room) rested() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := r.wanted.Swap(false)
	if r.over != 0 || !wanted && len(r.clients) > 0 {
		return
	}
	r.unload()
	if !wanted {
		_ = r.weigh() // what stays is little, and cannot go
	}
}

// unload drops what can be made again. The caller holds mu.
func (r *Room) unload() {
	r.runs.rest()
	clear(r.shown.Kept)
	clear(r.shown.Fresh)
	clear(r.shown.frames)
	if r.account != nil {
		r.account.Close()
		r.account, r.bytes = r.newAccount(), 0
	}
}

// settle ends the counting. The caller holds mu.
func (r *Room) settle() {
	if r.idle != nil {
		r.idle.Stop()
	}
	if r.account != nil {
		r.account.Close()
	}
}
