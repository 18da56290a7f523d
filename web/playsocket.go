package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/compare"
	"relock/web/hub"
	"relock/web/link"
	"relock/web/luaflow"
	"relock/web/session"
	"relock/web/templates"
	"relock/web/timeline"
	"relock/web/turn"
	"relock/web/view"
	"relock/web/wire"
	"relock/web/words"
)

// Limits of a socket on which a scenario is stepped.
const (
	maxCommand    = 1 << 20 // all branches of a session, when a page comes back
	waiting       = 16      // commands that wait for their turn; then the line waits
	framePosition = 64      // positions in a frame while a run goes on

	// showEvery is how often a page sees how far a run has come: often enough
	// to be believed, seldom enough not to slow it down.
	showEvery = 250 * time.Millisecond
)

// command is what a page asks for. Do says which of the others count.
type command struct {
	ID         int            `json:"id"`
	Do         string         `json:"do"`
	Link       string         `json:"link"`     // open: what to open
	Scenario   string         `json:"scenario"` // open: or this, as YAML or JSON
	Branches   []branchJSON   `json:"branches"` // open: and these branches of it
	Branch     int            `json:"branch"`
	At         *int           `json:"at"`  // after so many moves; left out: at the branch's end
	Row        *int           `json:"row"` // lanes: around this one; left out: where the moves have led
	Thread     string         `json:"thread"`
	Background bool           `json:"background"`
	Network    bool           `json:"network"`
	Node       int            `json:"node"`
	To         string         `json:"to"`
	By         string         `json:"by"`
	Fault      map[string]any `json:"fault"`
	With       int            `json:"with"`
	Protocols  []string       `json:"protocols"` // locks: which
	Names      []string       `json:"names"`     // compare: what the page calls the two
}

type branchJSON struct {
	ID     int   `json:"id"`
	Parent int   `json:"parent"` // -1: none
	Fork   int   `json:"fork"`
	Moves  []any `json:"moves,omitempty"`
}

// answer is a frame to the page.
type answer struct {
	V         int            `json:"v"`
	Re        int            `json:"re"` // the command's id, 0 where it had none
	Opened    *openedJSON    `json:"opened,omitempty"`
	Branch    *branchJSON    `json:"branch,omitempty"`
	From      int            `json:"from"` // the first of the positions
	Positions []positionJSON `json:"positions,omitempty"`
	Rows      []view.Frame   `json:"rows,omitempty"`
	Lanes     string         `json:"lanes,omitempty"` // HTML
	LanesOf   int            `json:"lanesOf"`         // the branch that they are of
	Dropped   *int           `json:"dropped,omitempty"`
	Compared  string         `json:"compared,omitempty"` // HTML
	Trace     string         `json:"trace,omitempty"`    // JSON Lines
	Done      bool           `json:"done,omitempty"`
	Refused   string         `json:"refused,omitempty"` // a sentence
}

type openedJSON struct {
	Scenario json.RawMessage `json:"scenario"` // compact, without a schedule
	Title    string          `json:"title"`
	Threads  []string        `json:"threads"`
	Lease    int64           `json:"leaseMillis"`
	Key      string          `json:"key"`
	Head     string          `json:"head"` // HTML of the table's head
	Rail     string          `json:"rail"` // and of what is at its side
	Lua      string          `json:"lua"`
	At       int             `json:"at"` // where the link stands

	Never []view.Pointless `json:"never,omitempty"` // faults that cannot strike anywhere in it
}

type positionJSON struct {
	Move     *scenario.Move `json:"move,omitempty"` // that led here
	Row      int            `json:"row"`
	At       string         `json:"at"` // "150 ms"
	Options  []view.Option  `json:"options"`
	Next     string         `json:"next,omitempty"`     // "200 ms"
	Expiry   string         `json:"expiry,omitempty"`   // "200 ms"
	Outcomes []string       `json:"outcomes,omitempty"` // threads that were told what a call came to
	Over     bool           `json:"over,omitempty"`

	Pointless []view.Pointless `json:"pointless,omitempty"` // faults that would change nothing here; of Over: all, left out
}

