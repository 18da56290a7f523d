package own

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"relock/engine/bound"
	"relock/engine/check"
	"relock/engine/outside/logs"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/libraries"
	"relock/web/export"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/words"
)

var errNoTrace = site.Refuse(http.StatusNotFound, "There is no such trace",
	"The server forgets a trace an hour after its last view, or when space runs out. Open the file again.")

// maxCells is rows times threads of one page: what a browser can bear.
const maxCells = 200_000

// TraceLimits bound the traces that are kept, compressed.
var TraceLimits = keep.Limits{Texts: 256, Bytes: 64 << 20, Age: time.Hour}

// keptFile is a trace from elsewhere, checked.
type keptFile struct {
	packed   []byte
	scenario *scenario.Scenario
}

// data returns the trace as it was sent.
func (k keptFile) data() ([]byte, error) { return site.Unzipped(k.packed) }

// Traces are the pages of traces from elsewhere.
type Traces struct {
	*shell.Pages

	Shelf keep.Shelf
	Films *runs.Films
}

// putTrace keeps a trace, and returns its id.
func (s *Traces) putTrace(r *http.Request, data []byte) (id string, err error) {
	packed, err := site.Zipped(data)
	if err != nil {
		return "", err
	}
	id = rand.Text()
	pause.While(r.Context(), func() { err = s.Shelf.Put(r.Context(), id, string(packed)) })
	if err != nil {
		return "", s.NotKept(r, err)
	}
	return id, nil
}

// findTrace returns the trace kept under id: one that somebody has opened, or a
// library's, which is in the program. It fails with a page to answer with.
func (s *Traces) findTrace(r *http.Request, id string) (keptFile, error) {
	ours, bundled := libraries.Trace(id)
	packed := string(ours)
	var err error
	if !bundled {
		pause.While(r.Context(), func() { packed, err = s.Shelf.Get(r.Context(), id) })
	}
	if errors.Is(err, keep.ErrNotKept) {
		return keptFile{}, errNoTrace
	}
	if err != nil {
		return keptFile{}, s.NotKept(r, err)
	}
	file := []byte(packed)
	text, err := site.Unzipping(file)
	if err != nil {
		return keptFile{}, err
	}
	var head trace.Header
	if err := json.NewDecoder(text).Decode(&head); err != nil {
		return keptFile{}, fmt.Errorf("own: a trace that was read before: %w", err)
	}
	sc, err := scenario.Parse(head.Scenario)
	if err != nil {
		return keptFile{}, fmt.Errorf("own: a trace that was read before: %w", err)
	}
	return keptFile{file, sc}, nil
}

// Keep keeps a trace from elsewhere for a while, and redirects to its
// page.
func (s *Traces) Keep(w http.ResponseWriter, r *http.Request) error {
	data, err := shell.ReadFile(w, r)
	if err != nil {
		return err
	}
	return s.takeTrace(w, r, data)
}

func (s *Traces) takeTrace(w http.ResponseWriter, r *http.Request, data []byte) error {
	if logs.Is(data) {
		q := r.URL.Query()
		return s.takeLog(w, r, logJSON{q.Get("key"), inside(q), string(data)}, q.Get("threads"))
	}
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return site.OfLimit(err)
	}
	if err := readable(r.Context(), data); err != nil {
		return refusedWhole(err)
	}
	id, err := s.putTrace(r, data)
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/traces/"+id, http.StatusSeeOther) //nolint:gosec // an id of ours
	return nil
}

// readable fails with what keeps a trace from its page: read whole, and, where its page cuts lines, read so.
func readable(ctx context.Context, data []byte) error {
	whole, err := readWhole(ctx, data)
	if err != nil {
		return err
	}
	short, err := runs.Brief(ctx, data)
	if err != nil {
		return err
	}
	if !bytes.Equal(short, data) {
		if _, err := readWhole(ctx, short); err != nil {
			return err
		}
	}
	return fitsPage(whole.Events, whole.Scenario)
}

// readBrief reads a trace as its page shows it.
func readBrief(ctx context.Context, data []byte) (*runs.Recording, error) {
	short, err := runs.Brief(ctx, data)
	if err != nil {
		return nil, err
	}
	return readWhole(ctx, short)
}

