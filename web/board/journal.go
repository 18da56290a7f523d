package board

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
	ErrTaken = errors.New("board: the code is taken")
	// ErrFenced: another server leads the room by now; nothing was appended.
	ErrFenced = errors.New("board: another server leads it")
	// ErrBroken: the log is not what it was when it was read; it must be read
	// again.
	ErrBroken = errors.New("board: the log does not go on from there")
	// ErrSpoiled: what is kept of the room is no log, from its beginning on.
	ErrSpoiled = phrase.New("this room's log cannot be read")
	// ErrBusy: so many requests wait that no more are taken.
	ErrBusy = phrase.New("the room gets more commands than it can handle; try again")
)

// Overlap is how many entries before a whole one a journal keeps for servers that
// are about to read them.
const Overlap = 1000

// Journal keeps the logs of rooms, and brings requests to the leader of a room.
// It is safe for concurrent use.
type Journal interface {
	// Create begins the log of a new room. It fails with ErrTaken.
	Create(ctx context.Context, code string, first Entry) error
	// Exists reports whether there is a room of that code. It may fail with
	// ErrSpoiled.
	Exists(ctx context.Context, code string) (bool, error)
	// Made returns the codes of the rooms of a maker, State.By, that go on as far
	// as is known.
	Made(ctx context.Context, by string) ([]string, error)
	// Follow calls take, one call at a time, with the entries of the log from
	// the newest whole one on, each once and none left out, as soon as they are
	// in the log, until ctx ends. It fails with ErrNoRoom once the room was
	// deleted, with ErrBroken if the log does not go on from what take was
	// given, and with ErrSpoiled.
	Follow(ctx context.Context, code string, take func([]Entry)) error
	// Send hands a request to the server that leads the room. No error does not mean that
	// the request was decided: then its answer is in the log. A request may arrive twice.
	// It fails with ErrNoRoom and ErrBusy.
	Send(ctx context.Context, code string, o Request) error
	// Lead waits until this server leads the room. It fails with ErrNoRoom.
	Lead(ctx context.Context, code string) (Term, error)
	// Delete removes all that is kept of a room.
	Delete(ctx context.Context, code string) error
	// Server names this process among those that share the journal; the
	// connections that it has begin with it.
	Server() string
	// Gone returns which of these servers have ended, as far as is known here
	// and now; their connections have, too. It is quick.
	Gone(servers []string) []string
	// Rest returns after how long without members here a server leaves a room
	// to the others, 0 for never.
	Rest() time.Duration
	// Close ends what the journal has running. Rooms stay.
	Close()
}

// Term is the time in which this server leads a room. Only one goroutine may use
// it.
type Term interface {
	// Log returns the log as it is when the term begins, from the newest whole
	// entry on, and whether it may have lost its end since it was written: then
	// somebody may have seen more of the epoch.
	Log(ctx context.Context) (list []Entry, lost bool, err error)
	// Next waits for requests, until deadline unless that is zero; then it
	// returns none. It fails when the term has ended.
	Next(ctx context.Context, deadline time.Time) ([]Request, error)
	// Append adds entries, durably, before it returns: all of them or none.
	// They answer all requests that Next has returned, even if there are none. It
	// fails with ErrFenced, ErrBroken and ErrNoRoom.
	Append(ctx context.Context, list []Entry) error
	// Resign ends the term.
	Resign()
}