// player is one page and the session that it steps through.
type player struct {
	s       *Server
	l       words.Language
	conn    *wire.Conn
	session *engine.Session
	sent    map[int]*shown // by branch
	seat    *turn.Seat
	ctx     context.Context //nolint:containedctx // the connection's
	began   time.Time       // when the command was read that is being carried out
	account *session.Account
}

// hold counts what the session holds now, with its page. It fails with a
// *session.LimitError where that is too much.
func (p *player) hold() error {
	size := p.session.Size()
	for _, b := range p.session.Branches() {
		size += len(b.Events) * view.EventSize(p.session.Scenario())
	}
	return p.account.Hold(size) //nolint:wrapcheck // says which limit
}

// shown is a branch as far as it was rendered for the page.
type shown struct {
	film      *view.Film
	events    int
	positions int // that the page has
}

// playSocket serves a page that steps through a scenario. The session lives
// as long as the connection: a page that comes back brings its moves along.
func (s *Server) playSocket(w http.ResponseWriter, r *http.Request) error {
	ctx, leave, err := s.sessions.Enter(address(r))
	if err != nil {
		return s.turnAway(w, r, err)
	}
	defer leave()
	conn, err := s.upgrader.Upgrade(w, r)
	if err != nil {
		return nil
	}
	defer s.meter.socket(forPlay)()
	ctx, gone := context.WithCancel(ctx)
	seat := seatOf(r)
	ctx = pause.With(ctx, seat.Pause)
	commands := make(chan []byte, waiting)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer gone()
		s.guarded(ctx, ofPlay, func() {
			conn.Read(ctx, maxCommand, func(text []byte) {
				select {
				case commands <- text:
				case <-ctx.Done():
				}
			})
		})
	}()
	p := &player{ctx: ctx, s: s, l: words.From(r.Context()), conn: conn, seat: seat, account: s.ledger.Open(address(r))}
	defer func() { <-read }()
	defer conn.Close()
	defer gone()
	told := false
	if !s.guarded(ctx, ofPlay, func() { p.serve(ctx, commands) }) {
		told = conn.Goodbye(hub.CloseBroken, noticeJSON{
			V: 1, Broken: true, Refused: p.l.Say("A mistake in this program has ended your session. It has been written down. Reload the page to begin again."),
		})
	}
	p.account.Close()
	if p.session != nil {
		s.guarded(ctx, ofPlay, p.session.Close)
	}
	over := errors.Is(context.Cause(ctx), session.ErrClosed)
	gone()
	if over && !told {
		told = conn.End(websocket.CloseGoingAway)
	}
	if told {
		conn.Part(read)
	}
	return nil
}

// turnAway says why somebody cannot step now: on the socket where r opens one.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, why error) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return limitError(why)
	}
	s.turnedAway(r.Context(), address(r), limitName(why))
	conn, err := s.upgrader.Upgrade(w, r)
	if err != nil {
		return nil
	}
	defer conn.Close()
	code := hub.CloseFull
	if errors.Is(why, session.ErrClosed) {
		code = websocket.CloseGoingAway
	}
	refused, _ := words.From(r.Context()).Explain(why) // a limit says what to do
	if conn.Goodbye(code, noticeJSON{V: 1, Full: true, Refused: refused}) {
		conn.Part(nil)
	}
	return nil
}

func (p *player) serve(ctx context.Context, commands <-chan []byte) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-commands:
			if p.inTurn(ctx, text) != nil {
				return
			}
		}
	}
}

// inTurn carries out a command when the machine has room for it.
func (p *player) inTurn(ctx context.Context, text []byte) error {
	p.began = time.Now()
	if err := p.seat.Take(ctx); err != nil {
		return err //nolint:wrapcheck // the connection's end
	}
	defer p.seat.Done()
	return p.carryOut(ctx, text)
}

// noCommandError is the name of a command that there is not.
type noCommandError string

func (e noCommandError) Error() string { return e.Says().String() }

func (e noCommandError) Says() phrase.Wording {
	return phrase.Say("there is no command %q; there are open, step, run, time, strike, cut, drop, compare, locks, lanes and trace", string(e))
}

