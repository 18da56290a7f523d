package engine

import (
	"context"
	"time"

	"relock/engine/run"
	"relock/engine/scenario"
)

// Wish is the next move that somebody wants. The zero Wish is the policy's.
type Wish struct {
	Move *scenario.Move // one of any kind, as it is written; nil: what follows says it

	Thread     string // moves, "" for none
	Background bool   // by its watchdog
	Network    bool   // what it sent, and was held up, reaches Redis
	Node       int    // that it asks, or sent this to; 0 for any

	Pass Passage // time passes, while nobody moves
	By   time.Duration
}

// Passage is how far time passes.
type Passage string

// The passages.
const (
	ToEvent  Passage = "event"  // to when something next happens by itself that can be seen
	ToExpiry Passage = "expiry" // to when Redis drops the key
	ByLength Passage = "by"     // by Wish.By
)

// Foresee returns the move that a wish comes to there, if the position tells.
func (p Position) Foresee(w Wish) (scenario.Move, bool) {
	switch {
	case w.Move != nil:
		return *w.Move, true
	case w.Pass != "":
		until := map[Passage]time.Duration{ToEvent: p.Seen, ToExpiry: p.Expiry, ByLength: p.At + max(w.By, 0)}[w.Pass]
		return scenario.Move{Until: until}, until > p.At
	}
	for _, o := range p.Options {
		if w.Thread != "" && w.wants(o) && o.Choice >= 0 {
			return scenario.Move{Choice: o.Choice}, true
		}
	}
	return scenario.Move{}, false
}

// wants tells whether the wish is for an option.
func (w Wish) wants(o run.Option) bool {
	switch {
	case o.Thread != w.Thread:
		return false
	case w.Network:
		return o.Network && (w.Node == 0 || o.Node == w.Node)
	case w.Node > 0:
		return o.Background && o.Node == w.Node
	default:
		return o.Background == w.Background && !o.Network
	}
}

// make makes the move. It fails like run.Stepper.Apply.
func (w Wish) make(ctx context.Context, live *run.Stepper) (scenario.Move, error) {
	switch {
	case w.Move != nil:
		return *w.Move, live.Apply(ctx, *w.Move)
	case w.Pass != "":
		return w.pass(ctx, live)
	case w.Thread != "":
		return live.StepOption(ctx, w.Thread, w.wants)
	default:
		return live.Step(ctx)
	}
}

// pass lets time pass.
func (w Wish) pass(ctx context.Context, live *run.Stepper) (scenario.Move, error) {
	until, ok := live.Now()+w.By, w.By > 0
	why := run.IsPast
	switch w.Pass {
	case ToEvent:
		until, ok = live.NextSeen()
		why = run.NeverMoves
	case ToExpiry:
		until, ok = live.Expiry()
		why = run.NoExpiry
	case ByLength:
	}
	if live.Over() {
		why, ok = run.IsOver, false
	}
	if !ok {
		return scenario.Move{}, &run.Refusal{Reason: why, At: live.Now()}
	}
	m := scenario.Move{Until: until}
	return m, live.Apply(ctx, m)
}
