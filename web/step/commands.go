package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/site"
	"relock/web/words"
)

// command has the fields common to all commands.
type command struct {
	ID int    `json:"id"`
	Do string `json:"do"`
}

func (c command) name() string { return c.Do }

type openArgs struct {
	command

	Link     string        `json:"link"`     // what to open
	Scenario string        `json:"scenario"` // or this, as YAML or JSON
	Branches []broughtJSON `json:"branches"` // and these branches of it
}

// broughtJSON is a branch that a returning page brings along.
type broughtJSON struct {
	Branch

	Moves []json.RawMessage `json:"moves"`
}

// onBranch has the fields of commands about a branch.
type onBranch struct {
	command

	Branch int `json:"branch"`
}

// afterMoves has the fields of commands that act somewhere on a branch.
type afterMoves struct {
	onBranch

	At *int `json:"at"` // after so many moves; left out: at the branch's end
}

type stepArgs struct {
	afterMoves

	Thread     string `json:"thread"` // "": the one that the policy chooses
	Background bool   `json:"background"`
	Network    bool   `json:"network"`
	Node       int    `json:"node"` // from 1; 0: none in particular
}

type runArgs struct {
	onBranch

	To     string `json:"to"`
	Thread string `json:"thread"` // whose outcome
}

type timeArgs struct {
	afterMoves

	To string `json:"to"`
	By string `json:"by"`
}

type strikeArgs struct {
	afterMoves

	Fault map[string]json.RawMessage `json:"fault"`
}

type compareArgs struct {
	onBranch

	With  int      `json:"with"`
	Names []string `json:"names"` // what the page calls the two
}

type locksArgs struct {
	onBranch

	Protocols []string `json:"protocols"`
}

type lanesArgs struct {
	afterMoves

	Row *int `json:"row"` // around this one; left out: where the moves have led
}

// handler carries out a frame's command.
type handler func(p *player, ctx context.Context, frame []byte) error

// decided is a command that makes a difference.
type decided struct {
	name string
	do   handler
}

// commands are what a page that steps alone can ask for, apart from reads.
var commands = []decided{
	{board.DoOpen, taking((*player).open)},
	{"step", taking((*player).step)},
	{"run", ordering(func(c runArgs) board.Command { return board.Command{Branch: c.Branch, To: c.To, Thread: c.Thread} })},
	{"time", ordering(func(c timeArgs) board.Command { return board.Command{Branch: c.Branch, At: c.At, To: c.To, By: c.By} })},
	{"strike", ordering(func(c strikeArgs) board.Command { return board.Command{Branch: c.Branch, At: c.At, Fault: c.Fault} })},
	{"cut", ordering(func(c afterMoves) board.Command { return board.Command{Branch: c.Branch, At: c.At} })},
	{"drop", ordering(func(c onBranch) board.Command { return board.Command{Branch: c.Branch} })},
	{board.DoExample, going(board.DoExample)},
	{board.DoWalk, going(board.DoWalk)},
}