// errWrite is returned by carryOut when the page cannot be reached.
var errWrite = errors.New("the page is gone")

// carryOut does what a frame asks for, and answers it: with what came of it
// and then done, or with why not.
func (p *player) carryOut(ctx context.Context, text []byte) error {
	var c command
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return p.write(answer{Re: c.ID, Refused: p.l.Say("That is no command: it must be one JSON object with the keys of a command.")})
	}
	err := p.do(ctx, c)
	name := c.Do
	var unknown noCommandError
	if errors.As(err, &unknown) || p.session == nil && c.Do != "open" {
		name = "none"
	}
	p.s.meter.commands.WithLabelValues(name).Observe(time.Since(p.began).Seconds())
	switch {
	case err == nil:
		return p.write(answer{Re: c.ID, Done: true})
	case errors.Is(err, errWrite), ctx.Err() != nil:
		return err
	}
	if limit := limitName(err); limit != "" {
		p.s.turnedAway(ctx, p.account.Address(), limit)
	}
	refused, ok := p.l.Explain(err)
	if !ok {
		refused = p.l.Say("Something went wrong here. It has been written down.")
		p.wentWrong(ctx, c, err)
	}
	return p.write(answer{Re: c.ID, Refused: refused})
}

// wentWrong writes down an error that tells a person nothing.
func (p *player) wentWrong(ctx context.Context, c command, err error) {
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		p.s.panicked(ctx, ofPlay, panicked)
		return
	}
	p.s.log.ErrorContext(ctx, "command failed", slog.String("do", c.Do), slog.String("error", err.Error()))
}

func (p *player) write(a answer) error {
	a.V = 1
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	p.seat.Away(p.ctx, func() {
		err = p.conn.Text(text)
	})
	if err != nil {
		return errWrite
	}
	return nil
}

func (p *player) do(ctx context.Context, c command) error {
	if c.Do == "open" {
		return p.open(ctx, c)
	}
	if p.session == nil {
		return phrase.New("nothing is open yet: the first command is open")
	}
	b, err := p.session.Branch(c.Branch)
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	at := len(b.Moves)
	if c.At != nil {
		at = *c.At
	}
	id := c.Branch
	switch c.Do {
	case "step":
		if c.Thread == "" {
			if at != len(b.Moves) {
				return phrase.New("the next move here has been made already; a step without a thread goes on at the branch's end")
			}
			return p.moved(c, func() (*engine.Branch, error) { return p.session.Step(ctx, id) })
		}
		if c.Network {
			return p.moved(c, func() (*engine.Branch, error) { return p.session.StepNetwork(ctx, id, at, c.Thread) })
		}
		if c.Node > 0 {
			return p.moved(c, func() (*engine.Branch, error) { return p.session.StepNode(ctx, id, at, c.Thread, c.Node) })
		}
		return p.moved(c, func() (*engine.Branch, error) { return p.session.StepThread(ctx, id, at, c.Thread, c.Background) })
	case "run":
		return p.run(ctx, c, b)
	case "time":
		return p.time(ctx, c, at)
	case "strike":
		return p.strike(ctx, c, at)
	case "cut":
		return p.moved(c, func() (*engine.Branch, error) { return p.session.Cut(ctx, id, at) })
	case "drop":
		if err := p.session.Drop(id); err != nil {
			return phrase.New("the only branch there is stays")
		}
		delete(p.sent, id)
		_ = p.hold() // it holds less
		return p.write(answer{Re: c.ID, Dropped: &id})
	case "compare":
		return p.largely(ctx, func() error { return p.compare(c, b) })
	case "trace":
		return p.largely(ctx, func() error { return p.trace(c) })
	case "lanes":
		return p.lanes(c, b)
	case "locks":
		return p.largely(ctx, func() error { return p.locks(ctx, c, b) })
	default:
		return noCommandError(c.Do)
	}
}

// largely does what holds much while it is made and sent.
func (p *player) largely(ctx context.Context, do func() error) error {
	done, err := p.s.room(ctx, p.seat, p.account.Address())
	if err != nil {
		return err
	}
	defer done()
	return do()
}

