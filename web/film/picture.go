package film

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/run"
	"relock/engine/trace"
	"relock/web/words"
)

// MaxLaneRows is how many rows one picture shows at most: more are wider than
// anybody scrolls.
const MaxLaneRows = 240

// drawnLevels is how many levels of a bar people can tell apart.
const drawnLevels = 8

// Picture is a run, or a part of one, ready to be drawn: all numbers are
// units of the picture, downwards from its top edge, and from Left on.
type Picture struct {
	Prefix        string // of the ids in it: another one for each picture on a page
	Width, Height float64
	Left          float64 // the place of its left edge; 0 but in a picture that is followed
	Right         float64 // where the state after its last row ends
	Followed      bool    // Follow drew it
	PerMilli      float64 // how wide a millisecond is that comes after its last row, 0 where none does
	Names         float64 // how wide the names to its left are
	Label         string  // what it is, in a sentence
	Cursor        int     // the current step, 0 for none; for the caller to set

	First, Count, Of int // which rows are shown, the first one from 0, of how many

	Top, Bottom float64 // between which all lanes are
	FlagsAt     float64 // the middle of the flags, above the rows' numbers
	Columns     []Column
	Lanes       []Lane
	Resource    *ResourceLane // nil where nothing is protected
	Key         KeyLane
	Unit        string // of the instants: "ms" or "min"
	Scale       string // says that the axis is to scale
	AxisBreaks  []AxisBreak
	Instants    []Instant
	Flags       []Flag
	Events      []Event
	Plans       []Planned
	Ends        []Point // from the last state of the lease to its end, nil where that is not drawn
}

// Planned is what will be by itself, as a place on the time axis.
type Planned struct {
	Ordinal int // of the thread, -1 for the key
	Next    run.Next
	At      time.Duration
	From, X float64 // where what is drawn ends, and its own place
	Y       float64 // the middle of its lane
	Text    string  // its time, where there is room
}

// Planned.Next of what is drawn in a way of its own.
const (
	EndsWork  = run.NextWork
	AsksAgain = run.NextRetry
	Renews    = run.NextRenew
)

// Column is a row of the table as a place on the time axis.
type Column struct {
	Step     int
	X        float64
	From, To float64 // what belongs to it
	At       float64 // milliseconds since the run began
	Time     string  // "T5", or "" where there is no room
}

// AxisBreak is a long wait that is drawn shorter than it was.
type AxisBreak struct {
	Span

	X    float64 // its middle
	Text string  // how long it was
}

// ResourceLane is what the lock protects.
type ResourceLane struct {
	Top, Middle, Bottom float64
	Name                string
	Values              []Value
	Touches             []Touch
}

// Value is a time during which the resource does not change.
type Value struct {
	Span

	Text  string // where there is room
	TextX float64
}

// Touch is a read or a write of the resource.
type Touch struct {
	X       float64
	Ordinal int // of the thread, or -1
	Kind    TouchKind
}

// Instant is a point in time, which several rows can share.
type Instant struct {
	From, To float64 // its first and its last row
	X        float64 // of the text
	Text     string  // "50", in milliseconds, or "" where there is no room
}

// Lane is one thread.
type Lane struct {
	Thread  string
	Of      string  // what it belongs to, or ""
	OfAt    Point   // its place, from the left edge of the names
	NameAt  float64 // from the lane's middle to the line of the name
	Ordinal int
	Top     float64
	Middle  float64
	Bars    []Bar
	Waits   []Span
	Stills  []Span
	Marks   []LaneMark
}

// Span is a part of the time axis.
type Span struct{ From, To float64 }

// Bar is a level that a thread believes to hold, as long as the truth
// about it does not change.
type Bar struct {
	Span

	Level       int
	Top, Height float64
	Leaving     bool   // its work is over: it only has to unlock
	Parted      bool   // its thread is inside, and Redis does not know the hold
	Text        string // where there is room
	TextX       float64

	lock string // of several locks, the one that the level is
}

