package protocol

import (
	"context"
	_ "embed" // the script
	"slices"
	"time"
)

//go:embed mutex-keep.lua
var mutexKeepSource string

// MutexKeep gives a string that is still the owner's an expiry, instead of releasing it.
var MutexKeep = NewScript(CallUnlock, "mutex-keep.lua", mutexKeepSource, OwnerAndLease)

// Kept returns p with its key left for a while, whole milliseconds, at least one, by the
// last release of a hold: anyone who asks meanwhile is refused, its last owner too. A hold
// that is given back, because nobody knows whether it was granted or nobody waited for it
// any more, is released as usual: no work was done under it. If a lock cannot keep its
// key, Kept returns it unchanged. Source: lockAtLeastFor of ShedLock, for jobs that each
// of several servers starts.
func (p *Protocol) Kept(after time.Duration) *Protocol {
	if !p.CanKeep() {
		return p
	}
	q := *p
	q.Scripts = slices.Insert(slices.Clone(p.Scripts), 0, MutexKeep)
	q.Unlock = func(ctx context.Context, r Request) (Reply, error) {
		if r.GivesBack || r.Level > 1 {
			return p.Unlock(ctx, r)
		}
		r.Words.lease = after.Milliseconds()
		return p.Keep(ctx, r)
	}
	return &q
}

// CanKeep reports whether a release can leave the key: if it holds a value, refuses its
// own owner, and nobody waits to hear that it is gone.
func (p *Protocol) CanKeep() bool { return p.Keep != nil }