// open begins a session and sends all of its branches.
func (p *player) open(ctx context.Context, c command) error {
	state, err := opened(c)
	if err != nil {
		return err
	}
	branches, err := schedules(state.Scenario, c.Branches)
	if err != nil {
		return err
	}
	fresh, err := engine.Open(ctx, state.Scenario.WithSchedule(branches[0].moves))
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	opened := false
	defer func() {
		if !opened {
			fresh.Close()
		}
	}()
	for _, b := range branches[1:] {
		if _, err := fresh.Add(ctx, b.parent, b.fork, b.moves); err != nil {
			return err //nolint:wrapcheck // a sentence
		}
	}
	if p.session != nil {
		p.session.Close()
	}
	p.session, p.sent, opened = fresh, map[int]*shown{}, true
	if err := p.hold(); err != nil {
		fresh.Close()
		p.session = nil
		_ = p.account.Hold(0)
		return err
	}
	o, err := p.describe(fresh.Scenario())
	if err != nil {
		return err
	}
	o.At = state.At
	if err := p.write(answer{Re: c.ID, Opened: o}); err != nil {
		return err
	}
	for _, b := range fresh.Branches() {
		if err := p.show(c, b); err != nil {
			return err
		}
	}
	return nil
}

func opened(c command) (link.State, error) {
	if c.Link != "" {
		return link.Decode(c.Link)
	}
	sc, err := scenario.Parse([]byte(c.Scenario))
	if err != nil {
		return link.State{}, err //nolint:wrapcheck // names its mistakes
	}
	return link.State{Scenario: sc, At: len(sc.Schedule)}, nil
}

type schedule struct {
	parent, fork int
	moves        []scenario.Move
}

// schedules reads the branches that a page brings along; without any, the
// scenario's schedule is the only one.
func schedules(sc *scenario.Scenario, list []branchJSON) ([]schedule, error) {
	if len(list) == 0 {
		return []schedule{{-1, 0, sc.Schedule}}, nil
	}
	if len(list) > engine.MaxBranches {
		return nil, engine.ErrBranches
	}
	var out []schedule
	for i, b := range list {
		one, err := withMoves(sc, b.Moves)
		if err != nil {
			return nil, err
		}
		if b.Parent >= i || b.Parent < -1 || b.Fork < 0 || b.Fork > len(one) {
			return nil, phrase.New("the branches do not fit each other: a parent comes before its branch, and the fork is within its moves")
		}
		out = append(out, schedule{b.Parent, b.Fork, one})
	}
	return out, nil
}

// withMoves reads moves as a scenario's schedule is read.
func withMoves(sc *scenario.Scenario, moves []any) ([]scenario.Move, error) {
	text, err := sc.WithSchedule(nil).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if moves == nil {
		moves = []any{}
	}
	doc["schedule"] = moves
	if text, err = json.Marshal(doc); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	parsed, err := scenario.Parse(text)
	if err != nil {
		return nil, err //nolint:wrapcheck // names its mistakes
	}
	return parsed.Schedule, nil
}

func (p *player) describe(sc *scenario.Scenario) (*openedJSON, error) {
	text, err := sc.Compact()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	shown := timeline.NewScenario(p.l, sc)
	o := &openedJSON{Scenario: text, Title: titleOf(p.l, sc), Lease: shown.LeaseMillis, Key: shown.Key, Never: view.NewNever(p.l, sc)}
	for _, t := range shown.Threads {
		o.Threads = append(o.Threads, t.Name)
	}
	if o.Head, err = rendered(p.l, templates.Head(shown, true)); err != nil {
		return nil, err
	}
	if o.Rail, err = rendered(p.l, templates.Rail(shown)); err != nil {
		return nil, err
	}
	o.Lua, err = rendered(p.l, templates.Lua(luaflow.Scripts(p.l, sc)))
	return o, err
}

// lanesAt draws the lanes around a row.
func (p *player) lanesAt(f *view.Film, row int) (string, error) {
	return rendered(p.l, templates.Lanes(lanesOf(p.l, f.Lanes(), row)))
}

