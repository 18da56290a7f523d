package runs

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorilla/websocket"

	"relock/engine"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/runs/pack"
	"relock/web/runs/pack/packtest"
	"relock/web/words"
)

// crowd has four threads that fight for a lock, and more rows than the lanes of
// a page.
const crowd = `
lock: {lease: 2s, watchdog: 500ms, retry: {times: 1000, interval: 700ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 10, work: 200ms-300ms}
seed: 1
`

// frames runs a scenario on the virtual clock and has its frames made, one for
// each step, until stop says so.
func frames(t testing.TB, yaml string, forms []Form, each func(n int, made []Frames)) {
	t.Helper()
	sc, err := scenario.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.Start(t.Context(), sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	events, _ := run.Log().Since(0)
	var encode []Encode
	for _, f := range forms {
		encode = append(encode, HTML{}.Rows(run, f))
	}
	n := 0
	for batch := range batches(events) {
		n++
		var made []Frames
		for _, e := range encode {
			f, err := e(batch, batch == nil)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, f)
		}
		each(n, made)
	}
}

// batches are the events step by step, the last step in two, and the end.
func batches(events []trace.Event) func(func([]trace.Event) bool) {
	return func(yield func([]trace.Event) bool) {
		for len(events) > 0 {
			n := 1
			for n < len(events) && events[n].Step == events[0].Step && n != len(events)-1 {
				n++
			}
			if !yield(events[:n]) {
				return
			}
			events = events[n:]
		}
		yield(nil)
	}
}

// readPage is what a page has of packed frames.
type readPage struct {
	*packtest.Reader

	lanes []string
}

// take makes a frame of a record, and has its lanes.
func (p *readPage) take(t *testing.T, part []byte) (f frameJSON, change changeJSON) {
	t.Helper()
	texts, err := p.Record(part)
	if err != nil {
		t.Fatal(err)
	}
	var inner, outer []string
	for i, to := range []any{&f, &change, &inner, &outer} {
		if err := json.Unmarshal([]byte(texts[i]), to); err != nil {
			t.Fatalf("column %d: %v", i, err)
		}
	}
	for i := range f.Rows {
		f.Rows[i].HTML = strings.ReplaceAll(inner[i]+outer[i], step, strconv.Itoa(f.Rows[i].Step))
	}
	p.change(change)
	return f, change
}

var (
	stretched = regexp.MustCompile(`viewBox="@span".*?</svg>`)
	across    = regexp.MustCompile(`([MLH])(-?[\d.]+)`)
	drains    = regexp.MustCompile(`data-drain="(-?[\d.]+)`)
	open      = regexp.MustCompile(`"([@=])(~?)(-?[\d.]+|wide|span)"`)
)

// change does what lanes.js does with one.
func (p *readPage) change(c changeJSON) {
	if c.Whole {
		p.lanes = nil
	}
	at := 0
	for _, e := range c.Edits {
		at += e.Keep
		p.lanes = slices.Replace(p.lanes, at, at+e.Drop, e.Add...)
		at += len(e.Add)
	}
}

// draw is what the page shows after a change, and counts what is in a view box
// from its left edge, as other pictures do.
func (p *readPage) draw(c changeJSON) string {
	html := strings.Join(p.lanes, "")
	_, rest, _ := strings.Cut(html, `lanes-run" width="@wide" height="`)
	height, _, _ := strings.Cut(rest, `"`)
	num := func(v float64) string {
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
	}
	html = stretched.ReplaceAllStringFunc(html, func(box string) string {
		return across.ReplaceAllStringFunc(box, func(x string) string {
			v, _ := strconv.ParseFloat(x[1:], 64)
			return x[:1] + num(v-c.Left)
		})
	})
	html = drains.ReplaceAllStringFunc(html, func(x string) string {
		v, _ := strconv.ParseFloat(drains.FindStringSubmatch(x)[1], 64)
		return `data-drain="` + num(v-c.Left)
	})
	return open.ReplaceAllStringFunc(html, func(token string) string {
		m := open.FindStringSubmatch(token)
		v, _ := strconv.ParseFloat(m[3], 64)
		switch {
		case m[3] == "wide":
			return `"` + num(c.Width) + `"`
		case m[3] == "span":
			return `"0 0 ` + num(c.Width) + ` ` + height + `"`
		case m[2] == "~":
			v = c.Right - v
		}
		if m[1] == "@" {
			v -= c.Left
		}
		return `"` + num(100*v/c.Width) + `%"`
	})
}

