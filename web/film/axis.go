package film

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"relock/engine/trace"
	"relock/web/words"
)

// Measures of the time axis, in units of the picture. It is to scale, with three
// exceptions: rows of one instant are apart, two instants are never too close to tell
// apart, and a wait is shortened if it, or the picture with it, would be wider than what
// people see at once.
const (
	gapSame      = 28  // between rows of one instant, wide enough for "T99"
	gapMin       = 11  // between two instants of one run
	gapOthers    = 4   // between instants of two runs that are drawn to one scale
	gapTypical   = 56  // for the typical time between rows
	gapShort     = 230 // a shorter wait is drawn whole
	gapLong      = 640 // a longer one never is (lanes.js knows it)
	gapShortened = 76  // and then at least so wide
	roomy        = 680 // a picture may be so wide
	roomyRow     = 80  // and one of many rows so wide for each
	leadIn       = 20  // before the first row
	gapStep      = 13  // between rows of one instant, where they come by steps
	planned      = 400 // how wide the planned work is there
	tail         = 24  // after the last row
)

// axis is where instants are, for one run or for several that are drawn to one
// scale.
type axis struct {
	instants  []float64 // milliseconds, ascending
	rows      []int     // how many rows a run has at each, the most of all runs
	apart     []float64 // how far it is from the one before at least
	place     []float64 // of the first row at each
	shortened []bool    // the wait before it
	end       float64   // the place of the last row
	scale     float64   // how wide a millisecond is
	most      int       // rows of a run that are on it
	shared    bool      // it belongs to several runs
	same      float64   // how far rows of one instant are apart
	horizon   float64   // how long the planned work takes, in milliseconds, where rows come by steps
	ideal     float64   // where its last instant would be then if no rows crowded
}

// axisOf puts the rows of runs onto one axis. Typical is the time that is
// gapTypical wide. A steady axis shortens a wait by its own length alone, so that
// what comes later moves nothing.
func axisOf(typical float64, steady bool, runs ...[]float64) *axis {
	a := &axis{shared: len(runs) > 1, same: gapSame}
	type point struct {
		at       float64
		run, nth int
	}
	var points []point
	for run, times := range runs {
		a.most = max(a.most, len(times))
		nth := 0
		for i, at := range times {
			if nth++; i == 0 || at != times[i-1] {
				nth = 1
			}
			points = append(points, point{at, run, nth})
		}
	}
	slices.SortStableFunc(points, func(x, y point) int { return cmp.Compare(x.at, y.at) })
	var here, before []bool // the runs that have a row at the instant, and at the one before
	for _, p := range points {
		n := len(a.instants)
		if n == 0 || a.instants[n-1] != p.at {
			a.instants, a.rows, a.apart = append(a.instants, p.at), append(a.rows, 0), append(a.apart, gapOthers)
			here, before = make([]bool, len(runs)), here
			n++
		}
		here[p.run] = true
		if before != nil && before[p.run] {
			a.apart[n-1] = gapMin
		}
		a.rows[n-1] = max(a.rows[n-1], p.nth)
	}
	a.lay(typical, steady)
	return a
}

// plan puts the rows of a run that comes by steps on an axis: the planned work is to
// scale, rows that crowd take room of the time after them, and what is longer than all
// the work is shortened. So whatever comes moves nothing.
func plan(horizon float64, times []float64) *axis {
	a := axisOf(1, true, times)
	a.same, a.horizon, a.scale, a.end = gapStep, horizon, planned/horizon, 0
	for i, at := range a.instants {
		a.place[i], a.ideal, a.shortened[i] = a.after(a.instants[:i], at)
		a.end = a.place[i] + a.same*float64(a.rows[i]-1)
	}
	return a
}

// after is the place of an instant after others, if no rows crowded, and whether the wait
// before it is shortened.
func (a *axis) after(others []float64, at float64) (place, ideal float64, shortened bool) {
	n := len(others)
	if n == 0 {
		return min(at, a.horizon) * a.scale, min(at, a.horizon) * a.scale, false
	}
	wait := at - others[n-1]
	if wait > a.horizon {
		place = a.end + gapShortened + 8*math.Floor(math.Log10(wait))
		return place, place, true
	}
	ideal = a.ideal + wait*a.scale
	return max(ideal, a.end+gapMin), ideal, false
}

// lay finds the place of each instant: with as few axis breaks as can be, and rather
// at half the scale than with one.
func (a *axis) lay(typical float64, steady bool) {
	scale, longest := gapTypical/typical, math.Inf(1)
	switch {
	case steady:
		longest = gapLong / scale
	case a.fits(scale, longest):
	case a.fits(scale/2, longest):
		scale /= 2
	default:
		longest = a.longestWhole(scale)
	}
	a.scale = scale
	a.place, a.shortened = make([]float64, len(a.instants)), make([]bool, len(a.instants))
	at := 0.0
	for i := range a.instants {
		if i > 0 {
			gap, shortened := a.gap(i, scale, longest)
			at += gap
			a.shortened[i] = shortened
		}
		a.place[i] = at
		at += a.same * float64(a.rows[i]-1)
	}
	a.end = at
}

// wait is how long it is from the instant before, in milliseconds.
func (a *axis) wait(i int) float64 { return a.instants[i] - a.instants[i-1] }

// gap is how wide the wait before an instant is; one that is longer than
// longest, in milliseconds, is shortened.
func (a *axis) gap(i int, scale, longest float64) (gap float64, shortened bool) {
	wait := a.wait(i)
	if wait > longest && wait*scale > gapShort {
		return gapShortened + 8*math.Floor(math.Log10(wait)), true // room for the text that says how long it was
	}
	return max(wait*scale, a.apart[i]), false
}

