package protocol

import (
	"context"
	_ "embed" // the script
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed inspect.lua
var inspectSource string

var inspectScript = NewScript("inspect", "inspect.lua", inspectSource, nothing)

// State is the state of a lock in one Redis.
type State struct {
	Owner   string        // "" if nobody holds it
	Label   string        // its owner's label, "" if there is none
	Count   int           // the hold count
	Lease   time.Duration // time left; -1 if it never expires
	Waiting int           // waiters for a message; 0 if waiters poll
}

// Inspect reads the state of a lock on r.Client. It fails with ErrWrongType and
// with Redis' error.
func (p *Protocol) Inspect(ctx context.Context, r Request) (State, error) {
	keys := []string{r.Key}
	if p.Waiters != nil {
		keys = append(keys, p.Waiters(r.Key))
	}
	answer, err := r.Client.EvalSha(ctx, inspectScript.SHA, keys).Slice()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = r.Client.Eval(ctx, inspectScript.Source, keys).Slice()
	}
	if err != nil {
		return State{}, fmt.Errorf("lock: look at %q: %w", r.Key, Classify(err))
	}
	if len(answer) != 4 {
		return State{}, fmt.Errorf("lock: look at %q: unexpected reply %v", r.Key, answer)
	}
	var s State
	owner, _ := answer[0].(string)
	s.Owner, s.Label = Unlabelled(owner)
	count, _ := answer[1].(string)
	s.Count, _ = strconv.Atoi(count)
	left, _ := answer[2].(int64)
	waiting, _ := answer[3].(int64)
	s.Lease, s.Waiting = time.Duration(left)*time.Millisecond, int(waiting)
	switch {
	case s.Owner == "":
		s.Lease = 0
	case left < 0:
		s.Lease = -1
	}
	return s, nil
}

// ForceUnlock deletes a lock, no matter who holds it, and lets the next waiter have
// it. It replies Granted, or NotHeld if nobody held it.
func (p *Protocol) ForceUnlock(ctx context.Context, r Request) (Reply, error) {
	if p.Force != nil {
		return p.Force(ctx, r)
	}
	return forceScript.Run(ctx, r.Client, r.Keys[:1])
}

// between separates a label from the owner it belongs to: no owner has it, and a script
// that splits its messages at spaces takes both for one.
const between = "\x1f"

// Labelled returns an owner as Redis gets it, with its label for people.
func Labelled(owner, label string) string {
	if label == "" {
		return owner
	}
	return label + between + owner
}

// Unlabelled returns an owner as its Locker knows it, and the label that it came with.
func Unlabelled(owner string) (bare, label string) {
	label, bare, found := strings.Cut(owner, between)
	if !found {
		return owner, ""
	}
	return bare, label
}
