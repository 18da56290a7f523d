package film_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// filmed is the film of all events, which somebody looks at after each one or
// only at the end.
func filmed(p lessonstest.Run, l words.Language, eachTime bool) *film.Film {
	f := film.New(l, p.Scenario, p.Owners)
	for _, e := range p.Events {
		f.Add(e)
		if eachTime {
			f.Rows()
		}
	}
	return f
}

// What a row says is put together when it is asked for: that must not depend
// on when.
func TestAFilmIsTheSameWheneverItIsLookedAt(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		p := lessonstest.Play(t, name)
		at, often := filmed(p, words.Match("zh"), false).Rows(), filmed(p, words.Match("zh"), true).Rows()
		for i := range at {
			if !reflect.DeepEqual(at[i], often[i]) {
				t.Errorf("%s, T%d: %+v, else %+v", name, i+1, at[i], often[i])
			}
			if at[i].Says == "" || (at[i].Mark == film.Broken || at[i].Mark == film.Expiry) != (at[i].Alarm != "") {
				t.Errorf("%s, T%d says %q, %q", name, i+1, at[i].Says, at[i].Alarm)
			}
		}
	}
}

// standing is where the script stands after each command, by its event's seq.
func standing(f *film.Film, events []trace.Event) map[int]*film.ScriptMoment {
	out, inside := map[int]*film.ScriptMoment{}, map[int]int{} // commands so far, by step
	for _, e := range events {
		if _, ok := e.Body.(trace.Command); ok {
			out[e.Seq] = f.Rows()[e.Step-1].Inside[inside[e.Step]].Lua
			inside[e.Step]++
		}
	}
	return out
}

// longRun is a run of ten thousand events, and its trace as JSON Lines.
func longRun(tb testing.TB) (lessonstest.Run, []byte) {
	tb.Helper()
	sc, err := scenario.Parse([]byte(`
lock: {protocol: reentrant, key: LONG, lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
seed: 1
`))
	if err != nil {
		tb.Fatal(err)
	}
	run, err := engine.Start(tb.Context(), sc, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		tb.Fatal(err)
	}
	events, _ := run.Log().Since(0)
	if len(events) < 10_000 {
		tb.Fatalf("%d events", len(events))
	}
	var b bytes.Buffer
	if err := trace.Write(&b, run.Header(), events); err != nil {
		tb.Fatal(err)
	}
	return lessonstest.Run{Scenario: sc, Owners: run.Header().Owners, Events: events}, b.Bytes()
}

// A page view makes a film. What that takes is compared with reading the
// trace, in allocations, which are the same on every machine.
func TestAFilmTakesLittleMoreThanItsTrace(t *testing.T) {
	p, text := longRun(t)
	reading := testing.AllocsPerRun(1, func() {
		if _, _, err := trace.Read(t.Context(), bytes.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
	making := testing.AllocsPerRun(1, func() { filmed(p, words.English, false).Rows() })
	if making > 1.6*reading {
		t.Errorf("a film takes %.0f allocations, its trace %.0f", making, reading)
	}
}

// BenchmarkFilm makes the film of a long run, and tells how long that takes
// beside reading its trace.
func BenchmarkFilm(b *testing.B) {
	p, text := longRun(b)
	const readings = 5
	began := time.Now()
	for range readings {
		if _, _, err := trace.Read(b.Context(), bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
	reading := float64(time.Since(began)) / readings
	b.ReportAllocs()
	for b.Loop() {
		filmed(p, words.English, false).Rows()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/reading, "of-reading")
}
