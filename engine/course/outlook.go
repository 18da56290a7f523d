package course

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/scenario"
)

// outlookStates is how many states are searched from one place: all that there
// are in most items.
const outlookStates = 20_000

// Outlook is what became of a break's goal after some moves.
type Outlook struct {
	Open   bool           // some order from there reaches it
	Proven bool           // every order from there within the bounds was seen
	Orders *big.Int       // that were seen
	Within explore.Bounds // how much may go wrong from there on, whatever has before
	Back   int            // where it is not open: it was after so many of the moves
}

// Lost reports whether the goal cannot be reached any more, within the bounds.
func (o Outlook) Lost() bool { return !o.Open && o.Proven }

// Outlook searches the orders from where moves lead for one that reaches the goal.
// From there on as many delays, at least one, and faults are allowed as from the
// item's start, whatever the moves have taken. If there is none, it looks for the last
// move after which there was one. It fails with ErrNotBroken where that is no rule, and
// like explore.Search.
func (t *Breaking) Outlook(ctx context.Context, list []scenario.Move, o explore.Options) (Outlook, error) {
	if t.Item.goal.rule == "" {
		return Outlook{}, ErrNotBroken
	}
	here, err := t.outlook(ctx, list, o)
	if err != nil || !here.Lost() {
		return here, err
	}
	// If it can be reached after some moves, it could be reached before them.
	open, lost := 0, len(list)
	for open+1 < lost {
		middle := (open + lost) / 2
		there, err := t.outlook(ctx, list[:middle], o)
		switch {
		case err != nil:
			return here, err
		case there.Open:
			open = middle
		default:
			lost = middle
		}
	}
	here.Back = open
	return here, nil
}

// outlook is Outlook for one place.
func (t *Breaking) outlook(ctx context.Context, list []scenario.Move, o explore.Options) (Outlook, error) {
	i := t.Item
	within := explore.Bounds{Delays: max(i.within.Delays, 1), MaxFaults: i.within.MaxFaults, MaxStates: outlookStates}
	can := i.Scenario.StrikeKinds()
	for _, name := range t.Controls {
		if k, ok := fault.Named(name); ok && slices.Contains(can, k.Name) {
			within.Kinds = append(within.Kinds, name)
		}
	}
	if len(within.Kinds) == 0 || within.MaxFaults == 0 {
		within.Kinds, within.MaxFaults = nil, 0
	}
	out := Outlook{Within: within}
	within.From = slices.Clone(list)
	reaches := func(s *explore.Space) bool {
		return slices.ContainsFunc(s.Rules(), func(r explore.Rule) bool { return r.Name == i.goal.rule })
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	progress := o.Progress
	o.Progress = func(s *explore.Space) {
		if progress != nil {
			progress(s)
		}
		if reaches(s) {
			enough() // one order is
		}
	}
	space, err := explore.Search(ctx, i.Scenario.WithSchedule(nil), within, o)
	if err != nil {
		return out, fmt.Errorf("course: %w", err)
	}
	out.Orders, out.Open, out.Proven = space.Schedules(), reaches(space), space.Ending() == explore.Exhausted
	return out, nil
}
