package infer

import (
	"maps"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Fold folds the records of one order into events and broken rules: a *Reading of one
// server, the *Majority of several, or *Several of several locks. It is not safe for concurrent use.
type Fold interface {
	See(r Record)
	SetStart(t time.Time)
	OnlyHarms()
	Forget()
	Finish(over Over)
	Kind() (says, helps phrase.Wording)
	Events() []trace.Event
	Owners() map[string]string
	Named() []string
	Broken() []check.Finding
	Rules() []string
	Witness() *verdict.Witness
	Misread() bool
	Untried() bool
	Stands() bool
}

// Judges fails, with one sentence, if such a lock is not judged on so many servers.
func Judges(l Lock, servers int) error {
	if servers > 1 && len(l.Also) > 0 {
		return phrase.New("%s: a lock on %d servers is judged by one key; allowed: KEY", l.String(), servers)
	}
	return nil
}

// Over is how an order ended.
type Over struct {
	Key     trace.KeyState   // the lock's, of one server
	Also    []trace.KeyState // of further locks, in the order of Lock.Also
	At      time.Duration    // of several: when
	Waiting []string         // threads that wait though nobody can move
	Asking  []string         // of these, those that ask in vain

	Tried  bool                     // whether anybody is shut out by what is left
	After  map[string]time.Duration // then, after how long each thread gets in, alone on that: 0 being at once, or check.Never
	Beside bool                     // and whether they would without the lock's key, too: something else is why
}

// waits is how an order ends in which threads wait for ever.
const waits trace.Result = "stuck"

// Shut returns for how long somebody is shut out, and those who are not for as long.
func (o Over) Shut() (after time.Duration, in []string) {
	for _, d := range o.After {
		after = max(after, d)
	}
	for _, who := range slices.Sorted(maps.Keys(o.After)) {
		if o.After[who] < after {
			in = append(in, who)
		}
	}
	return after, in
}

func (o Over) result() trace.Result {
	if len(o.Waiting) > 0 {
		return waits
	}
	return trace.Done
}

// Fresh returns the fold of no records yet, of so many servers; the rest is as for New. Of
// several, the lock is exclusive.
func Fresh(servers int, threads []string, of Lock, resource string, marks bool, known Roles) Fold {
	if servers > 1 {
		return NewMajority(servers, threads, of, resource, marks, known)
	}
	if len(of.Also) > 0 && !marks { // which say of which lock they are
		return NewSeveral(threads, of.Keys(), resource, known)
	}
	return New(threads, of, resource, marks, known)
}
