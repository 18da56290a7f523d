package step

import (
	"context"
	"fmt"
	"strings"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
)

// read is a command that a reader answers.
type read struct {
	name  string
	by    Asker
	large bool // its answer takes much memory while it is made and sent
	do    func(r *Reader, ctx context.Context, frame []byte) (Answered, error)
}

// reads are what a reader can be asked.
var reads = []read{
	{board.DoCompare, AskViewers, true, asking((*Reader).compare)},
	{board.DoLocks, AskHosts, true, asking((*Reader).locks)},
	{board.DoLanes, askMembers, false, asking((*Reader).drawn)},
	{board.DoTrace, AskViewers, true, asking((*Reader).trace)},
	{board.DoExplore, AskViewers, false, asking((*Reader).explore)},
	{board.DoMend, AskViewers, false, asking((*Reader).mend)},
	{board.DoGoal, AskViewers, false, asking((*Reader).goal)},
	{board.DoHalt, AskViewers, false, asking((*Reader).halt)},
	{board.DoOutlook, AskViewers, false, asking((*Reader).outlook)},
}

// asking reads a command's arguments. It refuses unknown ones.
func asking[T any](do func(*Reader, context.Context, T) (Answered, error)) func(*Reader, context.Context, []byte) (Answered, error) {
	return func(r *Reader, ctx context.Context, frame []byte) (Answered, error) {
		args, err := argsOf[T](frame)
		if err != nil {
			return Answered{}, err
		}
		return do(r, ctx, args)
	}
}

// Answer sends the answer to a command, if it is a read.
func (r *Reader) Answer(ctx context.Context, name string, frame []byte, send func(Answered) error) (is bool, err error) {
	for _, read := range reads {
		if read.name != name {
			continue
		}
		if r.May != nil {
			if err := r.May(read.by); err != nil {
				return true, err
			}
		}
		if read.large {
			done, err := r.Sockets.LargeTurn(ctx, r.Seat, r.Address)
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
func (r *Reader) drawn(ctx context.Context, c lanesArgs) (f Answered, err error) {
	row := 0
	if c.Row != nil {
		row = *c.Row
	} else {
		at, err := r.Look(ctx, c.Branch)
		if err != nil {
			return f, err
		}
		b := at.List[0]
		to := len(b.Moves)
		if c.At != nil && *c.At >= 0 && *c.At < to {
			to = *c.At
		}
		row = b.Positions[to].Row
	}
	f.LanesOf = &c.Branch
	f.Lanes, err = r.Lanes(c.Branch, row)
	return f, err
}

// compare shows two branches row by row.
func (r *Reader) compare(ctx context.Context, c compareArgs) (f Answered, err error) {
	at, err := r.Look(ctx, c.Branch, c.With)
	if err != nil {
		return f, err
	}
	names := c.Names
	if len(names) != 2 {
		names = []string{page.BranchName(r.Language, c.Branch), page.BranchName(r.Language, c.With)}
	}
	side := func(i int) page.BranchSide {
		b := at.List[i]
		reel := r.Film(at.Scenario, b)
		return page.BranchSide{Name: names[i], Rows: reel.Rows(), Run: reel.Lanes(), Over: b.Positions[len(b.Positions)-1].Over}
	}
	f.Compared, err = templates.Text(r.Language, templates.Compared(page.Branches(r.Language, film.NewScenario(r.Language, at.Scenario), side(0), side(1))))
	return f, err
}

// locks plays a branch's moves on several locks, and puts what comes of that
// beside each other.
func (r *Reader) locks(ctx context.Context, c locksArgs) (f Answered, err error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return f, err
	}
	played, err := engine.Compare(ctx, at.Scenario.WithSchedule(at.List[0].Moves), c.Protocols)
	if err != nil {
		return f, err
	}
	f.Compared, err = templates.Text(r.Language, templates.Aligned(page.AlignLocks(r.Language, played)))
	return f, err
}

// trace returns a branch's trace as JSON Lines.
func (r *Reader) trace(ctx context.Context, c onBranch) (f Answered, err error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return f, err
	}
	h, events, err := at.List[0].Trace(at.Scenario)
	if err != nil {
		return f, err
	}
	var out strings.Builder
	if err := trace.Write(&out, h, events); err != nil {
		return f, fmt.Errorf("step: %w", err)
	}
	f.Trace = out.String()
	return f, nil
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
