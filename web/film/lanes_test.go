package film_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// The threads A and B as owners.
const ownerA, ownerB = "aaaa1111bbbb2222", "cccc3333dddd4444"

// lanesOf runs a lesson's scenario.
func lanesOf(t testing.TB, name string) *film.Lanes {
	t.Helper()
	p := lessonstest.Play(t, name+".yaml")
	var threads []string
	for _, th := range p.Scenario.Threads {
		threads = append(threads, th.Name)
	}
	l := film.NewLanes(threads, p.Owners, p.Scenario.Lock.Lease.Milliseconds())
	for _, e := range p.Events {
		l.Add(e)
	}
	return l
}

func whole(l *film.Lanes) film.Picture { return l.Still(words.English, "p") }

// TestSawtooth has the lease of two-threads counted by hand: 200 ms from T1
// at 0 ms, 50 at T3, 93 at T4, renewed in T5 at 100, 150 at T7, gone in T9 at
// 152 ms. A full lease is 38 units high; 56 units are 50 ms, 28 between the rows
// of one instant, and at least 11 between two instants.
func TestSawtooth(t *testing.T) {
	p := whole(lanesOf(t, "two-threads"))
	if len(p.Key.Areas) != 2 || p.Key.Areas[0].Thread != "A" || p.Key.Areas[1].Thread != "B" {
		t.Fatalf("areas %+v, want A's and B's", p.Key.Areas)
	}
	y := func(ms float64) float64 { return math.Round(10*(p.Key.Bottom-32*ms/200)) / 10 }
	want := []film.Point{
		{X: 20, Y: y(200)},
		{X: 48, Y: y(200)},
		{X: 104, Y: y(150)},
		{X: 152.2, Y: y(107)},
		{X: 163.2, Y: y(100)},
		{X: 163.2, Y: y(200)},
		{X: 191.2, Y: y(200)},
		{X: 247.2, Y: y(150)},
		{X: 258.2, Y: y(148)},
		{X: 286.2, Y: y(148)},
	}
	if diff := cmp.Diff(want, p.Key.Areas[0].Points); diff != "" {
		t.Error(diff)
	}
	a := p.Lanes[0]
	var bars []string
	for _, b := range a.Bars {
		bars = append(bars, fmt.Sprintf("%d %v-%v parted %v leaving %v", b.Level, b.From, b.To, b.Parted, b.Leaving))
	}
	if want := []string{"1 20-286.2 parted false leaving false", "2 152.2-258.2 parted false leaving false"}; !slices.Equal(bars, want) {
		t.Errorf("A's bars %q, want %q", bars, want)
	}
	if want := []film.LaneMark{{X: 163.2, Kind: film.MarkRenewed}, {X: 286.2, Kind: film.MarkDone}}; !cmp.Equal(a.Marks, want) {
		t.Errorf("A's marks %+v", a.Marks)
	}
	b := p.Lanes[1]
	if len(b.Waits) != 1 || b.Waits[0] != (film.Span{From: 48, To: b.Bars[0].From}) {
		t.Errorf("B waits %+v, want from T2 to T10", b.Waits)
	}
}

