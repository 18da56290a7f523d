package web

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/timeline"
	"relock/web/view"
	"relock/web/words"
)

// Limits of traces from elsewhere.
const (
	maxTrace       = 8 << 20  // bytes of one: ten thousand events and some
	maxAround      = 64 << 10 // bytes of the form around the file
	maxTraces      = 64       // kept at once
	maxTracesBytes = 64 << 20 // bytes kept at once, as they were sent
	traceExpiry    = time.Hour
	maxCells       = 200_000 // rows times threads of one page: what a browser can bear
)

var errNoTrace = refuse(http.StatusNotFound, "There is no such trace",
	"Traces that were opened here are forgotten after an hour, or when others need the room. Open the file again.")

// keptFile is a trace from elsewhere, checked.
type keptFile struct {
	data     []byte
	scenario *scenario.Scenario
	until    time.Time
}

// traceShelf keeps traces in memory for a while; the oldest make room. It is
// safe for concurrent use.
type traceShelf struct {
	now func() time.Time

	mu    sync.Mutex
	kept  map[string]keptFile
	order []string // of ids, oldest first
	bytes int
}

func newTraceShelf() *traceShelf { return &traceShelf{now: time.Now, kept: map[string]keptFile{}} }

func (k *traceShelf) keep(f keptFile) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.until = k.now().Add(traceExpiry)
	k.bytes += len(f.data)
	for len(k.order) > 0 && (len(k.order) >= maxTraces || k.bytes > maxTracesBytes || k.kept[k.order[0]].until.Before(k.now())) {
		k.bytes -= len(k.kept[k.order[0]].data)
		delete(k.kept, k.order[0])
		k.order = k.order[1:]
	}
	id := rand.Text()
	k.kept[id] = f
	k.order = append(k.order, id)
	return id
}

func (k *traceShelf) find(id string) (keptFile, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, ok := k.kept[id]
	return f, ok && !f.until.Before(k.now())
}

// isTrace recognizes a trace by its first line.
func isTrace(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	var head struct {
		Relock *json.Number `json:"relock"`
	}
	return json.Unmarshal(first, &head) == nil && head.Relock != nil
}

// keepTrace keeps a trace from elsewhere for a while, and redirects to its
// page.
func (s *Server) keepTrace(w http.ResponseWriter, r *http.Request) error {
	data, err := readFile(w, r)
	if err != nil {
		return err
	}
	return s.takeTrace(w, r, data)
}

func (s *Server) takeTrace(w http.ResponseWriter, r *http.Request, data []byte) error {
	if err := s.sessions.Allow(address(r)); err != nil {
		return limitError(err)
	}
	h, events, sc, err := readTrace(data)
	if err == nil {
		err = pause.Here(r.Context())
	}
	if err == nil {
		_, _, _, err = readTrace(brief(data)) // as its page reads it
	}
	if err == nil {
		err = pause.Here(r.Context())
	}
	if err == nil {
		if rows := rowsOf(h, events, sc); rows*len(sc.Threads) > maxCells {
			err = phrase.New("%d rows of %d threads are more than a page can show", rows, len(sc.Threads))
		}
	}
	if err != nil {
		return refusedWhole(err)
	}
	http.Redirect(w, r, "/traces/"+s.traces.keep(keptFile{data: data, scenario: sc}), http.StatusSeeOther)
	return nil
}

// refusedWhole returns the page of a trace that cannot be shown, or err if that
// says nothing to visitors.
func refusedWhole(err error) error {
	why, ok := phrase.Of(err)
	if !ok {
		return err
	}
	return &statusError{
		status: http.StatusUnprocessableEntity, head: "That trace cannot be shown",
		text: func(l words.Language) string { return l.Say("It was refused whole: %s.", l.Clause(why)) },
	}
}

// firstMistake returns the first mistake in the scenario of a trace.
func firstMistake(err error) error {
	var mistakes scenario.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) == 0 {
		return err
	}
	return phrase.New("the scenario in line 1 has a mistake: %s", mistakes[0].Says())
}

