package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"relock/engine/explore"
	"relock/web/words"
)

// Limits of a picture: what a person can still tell apart.
const (
	maxDots   = 400
	maxLayers = 34
	maxRows   = 14 // dots above each other
	minRows   = 4  // one that is kept, and the rest by fate
)

// Measures of a picture, in px.
const (
	left    = 26
	right   = 24
	top     = 16
	rowStep = 23
	across  = 840 // of all layers, unless they would be too far apart
	apart   = 110
	axis    = 30 // below the dots
)

// SpacePicture is a space, drawn.
type SpacePicture struct {
	Width, Height float64
	Cut           bool   // there are orders that were not tried
	Label         string // what there is to see, in a sentence
	Folded        string // what is drawn together, "" if everything is drawn
	Dots          []Dot
	Links         []SpaceLink
	Ticks         []SpaceTick
	Rows          []StateRow // the same as a table

	dotOf []int // by state
}

// Dot is a state, or several drawn as one, or the end of runs.
type Dot struct {
	X, Y        float64
	R           float64
	Fate        explore.Fate
	States      int
	State       int // the one by which most schedules come, or explore.None: the end
	Label       string
	Right, Left int // the dots to and from which most schedules go, or -1
	Up, Down    int // its neighbours at the instant, or -1

	layer         int
	share, broken float64
}

// SpaceLink is how schedules go from one dot to another.
type SpaceLink struct {
	Path  string // an SVG path's
	Width float64
	Fate  explore.Fate
	Cross bool // on it most of its orders break a rule
	X, Y  float64

	from, to      int
	share, broken float64
	breaks        float64
}

// SpaceTick is an instant on the axis.
type SpaceTick struct {
	X    float64
	Text string
}

// StateRow is an instant in the table.
type StateRow struct {
	At    string
	Cells []StateCell // by fate, as Fates has them
}

// Fates are the fates of a table's columns.
func (p *SpacePicture) Fates() []explore.Fate {
	list := []explore.Fate{explore.Open, explore.Sound, explore.Broken}
	if p.Cut {
		list = append(list, explore.Untried)
	}
	return list
}

// Means says what a fate is, for the legend.
func (p *SpacePicture) Means(l words.Language, fate explore.Fate) string {
	switch {
	case fate == explore.Open:
		return l.Say("open: some orders break a rule")
	case fate == explore.Untried:
		return l.Say("no known order breaks a rule, but not all were tried from here on")
	case p.Cut && fate == explore.Sound:
		return l.Say("from here on no rule is broken")
	case p.Cut:
		return l.Say("a rule is broken on every tried way here, or on every way on")
	case fate == explore.Sound:
		return l.Say("no rule is broken")
	default:
		return l.Say("a rule is broken in all of them")
	}
}

// Crossed reports whether a link has a cross.
func (p *SpacePicture) Crossed() bool {
	return slices.ContainsFunc(p.Links, func(k SpaceLink) bool { return k.Cross })
}

// none returns cells without a state.
func (p *SpacePicture) none() []StateCell {
	return slices.Repeat([]StateCell{{State: explore.None}}, len(p.Fates()))
}

// StateCell is the states of a fate at an instant.
type StateCell struct {
	States int
	State  int    // the one by which most schedules come, or explore.None
	Share  string // of all schedules
	Label  string // of the button that leads there
}

// NewSpacePicture draws a space in l.
func NewSpacePicture(l words.Language, g explore.Graph) *SpacePicture {
	p := &SpacePicture{Cut: g.Cut}
	switch {
	case len(g.States) == 0 && g.Cut:
		p.Label = l.Say("Nothing was searched.")
		return p
	case len(g.States) == 0:
		p.Label = l.Say("The run has ended: there is nothing to explore.")
		return p
	}
	head := heads(g)
	layers := layered(g, head)
	p.gather(g, layers, head)
	p.link(g)
	p.place(layers)
	p.word(l, g, layers)
	p.table(l, g)
	return p
}

// DotOf returns the dot of a state, or -1.
func (p *SpacePicture) DotOf(state int) int {
	if state < 0 || state >= len(p.dotOf) {
		return -1
	}
	return p.dotOf[state]
}

// End returns the dot at which runs end in which a rule is broken, or none is; -1
// where there is none.
func (p *SpacePicture) End(broken bool) int {
	fate := explore.Sound
	if broken {
		fate = explore.Broken
	}
	return slices.IndexFunc(p.Dots, func(d Dot) bool { return d.State == explore.None && d.Fate == fate })
}