// LaneMark is something that happened on a lane.
type LaneMark struct {
	X    float64
	Kind MarkKind
}

// KeyLane is the lock's key: how long it will live, or on how many nodes it is.
type KeyLane struct {
	Top, Bottom float64
	Name        string
	Full        string // what its whole height means, "" where there is no key
	Areas       []Area
	Open        *Area   // of a run that goes on, what comes after its last row
	Slope       float64 // by how much it falls for each unit to the right
	Strips      []Strip // in the place of areas: the nodes, or the spin lock's words
}

// Strip is the key on one of several nodes, or the word of one process.
type Strip struct {
	Label       string
	Top, Height float64
	Holds       []Hold
	Down        []Span // it does not answer
}

// Hold is a time during which a strip has one owner.
type Hold struct {
	Span

	Ordinal  int  // of the owner, -1 for one that is no thread
	Majority bool // the owner has enough of them to hold the lock
}

// Area is a time during which the key has one owner.
type Area struct {
	Span

	Ordinal int    // of the owner, -1 for several, and for one that is no thread
	Thread  string // its name where there is room; of several their names, or how many permits they have taken
	Endless bool   // the key has no expiry
	Beyond  string // its lease where that is far above the lane's height
	Points  []Point

	owner string // Thread, as if there were room
}

// Point is a point of the picture.
type Point struct{ X, Y float64 }

// Flag is a row in which rules were broken.
type Flag struct {
	X    float64
	Text string // where there is room
	Left bool   // of the sign is the text
}

// Event is something that happened to Redis itself.
type Event struct {
	X       float64
	Expired bool    // the key's lease ran out; else a fault
	Text    string  // of a fault, where there is room
	TextX   float64 // its middle, from X
}

// measures are the heights of a picture's parts.
type measures struct {
	head, lane, resource, gap, key, foot float64
	stretch                              float64 // of the time axis
	text                                 bool
	numbers                              bool // the rows' are above the lanes, and the broken rules' names
	followed                             bool // places are those of the whole run
}

// Still draws the run, as far as MaxRows, for who cannot point at it: with the
// numbers of its rows, and the names of the rules that they break.
func (l *Lanes) Still(lang words.Language, prefix string) Picture {
	return l.picture(lang, prefix, 0, MaxLaneRows, l.numbered(), l.axis(false))
}

// Window draws count rows from the first one, counted from 0, at most
// MaxRows, for pages that say which row one points at. It does not draw what is not
// there. Prefix is the prefix of the ids.
func (l *Lanes) Window(lang words.Language, prefix string, first, count int) Picture {
	return l.window(lang, prefix, first, count, false)
}

// Follow draws what Window does, for who draws it again and again while the
// run goes on: what was drawn before keeps its place as long as the scale
// stays, whatever comes after it and wherever the window begins. Places are
// counted from the first row of the run, and Left is where the picture begins.
func (l *Lanes) Follow(lang words.Language, prefix string, first, count int) Picture {
	return l.window(lang, prefix, first, count, true)
}

func (l *Lanes) window(lang words.Language, prefix string, first, count int, followed bool) Picture {
	if l.stepped && !followed && l.horizon > 0 {
		return l.picture(lang, prefix, first, count, l.measures(false), plan(l.horizon, l.times(len(l.rows))))
	}
	p := l.picture(lang, prefix, first, count, l.measures(followed), l.axis(followed))
	if l.over < len(l.names) {
		// A page makes the picture as wide as its box: with room for what
		// comes, each step does not make it again.
		p.Width = max(p.Width, growing)
	}
	return p
}