// readTrace reads a trace that anybody may have written.
func readTrace(data []byte) (trace.Header, []trace.Event, *scenario.Scenario, error) {
	h, events, err := trace.Read(bytes.NewReader(data))
	if err != nil {
		return h, nil, nil, err
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil {
		return h, nil, nil, firstMistake(err)
	}
	names := make([]string, len(sc.Threads))
	for i, t := range sc.Threads {
		names[i] = t.Name
	}
	if err := trace.Check(h, events, names); err != nil {
		return h, nil, nil, err
	}
	return h, events, sc, nil
}

func rowsOf(h trace.Header, events []trace.Event, sc *scenario.Scenario) int {
	timeline := timeline.New(words.English, timeline.NewScenario(words.English, sc), h.Owners)
	for _, e := range events {
		timeline.Add(e)
	}
	return len(timeline.Rows())
}

// How much of one line of a trace a page shows.
const (
	longLine  = 16 << 10 // bytes: what is shorter is shown whole
	longText  = 1 << 10  // bytes of one text in a longer one
	manyItems = 64       // of one list or object in a longer one
)

// brief returns a trace as a page shows it: in a line far longer than any of
// ours, each text is cut. Exported files are not.
func brief(data []byte) []byte {
	var out []byte
	first := true
	for line := range bytes.Lines(data) {
		if !first && len(line) > longLine {
			var event any
			dec := json.NewDecoder(bytes.NewReader(line))
			dec.UseNumber()
			if dec.Decode(&event) == nil {
				if cut, err := json.Marshal(shortened(event)); err == nil {
					cut = append(cut, '\n')
					line = cut
				}
			}
		}
		first = false
		out = append(out, line...)
	}
	return out
}

// shortened returns a JSON value without what makes it long.
func shortened(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > longText {
			return strings.ToValidUTF8(v[:longText], "") + "…"
		}
		return v
	case []any:
		short := make([]any, 0, min(len(v), manyItems))
		for _, item := range v[:min(len(v), manyItems)] {
			short = append(short, shortened(item))
		}
		return short
	case map[string]any:
		short := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(short) == manyItems {
				break
			}
			name, _ := shortened(key).(string)
			short[name] = shortened(v[key])
		}
		return short
	default:
		return v
	}
}

// withTrace reads the trace that the path names, in its turn: all of it, or
// what read leaves of it.
func (s *Server) withTrace(r *http.Request, read func([]byte) []byte, use func(*recording) error) error {
	kept, ok := s.traces.find(r.PathValue("id"))
	if !ok {
		return errNoTrace
	}
	data := kept.data
	if read != nil {
		data = read(data)
	}
	header, events, sc, err := readTrace(data)
	if err != nil {
		return fmt.Errorf("web: a trace that was read before: %w", err)
	}
	return use(&recording{sc, header, events})
}

// traceFilm returns the film of a trace from elsewhere. It has portions if its
// page needs them, or if portioned says so.
func (s *Server) traceFilm(r *http.Request, kept keptFile, portioned bool) (*footage, error) {
	return s.film(r, "/traces/"+r.PathValue("id"), portioned, func() (*recording, bool, error) {
		header, events, sc, err := readTrace(brief(kept.data))
		if err != nil {
			return nil, false, fmt.Errorf("web: a trace that was read before: %w", err)
		}
		return &recording{sc, header, events}, true, nil
	}, func(f *footage) bool { return f.long || portioned == (f.portions != nil) })
}

// traceRows answers with rows of a trace from elsewhere, for its page.
func (s *Server) traceRows(w http.ResponseWriter, r *http.Request) error {
	kept, ok := s.traces.find(r.PathValue("id"))
	if !ok {
		return errNoTrace
	}
	from, count, err := which(r)
	if err != nil {
		return err
	}
	f, err := s.traceFilm(r, kept, true)
	if err != nil {
		return err
	}
	return answerRows(w, r, f, from, count)
}

// showTrace is the page of a trace from elsewhere.
func (s *Server) showTrace(w http.ResponseWriter, r *http.Request) error {
	kept, ok := s.traces.find(r.PathValue("id"))
	if !ok {
		return errNoTrace
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
	run.ID, run.Place, run.Edit = id, view.Place(l, f.header, l.Say("another place")), "/edit?trace="+id
	run.Slow = view.ClockNote(l, f.header.Clock, 1)
	return s.showRun(w, r, run, l.Say("A trace"))
}

// traceLanes answers with the lanes of a trace from elsewhere around a row, as
// a part of its page.
func (s *Server) traceLanes(w http.ResponseWriter, r *http.Request) error {
	return s.withTrace(r, brief, func(made *recording) error { return answerLanes(w, r, made) })
}

// exportTrace answers with a trace from elsewhere as a file.
func (s *Server) exportTrace(w http.ResponseWriter, r *http.Request) error {
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	return s.withTrace(r, nil, func(made *recording) error {
		return s.answerFile(w, r, format, export.Run{Header: made.header, Events: made.events, Scenario: made.sc}, link.State{Scenario: made.sc})
	})
}

// keptTrace answers with a trace from elsewhere as it was sent.
func (s *Server) keptTrace(w http.ResponseWriter, r *http.Request) error {
	kept, ok := s.traces.find(r.PathValue("id"))
	if !ok {
		return errNoTrace
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", `attachment; filename="relock-trace.jsonl"`)
	_, _ = w.Write(kept.data) // the visitor has left: nobody to tell
	return nil
}
