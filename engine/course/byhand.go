package course

import (
	"context"
	"fmt"
	"slices"

	"relock/engine"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Press is one press of a button that a solution needs, in its order.
type Press struct {
	Fault *scenario.Fault // that strikes, or nil
	Mover Mover           // who moves; nobody where time passes
	At    engine.Position // where it is pressed
	Moves int             // that were made until then
	About phrase.Wording  // what it turns on, a clause
}

// Mover is who makes a move, as the page has a button for it.
type Mover struct {
	Thread              string // "" for nobody
	Background, Network bool
	Node                int // that it asks in the background, or sent this to
}

// pressing plays a solution as a person does who presses the page's buttons: time passes
// to what can be seen next, who has to wait for something else first is pressed again, and
// what shows nothing is gone on from by the page.
type pressing struct {
	paths *engine.Paths
	b     *engine.Path
	list  []Press
	first int // the first that the scheduler would not have made by itself, -1 for none yet
}

// most is how many presses a solution can take.
const most = 200

// byHand makes the moves of a solution with presses.
func byHand(ctx context.Context, sc *scenario.Scenario, solution []scenario.Move) (*pressing, error) {
	target, err := engine.PathOf(ctx, sc.WithSchedule(solution))
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	p := &pressing{paths: engine.NewPaths(sc), first: -1}
	defer p.paths.Close()
	if p.b, err = p.paths.Path(ctx, nil); err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	made := 0 // of the target's decisions, by the press before
	for n, mv := range target.Moves {
		who := moverOf(target, n)
		if p.first < 0 && (mv.Fault != nil || mv.Until > 0 || mv.Choice > 0) {
			p.first = len(p.list)
		}
		switch {
		case mv.Fault != nil:
			err = p.press(ctx, Press{Fault: mv.Fault, Mover: Mover{Thread: mv.Fault.Thread}})
		case mv.Until > 0:
			for err == nil && p.here().At < mv.Until && len(p.list) < most {
				err = p.press(ctx, Press{})
			}
		case who.Thread == "":
		case made > 0:
			made--
		default:
			for moved := false; err == nil && !moved && len(p.list) < most; {
				from := p.here()
				if !can(from, who) { // it may have been something else of the thread that was due
					who = due(from, who.Thread)
				}
				if err = p.press(ctx, Press{Mover: who}); err == nil {
					moved = can(from, who) || slices.ContainsFunc(p.b.Events[from.Seq:], func(e trace.Event) bool { return e.Thread == who.Thread })
				}
				for err == nil && moved && p.here().Row == from.Row && can(p.here(), who) {
					err = p.move(ctx, who)
					made++
				}
			}
		}
		if err != nil {
			return nil, phrase.New("by hand, after %d moves, pressing %s: %s", len(p.b.Moves), fmt.Sprintf("%+v", p.list[len(p.list)-1].Mover), err)
		}
	}
	return p, nil
}

// here is where the presses have come to.
func (p *pressing) here() engine.Position { return p.b.End() }

// press presses a button.
func (p *pressing) press(ctx context.Context, one Press) error {
	one.At, one.Moves = p.here(), len(p.b.Moves)
	switch {
	case one.Mover.Thread != "":
		one.About = phrase.Say("it is about %s", one.Mover.Thread)
	case one.Fault != nil:
		one.About = phrase.Say("it is about Redis")
	default:
		one.About = phrase.Say("it is about time: let some pass while a thread could move")
	}
	p.list = append(p.list, one)
	if one.Fault == nil {
		return p.move(ctx, one.Mover)
	}
	return p.wish(ctx, engine.Wish{Move: &scenario.Move{Fault: one.Fault}})
}

// move has somebody make a move, or if that is nobody lets time pass.
func (p *pressing) move(ctx context.Context, who Mover) error {
	if who.Thread == "" {
		return p.wish(ctx, engine.Wish{Pass: engine.ToEvent})
	}
	return p.wish(ctx, engine.Wish{Thread: who.Thread, Background: who.Background, Network: who.Network, Node: who.Node})
}

// wish goes to where a move leads.
func (p *pressing) wish(ctx context.Context, w engine.Wish) error {
	b, err := p.paths.Try(ctx, p.b.Moves, w)
	if err == nil {
		p.b = b
	}
	return err
}

// can tells whether somebody can move at a position without time passing first.
func can(at engine.Position, who Mover) bool {
	for _, o := range at.Options {
		if o.Choice >= 0 && moverIn(at, o.Choice) == who {
			return true
		}
	}
	return false
}

// moverIn is who makes a choice where somebody can.
func moverIn(at engine.Position, choice int) (who Mover) {
	for _, o := range at.Options {
		if o.Choice == choice {
			if who = (Mover{Thread: o.Thread, Background: o.Background, Network: o.Network}); o.Background || o.Network {
				who.Node = o.Node
			}
		}
	}
	return who
}

// moverOf is who made a move of a branch, nobody where only time has passed.
func moverOf(b *engine.Path, n int) Mover {
	at := b.Positions[n]
	if at.Movable() {
		return moverIn(at, b.Moves[n].Choice)
	}
	acted := slices.IndexFunc(b.Events[at.Seq:b.Positions[n+1].Seq], func(e trace.Event) bool { return e.Thread != "" })
	if acted < 0 {
		return Mover{}
	}
	return due(at, b.Events[at.Seq+acted].Thread)
}

// due is what a thread can do next: now, or if it can do nothing what it waits for the
// shortest.
func due(at engine.Position, thread string) Mover {
	first := -1
	for n, o := range at.Options {
		waits := (o.Reason == "waits" || o.Reason == "paused") && o.Next != "nothing" && !at.Movable()
		if o.Thread == thread && (o.Choice >= 0 || waits) && (first < 0 || o.At < at.Options[first].At) {
			first = n
		}
	}
	if first < 0 {
		return Mover{}
	}
	at.Options = slices.Clone(at.Options[first : first+1])
	at.Options[0].Choice = 0
	return moverIn(at, 0)
}