// measures are the measures of a picture with words.
func (l *Lanes) measures(followed bool) measures {
	m := measures{head: 2*flagHalf + 2, lane: 24, gap: 6, key: 32, foot: 26, stretch: 1, text: true, followed: followed}
	if n := len(l.names); n > roomyLanes {
		// They should all be visible without scrolling.
		m.lane, m.key = max(roomyLanes*m.lane/float64(n), 18), 28
	}
	if l.kind != "" {
		m.resource = resourceHeight
	}
	if strips := l.shape().strips(l); strips > 0 {
		m.key = min(float64(strips)*stripHeight, mostStrips)
	}
	if l.faults {
		m.foot += 14
	}
	return m
}

// numbered are the measures of a picture that also has the numbers of its rows.
func (l *Lanes) numbered() measures {
	m := l.measures(false)
	m.numbers, m.head = true, numberRow
	m.foot += scaleLine
	if l.broken > 0 {
		m.head += flagRow
	}
	return m
}

const (
	roomyLanes     = 3  // more threads have lower lanes
	stripHeight    = 16 // of a node, or of a word
	mostStrips     = 112
	resourceHeight = 24
	flagRow        = 24                      // the height that flags take above the rows' numbers
	numberRow      = 28                      // and that of these
	scaleLine      = 10                      // what says that the axis is to scale, below its unit
	growing        = leadIn + planned + tail // the least width of a run that goes on
)

// Measures of the small picture.
const (
	smallWidth  = 280
	smallHeight = 90
)

// Small draws the run, as far as MaxRows, as wide and high as every other
// small picture, without words.
func (l *Lanes) Small(lang words.Language, prefix string) Picture {
	m := measures{head: 10, gap: 4, key: 24, foot: 6, stretch: 1}
	m.lane = (smallHeight - m.head - m.gap - m.key - m.foot) / float64(max(len(l.names), 1))
	on := l.axis(false)
	if n := min(len(l.rows), MaxLaneRows); n > 0 {
		m.stretch = (smallWidth - leadIn - tail) / max(on.of(l.times(n))[n-1], 1)
	}
	p := l.picture(lang, prefix, 0, MaxLaneRows, m, on)
	p.Width, p.Height = smallWidth, smallHeight
	p.Events = nil // too small to tell apart
	flags := p.Flags[:0]
	for _, f := range p.Flags {
		if n := len(flags); n == 0 || f.X-flags[n-1].X >= 2*flagHalf {
			flags = append(flags, f) // of those that would hide each other, the first
		}
	}
	p.Flags = flags
	for i := range p.Lanes {
		p.Lanes[i].Marks = nil
	}
	return p
}

// namesMin has room for "200 ms".
const namesMin = 66

// drawing is a picture in the making.
type drawing struct {
	*Lanes
	measures

	lang     words.Language
	first    int
	end      int // one more than the last row
	axis     *axis
	at       []float64 // the place of each row, unstretched
	from, to float64   // what is shown of that
	origin   float64   // what the picture's places are counted from
	p        Picture
}