func TestWhatLanesShowOfFailures(t *testing.T) {
	t.Run("lease-expiry", func(t *testing.T) {
		p := whole(lanesOf(t, "lease-expiry"))
		a := p.Lanes[0].Bars
		if len(a) != 2 || a[0].Parted || !a[1].Parted || a[1].From != p.Events[0].X || !p.Events[0].Expired {
			t.Errorf("A's bars %+v, events %+v; want the bar parted from the expiry on", a, p.Events)
		}
		if len(p.Flags) != 1 || p.Flags[0].X != p.Columns[6].X || p.Flags[0].Text != "T7 two inside at once" {
			t.Errorf("flags %+v", p.Flags)
		}
		last := p.Key.Areas[0].Points
		if last[len(last)-1].Y != p.Key.Bottom {
			t.Errorf("the lease ends at %+v, want the floor", last[len(last)-1])
		}
	})
	t.Run("long-pause", func(t *testing.T) {
		p := whole(lanesOf(t, "long-pause"))
		x := func(step int) float64 { return p.Columns[step-1].X }
		stills := p.Lanes[0].Stills
		// From T1 for 300 ms: T8 is at 276, T9 at 330 ms.
		want := x(8) + (x(9)-x(8))*24/54
		if len(stills) != 1 || stills[0].From != x(1) || math.Abs(stills[0].To-want) > .1 {
			t.Errorf("A is paused %+v, want %v to %v", stills, x(1), want)
		}
	})
	t.Run("crash", func(t *testing.T) {
		p := whole(lanesOf(t, "crash"))
		if a := p.Lanes[0]; !slices.Contains(a.Marks, film.LaneMark{X: p.Columns[3].X, Kind: film.MarkCrashed}) || a.Bars[0].To != p.Columns[3].X {
			t.Errorf("A: %+v", a)
		}
	})
	t.Run("redlock", func(t *testing.T) {
		p := whole(lanesOf(t, "redlock"))
		if len(p.Key.Strips) != 5 || p.Key.Full != "quorum 3 of 5" || p.Key.Strips[0].Top != p.Key.Top || p.Key.Strips[4].Label != "5" {
			t.Errorf("key %+v", p.Key)
		}
		// A's third node makes a majority of it.
		for i, want := range [][]bool{{false, true}, {false, true}, {true}} {
			var got []bool
			for _, h := range p.Key.Strips[i].Holds {
				if h.Ordinal == 0 {
					got = append(got, h.Majority)
				}
			}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("node %d: A's holds are a majority's %v, want %v", i+1, got, want)
			}
		}
		for _, l := range p.Lanes {
			for _, b := range l.Bars {
				if b.Parted {
					t.Errorf("%s believes what is not true at %v: it only unlocks node by node", l.Thread, b.From)
				}
			}
		}
	})
	t.Run("naive-lease-of-days", func(t *testing.T) {
		p := whole(lanesOf(t, "naive-lease-of-days"))
		if a := p.Key.Areas[0]; a.Beyond == "" || a.Points[0].Y != p.Key.Top {
			t.Errorf("area %+v, want it cut off and its length in words", a)
		}
	})
}

// What the lock protects has a lane: its value, and who read and wrote it.
func TestResourceLane(t *testing.T) {
	run := lessonstest.Play(t, "fenced-late-write.yaml")
	l := film.LanesOf(run.Scenario, run.Owners)
	for _, e := range run.Events {
		l.Add(e)
	}
	p := whole(l)
	r := p.Resource
	if r == nil || r.Name != "counter" || r.Bottom > p.Key.Top {
		t.Fatalf("%+v above a key at %v", r, p.Key.Top)
	}
	x := func(step int) float64 { return p.Columns[step-1].X }
	var values []string
	for _, v := range r.Values {
		values = append(values, fmt.Sprintf("%s %v-%v", v.Text, v.From, v.To))
	}
	if want := []string{fmt.Sprintf("0 %v-%v", x(1), x(9)), fmt.Sprintf("1 %v-%v", x(9), p.Right)}; !slices.Equal(values, want) {
		t.Errorf("values %q, want %q", values, want)
	}
	want := []film.Touch{{x(1), 0, film.TouchRead}, {x(8), 1, film.TouchRead}, {x(9), 1, film.TouchWrite}, {x(10), 0, film.TouchRefused}}
	if !cmp.Equal(r.Touches, want) {
		t.Errorf("touches %+v, want %+v", r.Touches, want)
	}
}

func TestWordsOfSpinLocks(t *testing.T) {
	run := lessonstest.Play(t, "spin-two-processes.yaml")
	l := film.LanesOf(run.Scenario, run.Owners)
	for _, e := range run.Events {
		l.Add(e)
	}
	p := whole(l)
	x := func(step int) float64 { return p.Columns[step-1].X }
	if k := p.Key; len(k.Strips) != 2 || k.Strips[1].Label != "shop2" ||
		!cmp.Equal(k.Strips[0].Holds, []film.Hold{{Span: film.Span{From: x(1), To: x(3)}, Ordinal: 0, Majority: true}}) ||
		!cmp.Equal(k.Strips[1].Holds, []film.Hold{{Span: film.Span{From: x(2), To: x(4)}, Ordinal: 1, Majority: true}}) {
		t.Errorf("%+v", k)
	}
}