// commandNames returns the names of all commands of a page that steps alone.
func commandNames() phrase.Names {
	var names phrase.Names
	for _, name := range board.Commands() {
		if slices.ContainsFunc(commands, func(c decided) bool { return c.name == name }) || slices.ContainsFunc(reads, func(r read) bool { return r.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// argsOf reads a command's arguments. It fails with errNotCommand, also for
// unknown ones.
func argsOf[T any](frame []byte) (args T, err error) {
	dec := json.NewDecoder(bytes.NewReader(frame))
	dec.DisallowUnknownFields()
	if dec.Decode(&args) != nil {
		return args, errNotCommand
	}
	return args, nil
}

// taking reads a command's arguments.
func taking[T any](do func(*player, context.Context, T) error) handler {
	return func(p *player, ctx context.Context, frame []byte) error {
		args, err := argsOf[T](frame)
		if err != nil {
			return err
		}
		return do(p, ctx, args)
	}
}

// ordering handles a command that a board decides.
func ordering[T interface{ name() string }](of func(T) board.Command) handler {
	return taking(func(p *player, ctx context.Context, args T) error {
		c := of(args)
		c.Do = args.name()
		return p.order(ctx, c)
	})
}

// going handles a command that leads to what was found.
func going(name string) handler {
	return func(p *player, ctx context.Context, frame []byte) error {
		c, err := p.reader.Way(ctx, name, frame)
		if err != nil {
			return err
		}
		return p.order(ctx, c)
	}
}

// errNotCommand is returned for a frame whose arguments fit no command.
var errNotCommand = phrase.New("that is not a command: it must be one JSON object with the keys of a command")

// noCommandError is the name of an unknown command.
type noCommandError string

func (e noCommandError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e noCommandError) Says() phrase.Wording {
	return phrase.Say("there is no command %q; there are %s", string(e), commandNames())
}

// MovesOf reads a list of moves, in the format of a scenario's schedule.
func MovesOf[T any](sc *scenario.Scenario, list []T) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	return sc.ParseMoves(text)
}

// Branch is a branch as a page has it.
type Branch struct {
	ID     int `json:"id"`
	Parent int `json:"parent"` // -1: none
	Fork   int `json:"fork"`
}

// Frame is a frame to the page.
type Frame struct {
	V         int         `json:"v"`
	Re        int         `json:"re"` // the command's id, 0 where it had none
	Opened    *Opened     `json:"opened,omitempty"`
	Branch    *Branch     `json:"branch,omitempty"`
	From      int         `json:"from"` // the first of the positions
	Positions []Position  `json:"positions,omitempty"`
	Rows      []film.Row  `json:"rows,omitempty"`
	Lanes     string      `json:"lanes,omitempty"` // HTML
	LanesOf   int         `json:"lanesOf"`         // their branch
	Dropped   *int        `json:"dropped,omitempty"`
	Compared  string      `json:"compared,omitempty"` // HTML
	Trace     string      `json:"trace,omitempty"`    // JSON Lines
	Went      *wentJSON   `json:"went,omitempty"`
	Stands    *standsJSON `json:"stands,omitempty"`
	Done      bool        `json:"done,omitempty"`
	Refused   string      `json:"refused,omitempty"` // a sentence

	// Of a lab.
	Renew    bool          `json:"renew,omitempty"` // the page is to be dressed otherwise: open it again
	Searched *searchedJSON `json:"searched,omitempty"`

	Told
}

// searchedJSON is how far the search of a lab has come.
type searchedJSON struct {
	Going bool   `json:"going"`
	HTML  string `json:"html"`
}

// Opened is what a page needs to know of a scenario before its rows come.
type Opened struct {
	Scenario json.RawMessage `json:"scenario"` // compact, without a schedule
	Title    string          `json:"title"`
	Threads  []string        `json:"threads"`
	Lease    int64           `json:"leaseMillis"`
	Key      string          `json:"key"`
	Head     string          `json:"head"` // the table's head, HTML
	Rail     string          `json:"rail"` // what is beside it, HTML
	Lua      string          `json:"lua"`
	Kinds    string          `json:"kinds"`           // of the faults that a search may have strike
	At       int             `json:"at"`              // where the link stands
	Live     *int            `json:"live,omitempty"`  // of a lab: the branch whose round goes on
	Shows    string          `json:"shows,omitempty"` // what is seen in it, of one that comes with the playground
	Ways     string          `json:"ways,omitempty"`  // and where to go on at its end, HTML

	Never []page.Pointless `json:"never,omitempty"` // faults that cannot strike anywhere in it

	// Of a room.
	Scene *int   `json:"scene,omitempty"` // how many scenarios the class has gone through before
	First int    `json:"first,omitempty"` // the id of its first branch
	Cast  string `json:"cast,omitempty"`  // who plays what, HTML to be filled
	Lanes string `json:"lanes,omitempty"` // of a branch without rows, HTML
}

// Position is a place of a branch, and what can be done there.
type Position struct {
	Move     any           `json:"move,omitempty"` // that led here: a scenario.Move, or in a lab a choice's number or a lab.Decision
	Row      int           `json:"row"`
	At       string        `json:"at"` // "150 ms"
	Options  []page.Option `json:"options"`
	Next     string        `json:"next,omitempty"`     // "200 ms"
	Expiry   string        `json:"expiry,omitempty"`   // "200 ms"
	Outcomes []string      `json:"outcomes,omitempty"` // threads that learned the outcome of a call
	Over     bool          `json:"over,omitempty"`

	Pointless []page.Pointless `json:"pointless,omitempty"` // faults that would change nothing here; left out after the end, when it is all of them
}

// serve carries out commands, one after the other, until ctx or the page ends, and
// shows what changes by itself.
func (p *speaker) serve(ctx context.Context, commands <-chan []byte) {
	for {
		var changed <-chan struct{}
		if p.changed != nil {
			changed = p.changed()
			if p.inTurn(ctx, p.follow) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case text := <-commands:
			if p.inTurn(ctx, func(ctx context.Context) error { return p.carryOut(ctx, text) }) != nil {
				return
			}
		}
	}
}

// inTurn does something when it is its turn.
func (p *speaker) inTurn(ctx context.Context, do func(context.Context) error) error {
	p.began = time.Now()
	if err := p.seat.Take(ctx); err != nil {
		return err
	}
	defer p.seat.Done()
	return do(ctx)
}

// errWrite is returned by carryOut when the page cannot be reached.
var errWrite = errors.New("the page is gone")

// carryOut does what a frame asks for. It answers with the result and then
// done, or with the reason for refusing.
func (p *speaker) carryOut(ctx context.Context, text []byte) error {
	var c command
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&c)
	p.re = c.ID
	known := true
	if err != nil {
		err = errNotCommand
	} else {
		known, err = p.do(ctx, c.Do, text)
	}
	if !errors.Is(err, errNotCommand) {
		name := c.Do
		if !known || c.Do != board.DoOpen && !p.opened() {
			name = "none"
		}
		p.s.Meter.Command(name, time.Since(p.began))
	}
	switch {
	case err == nil:
		return p.write(Frame{Done: true})
	case errors.Is(err, errWrite), ctx.Err() != nil:
		return err
	}
	if limit := site.LimitName(err); limit != "" {
		p.s.NoteRefusal(ctx, p.account.Address(), limit)
	}
	return p.write(Frame{Refused: p.s.Explained(ctx, p.l, c.Do, err), Told: Told{Mistake: mistakeOf(err)}})
}

// decide does what a command asks for, if it is known.
func (p *player) decide(ctx context.Context, name string, text []byte) (known bool, err error) {
	for _, c := range commands {
		if c.name == name {
			return true, c.do(p, ctx, text)
		}
	}
	if known, err = p.reader.Answer(ctx, name, text, p.answer); !known {
		err = noCommandError(name)
	}
	return known, err
}

// answer sends what was asked.
func (p *speaker) answer(f Answered) error {
	if f == (Answered{}) {
		return nil
	}
	a := Frame{Lanes: f.Lanes, Compared: f.Compared, Trace: f.Trace, Stands: f.Stands}
	if f.LanesOf != nil {
		a.LanesOf = *f.LanesOf
	}
	return p.write(a)
}

// Explained is why a command was refused, in a sentence. What means nothing to a
// visitor is logged.
func (s *Sockets) Explained(ctx context.Context, l words.Language, do string, err error) string {
	refused, ok := l.Explain(err)
	if ok {
		return refused
	}
	s.wentWrong(ctx, do, err)
	return l.Say("Something went wrong here. It was logged.")
}

// wentWrong logs an error that means nothing to a visitor.
func (s *Sockets) wentWrong(ctx context.Context, do string, err error) {
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		s.Panicked(ctx, site.OfPlay, panicked)
		return
	}
	s.Log.ErrorContext(ctx, "command failed", slog.String("do", do), slog.String("error", err.Error()))
}

// write sends a frame in answer to the current command.
func (p *speaker) write(a Frame) error {
	a.V, a.Re = 1, p.re
	var err error
	p.seat.Away(p.ctx, func() { err = p.send(a) })
	return err
}

// send sends a frame, whichever of the page's goroutines asks for it.
func (p *speaker) send(a Frame) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.conn.Text(text) != nil {
		return errWrite
	}
	return nil
}
