package web

import (
	"context"
	"fmt"
	"strings"

	"relock/engine"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/site/turn"
	"relock/web/templates"
	"relock/web/words"
)

// reader answers what is asked about branches and changes nothing of them: for a
// page that steps alone, and for a member of a class.
type reader struct {
	s       *sockets
	l       words.Language
	ctx     context.Context // of the connection
	seat    *turn.Seat
	address string
	of      string // what a panic ends: site.OfPlay, ofRoom

	// What is asked about. A search tells how far it has come by tell, from a
	// goroutine of its own.
	may   func(mayAsk) error // nil: all of it
	look  func(ctx context.Context, ids ...int) (branches, error)
	film  func(sc *scenario.Scenario, b *engine.Branch) *film.Film
	lanes func(branch, row int) (string, error)
	tell  func(*exploration, toldBySearch) error

	search searching
}

// branches are those that were asked about, or all where none were named.
type branches struct {
	scene    int // of a class: how many scenarios it has gone through before
	scenario *scenario.Scenario
	list     []*engine.Branch
}

// answered is what a reader answers. One of its fields is set, or none.
type answered struct {
	Lanes    string      `json:"lanes,omitempty"` // HTML
	LanesOf  *int        `json:"lanesOf,omitempty"`
	Compared string      `json:"compared,omitempty"` // HTML
	Trace    string      `json:"trace,omitempty"`    // JSON Lines
	Stands   *standsJSON `json:"stands,omitempty"`
}

// toldBySearch is what a search tells, without a command. One of its fields is set.
type toldBySearch struct {
	Explored *exploredJSON `json:"explored,omitempty"`
	Mended   *mendedJSON   `json:"mended,omitempty"`
	Goal     *goalJSON     `json:"goal,omitempty"`
	Mistake  *mistakeJSON  `json:"mistake,omitempty"` // of a lock of one's own, beside what was refused or explored
}

// mayAsk says who may ask in a class.
type mayAsk int

const (
	askMembers mayAsk = iota // all
	askViewers               // who has the film: phones show one thread of it
	askHosts
)

// errNoFilm is returned to members who do not see the run.
var errNoFilm = phrase.New("join with rows: true to ask for that")

// read is a command that a reader answers.
type read struct {
	name  string
	by    mayAsk
	large bool // its answer takes much memory while it is made and sent
	do    func(r *reader, ctx context.Context, frame []byte) (answered, error)
}

// reads are what a reader can be asked.
var reads = []read{
	{board.DoCompare, askViewers, true, asking((*reader).compare)},
	{board.DoLocks, askHosts, true, asking((*reader).locks)},
	{board.DoLanes, askMembers, false, asking((*reader).drawn)},
	{board.DoTrace, askViewers, true, asking((*reader).trace)},
	{board.DoExplore, askViewers, false, asking((*reader).explore)},
	{board.DoMend, askViewers, false, asking((*reader).mend)},
	{board.DoGoal, askViewers, false, asking((*reader).goal)},
	{board.DoHalt, askViewers, false, asking((*reader).halt)},
	{board.DoOutlook, askViewers, false, asking((*reader).outlook)},
}

// asking reads a command's arguments. It refuses unknown ones.
func asking[T any](do func(*reader, context.Context, T) (answered, error)) func(*reader, context.Context, []byte) (answered, error) {
	return func(r *reader, ctx context.Context, frame []byte) (answered, error) {
		args, err := argsOf[T](frame)
		if err != nil {
			return answered{}, err
		}
		return do(r, ctx, args)
	}
}

// answer sends the answer to a command, if it is a read.
func (r *reader) answer(ctx context.Context, name string, frame []byte, send func(answered) error) (is bool, err error) {
	for _, read := range reads {
		if read.name != name {
			continue
		}
		if r.may != nil {
			if err := r.may(read.by); err != nil {
				return true, err
			}
		}
		if read.large {
			done, err := r.s.LargeTurn(ctx, r.seat, r.address)
			if err != nil {
				return true, err
			}
			defer done()
		}
		f, err := read.do(r, ctx, frame)
		if err == nil {
			err = send(f)
		}
		return true, err
	}
	return false, nil
}

// drawn draws the lanes around a row; by default the one that the first moves
// led to.
func (r *reader) drawn(ctx context.Context, c lanesArgs) (f answered, err error) {
	row := 0
	if c.Row != nil {
		row = *c.Row
	} else {
		at, err := r.look(ctx, c.Branch)
		if err != nil {
			return f, err
		}
		b := at.list[0]
		to := len(b.Moves)
		if c.At != nil && *c.At >= 0 && *c.At < to {
			to = *c.At
		}
		row = b.Positions[to].Row
	}
	f.LanesOf = &c.Branch
	f.Lanes, err = r.lanes(c.Branch, row)
	return f, err
}

// compare shows two branches row by row.
func (r *reader) compare(ctx context.Context, c compareArgs) (f answered, err error) {
	at, err := r.look(ctx, c.Branch, c.With)
	if err != nil {
		return f, err
	}
	names := c.Names
	if len(names) != 2 {
		names = []string{page.BranchName(r.l, c.Branch), page.BranchName(r.l, c.With)}
	}
	side := func(i int) page.BranchSide {
		b := at.list[i]
		reel := r.film(at.scenario, b)
		return page.BranchSide{Name: names[i], Rows: reel.Rows(), Run: reel.Lanes(), Over: b.Positions[len(b.Positions)-1].Over}
	}
	f.Compared, err = templates.Text(r.l, templates.Compared(page.Branches(r.l, film.NewScenario(r.l, at.scenario), side(0), side(1))))
	return f, err
}

// locks plays a branch's moves on several locks, and puts what comes of that
// beside each other.
func (r *reader) locks(ctx context.Context, c locksArgs) (f answered, err error) {
	at, err := r.look(ctx, c.Branch)
	if err != nil {
		return f, err
	}
	played, err := engine.Compare(ctx, at.scenario.WithSchedule(at.list[0].Moves), c.Protocols)
	if err != nil {
		return f, err
	}
	f.Compared, err = templates.Text(r.l, templates.Aligned(page.AlignLocks(r.l, played)))
	return f, err
}

// trace returns a branch's trace as JSON Lines.
func (r *reader) trace(ctx context.Context, c onBranch) (f answered, err error) {
	at, err := r.look(ctx, c.Branch)
	if err != nil {
		return f, err
	}
	h, events, err := at.list[0].Trace(at.scenario)
	if err != nil {
		return f, err
	}
	var out strings.Builder
	if err := trace.Write(&out, h, events); err != nil {
		return f, fmt.Errorf("web: %w", err)
	}
	f.Trace = out.String()
	return f, nil
}
