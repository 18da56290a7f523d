package stepper

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
	do    func(r *Reader, ctx context.Context, c board.Command) (Answered, error)
}

// reads are what a reader can be asked.
var reads = []read{
	{board.DoCompare, AskViewers, true, (*Reader).compare},
	{board.DoLocks, AskHosts, true, (*Reader).locks},
	{board.DoLanes, askMembers, false, (*Reader).drawn},
	{board.DoTrace, AskViewers, true, (*Reader).trace},
	{board.DoExplore, AskViewers, false, (*Reader).explore},
	{board.DoMend, AskViewers, false, (*Reader).mend},
	{board.DoCauses, AskViewers, false, (*Reader).causes},
	{board.DoGoal, AskViewers, false, (*Reader).goal},
	{board.DoHalt, AskViewers, false, (*Reader).halt},
	{board.DoOutlook, AskViewers, false, (*Reader).outlook},
}

// readNamed returns a read, nil where there is none.
func readNamed(name string) *read {
	for i := range reads {
		if reads[i].name == name {
			return &reads[i]
		}
	}
	return nil
}

// Allows fails if a member may not ask that, or may not go to the result.
func (r *Reader) Allows(name string) error {
	read := readNamed(name)
	switch {
	case r.May == nil:
		return nil
	case name == board.DoExample || name == board.DoWalk:
		return r.May(AskHosts)
	case read != nil:
		return r.May(read.by)
	default:
		return nil
	}
}

// Answer sends the answer to a command, if it is a read.
func (r *Reader) Answer(ctx context.Context, c board.Command, send func(Answered) error) (is bool, err error) {
	read := readNamed(c.Do)
	if read == nil {
		return false, nil
	}
	if err := r.Allows(c.Do); err != nil {
		return true, err
	}
	if read.large {
		done, err := r.Sockets.LargeTurn(ctx, r.Seat, r.Address)
		if err != nil {
			return true, err
		}
		defer done()
	}
	f, err := read.do(r, ctx, c)
	if err == nil {
		err = send(f)
	}
	return true, err
}

// drawn draws the lanes around a row; by default the one that the first moves
// led to.
func (r *Reader) drawn(ctx context.Context, c board.Command) (f Answered, err error) {
	row := 0
	if c.Around != nil {
		row = *c.Around
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
func (r *Reader) compare(ctx context.Context, c board.Command) (f Answered, err error) {
	at, err := r.Look(ctx, c.Branch, c.With)
	if err != nil {
		return f, err
	}
	names := c.Sides
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
func (r *Reader) locks(ctx context.Context, c board.Command) (f Answered, err error) {
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
func (r *Reader) trace(ctx context.Context, c board.Command) (f Answered, err error) {
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
		return f, fmt.Errorf("stepper: %w", err)
	}
	f.Trace = out.String()
	return f, nil
}
