// Package class is a class around one lock: its pages, its socket and frames, and what a room
// can be around and ask. web/board decides who may do what.
package class

import (
	"context"
	"fmt"

	"relock/engine/course"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/web/board"
	"relock/web/film"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/words"
)

// Sheets make what a class has of an item of the course beside its question, as HTML;
// if it is told also what comes after it, what is right and why; else nothing tells that.
type Sheets func(ctx context.Context, l words.Language, item *course.Item, told bool) (asked, after string, err error)

// New opens the rooms that a journal has; one in memory where there is none.
func New(stepping *stepper.Sockets, journal board.Journal, sheets Sheets) (*Pages, error) {
	if journal == nil {
		memory, err := board.NewSolo("")
		if err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		journal = memory
	}
	common := stepping.Pages
	s := &Pages{Pages: common, plans: &plans{common, stepping.Course}, frames: nowFrames{stepping.Course, sheets}, stepping: stepping}
	s.House = board.NewHouse(board.Config{
		Journal: journal, Log: s.Log, Turns: s.Turns, Ledger: stepping.Ledger, Matters: film.Matters, Frame: s.frames.roomNowFrame,
		Ask: s.plans.askRoom, Examine: s.plans.examine, Plan: s.plans.planOf, Written: s.plans.scripted,
		Runs:     func(ctx context.Context) context.Context { return ownlock.WithBox(ctx, s.Box) },
		Panicked: func(p *panics.Error) { s.Panicked(context.Background(), site.OfRoom, p) },
	})
	return s, nil
}

// Wait returns when everybody has left the rooms.
func (s *Pages) Wait() { s.visits.Wait() }