// lanes sends the lanes around a row, or the one to which the first moves have
// led.
func (p *player) lanes(c command, b *engine.Branch) error {
	at := len(b.Moves)
	if c.At != nil && *c.At >= 0 && *c.At < at {
		at = *c.At
	}
	row := b.Positions[at].Row
	if c.Row != nil {
		row = *c.Row
	}
	html, err := p.lanesAt(p.sent[b.ID].film, row)
	if err != nil {
		return err
	}
	return p.write(answer{Re: c.ID, Lanes: html, LanesOf: b.ID})
}

// moved carries out one move and shows what came of it.
func (p *player) moved(c command, move func() (*engine.Branch, error)) error {
	if err := p.hold(); err != nil {
		return err
	}
	b, err := move()
	if err != nil {
		return err
	}
	return p.show(c, b)
}

// show sends the positions and rows of a branch that the page does not have:
// what a branch shares with its parent, the page has from there.
func (p *player) show(c command, b *engine.Branch) error {
	a := answer{Re: c.ID, Branch: &branchJSON{ID: b.ID, Parent: b.Parent, Fork: b.Fork}}
	done := p.sent[b.ID]
	if done == nil || done.events > len(b.Events) {
		done = &shown{film: view.NewFilm(p.l, p.session.Scenario(), b.Header.Owners)}
		if p.sent[b.Parent] != nil {
			done.positions = b.Fork + 1
		}
		p.sent[b.ID] = done
	}
	for _, e := range b.Events[done.events:] {
		done.film.Add(e)
	}
	done.events = len(b.Events)
	from, firstRow := done.positions, 0
	if from > 0 {
		firstRow = b.Positions[from-1].Row
	}
	for from <= len(b.Positions) {
		to := min(from+framePosition, len(b.Positions))
		a.From, a.Positions, a.Rows = from, nil, nil
		for i := from; i < to; i++ {
			a.Positions = append(a.Positions, p.position(b, i))
		}
		lastRow := b.Positions[to-1].Row
		var err error
		if a.Rows, err = framesOf(p.l, done.film, firstRow, lastRow); err != nil {
			return err
		}
		if to == len(b.Positions) {
			if a.Lanes, err = p.lanesAt(done.film, lastRow); err != nil {
				return err
			}
			a.LanesOf = b.ID
		}
		if err := p.write(a); err != nil {
			return err
		}
		from, firstRow = to, lastRow
		if to == len(b.Positions) {
			break
		}
	}
	done.positions = len(b.Positions)
	return nil
}

func (p *player) position(b *engine.Branch, i int) positionJSON {
	at := b.Positions[i]
	out := positionJSON{Row: at.Row, At: p.l.Duration(at.At), Options: view.NewOptions(p.l, at.Options), Over: at.Over}
	out.Pointless = view.NewPointless(p.l, at.Pointless)
	if at.Next > 0 {
		out.Next = p.l.Duration(at.Next)
	}
	if at.Expiry > 0 {
		out.Expiry = p.l.Duration(at.Expiry)
	}
	if i > 0 {
		out.Move = &b.Moves[i-1]
		for _, e := range b.Events[b.Positions[i-1].Seq:at.Seq] {
			if e.Kind() == trace.KindOutcome {
				out.Outcomes = append(out.Outcomes, e.Thread)
			}
		}
	}
	return out
}

