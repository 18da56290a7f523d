package web

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"relock/engine/scenario"
	"relock/web/site"
	"relock/web/words"
)

// Films is how many bytes of films a server keeps, and how often it has folded
// one that it keeps.
func (s *Server) Films() (bytes, folded int) { return s.films.Bytes(), s.films.Folded() }

// What a kept film is said to take, it takes: the limit is on what is used.
func TestWhatAKeptFilmTakes(t *testing.T) {
	if Raced {
		t.Skip("too slow with the race detector; make test runs it without as well")
	}
	sc, err := scenario.Parse([]byte(`
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const films = 4
	shelf := newFilms()
	before := held()
	for i := range films {
		_, err := shelf.Get(t.Context(), filmKey{strconv.Itoa(i), "en"}, func(*footage) bool { return true }, func(*footage) (*footage, error) {
			return newFootage(words.English, made, true, nil, false)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	took := int(held() - before)
	t.Logf("%d events: %d KB a film, %d KB counted", len(made.events), took/films>>10, shelf.Bytes()/films>>10)
	if said := shelf.Bytes(); took > said*3/2 || said > took*3 {
		t.Errorf("%d bytes are said to be kept, and are %d", said, took)
	}
	runtime.KeepAlive(made)
}

func TestAFilmShelfKeepsWhatWasLookedAtLast(t *testing.T) {
	t.Parallel()
	shelf := newFilms()
	good := func(*footage) bool { return true }
	folds := 0
	get := func(name string, bytes int) {
		t.Helper()
		_, err := shelf.Get(t.Context(), filmKey{name, "en"}, good, func(*footage) (*footage, error) {
			folds++
			return &footage{portions: [][]byte{{}}, bytes: bytes}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	get("a", maxFilms/2)
	get("b", maxFilms/2)
	get("a", maxFilms/2)
	get("c", maxFilms/4) // b makes room
	if folds != 3 || shelf.Bytes() != maxFilms*3/4 {
		t.Errorf("%d were folded, %d bytes are kept", folds, shelf.Bytes())
	}
	get("a", maxFilms/2)
	get("b", maxFilms/4)
	if folds != 4 {
		t.Errorf("%d were folded, want 4: b anew", folds)
	}

	// Who waits for a film that is not made makes it; what fails is not kept.
	first, failed := make(chan struct{}), make(chan error)
	go func() {
		_, err := shelf.Get(t.Context(), filmKey{"d", "en"}, good, func(*footage) (*footage, error) {
			close(first)
			return nil, site.ErrLeft
		})
		failed <- err
	}()
	<-first
	get("d", 1)
	if err := <-failed; !errors.Is(err, site.ErrLeft) || folds != 5 {
		t.Errorf("%v; %d were folded, want 5", err, folds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hold, holding := make(chan struct{}), make(chan struct{})
	go func() {
		_, err := shelf.Get(t.Context(), filmKey{"e", "en"}, good, func(*footage) (*footage, error) {
			close(holding)
			<-hold
			return &footage{portions: [][]byte{{}}, bytes: 1}, nil
		})
		failed <- err
	}()
	<-holding
	cancel()
	if _, err := shelf.Get(ctx, filmKey{"e", "en"}, good, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left waits: %v", err)
	}
	close(hold)
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// What a run that goes on has in portions is what it has once it is over.
func TestPortionsOfARunThatGoesOnStay(t *testing.T) {
	t.Parallel()
	sc, err := scenario.Parse([]byte(`
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := newFootage(words.English, made, true, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var sofar *footage
	for n := 500; ; n += 700 {
		end := min(n, len(made.events))
		part := &recording{made.sc, made.header, made.events[:end]}
		before := sofar
		if sofar, err = newFootage(words.English, part, end == len(made.events), before, true); err != nil {
			t.Fatal(err)
		}
		for i := range sofar.settled {
			if !bytes.Equal(sofar.portions[i], whole.portions[i]) {
				t.Errorf("after %d events portion %d is another one than at the end", end, i)
			}
		}
		if sofar.settled < (sofar.rows-1)/portionRows {
			t.Errorf("of %d rows %d portions stay", sofar.rows, sofar.settled)
		}
		if end == len(made.events) {
			break
		}
	}
	if sofar.settled != len(whole.portions) || sofar.viewer.Table != whole.viewer.Table || sofar.viewer.Tail != whole.viewer.Tail {
		t.Error("folded bit by bit it is another film")
	}
}