// fits tells whether all of it can be seen well when nothing but what is longer
// than longest is shortened.
func (a *axis) fits(scale, longest float64) bool {
	wide, rows := 0.0, 0
	for i := range a.instants {
		rows += a.rows[i]
		wide += gapSame * float64(a.rows[i]-1)
		if i > 0 {
			gap, shortened := a.gap(i, scale, longest)
			if wide += gap; gap > gapLong && !shortened {
				return false
			}
		}
	}
	return wide <= max(roomy, roomyRow*float64(rows))
}

// longestWhole is the longest wait that need not be shortened, in milliseconds.
func (a *axis) longestWhole(scale float64) float64 {
	var waits []float64
	for i := 1; i < len(a.instants); i++ {
		if w := a.wait(i); w*scale > gapShort {
			waits = append(waits, w)
		}
	}
	slices.Sort(waits)
	waits = slices.Compact(waits)
	// The more waits are shortened, the narrower it is.
	if i := sort.Search(len(waits)-1, func(i int) bool { return !a.fits(scale, waits[i]) }); i > 0 {
		return waits[i-1]
	}
	return 0
}

// toScale tells whether no wait is drawn shorter or longer than the scale has it.
func (a *axis) toScale() bool {
	for i := 1; i < len(a.instants); i++ {
		if a.shortened[i] || a.wait(i)*a.scale < a.apart[i] {
			return false
		}
	}
	return true
}

// of are the places of a run's rows.
func (a *axis) of(times []float64) []float64 {
	at := make([]float64, len(times))
	i, nth := -1, 0
	for row, t := range times {
		if row > 0 && t == times[row-1] {
			nth++
		} else {
			nth = 0
			for i++; a.instants[i] != t; i++ {
			}
		}
		at[row] = a.place[i] + a.same*float64(nth)
	}
	return at
}

// times are those of the rows, as far as most, none before that of the one
// before it.
func (l *Lanes) times(most int) []float64 {
	times := make([]float64, min(most, len(l.rows)))
	last := math.Inf(-1)
	for i := range times {
		last = max(last, l.rows[i].at)
		times[i] = last
	}
	return times
}

// laid is an axis of a run alone, and of how much of the run.
type laid struct {
	*axis

	count int
	whole bool
}

// axis is the axis of this run alone. It is laid once for each row.
func (l *Lanes) axis(followed bool) *axis {
	on := &l.still
	if followed {
		on = &l.followed
	}
	if whole := l.over >= len(l.names); on.axis == nil || on.count != len(l.rows) || on.whole != whole {
		*on = laid{l.lay(followed && !whole), len(l.rows), whole}
	}
	return on.axis
}

func (l *Lanes) lay(steady bool) *axis {
	typical := typicalGap(l)
	if steady {
		typical = l.steadyGap(typical)
	}
	return axisOf(typical, steady, l.times(len(l.rows)))
}

// Together draws runs as far as MaxRows, all on one time axis: an instant has
// the same place in each picture, and all are as wide. Prefixes are the prefixes of their
// ids, one for each run.
func Together(lang words.Language, runs []*Lanes, prefixes []string) []Picture {
	times := make([][]float64, len(runs))
	for i, l := range runs {
		times[i] = l.times(MaxLaneRows)
	}
	on := axisOf(typicalGap(runs...), false, times...)
	pictures := make([]Picture, len(runs))
	names, width := 0.0, 0.0
	for i, l := range runs {
		pictures[i] = l.picture(lang, prefixes[i], 0, MaxLaneRows, l.numbered(), on)
		names, width = max(names, pictures[i].Names), max(width, pictures[i].Width)
	}
	for i := range pictures {
		pictures[i].Names, pictures[i].Width = names, width
	}
	return pictures
}

// axisBreaks are the waits that the axis has shortened, as far as they are shown.
func (d *drawing) axisBreaks() {
	if !d.text {
		return
	}
	for i, shortened := range d.axis.shortened {
		if !shortened {
			continue
		}
		from, to := d.axis.place[i-1]+d.axis.same*float64(d.axis.rows[i-1]-1), d.axis.place[i]
		if from < d.from || to > d.to {
			continue
		}
		f := AxisBreak{Span: Span{d.x(from), d.x(to)}, Text: d.lang.Duration(trace.Millis(d.axis.wait(i)).Duration())}
		f.X = round((f.From + f.To) / 2)
		d.p.AxisBreaks = append(d.p.AxisBreaks, f)
	}
}

// steadyGap is the typical gap of a picture that is followed. It stays while the
// median is not far from it: where that goes to and fro between two, everything
// in the picture would move each time.
func (l *Lanes) steadyGap(typical float64) float64 {
	if median := medianGap(l); l.steady == 0 || median < .6*l.steady || median > 1.9*l.steady {
		l.steady = typical
	}
	return l.steady
}

// medianGap is the median of the times between rows, in milliseconds, 0 where
// there are none.
func medianGap(runs ...*Lanes) float64 {
	var gaps []float64
	for _, l := range runs {
		for i := 1; i < len(l.rows); i++ {
			if d := l.rows[i].at - l.rows[i-1].at; d > 0 {
				gaps = append(gaps, d)
			}
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// typicalGap is the median, rounded to 1, 2 or 5 so that it seldom changes
// while a run grows.
func typicalGap(runs ...*Lanes) float64 {
	median := medianGap(runs...)
	if median == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(median)))
	switch m := median / power; {
	case m < 1.5:
		return power
	case m < 3.5:
		return 2 * power
	case m < 7.5:
		return 5 * power
	default:
		return 10 * power
	}
}
