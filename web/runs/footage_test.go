package runs

import (
	"encoding/json"
	"reflect"
	"runtime"
	"testing"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/words"
)

// held is how many bytes are in use.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A long film is cut while it is made, and what is cut is dropped: it is the same as if it
// had been cut at the end, and takes a part of the memory.
func TestALongFilmIsCutWhileItIsMade(t *testing.T) {
	racetest.Skip(t)
	sc, err := scenario.Parse([]byte(`
lock: {lease: 200ms, retry: {times: 1000, interval: 5ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}, {name: E}, {name: F}, {name: G}, {name: H}]
defaults: {depth: 2, repeat: 5, work: 40ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	before := held()
	whole, err := made.Film(t.Context(), words.English)
	if err != nil {
		t.Fatal(err)
	}
	whole.Rows()
	full := held() - before
	f := &Footage{Header: made.Header, Rows: made.rows(), Ended: true}
	if f.Rows <= 4*film.MaxWhole || f.Rows != len(whole.Rows()) {
		t.Fatalf("%d rows, and %d are counted", len(whole.Rows()), f.Rows)
	}
	if err := (&cutter{l: words.English, f: f}).rest(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	got, err := NewFootage(t.Context(), words.English, made, true, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Portions {
		if i < len(got.Portions) && !reflect.DeepEqual(got.Portions[i], f.Portions[i]) {
			t.Fatalf("portion %d of %d is another one", i, len(f.Portions))
		}
	}
	page := func(f *Footage) string {
		text, err := json.Marshal([]any{len(f.Portions), f.Viewer.Recorded, f.Viewer.Table, f.Viewer.Tail, f.Viewer.Part, f.tail})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if page(got) != page(f) {
		t.Error("the page is another one")
	}

	whole, f, got = nil, nil, nil
	before = held()
	c := &cutter{l: words.English, f: &Footage{Rows: made.rows(), Ended: true}}
	reel, err := made.film(t.Context(), words.English, func(reel *film.Film) error { return c.ahead(t.Context(), reel) })
	if err != nil {
		t.Fatal(err)
	}
	part := held() - before
	runtime.KeepAlive(reel)
	runtime.KeepAlive(c)
	t.Logf("%d rows: %d KB, and %d while they are cut", c.f.Rows, full>>10, part>>10)
	if part > full/2 {
		t.Errorf("%d rows take %d KB, and %d while they are cut", c.f.Rows, full>>10, part>>10)
	}
	runtime.KeepAlive(made)
}
