package film

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// oneKey is a lock that is a key in Redis.
type oneKey struct{}

func (oneKey) card(s *stager, c Card) Card {
	switch {
	case s.event.Key.Exists():
		s.ofKey(&c)
	case s.sc.Lock.Key == scenario.NoKey:
		c.Key, c.Held, c.Raw = "", s.l.Say("no key seen yet"), s.l.Say("The first command of a lock shows it, or you name it.")
	default:
		c.Raw, c.Left = s.l.Say("no key"), "–"
		c.Held = cmp.Or(allFree(s.l.Language, s.sc.Lock.Kind), c.Held)
	}
	return c
}

func (oneKey) cards(*stager) []NodeCard { return nil }

func (oneKey) claim(s *stager, name string, levels int) string {
	switch {
	case levels == 1 && s.sc.Lock.Kind.Permits > 0:
		return s.l.Say("I hold a permit")
	case levels == 1 && s.truth.Shares(name):
		return s.l.Say("I read")
	case levels == 1 && s.truth.Writes(name):
		return s.l.Say("I write")
	case levels == 1:
		return s.l.Say("I hold the lock")
	case levels == 2:
		return s.l.Say("I hold it twice")
	default:
		return s.l.Say("I hold it %d times", levels)
	}
}

func (oneKey) tie(s *stager, b *Belief, name string, levels int) {
	switch holds := s.holds(s.event.Key, name); {
	case b.State == Holds && s.thread(name).aside:
		b.Cord, b.Tie, b.Wrong = s.parted(), s.l.Say("asks the old master"), true
	case b.State == Holds:
		s.agree(b, name, levels)
	case holds && b.State == Leaves:
		b.Cord = Agrees
	case holds:
		b.Cord, b.Tie = Loose, s.loose(b.State)
	}
	s.waiting(b, name)
}

func (oneKey) strips(*Lanes) int { return 0 }

func (oneKey) cell(k trace.KeyState) string { return cmp.Or(k.Type, trace.TypeNone) }

func (oneKey) title(l words.Language, b trace.Outcome) (string, Tone) { return Outcome(l, b) }

func (oneKey) outcome(*Narrator, trace.Event, trace.Outcome) string { return "" }

func (oneKey) work(*Narrator, trace.Event, trace.Work) string { return "" }

// agree ties a thread that believes that it holds the lock at so many levels to
// one key.
func (s *stager) agree(b *Belief, name string, levels int) {
	if !s.holds(s.event.Key, name) {
		b.Cord, b.Tie, b.Wrong = s.parted(), s.l.Say("not in Redis"), true
		return
	}
	b.Cord = Agrees
	count := s.truth.Count(s.event.Key, name)
	switch {
	case count != "" && count != strconv.Itoa(levels):
		b.Cord, b.Tie, b.Wrong = Twice, s.l.Say("Redis: %s", words.Short(count, mostName)), true
		if count == "1" {
			b.Cord = Agrees
		}
	case count != "" && levels > 1:
		b.Cord, b.Tie = Twice, s.l.Say("both say %s", count)
	case levels > 1:
		b.Cord = Twice
	}
}