// run makes the policy's moves until what was asked for has come.
func (p *player) run(ctx context.Context, c command, b *engine.Branch) error {
	var until func(trace.Event) bool
	switch c.To {
	case "end":
		until = func(trace.Event) bool { return false }
	case "mark":
		until = view.Matters
	case "violation":
		until = func(e trace.Event) bool { return e.Kind() == trace.KindViolation }
	case "outcome":
		if p.threadOf(c.Thread) == "" {
			return phrase.New("an outcome is some thread's: name one of the scenario's threads")
		}
		until = func(e trace.Event) bool { return e.Kind() == trace.KindOutcome && e.Thread == c.Thread }
	default:
		return phrase.New("one cannot run to %q; allowed: end, mark, violation, outcome", c.To)
	}
	if b.Positions[len(b.Positions)-1].Over {
		return &run.Refusal{Reason: run.IsOver}
	}
	shown := time.Now()
	for !b.Positions[len(b.Positions)-1].Over {
		if time.Since(shown) >= showEvery {
			if err := p.show(c, b); err != nil {
				return err
			}
			shown = time.Now()
		}
		before := len(b.Events)
		if _, err := p.session.Step(ctx, b.ID); err != nil {
			return errors.Join(p.show(c, b), err)
		}
		if err := p.hold(); err != nil {
			return errors.Join(p.show(c, b), err)
		}
		found := false
		for _, e := range b.Events[before:] {
			found = found || until(e)
		}
		if found {
			break
		}
	}
	return p.show(c, b)
}

func (p *player) threadOf(name string) string {
	for _, t := range p.session.Scenario().Threads {
		if t.Name == name {
			return name
		}
	}
	return ""
}

func (p *player) time(ctx context.Context, c command, at int) error {
	var d time.Duration
	switch engine.Passage(c.To) {
	case engine.ToEvent, engine.ToExpiry:
	case engine.ByLength:
		// Read as a move's instant is, for the same limits and the same words.
		moves, err := withMoves(p.session.Scenario(), []any{map[string]any{"until": c.By}})
		if err != nil {
			return phrase.New("time passes by a length such as 50ms or 1.5s, up to 24h")
		}
		d = moves[0].Until
	default:
		return phrase.New("time cannot pass to %q; allowed: event, expiry, by", c.To)
	}
	return p.moved(c, func() (*engine.Branch, error) {
		return p.session.PassTime(ctx, c.Branch, at, engine.Passage(c.To), d)
	})
}

func (p *player) strike(ctx context.Context, c command, at int) error {
	if c.Fault == nil {
		return phrase.New("a strike needs a fault, such as {\"do\": \"crash\", \"thread\": \"A\"}")
	}
	moves, err := withMoves(p.session.Scenario(), []any{c.Fault})
	var mistakes scenario.Mistakes
	if errors.As(err, &mistakes) {
		first := mistakes[0]
		return phrase.New("%s: given %s, allowed: %s", strings.TrimPrefix(first.Key, "schedule[0]."), first.Given, first.Allowed)
	}
	if err != nil {
		return err
	}
	return p.moved(c, func() (*engine.Branch, error) { return p.session.Apply(ctx, c.Branch, at, moves[0]) })
}

// compare shows two branches row by row.
func (p *player) compare(c command, left *engine.Branch) error {
	right, err := p.session.Branch(c.With)
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	names := c.Names
	if len(names) != 2 {
		names = []string{compare.BranchName(p.l, left.ID), compare.BranchName(p.l, right.ID)}
	}
	side := func(b *engine.Branch, name string) compare.Side {
		return compare.Side{Name: name, Rows: p.sent[b.ID].film.Rows(), Over: b.Positions[len(b.Positions)-1].Over}
	}
	html, err := rendered(p.l, templates.Compared(compare.Branches(p.l, timeline.NewScenario(p.l, p.session.Scenario()), side(left, names[0]), side(right, names[1]))))
	if err != nil {
		return err
	}
	return p.write(answer{Re: c.ID, Compared: html})
}

// locks plays the branch's schedule on several locks.
func (p *player) locks(ctx context.Context, c command, b *engine.Branch) error {
	played, err := engine.Compare(ctx, p.session.Scenario().WithSchedule(b.Moves), c.Protocols)
	if err != nil {
		return err //nolint:wrapcheck // a sentence, or the context's
	}
	html, err := rendered(p.l, templates.Aligned(compare.Locks(p.l, played)))
	if err != nil {
		return err
	}
	return p.write(answer{Re: c.ID, Compared: html})
}

// trace sends what a branch is as JSON Lines.
func (p *player) trace(c command) error {
	h, events, err := p.session.Trace(c.Branch)
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	var b strings.Builder
	if err := trace.Write(&b, h, events); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	return p.write(answer{Re: c.ID, Trace: b.String()})
}