// readWhole reads a trace.
func readWhole(ctx context.Context, data []byte) (*runs.Recording, error) {
	header, events, sc, err := runs.ReadTrace(ctx, data)
	return &runs.Recording{Scenario: sc, Header: header, Events: events}, err
}

// fitsPage fails with one sentence if a trace has more rows than a page can show.
func fitsPage(events []trace.Event, sc *scenario.Scenario) error {
	if rows := film.CountRows(events); rows*len(sc.Threads) > maxCells {
		return phrase.New("%d rows of %d threads are more than a page can show", rows, len(sc.Threads))
	}
	return nil
}

// logJSON is a log as it is kept beside its trace.
type logJSON struct {
	Key  string `json:"key"`              // the lock's
	Most int    `json:"inside,omitempty"` // how many may be inside at once, as marks say it; 0 is one
	Log  string `json:"log"`
}

// logName is under what the log of a trace is kept.
func logName(id string) string { return id + "-log" }

// keptLog returns the log of a trace.
func (s *Traces) keptLog(r *http.Request, id string) (kept logJSON, err error) {
	if len(id) != len(rand.Text()) { // of a library
		return kept, keep.ErrNotKept
	}
	var packed string
	pause.While(r.Context(), func() { packed, err = s.Shelf.Get(r.Context(), logName(id)) })
	if err != nil {
		return kept, err
	}
	data, err := site.Unzipped([]byte(packed))
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("own: a log that was read before: %w", err)
	}
	return kept, nil
}

// takeLog makes a trace of a log, keeps both for a while, and redirects to the trace's page.
// No script of a stranger runs here: of scripts, the log tells the commands.
func (s *Traces) takeLog(w http.ResponseWriter, r *http.Request, log logJSON, threads string) error {
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return site.OfLimit(err)
	}
	read, err := logs.Read(r.Context(), strings.NewReader(log.Log))
	if err != nil {
		return refusedWhole(err)
	}
	o := logs.Options{Key: log.Key, Threads: threads, NoScripts: true}
	if log.Most != 0 {
		if o.Kind, err = check.Inside(log.Most); err != nil {
			return refusedWhole(err)
		}
	}
	found, err := read.Trace(r.Context(), o)
	if err != nil {
		return refusedWhole(err)
	}
	if err := fitsPage(found.Events, found.Scenario); err != nil {
		return refusedWhole(err)
	}
	b := bound.NewBuffer(r.Context())
	if err := trace.Write(b, found.Header, found.Events); err != nil {
		return refusedWhole(err)
	}
	id, err := s.putTrace(r, b.Bytes())
	if err != nil {
		return err
	}
	text, err := json.Marshal(log)
	if err != nil {
		return fmt.Errorf("own: %w", err)
	}
	packed, err := site.Zipped(text)
	if err != nil {
		return err
	}
	pause.While(r.Context(), func() { err = s.Shelf.Put(r.Context(), logName(id), string(packed)) })
	if err != nil {
		return s.NotKept(r, err)
	}
	http.Redirect(w, r, "/traces/"+id, http.StatusSeeOther) //nolint:gosec // an id of ours
	return nil
}

// inside is how many may be inside at once that a query says; 0 if it says nothing.
func inside(q url.Values) int {
	if !q.Has("inside") {
		return 0
	}
	n, err := strconv.Atoi(q.Get("inside"))
	if err != nil || n == 0 {
		return -1 // which is refused
	}
	return n
}

// Again reads a trace's log in another way: another key, more inside at once, other threads.
func (s *Traces) Again(w http.ResponseWriter, r *http.Request) error {
	kept, err := s.keptLog(r, r.PathValue("id"))
	if errors.Is(err, keep.ErrNotKept) {
		return errNoTrace
	}
	if err != nil {
		return s.NotKept(r, err)
	}
	q := r.URL.Query()
	if key := q.Get("key"); key != "" {
		kept.Key, kept.Most = key, 0
	}
	kept.Most = cmp.Or(inside(q), kept.Most)
	return s.takeLog(w, r, kept, q.Get("threads"))
}