// heads returns, for each state, the state by which it is drawn: itself, or where
// a picture would have too many columns the first of those that lead here without
// anything being decided.
func heads(g explore.Graph) []int {
	head, in, out, next := make([]int, len(g.States)), make([]int, len(g.States)), make([]int, len(g.States)), make([]explore.Way, len(g.States))
	instants := map[time.Duration]bool{}
	for id := range head {
		head[id] = id
		instants[g.States[id].At] = true
	}
	if len(g.States) <= maxDots && len(instants) <= maxLayers {
		return head
	}
	for _, w := range g.Ways {
		out[w.From]++
		next[w.From] = w
		if w.To >= 0 {
			in[w.To]++
		}
	}
	for _, id := range g.Order {
		w, s := next[id], g.States[id]
		if out[id] == 1 && w.To >= 0 && in[w.To] == 1 && !w.Breaks && s.Fate == g.States[w.To].Fate {
			head[w.To] = head[id]
		}
	}
	return head
}

// layers are the columns of a picture.
type layers struct {
	of    []int           // by state
	at    []time.Duration // of each layer's first states
	count int
}

// layered puts each state into a column: by its instant, and at one instant by
// how many decisions came before it there. If there are too many, neighbours share a
// column.
func layered(g explore.Graph, head []int) layers {
	rank := make([]int, len(g.States))
	next := 0
	begin := make([]int, len(g.States)+1)
	for id := range g.States {
		for next < len(g.Ways) && g.Ways[next].From < id {
			next++
		}
		begin[id] = next
	}
	begin[len(g.States)] = len(g.Ways)
	type key struct {
		at   time.Duration
		rank int
	}
	var keys []key
	for _, id := range g.Order {
		if head[id] == id {
			keys = append(keys, key{g.States[id].At, rank[id]})
		}
		for _, w := range g.Ways[begin[id]:begin[id+1]] {
			if w.To >= 0 && g.States[w.To].At == g.States[id].At {
				rank[w.To] = max(rank[w.To], rank[id]+1)
			}
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	keys = slices.Compact(keys)
	out := layers{of: make([]int, len(g.States)), count: min(len(keys), maxLayers)}
	out.at = make([]time.Duration, out.count)
	place := make(map[key]int, len(keys))
	for i, k := range keys {
		n := i * out.count / len(keys)
		place[k] = n
		if i == 0 || n != (i-1)*out.count/len(keys) {
			out.at[n] = k.at
		}
	}
	for id := range g.States {
		out.of[id] = place[key{g.States[head[id]].At, rank[head[id]]}]
	}
	return out
}

// gather makes the dots: if a column has too many states, the least used ones share a
// dot, by fate.
func (p *SpacePicture) gather(g explore.Graph, ls layers, head []int) {
	in := make([][]int, ls.count)
	for _, id := range g.Order {
		if head[id] == id {
			in[ls.of[id]] = append(in[ls.of[id]], id)
		}
	}
	p.dotOf = make([]int, len(g.States))
	rows := min(max(maxDots/ls.count, minRows), maxRows)
	for layer, states := range in {
		slices.SortStableFunc(states, func(a, b int) int { return cmp.Compare(g.States[b].Share, g.States[a].Share) })
		folded := map[explore.Fate]int{}
		for i, id := range states {
			s := g.States[id]
			n, together := folded[s.Fate]
			if len(states) <= rows || i < rows-3 || !together {
				n = len(p.Dots)
				p.Dots = append(p.Dots, Dot{State: id, Fate: s.Fate, layer: layer})
			}
			if len(states) > rows && i >= rows-3 {
				folded[s.Fate] = n
			}
			d := &p.Dots[n]
			d.States++
			d.share += s.Share
			d.broken += s.Broken
			d.Fate = d.Fate.With(s.Fate)
			p.dotOf[id] = n
		}
	}
	for id, h := range head {
		if h != id { // all who come by the one come by the other
			p.dotOf[id] = p.dotOf[h]
			p.Dots[p.dotOf[h]].States++
		}
	}
}

// link makes the links, and the dots at which runs end.
func (p *SpacePicture) link(g explore.Graph) {
	last := p.Dots[len(p.Dots)-1].layer + 1
	ends := map[bool]int{}
	end := func(broken bool, share float64) int {
		n, ok := ends[broken]
		if !ok {
			n = len(p.Dots)
			d := Dot{State: explore.None, layer: last, Fate: explore.Sound}
			if broken {
				d.Fate = explore.Broken
			}
			p.Dots = append(p.Dots, d)
			ends[broken] = n
		}
		p.Dots[n].share += share
		if broken {
			p.Dots[n].broken += share
		}
		return n
	}
	between := map[[2]int]int{}
	add := func(from, to int, w explore.Way, share, broken float64, fate explore.Fate) {
		if from == to {
			return
		}
		n, ok := between[[2]int{from, to}]
		if !ok {
			n = len(p.Links)
			p.Links = append(p.Links, SpaceLink{from: from, to: to, Fate: fate})
			between[[2]int{from, to}] = n
		}
		p.Links[n].Fate = p.Links[n].Fate.With(fate)
		p.Links[n].share += share
		p.Links[n].broken += broken
		if w.Breaks {
			p.Links[n].breaks += share
		}
	}
	for _, w := range g.Ways {
		from := p.dotOf[w.From]
		switch {
		case w.To >= 0:
			add(from, p.dotOf[w.To], w, w.Share, w.Broken, w.Fate)
		default:
			if sound := w.Share - w.Broken; sound > w.Share*1e-9 {
				add(from, end(false, sound), w, sound, 0, explore.Sound)
			}
			if w.Broken > w.Share*1e-9 {
				add(from, end(true, w.Broken), w, w.Broken, w.Broken, explore.Broken)
			}
		}
	}
}

// place gives dots and links their places: dots of a column in the order of where
// their schedules come from, those that break below the others.
func (p *SpacePicture) place(ls layers) {
	columns := ls.count
	if p.Dots[len(p.Dots)-1].State == explore.None {
		columns++
	}
	step := min(apart, across/float64(max(columns-1, 1)))
	in := make([][]int, columns)
	for n := range p.Dots {
		d := &p.Dots[n]
		d.X = left + float64(d.layer)*step
		in[d.layer] = append(in[d.layer], n)
	}
	highest := 0
	for _, dots := range in {
		highest = max(highest, len(dots))
	}
	height := float64(max(highest-1, 5)) * rowStep
	incoming := make([][]int, len(p.Dots))
	outgoing := make([][]int, len(p.Dots))
	for n, k := range p.Links {
		incoming[k.to] = append(incoming[k.to], n)
		outgoing[k.from] = append(outgoing[k.from], n)
	}
	wanted := make([]float64, len(p.Dots))
	for _, dots := range in {
		for _, n := range dots {
			d := p.Dots[n]
			sum, weight := 0.0, 0.0
			for _, i := range incoming[n] {
				sum += p.Links[i].share * p.Dots[p.Links[i].from].Y
				weight += p.Links[i].share
			}
			if weight == 0 {
				sum, weight = top+height/2, 1
			}
			lean := d.broken/max(d.share, math.SmallestNonzeroFloat64) - 0.5
			wanted[n] = sum/weight + lean*height*0.6
		}
		slices.SortStableFunc(dots, func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
		gap := min(height/float64(max(len(dots)-1, 1)), 2.4*rowStep)
		first := top + (height-gap*float64(len(dots)-1))/2
		for i, n := range dots {
			p.Dots[n].Y = first + float64(i)*gap
			p.Dots[n].Up, p.Dots[n].Down = -1, -1
			if i > 0 {
				p.Dots[n].Up, p.Dots[dots[i-1]].Down = dots[i-1], n
			}
		}
	}
	for n := range p.Dots {
		d := &p.Dots[n]
		d.R = 4.5 + min(2*math.Log10(float64(max(d.States, 1))), 5)
		if d.State == explore.None {
			d.R = 7
		}
		d.Right, d.Left = thickest(p.Links, outgoing[n], func(k SpaceLink) int { return k.to }), thickest(p.Links, incoming[n], func(k SpaceLink) int { return k.from })
	}
	for n := range p.Links {
		k := &p.Links[n]
		a, b := p.Dots[k.from], p.Dots[k.to]
		bend := (a.X + b.X) / 2
		if a.layer == b.layer {
			bend = a.X + 0.7*step // out of the column, and back
		}
		k.Path = "M" + px(a.X) + " " + px(a.Y) + "C" + px(bend) + " " + px(a.Y) + " " + px(bend) + " " + px(b.Y) + " " + px(b.X) + " " + px(b.Y)
		k.Width = 1 + 9*math.Sqrt(k.share)
		k.Cross, k.X, k.Y = k.breaks > k.share/2, (a.X+b.X)/2, (a.Y+b.Y)/2
	}
	slices.SortStableFunc(p.Links, func(a, b SpaceLink) int { return cmp.Compare(a.share, b.share) })
	p.Width, p.Height = left+float64(columns-1)*step+right, top+height+axis
}

func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// thickest returns the dot at the other end of the link that most schedules take,
// or -1.
func thickest(all []SpaceLink, list []int, other func(SpaceLink) int) int {
	if len(list) == 0 {
		return -1
	}
	return other(all[slices.MaxFunc(list, func(a, b int) int { return cmp.Compare(all[a].share, all[b].share) })])
}

// word gives the dots, the axis and the picture their words.
func (p *SpacePicture) word(l words.Language, g explore.Graph, ls layers) {
	drawn := 0
	for n := range p.Dots {
		d := &p.Dots[n]
		d.Label = p.labelOf(l, g, *d)
		if d.State != explore.None {
			drawn++
		}
	}
	if drawn < len(g.States) {
		p.Folded = l.Say("%[1]d states as %[2]d marks: the larger ones stand for several.", len(g.States), drawn)
	}
	p.Label = l.Say("The states of the space by time: %[1]d, in %[2]d columns. Arrows go along, Enter goes there.", len(g.States), ls.count)
	lastX := -1000.0
	step := 0.0
	if ls.count > 1 {
		step = p.layerX(1) - p.layerX(0)
	}
	for n, at := range ls.at {
		text := l.Duration(at)
		room := float64(7*len([]rune(text)) + 8)
		x := left + float64(n)*step
		if (n == 0 || at != ls.at[n-1]) && x-lastX >= room {
			p.Ticks = append(p.Ticks, SpaceTick{x, text})
			lastX = x
		}
	}
}

// labelOf says what becomes of a dot's orders: of all, or of those that were tried.
func (p *SpacePicture) labelOf(l words.Language, g explore.Graph, d Dot) string {
	share, of := PercentOf(min(d.share, 1)), PercentOf(d.broken/max(d.share, math.SmallestNonzeroFloat64))
	orders := l.Say("all orders")
	if p.Cut {
		orders = l.Say("the orders that were tried")
	}
	if d.State == explore.None {
		if d.Fate == explore.Broken {
			return l.Say("The end of %[1]s of %[2]s, with a broken rule", share, orders)
		}
		return l.Say("The end of %[1]s of %[2]s, without a broken rule", share, orders)
	}
	where := l.Duration(g.States[d.State].At)
	if d.States > 1 {
		where = l.Say("%[1]d states around %[2]s", d.States, where)
	}
	text := l.Say("%[1]s: %[2]s of %[3]s pass through; %[4]s of these break a rule", where, share, orders, of)
	if d.Fate == explore.Untried {
		text = l.Say("%s; from here on not all was tried", text)
	}
	return text
}

// layerX is where a column is.
func (p *SpacePicture) layerX(layer int) float64 {
	for _, d := range p.Dots {
		if d.layer == layer {
			return d.X
		}
	}
	return left
}

// table says the same in rows, one for each instant.
func (p *SpacePicture) table(l words.Language, g explore.Graph) {
	fates := p.Fates()
	byAt := slices.Clone(g.Order)
	slices.SortStableFunc(byAt, func(a, b int) int { return cmp.Compare(g.States[a].At, g.States[b].At) })
	shares := make([]float64, len(fates))
	close := func() {
		if len(p.Rows) == 0 {
			return
		}
		r := &p.Rows[len(p.Rows)-1]
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.States > 0 {
				c.Share = PercentOf(g.States[c.State].Share)
				c.Label = l.Say("Go to the busiest state, at %[1]s: %[2]s of all orders pass through", r.At, c.Share)
				if p.Cut {
					c.Label = l.Say("Go to the busiest state, at %[1]s: %[2]s of the orders tried pass through", r.At, c.Share)
				}
			}
		}
	}
	last := time.Duration(-1)
	for _, id := range byAt {
		s := g.States[id]
		if s.At != last {
			close()
			p.Rows = append(p.Rows, StateRow{At: l.Duration(s.At), Cells: p.none()})
			last, shares = s.At, make([]float64, len(fates))
		}
		i := slices.Index(fates, s.Fate)
		c := &p.Rows[len(p.Rows)-1].Cells[i]
		c.States++
		if c.State == explore.None || s.Share > shares[i] {
			c.State, shares[i] = id, s.Share
		}
	}
	close()
	if len(p.Rows) > maxRowsOfTable {
		p.Rows = append(p.Rows[:maxRowsOfTable:maxRowsOfTable], StateRow{At: l.Say("and %d more instants", len(p.Rows)-maxRowsOfTable), Cells: p.none()})
	}
}

// maxRowsOfTable is how many instants the table lists.
const maxRowsOfTable = 200

// Shape is the SVG path of a dot: a circle where both can be, a square where no
// rule is broken, and a diamond where one is.
func (d Dot) Shape() string {
	r := d.R
	switch d.Fate {
	case explore.Broken:
		r *= 1.25
		return fmt.Sprintf("M%s %sl%[3]s %[3]s-%[3]s %[3]s-%[3]s-%[3]sz", px(d.X), px(d.Y-r), px(r))
	case explore.Sound:
		r *= 0.9
		return fmt.Sprintf("M%s %sh%[3]sv%[3]sh-%[3]sz", px(d.X-r), px(d.Y-r), px(2*r))
	default:
		return fmt.Sprintf("M%s %sa%[3]s %[3]s 0 1 0 %[4]s 0a%[3]s %[3]s 0 1 0-%[4]s 0z", px(d.X-r), px(d.Y), px(r), px(2*r))
	}
}
