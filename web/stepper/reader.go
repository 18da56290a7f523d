package stepper

import (
	"context"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/site/turn"
	"relock/web/words"
)

// Reader answers what is asked about branches and changes nothing of them: for a
// page that steps alone or with a lab, and for a member of a class. It belongs to the
// goroutine that takes the page's commands; only Abandon can be called from any.
type Reader struct {
	Sockets  *Sockets
	Language words.Language
	Context  context.Context // of the connection
	Seat     *turn.Seat
	Address  string
	Ends     string // what a panic ends: site.OfPlay or site.OfRoom

	// The run that it asks about. A search tells how far it has come by Tell, from its
	// own goroutine.
	May   func(Asker) error // nil: all of it
	Look  func(ctx context.Context, ids ...int) (Branches, error)
	Film  func(sc *scenario.Scenario, b *board.Track) *film.Film
	Lanes func(branch, row int) (string, error)
	Tell  func(*Exploration, Told) error

	search searching
}

// Branches are those that were asked about, or all where none were named.
type Branches struct {
	Scene    int // of a class: how many scenarios it has gone through before
	Scenario *scenario.Scenario
	List     []*board.Track
}

// Asker says who may ask in a class.
type Asker int

// Says who may ask.
const (
	askMembers Asker = iota // all
	AskViewers              // who has the film: phones show one thread of it
	AskHosts
)

// ErrNoFilm is returned to members who do not see the run.
var ErrNoFilm = phrase.New("join with rows: true to ask for that")