// refusedWhole returns the page of a trace that cannot be shown, or err if that
// says nothing to visitors.
func refusedWhole(err error) error {
	why, ok := phrase.Of(err)
	if !ok {
		return err
	}
	return &site.Error{
		Status: http.StatusUnprocessableEntity, Head: "That trace cannot be shown",
		Text: func(l words.Language) string { return l.Say("Nothing of it was taken: %s.", l.Clause(why)) },
	}
}

// reading is a way to read a trace: readWhole, or readBrief.
type reading func(context.Context, []byte) (*runs.Recording, error)

// read reads the trace again.
func (k keptFile) read(ctx context.Context, read reading) (*runs.Recording, error) {
	data, err := k.data()
	if err != nil {
		return nil, err
	}
	made, err := read(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("own: a trace that was read before: %w", err)
	}
	return made, nil
}

// withTrace reads the trace that the path names, in its turn.
func (s *Traces) withTrace(r *http.Request, read reading, use func(*runs.Recording) error) error {
	kept, err := s.findTrace(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	made, err := kept.read(r.Context(), read)
	if err != nil {
		return err
	}
	return use(made)
}

// traceFilm returns the film of a trace from elsewhere.
func (s *Traces) traceFilm(r *http.Request, kept keptFile, portioned bool) (*runs.Footage, error) {
	return s.Films.OfTrace(r, "/traces/"+r.PathValue("id"), portioned, func() (*runs.Recording, error) {
		return kept.read(r.Context(), readBrief)
	})
}

// Rows answers with rows of a trace from elsewhere, for its page.
func (s *Traces) Rows(w http.ResponseWriter, r *http.Request) error {
	kept, err := s.findTrace(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	from, count, err := runs.AskedRows(r)
	if err != nil {
		return err
	}
	f, err := s.traceFilm(r, kept, true)
	if err != nil {
		return err
	}
	return runs.AnswerRows(w, r, f, from, count)
}

// Show is the page of a trace from elsewhere.
func (s *Traces) Show(w http.ResponseWriter, r *http.Request) error {
	kept, err := s.findTrace(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	f, err := s.traceFilm(r, kept, false)
	if err != nil {
		return err
	}
	id, l := r.PathValue("id"), words.From(r.Context())
	run, err := runOf(r, "/traces/"+id, f, kept.scenario)
	if err != nil {
		return err
	}
	run.Title = cmp.Or(page.LibraryTitle(l, id), run.Title)
	run.ID, run.Place, run.Edit = id, page.Place(l, f.Header, l.Say("another place")), "/edit?trace="+id
	run.Slow = page.ClockNote(l, f.Header.Clock, 1)
	if f.Header.Framed() { // nothing that could be run
		run.Step, run.Edit = "", ""
		switch {
		case f.Header.Log != nil:
			run.Slow, run.Log = page.LogLine(l, f.Header.Log), page.NewLog(l, f.Header.Log)
			if log, err := s.keptLog(r, id); err == nil {
				run.Log.Again(l, f.Header, "/traces/"+id+"/again", log.Most)
			}
		case f.Header.Clock == trace.ClockVirtual:
			run.Slow = l.Say("Found by the lab: Redis' clock stands still unless it is told to go on.")
		}
	}
	return showRun(s.Pages, w, r, run, l.Say("A trace"))
}

// Lanes answers with the lanes of a trace from elsewhere around a row, as
// a part of its page.
func (s *Traces) Lanes(w http.ResponseWriter, r *http.Request) error {
	return s.withTrace(r, readBrief, func(made *runs.Recording) error { return runs.AnswerLanes(w, r, made) })
}

// Export answers with a trace from elsewhere as a file.
func (s *Traces) Export(w http.ResponseWriter, r *http.Request) error {
	format, err := shell.FormatOf(r)
	if err != nil {
		return err
	}
	return s.withTrace(r, readWhole, func(made *runs.Recording) error {
		return s.AnswerFile(w, r, format, export.Run{Header: made.Header, Events: made.Events, Scenario: made.Scenario}, link.Contents{Scenario: made.Scenario})
	})
}

// File answers with a trace from elsewhere as it was sent.
func (s *Traces) File(w http.ResponseWriter, r *http.Request) error {
	kept, err := s.findTrace(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	data, err := kept.data()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", `attachment; filename="relock-trace.jsonl"`)
	_, _ = w.Write(data) //nolint:gosec // a file to be saved, no page; a visitor who has left hears nothing
	return nil
}