func (l *Lanes) picture(lang words.Language, prefix string, first, count int, m measures, on *axis) Picture {
	d := &drawing{Lanes: l, measures: m, lang: lang, axis: on}
	d.first = min(max(first, 0), len(l.rows))
	d.end = d.first + min(max(count, 0), MaxLaneRows, len(l.rows)-d.first)
	d.at = on.of(l.times(on.most))
	d.from, d.to = -leadIn, tail
	switch {
	case on.shared:
		d.to += on.end
	case d.first < d.end:
		d.from = d.at[d.first] - leadIn/m.stretch
		d.to = d.at[d.end-1] + tail/m.stretch
		// Of the rows beside these it draws only the one before them.
		if d.first > 0 {
			d.from = max(d.from, d.at[d.first-1])
		}
		if d.end < len(d.at) {
			d.to = min(d.to, d.at[d.end])
		}
	}
	if on.horizon > 0 && d.first == 0 {
		d.from = -leadIn // the run begins there
	}
	if !m.followed {
		d.origin = d.from
	}
	plans := d.planned()
	keyTop := m.head + m.lane*float64(len(l.names)) + m.resource + m.gap
	d.p = Picture{
		Prefix: prefix, First: d.first, Count: d.end - d.first, Of: len(l.rows),
		Top: m.head, Bottom: keyTop + m.key, Height: keyTop + m.key + m.foot,
		Left: d.x(d.from), Right: d.x(d.to), Followed: m.followed, Width: round(d.x(d.to) - d.x(d.from) + 4),
		Label: lang.Say("The run as lanes, row by row in the table. Steps: %d; violations: %d.", len(l.rows), l.broken),
	}
	if d.goesOn() {
		d.p.PerMilli = on.scale
	}
	d.p.Names = namesMin
	d.flags()
	d.columns()
	d.p.Unit = "ms"
	if l.inMinutes() {
		d.p.Unit = "min"
	}
	if d.numbers && d.axis.toScale() {
		d.p.Scale = lang.Say("to scale")
	}
	d.instants()
	d.axisBreaks()
	for i := range l.names {
		d.p.Lanes = append(d.p.Lanes, d.lane(i))
	}
	d.nameLanes()
	if m.resource > 0 {
		d.ofResource()
	}
	d.p.Key = KeyLane{Top: keyTop, Bottom: d.p.Bottom, Name: lang.Say("lease"), Full: lang.Duration(trace.Millis(d.full()).Duration())}
	d.shape().draw(d)
	labels := 0.0
	for _, s := range d.p.Key.Strips {
		labels = max(labels, wide(s.Label)+8)
	}
	d.p.Names = max(d.p.Names, math.Ceil(max(1.2*wide(d.p.Key.Name), wide(d.p.Key.Full), wide(d.p.Scale))+labels)+14)
	if r := d.p.Resource; r != nil {
		d.p.Names = max(d.p.Names, math.Ceil(1.2*wide(r.Name))+14)
	}
	d.events()
	d.foresee(plans)
	return d.p
}

// planned are the plans that are near enough to be drawn. What is drawn ends before them.
func (d *drawing) planned() []Planned {
	if d.axis.horizon == 0 || d.end != len(d.rows) {
		return nil
	}
	var list []Planned
	for _, p := range d.plans {
		at := float64(trace.MillisOf(p.At))
		place, _, far := d.axis.after(d.axis.instants, at)
		if n := len(d.axis.instants); n > 0 && at <= d.axis.instants[n-1] {
			place = d.axis.end + d.axis.same
		}
		if far || at > d.axis.horizon && len(d.axis.instants) == 0 {
			continue
		}
		if p.Next != "" && d.end > 0 {
			d.to = min(d.to, max(place, d.at[d.end-1]+gapMin))
		}
		list = append(list, Planned{Ordinal: d.ordinal(p.Thread), Next: p.Next, X: place, At: p.At})
	}
	return list
}

// foresee puts plans into the picture, which is as wide as the planned work, or wider by
// quarters for what outlasts that: seldom another width, for that moves everything.
func (d *drawing) foresee(plans []Planned) {
	if d.axis.horizon == 0 {
		return
	}
	right := d.to
	for _, p := range plans {
		right = max(right, p.X)
		p.X, p.From = round(p.X-d.origin), d.p.Right
		if open := d.p.Key.Open; p.Next == "" {
			if open == nil || open.Endless {
				continue
			}
			d.p.Ends = []Point{open.Points[1], {max(p.X, open.Points[1].X), d.p.Key.Bottom}}
		} else if p.Ordinal >= 0 {
			p.Y = d.p.Lanes[p.Ordinal].Middle
		}
		p.Text = d.roomFor(d.instant(p.At), p.X)
		d.p.Plans = append(d.p.Plans, p)
	}
	for d.p.Width = growing; d.p.Width < right-d.origin+tail; d.p.Width += planned / 4 {
	}
	if n := len(d.p.Columns); n > 0 && d.end == len(d.rows) {
		d.p.Columns[n-1].To = d.p.Left + d.p.Width // what is planned is not what comes after it
	}
}

