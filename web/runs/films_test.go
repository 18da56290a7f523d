package runs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web/site"
	"relock/web/static"
	"relock/web/words"
)

// A kept film takes what it claims to take: the limit is on real use.
func TestWhatAKeptFilmTakes(t *testing.T) {
	racetest.Skip(t)
	sc, err := scenario.Parse([]byte(`
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	const films = 4
	shelf := NewFilms()
	before := held()
	for i := range films {
		_, err := shelf.shelf.Get(t.Context(), filmKey{strconv.Itoa(i), "en"}, func(*Footage) bool { return true }, func(*Footage) (*Footage, error) {
			return NewFootage(t.Context(), words.English, made, true, nil, false)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	took := int(held() - before)
	t.Logf("%d events: %d KB a film, %d KB counted", len(made.Events), took/films>>10, shelf.Bytes()/films>>10)
	if said := shelf.Bytes(); took > said*3/2 || said > took*3 {
		t.Errorf("%d bytes are said to be kept, and are %d", said, took)
	}
	runtime.KeepAlive(made)
}

func TestAFilmShelfKeepsWhatWasLookedAtLast(t *testing.T) {
	t.Parallel()
	shelf := NewFilms()
	good := func(*Footage) bool { return true }
	folds := 0
	get := func(name string, bytes int) {
		t.Helper()
		_, err := shelf.shelf.Get(t.Context(), filmKey{name, "en"}, good, func(*Footage) (*Footage, error) {
			folds++
			return &Footage{Portions: [][]byte{{}}, bytes: bytes}, nil
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
		t.Errorf("%d were folded, want 4: b again", folds)
	}

	// Whoever waits for a film that nobody has made makes it; a failed one is not kept.
	first, failed := make(chan struct{}), make(chan error)
	go func() {
		_, err := shelf.shelf.Get(t.Context(), filmKey{"d", "en"}, good, func(*Footage) (*Footage, error) {
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
		_, err := shelf.shelf.Get(t.Context(), filmKey{"e", "en"}, good, func(*Footage) (*Footage, error) {
			close(holding)
			<-hold
			return &Footage{Portions: [][]byte{{}}, bytes: 1}, nil
		})
		failed <- err
	}()
	<-holding
	cancel()
	if _, err := shelf.shelf.Get(ctx, filmKey{"e", "en"}, good, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left waits: %v", err)
	}
	close(hold)
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// A run has the same portions while it goes on as once it is over.
func TestPortionsOfARunThatGoesOnStay(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	sc, err := scenario.Parse([]byte(`
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := NewFootage(t.Context(), words.English, made, true, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var sofar *Footage
	for n := 500; ; n += 700 {
		end := min(n, len(made.Events))
		part := &Recording{Scenario: made.Scenario, Header: made.Header, Events: made.Events[:end]}
		before := sofar
		if sofar, err = NewFootage(t.Context(), words.English, part, end == len(made.Events), before, true); err != nil {
			t.Fatal(err)
		}
		for i := range sofar.settled {
			if !bytes.Equal(sofar.Portions[i], whole.Portions[i]) {
				t.Errorf("after %d events portion %d is another one than at the end", end, i)
			}
		}
		if sofar.settled < (sofar.Rows-1)/portionRows {
			t.Errorf("of %d rows %d portions stay", sofar.Rows, sofar.settled)
		}
		if end == len(made.Events) {
			break
		}
	}
	if sofar.settled != len(whole.Portions) || sofar.Viewer.Table != whole.Viewer.Table || sofar.Viewer.Tail != whole.Viewer.Tail {
		t.Error("folded bit by bit it is another film")
	}
}

// counted counts nothing.
type counted struct{ site.Counter }

func (counted) Request(int) {}

// Nobody works on a film whose visitor has left; the next who asks gets one.
func TestAFilmEndsWithItsVisitor(t *testing.T) {
	t.Parallel()
	sc, err := scenario.Parse([]byte("threads: [{name: A}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Record(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	shelf, reads, stays := NewFilms(), 0, false
	at := site.New(site.Config{Log: slog.New(slog.DiscardHandler), Languages: words.BuiltIn(), Static: files})
	defer at.Close()
	at.Count = counted{}
	ask := func() error {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var err error
		h, around := at.Around(at.Page(func(_ http.ResponseWriter, r *http.Request) error {
			_, err = shelf.OfTrace(r, "/traces/x", false, func() (*Recording, error) {
				reads++
				if !stays {
					leave()
				}
				return made, nil
			})
			return err
		}))
		if around != nil {
			t.Fatal(around)
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.Host = "localhost"
		h.ServeHTTP(httptest.NewRecorder(), r)
		return err
	}
	if err := ask(); !errors.Is(err, site.ErrLeft) {
		t.Errorf("who left got %v", err)
	}
	if shelf.Folded() != 0 {
		t.Error("its film was made all the same")
	}
	stays = true
	if err := ask(); err != nil || reads != 2 || shelf.Folded() != 1 {
		t.Errorf("the next: %v; the trace was read %d times, the film made %d times", err, reads, shelf.Folded())
	}
}