// Time is to scale between two instants that are neither too near each other
// nor too far apart; a wait that is too long is drawn shorter, and says how long it is.
func TestAxisIsToScale(t *testing.T) {
	for _, file := range lessonstest.Names(t) {
		run := lessonstest.Play(t, file)
		l := film.LanesOf(run.Scenario, run.Owners)
		for _, e := range run.Events {
			l.Add(e)
		}
		p := l.Window(words.English, "p", 0, 60)
		scale := 0.0
		for i := 1; i < len(p.Columns); i++ {
			a, b := p.Columns[i-1], p.Columns[i]
			wide, ms := b.X-a.X, b.At-a.At
			shortened := slices.ContainsFunc(p.AxisBreaks, func(f film.AxisBreak) bool { return f.From == a.X && f.To == b.X && f.Text != "" })
			switch {
			case ms == 0 || wide < 11.15 || shortened:
				continue
			case scale == 0:
				scale = wide / ms
			case math.Abs(wide/ms-scale) > .03*scale+.15/ms:
				t.Errorf("%s: %v ms from T%d to T%d are %v wide; elsewhere it is %v for each", file, ms, a.Step, b.Step, wide, scale)
			}
		}
	}
}

// A wait is drawn shorter only where the picture would be too wide to be looked at, and
// the longest ones before others.
func TestOnlyWhatMustBeIsShortened(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"over-buying-with-a-lock", nil}, // 10 ms where others wait 2
		{"no-lock-over-buying", nil},
		{"flash-sale-with-a-lock", nil},
		{"naive-foreign-renewal", nil},
		{"redsync-extend", nil},
		{"redsync-too-late", []string{"7,950 ms"}},
		{"setnx-hash", nil},
	} {
		p := lessonstest.Play(t, c.name+".yaml")
		l := film.LanesOf(p.Scenario, p.Owners)
		for _, e := range p.Events {
			l.Add(e)
		}
		picture := whole(l)
		var got []string
		for _, f := range picture.AxisBreaks {
			got = append(got, f.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: shortened %q, want %q", c.name, got, c.want)
		}
		for i, column := range picture.Columns[1:] {
			if before := picture.Columns[i]; column.X-before.X > 640 {
				t.Errorf("%s: from T%d to T%d are %v", c.name, before.Step, column.Step, column.X-before.X)
			}
		}
	}
}

// An axis is called to scale only where each wait is as wide as it is long.
func TestToScaleIsTrue(t *testing.T) {
	said := 0
	for _, file := range lessonstest.Names(t) {
		run := lessonstest.Play(t, file)
		l := film.LanesOf(run.Scenario, run.Owners)
		for _, e := range run.Events {
			l.Add(e)
		}
		for _, p := range append(film.Together(words.English, []*film.Lanes{l, l}, []string{"a", "b"}), l.Still(words.English, "p")) {
			if p.Scale == "" {
				continue
			}
			said++
			scale := 0.0
			for i := 1; i < len(p.Columns); i++ {
				a, b := p.Columns[i-1], p.Columns[i]
				switch ms := b.At - a.At; {
				case ms == 0:
				case scale == 0:
					scale = (b.X - a.X) / ms
				case math.Abs((b.X-a.X)/ms-scale) > .03*scale+.15/ms:
					t.Errorf("%s: %v ms before T%d are %v wide; elsewhere it is %v for each", file, ms, b.Step, b.X-a.X, scale)
				}
			}
			if len(p.AxisBreaks) > 0 {
				t.Errorf("%s: it is to scale, and has axis breaks", file)
			}
		}
	}
	if said == 0 {
		t.Error("no picture is to scale")
	}
}

