package room

import (
	"context"
	"errors"
	"time"

	"relock/engine/phrase"
)

// Errors of a Journal.
var (
	// ErrNoRoom: there is no room of that code, or it has ended.
	ErrNoRoom = phrase.New("there is no room with this code")
	// ErrTaken: there is a room of that code already.
	ErrTaken = errors.New("room: the code is taken")
	// ErrFenced: another server leads the room by now; nothing was appended.
	ErrFenced = errors.New("room: another server leads it")
)

// Journal keeps the logs of rooms, and brings orders to whoever leads a room.
// It is safe for concurrent use.
type Journal interface {
	// Create begins the log of a new room. It fails with ErrTaken.
	Create(ctx context.Context, code string, first Entry) error
	// Exists reports whether there is a room of that code.
	Exists(ctx context.Context, code string) (bool, error)
	// Follow calls take, one call at a time, with the entries after a seq (all
	// of them after 0; where those are trimmed, from the whole entry on), as
	// soon as they are in the log, until ctx ends. It fails with ErrNoRoom once
	// the room was deleted.
	Follow(ctx context.Context, code string, after int64, take func([]Entry)) error
	// Send hands an order to the server that leads the room. That it returns
	// without an error does not mean that the order was decided: its answer is
	// in the log then.
	Send(ctx context.Context, code string, o Order) error
	// Lead waits until this server leads the room. It fails with ErrNoRoom.
	Lead(ctx context.Context, code string) (Term, error)
	// Delete removes all that is kept of a room.
	Delete(ctx context.Context, code string) error
	// Server names this process among those that share the journal; the
	// connections that it has begin with it.
	Server() string
	// Gone returns which of these servers have ended; their connections have,
	// too. In the course of a term it comes as an order.
	Gone(ctx context.Context, servers []string) ([]string, error)
	// Close ends what the journal has running. Rooms stay.
	Close()
}

// Term is the time in which this server leads a room. It is for one goroutine.
type Term interface {
	// Log returns the log as it is when the term begins.
	Log(ctx context.Context) ([]Entry, error)
	// Next waits for orders, until deadline unless that is zero; then it
	// returns none. It fails when the term has ended.
	Next(ctx context.Context, deadline time.Time) ([]Order, error)
	// Append adds entries, durably, before it returns: all of them or none.
	// They answer all orders that Next has returned. It fails with ErrFenced.
	Append(ctx context.Context, list []Entry) error
	// Resign ends the term.
	Resign()
}