// ofKey fills in a key that is there.
func (s *stager) ofKey(c *Card) {
	k := s.event.Key
	c.Gone, c.Part, c.Left = false, s.shown.Fraction, s.leaseLeft()
	believed := false
	for _, h := range s.shown.Holds[:min(len(s.shown.Holds), mostLines)] {
		if one := (Owner{h.Ordinal, cmp.Or(h.Thread, h.Owner)}); !slices.Contains(c.Owners, one) {
			c.Owners = append(c.Owners, one)
		}
		believed = believed || h.Thread != "" && (s.event.Belief[h.Thread] > 0 || slices.Contains([]State{Asks, Unsure, Waits, Leaves}, s.state(h.Thread)))
	}
	switch {
	case k.Type == trace.TypeList:
		c.Held = elements(s.l.Language, k)
	case len(c.Owners) == 0:
		c.Held = s.l.Say("not a lock")
	case !believed && s.shown.Holds[0].Thread != "":
		c.Held, c.Odd = s.l.Say("is written there"), s.l.Say("nobody believes that it holds it")
		if len(c.Owners) > 1 {
			c.Held = s.l.Say("are written there")
		}
	default:
		c.Held = s.verb(len(c.Owners))
	}
	entries, calls := s.shown.Entries(), s.shown.Calls
	entries, calls = entries[:min(len(entries), mostLines)], calls[:min(len(calls), mostLines)]
	switch {
	case len(entries) == 0:
		c.Raw = strings.ToUpper(k.Type)
	case s.shown.Quoted():
		c.Raw = `STRING "` + entries[0].Owner + `"`
	case k.Type == trace.TypeHash && len(entries) == 1 && len(calls) == 0: // as nearly always
		c.Raw = "HASH { " + entries[0].Owner + ": " + entries[0].Count + " }"
	default:
		var fields []string
		for _, h := range entries {
			fields = append(fields, h.Text())
		}
		for _, call := range calls {
			fields = append(fields, call.String())
		}
		c.Raw = strings.ToUpper(k.Type) + " { " + strings.Join(fields, ", ") + " }"
	}
	switch {
	case k.PTTL < 0 && k.Type != trace.TypeList:
		c.Odd, c.Wrong = s.l.Say("no expiry"), true
	case overADay(k):
		c.Odd, c.Wrong = s.l.Say("over a day left"), true
	}
}

// verb says what so many owners of the key have.
func (s *stager) verb(owners int) string {
	k, count := s.shown, ""
	if k.Type == trace.TypeHash && len(k.Holds) == 1 {
		count = words.Short(k.Holds[0].Count, mostName)
	}
	switch {
	case k.Quoted():
		return s.l.Say("is the owner")
	case s.sc.Lock.Kind.Permits > 0:
		return s.permits(owners)
	case k.Mode == trace.ModeRead && owners > 1:
		return s.l.Say("read it")
	case k.Mode == trace.ModeRead && count != "" && count != "1":
		return s.l.Say("reads it, ×%s", count)
	case k.Mode == trace.ModeRead:
		return s.l.Say("reads it")
	case k.Mode == trace.ModeWrite && count != "" && count != "1":
		return s.l.Say("writes it, ×%s", count)
	case k.Mode == trace.ModeWrite && owners == 1:
		return s.l.Say("writes it")
	case owners > 1:
		return s.l.Say("hold it")
	case count == "":
		return s.l.Say("holds it")
	case count == "0" || strings.HasPrefix(count, "-"):
		return s.l.Say("is written there, ×%s", count)
	default:
		return s.l.Say("holds it, ×%s", count)
	}
}

// permits says how many of them so many owners have, of a key that has members.
func (s *stager) permits(owners int) string {
	n, all := len(s.shown.Holds), s.sc.Lock.Kind.Permits
	switch {
	case n > all && owners == n:
		return s.l.Say("are %d for %d permits", n, all)
	case n > all:
		return s.l.Say("%d members for %d permits", n, all)
	case owners == 1:
		return s.l.Say("holds %d of %d permits", n, all)
	default:
		return s.l.Say("hold %d of %d permits", n, all)
	}
}

// leaseLeft says how much of the lease is left.
func (s *stager) leaseLeft() string {
	left, lease := s.event.Key.PTTL, s.sc.Lock.Lease
	whole := millis(left)
	switch {
	case left < 0:
		return s.l.Say("for ever")
	case s.framed && (whole > lease || lease == scenario.MaxDuration): // a frame has no longer one
		return s.l.Duration(whole)
	case whole >= 24*time.Hour && whole > 10*lease: // days, where far less was asked for
		return s.l.Say("%d d %d h, where %s were meant", int(whole.Hours())/24, int(whole.Hours())%24, s.l.Duration(lease))
	case lease < time.Minute:
		return s.l.Say("%d of %d ms", left, lease.Milliseconds())
	default:
		return s.l.Say("%s of %s", s.l.Duration(whole), s.l.Duration(lease))
	}
}

