package stepper

import (
	"time"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/templates"
	"relock/web/words"
)

// FramePositions is how many positions a frame has while a run goes on.
const FramePositions = 64

// showEvery is how often a page sees a run's progress: often enough to look
// alive, seldom enough not to slow the run down.
const showEvery = 250 * time.Millisecond

// portions tells the positions of a branch from one on, so many at a time, with the
// rows between them, and last its lanes. If there are no more, it says so once.
func portions(l words.Language, reel *film.Film, b *board.Track, from int, position func(i int) Position, tell func(Frame) error) error {
	for {
		to := min(from+FramePositions, len(b.Positions))
		a, err := PartOf(l, reel, b, from, to, position)
		if err != nil {
			return err
		}
		last := to == len(b.Positions)
		if last {
			if tip := b.Positions[to-1]; len(tip.Options) > 0 { // a lab has none
				reel.Lanes().Plan(tip.Plans)
			}
			if a.Lanes, err = DrawnLanes(l, reel, b.Positions[to-1].Row); err != nil {
				return err
			}
			a.LanesOf = b.ID
		}
		if err := tell(a); err != nil || last {
			return err
		}
		from = to
	}
}

// PartOf returns the positions of a branch from one up to another, without that
// one, with the rows that lie between them.
func PartOf(l words.Language, reel *film.Film, b *board.Track, from, to int, position func(i int) Position) (a Frame, err error) {
	firstRow := 0
	if from > 0 {
		firstRow = b.Positions[from-1].Row
	}
	a.Branch, a.From = &Branch{ID: b.ID, Parent: b.Parent, Fork: b.Fork}, from
	for i := from; i < to; i++ {
		a.Positions = append(a.Positions, position(i))
	}
	a.Rows, err = runs.RowsOf(l, reel, firstRow, b.Positions[to-1].Row)
	return a, err
}

// PositionOf returns a position of a branch that is stepped.
func PositionOf(l words.Language, b *board.Track, i int) Position {
	at := b.Positions[i]
	out := Position{Row: at.Row, At: l.Duration(at.At), Options: page.NewOptions(l, at.Options), Over: at.Over}
	out.Pointless = page.NewPointless(l, at.Pointless)
	if at.Seen > 0 {
		out.Next = l.Duration(at.Seen)
	}
	if at.Expiry > 0 {
		out.Expiry = l.Duration(at.Expiry)
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

// DrawnLanes draws the lanes around a row.
func DrawnLanes(l words.Language, f *film.Film, row int) (string, error) {
	return templates.Text(l, templates.Lanes(runs.LanesAround(l, f.Lanes(), row)))
}

// Shown is a branch, as far as it has been rendered for the page.
type Shown struct {
	Film      *film.Film
	Events    int
	positions int               // how many the page has
	owners    map[string]string // that the film goes by, where more may join
}

// Add adds the events of a path that the film lacks.
func (s *Shown) Add(b *engine.Path) {
	for _, e := range b.Events[s.Events:] {
		s.Film.Add(e)
	}
	s.Events = len(b.Events)
}