// What is drawn together can be compared by eye: the same instant is at the
// same place, and what is wider is longer.
func TestTogetherTheScaleIsOne(t *testing.T) {
	runs := []*film.Lanes{lanesOf(t, "two-threads"), lanesOf(t, "lease-expiry"), lanesOf(t, "redsync-too-late"), lanesOf(t, "crash")}
	pictures := film.Together(words.English, runs, []string{"a", "b", "c", "d"})
	at := map[float64]float64{}
	for i, p := range pictures {
		if p.Prefix != string(rune('a'+i)) || len(p.Columns) != runs[i].Len() {
			t.Errorf("%s has %d columns of %d rows", p.Prefix, len(p.Columns), runs[i].Len())
		}
		if p.Width != pictures[0].Width || p.Names != pictures[0].Names || p.Left != pictures[0].Left {
			t.Errorf("%s is %v wide beside %v, the first %v beside %v", p.Prefix, p.Width, p.Names, pictures[0].Width, pictures[0].Names)
		}
		for n, c := range p.Columns {
			if n > 0 && c.At == p.Columns[n-1].At {
				continue
			}
			if x, there := at[c.At]; there && x != c.X {
				t.Errorf("%v ms is at %v in %s, and elsewhere at %v", c.At, c.X, p.Prefix, x)
			}
			at[c.At] = c.X
		}
		if !slices.Equal(p.AxisBreaks, pictures[0].AxisBreaks) || len(p.AxisBreaks) != 1 {
			t.Errorf("%s breaks its axis at %+v, the first at %+v", p.Prefix, p.AxisBreaks, pictures[0].AxisBreaks)
		}
	}
	if len(at) < 20 {
		t.Errorf("only %d instants", len(at))
	}
	instants := slices.Sorted(maps.Keys(at))
	for i, ms := range instants[1:] {
		if at[ms] <= at[instants[i]] {
			t.Errorf("%v ms is at %v, and %v ms at %v", ms, at[ms], instants[i], at[instants[i]])
		}
	}
	for name, p := range map[string]film.Picture{"a run of many rows": film.Together(words.English, []*film.Lanes{long(t), runs[0]}, []string{"a", "b"})[0], "none": film.Together(words.English, []*film.Lanes{film.NewLanes([]string{"A"}, nil, 100), runs[0]}, []string{"a", "b"})[0]} {
		if name == "none" && len(p.Columns) != 0 || name != "none" && len(p.Columns) != film.MaxLaneRows {
			t.Errorf("%s: %d columns", name, len(p.Columns))
		}
	}
}

// long is a run of more rows than a picture has.
func long(t *testing.T) *film.Lanes {
	t.Helper()
	p := lessonstest.Play(t, "no-lock-lost-update.yaml")
	l := film.LanesOf(p.Scenario, p.Owners)
	for _, e := range p.Events {
		l.Add(e)
	}
	if l.Len() <= film.MaxLaneRows {
		t.Fatal("it is too short")
	}
	return l
}

