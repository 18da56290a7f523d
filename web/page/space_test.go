package page_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

func explored(t testing.TB, name string, b explore.Bounds) *explore.Space {
	t.Helper()
	s, err := engine.Explore(t.Context(), lessonstest.Scenario(t, name+".yaml"), b, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPictureOfASpace(t *testing.T) {
	s := explored(t, "lease-expiry", explore.Bounds{Delays: 2})
	p := page.NewSpacePicture(words.English, s.Graph())
	states := 0
	ends := map[explore.Fate]int{}
	for n, d := range p.Dots {
		states += d.States
		if d.State == explore.None {
			ends[d.Fate]++
		} else if p.DotOf(d.State) != n {
			t.Errorf("dot %d is of state %d, whose dot is %d", n, d.State, p.DotOf(d.State))
		}
		if d.X < 0 || d.Y < 0 || d.X > p.Width || d.Y > p.Height || math.IsNaN(d.Y) {
			t.Errorf("dot %d is at %v, %v outside of %v × %v", n, d.X, d.Y, p.Width, p.Height)
		}
	}
	if states != s.States() || ends[explore.Broken] != 1 || ends[explore.Sound] != 1 {
		t.Errorf("%d of %d states are drawn, and the ends are %v", states, s.States(), ends)
	}
	first := p.Dots[p.DotOf(0)]
	if first.Fate != explore.Open || first.Left != -1 || first.Right < 0 {
		t.Errorf("the first dot: %+v", first)
	}
	if want := "0 ms: 100 % of all orders pass through; 72 % of these break a rule"; first.Label != want {
		t.Errorf("the first dot is %q, want %q", first.Label, want)
	}
	inTable := 0
	for _, r := range p.Rows {
		for _, c := range r.Cells {
			inTable += c.States
		}
	}
	if inTable != s.States() || p.Rows[0].At != "0 ms" {
		t.Errorf("the table has %d of %d states, from %s on", inTable, s.States(), p.Rows[0].At)
	}
	if !slices.ContainsFunc(p.Links, func(k page.SpaceLink) bool { return k.Cross && k.Fate == explore.Broken }) {
		t.Error("no link breaks a rule")
	}
	var html strings.Builder
	for _, crossed := range []bool{true, false} { // the legend has what the picture has
		if err := templates.Space(p).Render(t.Context(), &html); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(html.String(), "most orders that take this line break a rule on it") != crossed {
			t.Errorf("with a cross: %t, and the legend does not know", crossed)
		}
		html.Reset()
		for n := range p.Links {
			p.Links[n].Cross = false
		}
	}
}

func TestALargeSpaceIsFolded(t *testing.T) {
	s := explored(t, "two-threads", explore.Bounds{Delays: 2})
	p := page.NewSpacePicture(words.English, s.Graph())
	if n := len(p.Dots); n > 410 || n < 100 {
		t.Errorf("%d states in %d dots", s.States(), n)
	}
	states := 0
	for _, d := range p.Dots {
		states += d.States
	}
	if states != s.States() || !strings.Contains(p.Folded, fmt.Sprintf("%d marks", len(p.Dots)-1)) {
		t.Errorf("%d of %d states in %d dots; said is %q", states, s.States(), len(p.Dots), p.Folded)
	}
	for id := range s.States() {
		if p.DotOf(id) < 0 {
			t.Fatalf("state %d is nowhere", id)
		}
	}
}

func TestWhatIsFound(t *testing.T) {
	f := page.NewFound(words.English, explored(t, "mutex-unsafe", explore.Bounds{Delays: 2}), 0)
	if f.Going || f.Sound || len(f.Rules) != 4 || f.Others == "" || f.Title != "Every order from the start" {
		t.Errorf("%+v", f)
	}
	if r := f.Rules[0]; r.Name != "shut-out" || r.Orders != "109 of 182 (60 %)" || math.Abs(r.Share-109.0/182) > 1e-9 || r.Lost == "" {
		t.Errorf("the cheapest rule: %+v", r)
	}
	sound := page.NewFound(words.English, explored(t, "value", explore.Bounds{Delays: 1}), 0)
	if !sound.Sound || !strings.HasPrefix(sound.Ending, "None of the 10 orders") || sound.Others != "" {
		t.Errorf("%+v", sound)
	}
}

// Threads that differ by their names alone are named, in both languages.
func TestTwinsAreNamed(t *testing.T) {
	sc, err := scenario.Parse([]byte("threads: [{name: A, work: 5ms}, {name: B, work: 5ms}, {name: C, work: 6ms}, {name: D, work: 6ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.Explore(t.Context(), sc, explore.Bounds{}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		l    words.Language
		want string
	}{
		{words.English, "merged where they are the same. A and B differ only by name: if they change places, the state is the same. C and D differ only by name: if they change places, the state is the same."},
		{words.Match("zh"), "相同的已合并。 A 和 B 只有名字不同：互换位置后仍是同一个状态。 C 和 D 只有名字不同：互换位置后仍是同一个状态。"},
	} {
		if got := page.NewFound(c.l, s, 0).Counted; !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The shares of the options are those of the state, and a break is inevitable
// where each of them breaks.
func TestOutlooks(t *testing.T) {
	s := explored(t, "lease-expiry", explore.Bounds{Delays: 2})
	place := s.Place(0)
	list := page.Outlooks(words.English, place, true)
	var said []string
	for _, o := range list {
		said = append(said, fmt.Sprintf("%d %s %s", o.Choice, o.Short, o.Tone))
	}
	if got, want := strings.Join(said, "; "), "0 30 of 36 break some; -1 8 of 17 break some"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if says, tone := page.Here(words.English, place); says != "From here 38 of 53 ways break a rule." || tone != page.Some {
		t.Errorf("%q, %s", says, tone)
	}
}

// Of a search that was cut short nothing is promised that nobody has looked at: not
// in the panel, nor at a choice, nor in the picture, its legend and its table.
func TestACutSearchPromisesNothing(t *testing.T) {
	l := words.English
	s := explored(t, "mutex-unsafe", explore.Bounds{Delays: 2, MaxStates: 5})
	if s.Ending() != explore.Bound || len(s.Rules()) > 0 || s.Schedules().Sign() != 0 {
		t.Fatalf("%s, %v rules, %s orders", s.Ending(), s.Rules(), s.Schedules())
	}
	f := page.NewFound(l, s, 0)
	if f.Sound || !f.Maybe || f.Others != "" || f.Ending != "The search was cut short: there are more than 5 states. No order was tried to the end: nothing is known yet." {
		t.Errorf("no order ended: %+v", f)
	}
	s = explored(t, "mutex-unsafe", explore.Bounds{Delays: 2, MaxStates: 25})
	place := s.Place(0)
	if says, tone := page.Here(l, place); !strings.HasPrefix(says, "From here 0 of the ") || !strings.HasSuffix(says, " ways tried break a rule; there are others.") || tone != page.Unknown {
		t.Errorf("%q, %s", says, tone)
	}
	for _, o := range page.Outlooks(l, place, true) {
		if o.Tone != page.Unknown || !strings.HasSuffix(o.Short, "tried break") && o.Short != "not tried" {
			t.Errorf("%+v", o)
		}
	}
	if f := page.NewFound(l, s, 0); f.Sound || !f.Maybe || !strings.HasSuffix(f.Ending, " breaks a rule. That does not mean that none can.") {
		t.Errorf("%+v", f)
	}
	p := page.NewSpacePicture(l, s.Graph())
	if first := p.Dots[p.DotOf(0)]; first.Fate != explore.Untried || !strings.HasSuffix(first.Label, "; from here on not all was tried") || !strings.Contains(first.Label, "of the orders that were tried") {
		t.Errorf("the first dot: %+v", first)
	}
	if cells := p.Rows[0].Cells; len(cells) != len(p.Fates()) || cells[3].States == 0 || cells[1].States != 0 {
		t.Errorf("the first row: %+v", cells)
	}
	var html strings.Builder
	if err := templates.Space(p).Render(t.Context(), &html); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not all was tried", "from here on no rule is broken"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	s = explored(t, "mutex-unsafe", explore.Bounds{Delays: 2, MaxStates: 30})
	if f := page.NewFound(l, s, 0); f.Least != "The smallest takes" {
		t.Errorf("no rule is broken: %+v", f)
	}
}

// A rule can be broken before any order has come to its end.
func TestNoOrderEnds(t *testing.T) {
	sc, err := scenario.Parse([]byte(endless))
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.Explore(t.Context(), sc, explore.Bounds{MaxStates: 100}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := page.NewFound(words.English, s, 0)
	if len(f.Rules) != 1 || f.Rules[0].Orders != "in none that was tried to the end" || f.Rules[0].Share != 0 || f.Rules[0].Lost != "" || f.Maybe ||
		f.Ending != "The search was cut short: there are more than 100 states. No order was tried to the end, but some unfinished ones break a rule." {
		t.Errorf("%+v", f)
	}
	p := page.NewSpacePicture(words.English, s.Graph())
	if first := p.Dots[p.DotOf(0)]; first.Fate != explore.Untried {
		t.Errorf("the first dot: %+v", first)
	}
}

const endless = `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: unlimited, interval: 20ms}}
defaults: {work: 10ms}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}, {thread: B, at: work, level: 1, do: stall}]
`

func TestWhereBranchesPart(t *testing.T) {
	for _, c := range []struct {
		bad, good []int
		i, j      int
		ok        bool
	}{
		{[]int{0, 1, 5, -1}, []int{0, 2, 3}, 0, 0, true},
		{[]int{0, 1, 5, 6}, []int{0, 2, 4, 5, 7}, 2, 3, true}, // they came together again
		{[]int{0, 1}, []int{0, 1}, 1, 1, false},
		{[]int{-1, -1}, []int{-1, 0}, 0, 0, false},
	} {
		if i, j, ok := page.PartingAt(c.bad, c.good); i != c.i || j != c.j || ok != c.ok {
			t.Errorf("%v and %v part at %d, %d, %v", c.bad, c.good, i, j, ok)
		}
	}
}

// BenchmarkPicture lays out and draws some 3,000 states, and reports how long it
// would take for 2,000: it should be less than 100 ms.
func BenchmarkPicture(b *testing.B) {
	s := explored(b, "two-threads", explore.Bounds{Delays: 2})
	for b.Loop() {
		var html strings.Builder
		if err := templates.Space(page.NewSpacePicture(words.English, s.Graph())).Render(b.Context(), &html); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(html.Len()), "B/picture")
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)*2000/float64(s.States()), "ms/2000states")
}
