package class

import (
	"context"
	"sync"

	"relock/engine/phrase"
	"relock/web/board"
	"relock/web/site/turn"
	"relock/web/site/wire"
	"relock/web/stepper"
	"relock/web/words"
)

// judgedScript is what a member hears about a script.
type judgedScript struct {
	Says   string `json:"says"`
	Option int    `json:"option"` // that counts as one's vote
	Right  bool   `json:"right"`
	Line   int    `json:"line,omitempty"` // that is wrong, from 1
	Open   string `json:"open,omitempty"` // the smallest order that breaks a rule: a page

	item, script string
}

// guest is one connection to a room.
type guest struct {
	client  board.Client // first, and then what a cast needs, so that it lies together
	sending sync.Mutex   // held by who sends frames
	sheet   sheetKey     // that the member's page has
	page    *int         // the scene that the member's page is of, nil where there is none; written before the join is handed on
	rows    bool         // the film is wanted; so is this
	leads   bool         // as a host, or on a stage with a host's secret; so is this
	conn    wire.Conn

	s       *Pages
	l       words.Language
	room    *board.Room
	address string
	secret  string           // of the cookie
	answers chan *roomAnswer // that the room has nothing to do with; the bell is rung
	reading *turn.Seat       // of the goroutine that takes commands
	reader  *stepper.Reader  // used by that goroutine
	telling *turn.Seat       // of the one that sends frames

	judged  sync.Map      // *judgedScript, by the command's ID
	written *judgedScript // the last one; used by the goroutine that takes commands

	opened int         // scenes whose film was opened
	shown  map[int]int // positions that were sent, by branch
}

// roomAnswer is a frame in answer to a command.
type roomAnswer struct {
	V       int    `json:"v"`
	Re      int64  `json:"re"`
	Done    bool   `json:"done,omitempty"`
	Refused string `json:"refused,omitempty"`

	Removed bool `json:"removed,omitempty"` // why a join was refused; 4041 follows

	// Of a join.
	Member string     `json:"member,omitempty"`
	Token  string     `json:"token,omitempty"`
	Name   string     `json:"name,omitempty"`
	Part   board.Part `json:"part,omitempty"`
	Last   int64      `json:"last,omitempty"`
	Mine   *int       `json:"mine,omitempty"`
	Script string     `json:"script,omitempty"`
	Lost   bool       `json:"lost,omitempty"`
	Doubts int        `json:"doubts,omitempty"`

	Judging bool          `json:"judging,omitempty"` // a script is, or waits for it: the line is alive
	Judged  *judgedScript `json:"judged,omitempty"`  // of a script

	stepper.Answered // of what is asked of this server

	stepper.Told
	search *stepper.Exploration // that tells it
}

// may fails if the member may not ask something.
func (g *guest) may(ask stepper.Asker) error {
	switch {
	case !g.client.Joined():
		return board.ErrNotJoined
	case ask == stepper.AskViewers && !g.rows:
		return stepper.ErrNoFilm
	case ask == stepper.AskHosts && !g.client.Leads():
		return board.ErrNotHost
	case ask == stepper.AskViewers:
		return g.room.Look(func(v board.View) error {
			if g.asked(v) {
				return errAsked
			}
			return nil
		})
	default:
		return nil
	}
}

// errAsked is returned for what might tell the answer to those who are to find it.
var errAsked = phrase.New("a question is open: that may be what is asked")

// asked reports whether the member is to find out what comes after a question's place,
// so that nothing may show it. A stage is for all, but anybody can say to be one: only
// with a host's secret does it know more than a phone.
func (g *guest) asked(v board.View) bool { return !g.leads && covered(v) }

// look returns branches of the scenario that the class is in, all where none are
// named.
func (g *guest) look(_ context.Context, ids ...int) (at stepper.Branches, err error) {
	err = g.room.Look(func(v board.View) error {
		at.Scene, at.Scenario = len(v.State.Earlier), v.Run.Scenario()
		if len(ids) == 0 {
			at.List, err = v.Run.Tracks(v.Context, v.State)
			return err
		}
		for _, id := range ids {
			b, err := v.Run.Track(v.Context, v.State, id)
			if err != nil {
				return err
			}
			at.List = append(at.List, b)
		}
		return nil
	})
	return at, err
}

func (g *guest) reply(ctx context.Context, a roomAnswer) {
	select {
	case g.answers <- &a:
		g.client.Ring()
	case <-ctx.Done():
	}
}