func TestPackedFramesSayWhatPlainOnesDo(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	for _, l := range words.All() {
		s := pack.New(Columns)
		var early, late *readPage
		frames(t, crowd, []Form{{Language: l}, {Language: l, Packed: true}}, func(n int, made []Frames) {
			plain, packed := made[0], made[1]
			if string(plain.Rows) != string(packed.Rows) {
				t.Fatalf("frame %d: who joins later reads\n%s\nwhere others read\n%s", n, packed.Rows, plain.Rows)
			}
			var want frameJSON
			var drawn lanesJSON
			_, _ = json.Unmarshal(plain.Rows, &want), json.Unmarshal(plain.Picture, &drawn)
			if n == 1 {
				early = enter(t, s)
			}
			part := s.Add(packed.Packed...)
			for _, p := range []*readPage{early, late} {
				if p == nil {
					continue
				}
				got, change := p.take(t, part)
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(film.Row{})); diff != "" {
					t.Fatalf("frame %d: %s", n, diff)
				}
				if n%7 > 0 && n > 30 {
					continue // to compare takes long
				}
				if diff := differ(drawn.Lanes, p.draw(change)); diff != "" {
					t.Fatalf("frame %d: the lanes are %s", n, diff)
				}
			}
			if n%17 == 0 {
				var whole pictureJSON
				if err := json.Unmarshal(packed.Picture, &whole); err != nil {
					t.Fatal(err)
				}
				late = enter(t, s)
				late.change(whole.Picture)
				if diff := differ(drawn.Lanes, late.draw(whole.Picture)); diff != "" {
					t.Errorf("frame %d: who joins sees lanes that are %s", n, diff)
				}
			}
		})
	}
}

// enter is a page that has the start of a stream.
func enter(t *testing.T, s *pack.Stream) *readPage {
	t.Helper()
	p := &readPage{Reader: packtest.NewReader(Columns)}
	if _, err := p.Record(s.Start()); err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	standing = regexp.MustCompile(`<(rect|svg) class="lane-(later|cursor)"[^>]*>|<g class="lane-pill".*?</g>`) // a page moves it by itself
	number   = regexp.MustCompile(`[\d.]+`)
)

// differ tells where pictures are not the same; places may differ by what is
// lost where they are rounded.
func differ(want, got string) string {
	want, got = standing.ReplaceAllString(want, ""), standing.ReplaceAllString(got, "")
	is, was := number.FindAllStringIndex(got, -1), number.FindAllStringIndex(want, -1)
	if number.ReplaceAllString(got, "") != number.ReplaceAllString(want, "") || len(is) != len(was) {
		return "\n" + got + "\nwant\n" + want
	}
	for i, at := range is {
		a, _ := strconv.ParseFloat(got[at[0]:at[1]], 64)
		b, _ := strconv.ParseFloat(want[was[i][0]:was[i][1]], 64)
		near := .2
		if strings.HasPrefix(got[at[1]:], "%") {
			near = .01
		}
		if math.Abs(a-b) > near {
			return "\n" + got[max(0, at[0]-200):at[1]] + "\nwant\n" + want[max(0, was[i][0]-200):was[i][1]]
		}
	}
	return ""
}

// A page that follows a run at 30 frames a second has 12 KB/s for it; one
// picture of the lanes takes 4 KB.
func TestAFrameOfARunIsSmall(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	const (
		most  = 12_000 / 30
		first = 40 // frames until the stream knows what rows are like
	)
	for _, l := range words.All() {
		s := pack.New(Columns)
		count, bytes := 0, 0
		frames(t, crowd, []Form{{Language: l, Packed: true}}, func(n int, made []Frames) {
			part := s.Add(made[0].Packed...)
			if n > first {
				count, bytes = count+1, bytes+len(part)
			}
		})
		if mean := bytes / count; count < 150 || mean > most {
			t.Errorf("%s: %d frames of %d bytes, want at most %d", l.Code(), count, mean, most)
		}
	}
}

// BenchmarkFrames is what a frame of about one row costs the server, once for
// all viewers.
func BenchmarkFrames(b *testing.B) {
	for name, form := range map[string]Form{"plain": {Language: words.English}, "packed": {Language: words.English, Packed: true}} {
		b.Run(name, func(b *testing.B) {
			s := pack.New(Columns)
			count := 0
			for b.Loop() {
				frames(b, crowd, []Form{form}, func(_ int, made []Frames) {
					count++
					if form.Packed {
						s.Add(made[0].Packed...)
					} else {
						_, _ = websocket.NewPreparedMessage(websocket.TextMessage, made[0].Picture)
					}
				})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(count), "µs/frame")
		})
	}
}

// The last frame of a run says beside the verdict that its machine was late, if it was by
// a tenth of the lease.
func TestAFrameTellsOfALateMachine(t *testing.T) {
	const late = "the machine was up to 20 ms late: these instants are not the scenario&#39;s"
	sc, err := scenario.Parse([]byte("lock: {lease: 200ms}\nthreads: [{name: A, work: 1ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.Start(t.Context(), sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	events, _ := run.Log().Since(0)
	last := len(events) - 1
	for lateness, want := range map[trace.Millis]bool{0: false, 19.9: false, 20: true} {
		encode := HTML{}.Rows(run, Form{Language: words.English})
		for i, batch := range [][]trace.Event{events[:last], slices.Clone(events[last:]), nil} {
			if i == 1 {
				batch[0].Body = trace.End{Result: trace.Done, Lateness: lateness}
			}
			made, err := encode(batch, batch == nil)
			if err != nil {
				t.Fatal(err)
			}
			var f frameJSON
			if err := json.Unmarshal(made.Rows, &f); err != nil {
				t.Fatal(err)
			}
			if says := strings.Contains(f.Verdict, late); says != (want && i > 0) {
				t.Errorf("%v ms late, frame %d: %s", lateness, i, f.Verdict)
			}
		}
	}
}