// x is a place of the whole run in the picture.
func (d *drawing) x(at float64) float64 {
	return round((min(max(at, d.from), d.to) - d.origin) * d.stretch)
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// until is where the state after a row ends: at the next one.
func (d *drawing) until(row int) float64 {
	if row+1 < len(d.at) {
		return d.at[row+1]
	}
	return d.at[row] + tail/d.stretch
}

// shown are the rows whose state the picture shows: its own, and the one before.
func (d *drawing) shown(yield func(row int, place Span) bool) {
	for i := max(d.first-1, 0); i < d.end; i++ {
		if s := (Span{d.x(d.at[i]), d.x(d.until(i))}); s.To > s.From && !yield(i, s) {
			return
		}
	}
}

// Measures of the names to the left of the lanes.
const (
	nameX     = 24 // where they begin, after the thread's shape
	nameLine  = 5  // from the middle of a lane down to the line of a name alone
	twoLines  = 30 // the least height of a lane that has room for two lines
	ofSpacing = 15 // between these
	ofGap     = 7  // between a name and what its thread belongs to, on one line
)

// nameLanes places the threads' names and, below or beside them, what the threads
// belong to.
func (d *drawing) nameLanes() {
	var of []string
	if d.of != nil && d.text && d.axis.horizon == 0 { // beside the table, whose head says it
		of = d.of(d.lang)
	}
	for i := range d.p.Lanes {
		lane := &d.p.Lanes[i]
		name := math.Ceil(1.3 * wide(lane.Thread)) // it is larger, and bold
		lane.NameAt = nameLine
		right := name
		if i < len(of) && of[i] != "" {
			lane.Of = of[i]
			width := math.Ceil(wide(lane.Of))
			if d.measures.lane >= twoLines {
				lane.NameAt = nameLine - ofSpacing/2
				lane.OfAt = Point{nameX, lane.Middle + lane.NameAt + ofSpacing}
				right = max(name, width)
			} else {
				lane.OfAt = Point{nameX + name + ofGap, lane.Middle + nameLine}
				right = name + ofGap + width
			}
		}
		d.p.Names = max(d.p.Names, right+nameX+10)
	}
}

// wide is about how wide a text is in the picture's small type.
func wide(text string) float64 {
	w := 0.0
	for _, r := range text {
		if r < 0x2e80 {
			w += 7.8
		} else {
			w += 13
		}
	}
	return w
}

// flags have a separate row. A text is to the right of its sign, or to the left where
// there is no room for it, or nowhere.
func (d *drawing) flags() {
	d.p.FlagsAt = flagHalf + 1
	if d.numbers {
		d.p.FlagsAt = max(d.head-14-flagRow, flagHalf+2)
	}
	for i := d.first; i < d.end; i++ {
		row := d.rows[i]
		if len(row.rules) == 0 {
			continue
		}
		f := Flag{X: d.x(d.at[i])}
		if d.numbers {
			f.Text = "T" + strconv.Itoa(row.step) + " " + few(d.titles(row.rules))
		}
		d.p.Flags = append(d.p.Flags, f)
	}
	taken := d.p.Left
	for i := range d.p.Flags {
		f := &d.p.Flags[i]
		end := d.p.Left + d.p.Width
		if i+1 < len(d.p.Flags) {
			end = d.p.Flags[i+1].X - flagHalf
		}
		width := flagHalf + f.Width() + 2
		switch {
		case f.X+width <= end:
			taken = f.X + width
			continue
		case f.X-width >= taken:
			f.Left = true
		case i == len(d.p.Flags)-1: // nothing is to the right of it
			d.p.Width = math.Ceil(f.X + width - d.p.Left)
			continue
		default:
			f.Text = ""
		}
		taken = f.X + flagHalf
	}
}

// titles are rules as a person calls them.
func (d *drawing) titles(rules []string) []string {
	titles := make([]string, len(rules))
	for i, rule := range rules {
		titles[i] = d.lang.Clause(d.sc.Lock.Kind.Title(rule))
	}
	return titles
}

// flagHalf is half the width of a flag's sign.
const flagHalf = 9

// few are the names in a list, of a long one those that come first: more than
// a screen has room for is no text of a picture.
func few(names []string) string {
	const longest = 80
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if len(names) > mostNamed {
		text += ", …"
	}
	return words.Short(text, mostNamed*longest)
}

// mostNamed is how many names of a list are in a picture.
const mostNamed = 8

// Width is the width of a flag's text with its edges, 0 without one.
func (f Flag) Width() float64 {
	if f.Text == "" {
		return 0
	}
	return math.Ceil(1.1*wide(f.Text)) + 10 // it is bold
}

func (d *drawing) columns() {
	taken := math.Inf(-1)
	for i := d.first; i < d.end; i++ {
		c := Column{Step: d.rows[i].step, X: d.x(d.at[i]), From: d.p.Left, To: d.x(d.to), At: d.rows[i].at}
		if i > d.first {
			c.From = d.p.Columns[len(d.p.Columns)-1].To
		}
		if i+1 < d.end {
			c.To = round((c.X + d.x(d.at[i+1])) / 2)
		}
		text := "T" + strconv.Itoa(c.Step)
		half := wide(text) / 2
		if d.numbers && c.X-half > taken {
			c.Time = text
			taken = c.X + half + 2
		}
		d.p.Columns = append(d.p.Columns, c)
	}
}

func (d *drawing) instants() {
	if !d.text {
		return
	}
	var expired, rest []func()
	for i := d.first; i < d.end; {
		last := i
		for last+1 < d.end && d.rows[last+1].at == d.rows[i].at {
			last++
		}
		n, text := len(d.p.Instants), d.instant(trace.Millis(d.rows[i].at).Duration())
		t := Instant{From: d.x(d.at[i]), To: d.x(d.at[last])}
		t.X = max(round((t.From+t.To)/2), d.p.Left+math.Ceil(wide(text)/2))
		d.p.Instants = append(d.p.Instants, t)
		say := func() { d.p.Instants[n].Text = d.roomFor(text, t.X) }
		if slices.ContainsFunc(d.rows[i:last+1], func(r laneRow) bool { return r.expired }) {
			expired = append(expired, say) // its sign is a clock
		} else {
			rest = append(rest, say)
		}
		i = last + 1
	}
	for _, say := range slices.Concat(expired, rest) {
		say()
	}
}

// roomFor is a text below the lanes, or "" where others leave no room for it.
func (d *drawing) roomFor(text string, x float64) string {
	near := func(other string, at float64) bool {
		return other != "" && math.Abs(x-at) <= (wide(text)+wide(other))/2+6
	}
	if slices.ContainsFunc(d.p.Instants, func(t Instant) bool { return near(t.Text, t.X) }) || slices.ContainsFunc(d.p.Plans, func(p Planned) bool { return near(p.Text, p.X) }) {
		return ""
	}
	return text
}

// inMinutes reports whether minutes suit the run better: it is long, and nothing happens
// between two seconds.
func (l *Lanes) inMinutes() bool {
	const second, long = 1000, 10 * 60 * 1000 // milliseconds
	return len(l.rows) > 0 && l.rows[len(l.rows)-1].at >= long &&
		!slices.ContainsFunc(l.rows, func(r laneRow) bool { return math.Mod(r.at, second) != 0 })
}

// instant is a place on the axis, in its unit: "1,266.667" ms, "13:20" min.
func (d *drawing) instant(at time.Duration) string {
	switch {
	case d.p.Unit == "ms":
		return d.lang.Millis(at)
	case at%time.Minute == 0:
		return strconv.FormatInt(int64(at/time.Minute), 10)
	default:
		return fmt.Sprintf("%d:%02d", at/time.Minute, at%time.Minute/time.Second)
	}
}

func (d *drawing) lane(i int) Lane {
	top := d.head + d.measures.lane*float64(i)
	lane := Lane{Thread: d.names[i], Ordinal: i, Top: round(top), Middle: round(top + d.measures.lane/2)}
	for row, place := range d.shown {
		s := d.rows[row].threads[i]
		for level := 1; level <= min(s.level, drawnLevels); level++ {
			one := Bar{Span: place, Level: level, Leaving: s.leaving, Parted: s.parted && !s.leaving}
			if level <= len(s.locks) {
				one.lock = s.locks[level-1]
			}
			d.bar(&lane, one)
		}
		if s.waiting {
			lane.Waits = extend(lane.Waits, place)
		}
		if s.stillUntil > d.rows[row].until {
			still := place
			if next := row + 1; next < len(d.at) && s.stillUntil < d.rows[next].at {
				part := (s.stillUntil - d.rows[row].until) / (d.rows[next].at - d.rows[row].until)
				still.To = d.x(d.at[row] + (d.at[next]-d.at[row])*part)
			}
			if still.To > still.From {
				lane.Stills = extend(lane.Stills, still)
			}
		}
	}
	for row := d.first; row < d.end; row++ {
		for _, m := range d.rows[row].marks {
			if m.thread == i {
				lane.Marks = append(lane.Marks, LaneMark{d.x(d.at[row]), m.kind})
			}
		}
	}
	if d.text {
		var marked []float64
		for _, m := range lane.Marks {
			marked = append(marked, m.X)
		}
		for _, f := range d.p.Flags {
			marked = append(marked, f.X)
		}
		slices.Sort(marked)
		for j := range lane.Bars {
			d.inscribe(&lane.Bars[j], marked, d.levelOf(lane.Bars[j]))
		}
	}
	return lane
}

// extend adds a span, or lengthens the last one where it goes on.
func extend(spans []Span, s Span) []Span {
	if n := len(spans); n > 0 && spans[n-1].To == s.From {
		spans[n-1].To = s.To
		return spans
	}
	return append(spans, s)
}

// bar adds a bar, or lengthens the one of its level where it goes on.
func (d *drawing) bar(lane *Lane, b Bar) {
	for j := len(lane.Bars) - 1; j >= 0; j-- {
		if last := &lane.Bars[j]; last.Level == b.Level {
			if last.Leaving == b.Leaving && last.Parted == b.Parted && last.lock == b.lock && last.To == b.From {
				last.To = b.To
				return
			}
			break
		}
	}
	levels := float64(min(d.depth, drawnLevels))
	unit := d.measures.lane * .74 / max(levels, 1.5)
	b.Height = round(unit)
	b.Top = round(lane.Middle + unit*levels/2 - unit*float64(b.Level))
	lane.Bars = append(lane.Bars, b)
}

// levelOf is what a thread's level is called: of several locks by the lock's key.
func (d *drawing) levelOf(b Bar) string {
	if len(d.sc.Locks) > 0 {
		return words.Short(b.lock, mostName)
	}
	return d.lang.Say("level %d", b.Level)
}

// inscribe writes into a bar what fits beside the marks, from left to right.
func (d *drawing) inscribe(b *Bar, marked []float64, level string) {
	if b.Height < 11 {
		return
	}
	const clear = 10 // of a mark's middle
	free := []Span{{b.From + 8, b.To - 6}}
	for _, x := range marked {
		if last := &free[len(free)-1]; x > last.From-clear && x < last.To+clear {
			rest := Span{max(x+clear, last.From), last.To}
			last.To = min(last.To, x-clear)
			free = append(free, rest)
		}
	}
	long, short := level, strconv.Itoa(b.Level)
	switch {
	case b.Leaving && b.Level == 1:
		long, short = d.lang.Say("leaving"), ""
	case b.Parted && b.Level == 1:
		long, short = d.lang.Say("not in Redis"), ""
	case b.Leaving, b.Parted:
		return
	}
	for _, text := range []string{long, short} {
		for _, place := range free {
			if text != "" && wide(text) <= place.To-place.From {
				b.Text, b.TextX = text, round(place.From)
				return
			}
		}
	}
}

// full is the lease at the lane's full height. One that is far longer than
// what was asked for is cut off.
func (d *drawing) full() float64 {
	full := cmp.Or(float64(d.sc.Lock.Lease.Milliseconds()), d.highest, 1)
	if d.highest > full && d.highest <= 2*full {
		return d.highest
	}
	return full
}

// height is where a lease of so many milliseconds ends.
func (d *drawing) height(ms float64) float64 {
	part := min(max(ms/d.full(), 0), 1)
	return round(d.p.Key.Bottom - part*(d.p.Key.Bottom-d.p.Key.Top))
}

// goesOn tells whether time goes by after the last row of what is drawn.
func (d *drawing) goesOn() bool {
	return d.text && d.end == len(d.rows) && d.end > d.first && d.over < len(d.names)
}

// stack puts so many strips below each other, with a line between.
func (d *drawing) stack(labels []string) {
	k := &d.p.Key
	height := (k.Bottom - k.Top) / float64(len(labels))
	for i, label := range labels {
		k.Strips = append(k.Strips, Strip{Label: label, Top: round(k.Top + height*float64(i)), Height: round(height - min(2, height/5))})
	}
}

// hold adds a hold to a strip, or lengthens its last one where that goes on.
func (s *Strip) hold(h Hold) {
	if n := len(s.Holds); n > 0 {
		if last := &s.Holds[n-1]; last.To == h.From && last.Ordinal == h.Ordinal && last.Majority == h.Majority {
			last.To = h.To
			return
		}
	}
	s.Holds = append(s.Holds, h)
}

// touchApart is between the touches of one row.
const touchApart = 9

// ofResource draws what the lock protects: its value, and who has read and
// written it.
func (d *drawing) ofResource() {
	top := d.head + d.measures.lane*float64(len(d.names)) + d.gap/2
	r := &ResourceLane{
		Top: round(top), Middle: round(top + d.measures.resource/2), Bottom: round(top + d.measures.resource),
		Name: ResourceName(d.lang, d.kind),
	}
	value := ""
	for row, place := range d.shown {
		if n := len(r.Values); n > 0 && d.rows[row].value == value && r.Values[n-1].To == place.From {
			r.Values[n-1].To = place.To
		} else if d.rows[row].value != "" {
			value = d.rows[row].value
			r.Values = append(r.Values, Value{Span: place, Text: value})
		}
	}
	for row := d.first; row < d.end; row++ {
		for n, t := range d.rows[row].touches {
			r.Touches = append(r.Touches, Touch{round(d.x(d.at[row]) + touchApart*float64(n)), t.thread, t.kind})
		}
	}
	for i := range r.Values {
		d.write(&r.Values[i], r.Touches)
	}
	d.p.Resource = r
}

// write places a value's text where no touch is.
func (d *drawing) write(v *Value, touches []Touch) {
	const clear = 11 // of a touch's middle
	width := 1.2 * wide(v.Text)
	at := v.From + 5
	for _, t := range touches {
		if t.X-clear < at+width && t.X+clear > at {
			at = t.X + clear
		}
	}
	if v.TextX = round(at); at+width > v.To {
		v.Text = ""
	}
}

// events are what happened to Redis itself.
func (d *drawing) events() {
	taken := math.Inf(-1)
	for i := d.first; i < d.end; i++ {
		row := d.rows[i]
		if !row.expired && len(row.faults) == 0 {
			continue
		}
		e := Event{X: d.x(d.at[i]), Expired: len(row.faults) == 0}
		text := few(row.faults)
		if half := wide(text) / 2; d.text && text != "" && max(e.X-half, d.p.Left) > taken {
			e.Text, e.TextX = text, max(0, d.p.Left+half-e.X) // it begins in the picture
			taken = e.X + e.TextX + half + 4
		}
		d.p.Events = append(d.p.Events, e)
	}
}