func TestLanesOfEventsByHand(t *testing.T) {
	fill := func(events ...trace.Event) film.Picture {
		l := film.NewLanes([]string{"A", "B"}, map[string]string{ownerA: "A", ownerB: "B"}, 200)
		for i, e := range events {
			e.Seq, e.Step = i+1, i+1
			if e.Key.Type == "" {
				e.Key = trace.Absent()
			}
			l.Add(e)
		}
		return whole(l)
	}
	wait := trace.Wait{For: 50, Why: trace.WaitRetry}
	renew := trace.Outcome{Call: "renew", Result: trace.Renewed}
	hand := trace.Fault{Do: "pause"}
	nobody := "1"
	for _, c := range []struct {
		name string
		p    film.Picture
		got  func(film.Picture) any
		want any
	}{
		{"nothing", fill(), func(p film.Picture) any { return len(p.Columns) + len(p.Key.Areas) }, 0},
		{
			"a key without expiry", fill(trace.Event{Body: renew, Thread: "A", Key: trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{ownerB: "1"}, PTTL: trace.NoExpiry}}),
			func(p film.Picture) any {
				return []any{p.Key.Open.Endless, p.Key.Open.Ordinal, p.Key.Open.Points[1].Y == p.Key.Top, p.Key.Slope}
			},
			[]any{true, 1, true, 0.0},
		},
		{
			"a key of nobody's", fill(trace.Event{Body: renew, Thread: "A", Key: trace.KeyState{Type: trace.TypeString, Value: &nobody, PTTL: 100}}),
			func(p film.Picture) any { return []any{p.Key.Open.Ordinal, p.Key.Open.Thread} },
			[]any{-1, ""},
		},
		{
			"a lease that runs on to scale", fill(
				trace.Event{Body: renew, Thread: "A", Key: trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{ownerB: "1"}, PTTL: 200}},
				trace.Event{At: 100, Body: wait, Thread: "A", Key: trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{ownerB: "1"}, PTTL: 100}},
			),
			func(p film.Picture) any {
				falls := p.Key.Slope * p.PerMilli * 100
				return []any{p.Key.Open.From == p.Columns[1].X, p.Key.Open.Points[0].Y, math.Round(falls), p.Key.Open.Thread, p.Key.Areas[0].To == p.Key.Open.From}
			},
			[]any{true, 28 + 2*24 + 6 + 16.0, 16.0, "", true}, // half of 32
		},
		{
			"a watchdog does not end a wait", fill(trace.Event{Body: wait, Thread: "A"}, trace.Event{At: 10, Body: renew, Thread: "A"}),
			func(p film.Picture) any { return p.Lanes[0].Waits[0].To },
			100.0, // 10 ms are typical here: 56 units
		},
		{
			"paused by hand until it goes on", fill(
				trace.Event{Body: hand, Thread: "B"}, trace.Event{At: 10, Body: renew, Thread: "A"},
				trace.Event{At: 20, Body: trace.Fault{Do: "resume"}, Thread: "B"}, trace.Event{At: 30, Body: renew, Thread: "A"},
			),
			func(p film.Picture) any { return p.Lanes[1].Stills },
			[]film.Span{{From: 20, To: 132}},
		},
		{
			"numbers leave room for each other", fill(trace.Event{Body: renew, Thread: "A"}, trace.Event{At: 1, Body: renew, Thread: "A"}),
			func(p film.Picture) any {
				return []string{p.Columns[0].Time, p.Columns[1].Time, p.Instants[1].Text}
			},
			[]string{"T1", "T2", "1"},
		},
		{
			"rows of the same instant share its number", fill(trace.Event{At: 7, Body: renew, Thread: "A"}, trace.Event{At: 7, Body: renew, Thread: "A"}),
			func(p film.Picture) any { return p.Instants },
			[]film.Instant{{From: 20, To: 48, X: 34, Text: "7"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got(c.p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryLessonCanBeDrawn(t *testing.T) {
	for _, f := range lessonstest.Names(t) {
		name := strings.TrimSuffix(f, ".yaml")
		t.Run(name, func(t *testing.T) {
			l := lanesOf(t, name)
			p := whole(l)
			for _, p := range []film.Picture{p, l.Small(words.Match("zh"), "s")} {
				if _, err := json.Marshal(p); err != nil {
					t.Error(err) // a NaN or an infinity
				}
				taken := 0.0
				for i, c := range p.Columns {
					if i > 0 && c.X <= p.Columns[i-1].X || c.X < c.From || c.X > c.To || c.From != taken || c.To > p.Width {
						t.Errorf("column %d: %+v", i, c)
					}
					taken = c.To
				}
				for _, a := range p.Key.Areas {
					for _, q := range a.Points {
						if q.Y < p.Key.Top || q.Y > p.Key.Bottom || q.X < a.From || q.X > a.To {
							t.Errorf("%+v is outside of %+v", q, a.Span)
						}
					}
				}
				for _, lane := range p.Lanes {
					for _, b := range lane.Bars {
						if b.To <= b.From || b.Top < p.Top || b.Top+b.Height > p.Bottom {
							t.Errorf("%s: bar %+v", lane.Thread, b)
						}
					}
				}
			}
			whatIsSeenThere(t, l, l.Window(words.English, "p", 0, film.MaxLaneRows))
		})
	}
}

// whatIsSeenThere compares a window with what the whole has in its place.
func whatIsSeenThere(t *testing.T, l *film.Lanes, p film.Picture) {
	first := p.Count / 3
	w := l.Window(words.English, "p", first, p.Count/3)
	if w.Count == 0 || w.First != first || w.Of != l.Len() {
		t.Fatalf("window %d+%d of %d", w.First, w.Count, w.Of)
	}
	shift := p.Columns[first].X - w.Columns[0].X
	end := w.Right
	for i, c := range w.Columns {
		if of := p.Columns[first+i]; of.Step != c.Step || math.Abs(of.X-c.X-shift) > .11 {
			t.Errorf("column %+v, in the whole %+v", c, of)
		}
	}
	sample := func(x float64, p film.Picture) string {
		var b strings.Builder
		for _, lane := range p.Lanes {
			for _, s := range lane.Bars {
				if s.From < x && x < s.To {
					fmt.Fprint(&b, lane.Thread, s.Level, s.Parted, s.Top, " ")
				}
			}
			for _, list := range [][]film.Span{lane.Waits, lane.Stills} {
				for _, s := range list {
					if s.From < x && x < s.To {
						fmt.Fprint(&b, lane.Thread, " waits or stands ")
					}
				}
			}
		}
		for _, a := range p.Key.Areas {
			for i := 1; i < len(a.Points); i++ {
				if u, v := a.Points[i-1], a.Points[i]; u.X < x && x < v.X {
					fmt.Fprintf(&b, "%d at %.0f ", a.Ordinal, (u.Y+(v.Y-u.Y)*(x-u.X)/(v.X-u.X))/2)
				}
			}
		}
		return b.String()
	}
	differ := 0
	for x := 1.37; x < end; x += 3 {
		if sample(x, w) != sample(x+shift, p) {
			differ++ // a rounded height, or an edge between two tenths
		}
	}
	if limit := 2 + int(end/3)/20; differ > limit {
		t.Errorf("%d places of the window differ from the whole, at most %d by rounding", differ, limit)
	}
}

// TestFlagsStayInside has every flag's text inside of the picture and clear of
// the other signs, and each row's number beside it.
func TestFlagsStayInside(t *testing.T) {
	for _, name := range []string{"lease-expiry", "no-lock-over-buying", "no-lock-flash-sale", "spin-stalled-holder"} {
		l := lanesOf(t, name)
		p := whole(l)
		if len(p.Flags) == 0 {
			t.Errorf("%s: no flags", name)
		}
		said := 0
		for i, f := range p.Flags {
			from, to := f.X-9, f.X+9+f.Width()
			if f.Left {
				from, to = f.X-9-f.Width(), f.X+9
			}
			if from < 0 || to > p.Width {
				t.Errorf("%s: flag %+v is from %v to %v of %v", name, f, from, to, p.Width)
			}
			for j, other := range p.Flags {
				if f.Text != "" && i != j && other.X+9 > from && other.X-9 < to {
					t.Errorf("%s: flag %+v covers the sign at %v", name, f, other.X)
				}
			}
			if f.Text != "" {
				said++
			}
		}
		if said == 0 {
			t.Errorf("%s: no flag has a text", name)
		}
		if p.FlagsAt+10 > p.Top-19 {
			t.Errorf("%s: flags at %v cover the numbers above %v", name, p.FlagsAt, p.Top)
		}
		small := l.Small(words.English, "s")
		for i, f := range small.Flags {
			if f.X+9 > small.Width || small.FlagsAt < 9 || i > 0 && f.X-small.Flags[i-1].X < 18 {
				t.Errorf("%s: the small picture's flag %+v", name, f)
			}
		}
	}
}

func TestWidthAndHeightOfLanes(t *testing.T) {
	event := func(n int, thread string, body trace.Body) trace.Event {
		return trace.Event{Seq: n, Step: n, Thread: thread, Body: body, Key: trace.Absent()}
	}
	l := film.NewLanes([]string{"A"}, nil, 200)
	l.Add(event(1, "A", trace.Wait{For: 50}))
	seen := func() film.Picture { return l.Window(words.English, "p", 0, film.MaxLaneRows) }
	going := seen().Width
	l.Add(event(2, "A", trace.Wait{For: 50}))
	if p := seen(); going != 444 || p.Width != going {
		t.Errorf("%v wide, and %v a step later; want room for what comes", going, p.Width)
	}
	l.Add(event(3, "A", trace.End{Result: trace.Done}))
	if p := whole(l); p.Width >= 200 {
		t.Errorf("a run of three rows is over, and its picture %v wide", p.Width)
	}
	var many []string
	for i := range 10 {
		many = append(many, string(rune('A'+i)))
	}
	if p := whole(film.NewLanes(many, nil, 200)); p.Height > 340 || p.Lanes[9].Middle > p.Key.Top {
		t.Errorf("ten lanes are %v high", p.Height)
	}
}

func TestSmallIsAlwaysAsLarge(t *testing.T) {
	for _, name := range []string{"two-threads", "fair", "redlock-clock-jump"} {
		p := lanesOf(t, name).Small(words.English, "s")
		last := p.Columns[len(p.Columns)-1].X
		if p.Width != 280 || p.Height != 90 || last > 280 || last < 200 {
			t.Errorf("%s: %v x %v, the last row at %v", name, p.Width, p.Height, last)
		}
		for _, l := range p.Lanes {
			for _, b := range l.Bars {
				if b.Text != "" {
					t.Errorf("%s: words in a small picture: %q", name, b.Text)
				}
			}
		}
	}
}

func BenchmarkLanesWindow(b *testing.B) {
	l := lanesOf(b, "two-threads")
	for b.Loop() {
		whole(l)
	}
}

// The heartbeats come every four minutes, the looks every four minutes and
// twenty seconds.
func TestALongRunsAxisIsInMinutes(t *testing.T) {
	for name, want := range map[string]string{"heartbeat": "min 0 1 4 5:20 8 9:40 12 13 14 18:20", "two-threads": "ms 0 50 93  150  200 253 300 351"} {
		p := whole(lanesOf(t, name))
		got := p.Unit
		for _, at := range p.Instants {
			got += " " + at.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