// draw draws how long the key will live: falling with time, up again with
// every renewal.
func (oneKey) draw(d *drawing) {
	areas := &d.p.Key.Areas
	for row, place := range d.shown {
		r := d.rows[row]
		if !r.key.Exists() {
			continue
		}
		next := Area{Span: place, Ordinal: r.holder, Endless: r.key.PTTL < 0, owner: d.owner(r)}
		endless := next.Endless
		if d.goesOn() && row == len(d.rows)-1 {
			d.open(next, float64(r.key.PTTL))
			break
		}
		n := len(*areas)
		if n == 0 || !(*areas)[n-1].goesOn(next) || (*areas)[n-1].Endless != endless {
			*areas = append(*areas, next)
			n++
		}
		a := &(*areas)[n-1]
		a.To = place.To
		left, right := float64(r.key.PTTL), float64(r.key.PTTL)
		if after := row + 1; after < len(d.at) {
			passed := d.rows[after].at - r.until
			right = max(right-passed, 0)
			whole := d.at[after] - d.at[row] // of which the picture can show a part
			shown := func(x float64) float64 {
				return left - (left-right)*(d.origin+x/d.stretch-d.at[row])/whole
			}
			left, right = shown(place.From), shown(place.To)
		}
		if endless {
			left, right = d.full(), d.full()
		}
		if d.text && left > 2*d.full() && a.Beyond == "" {
			a.Beyond = d.lang.Duration(trace.Millis(left).Duration())
		}
		a.Points = line(a.Points, Point{place.From, d.height(left)}, Point{place.To, d.height(right)})
	}
	d.name()
}

// owner says whose the key is in a row: a thread's name, those of several, or how many
// permits are taken.
func (d *drawing) owner(r laneRow) string {
	switch {
	case r.taken > d.sc.Lock.Kind.Permits:
		return d.lang.Say("%d for %d permits", r.taken, d.sc.Lock.Kind.Permits)
	case r.taken > 0:
		return d.lang.Say("%d of %d", r.taken, d.sc.Lock.Kind.Permits)
	case len(r.several) > 0:
		return few(r.several)
	case r.holder >= 0:
		return d.names[r.holder]
	default:
		return ""
	}
}

// goesOn tells whether the key is the same one's in the area after it.
func (a *Area) goesOn(next Area) bool {
	return a.To == next.From && a.Ordinal == next.Ordinal && a.owner == next.owner
}

// open draws the lease after the last row, of which left milliseconds are left.
func (d *drawing) open(a Area, left float64) {
	endless, place := a.Endless, a.Span
	if left > 2*d.full() {
		a.Beyond = d.lang.Duration(trace.Millis(left).Duration())
	}
	if !endless && left <= d.full() {
		d.p.Key.Slope = (d.p.Key.Bottom - d.p.Key.Top) / d.full() / d.axis.scale
	}
	y := d.p.Key.Top
	if !endless {
		y = d.height(left)
	}
	end := min(y+d.p.Key.Slope*(place.To-place.From), d.p.Key.Bottom)
	a.Points = []Point{{place.From, y}, {place.To, round(end)}}
	if n := len(d.p.Key.Areas); n == 0 || !d.p.Key.Areas[n-1].goesOn(a) {
		a.Thread = a.owner
	}
	d.p.Key.Open = &a
}

// line goes on with two points, without those that it does not need. PTTLs
// are whole milliseconds: what differs by less is no step.
func line(points []Point, next ...Point) []Point {
	for _, p := range next {
		if n := len(points); n > 0 && points[n-1].X == p.X && math.Abs(points[n-1].Y-p.Y) < .5 {
			continue
		}
		points = append(points, p)
	}
	return points
}

// name writes the owners into their areas.
func (d *drawing) name() {
	for i := range d.p.Key.Areas {
		a := &d.p.Key.Areas[i]
		if a.owner != "" && d.text && wide(a.owner)+12 <= a.To-a.From {
			a.Thread = a.owner
		}
	}
}
