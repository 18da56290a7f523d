package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"relock/engine/trace"
	"relock/web/templates"
	"relock/web/timeline"
	"relock/web/view"
	"relock/web/words"
)

// Sizes of what a page has of a film. All of them count bytes of HTML and
// JSON, as they are before they are compressed.
const (
	wholeBytes  = 2 << 20  // a film with more is in portions, however few its rows are
	longestRow  = 64 << 10 // one with more is not shown, which it says
	filmBytes   = 64 << 20 // of all rows of a film: those that come after say that they are not shown
	portionRows = 32       // rows of a portion
	partBytes   = 512 << 10
	tailRows    = 8 // rows at the end that are in the page at least
)

// aroundBytes are about those of the lanes and scripts of a film.
const aroundBytes = 256 << 10

// maxFilms is how many bytes of films are kept, compressed: some 1.5 MB for
// ten thousand events in one language.
const maxFilms = 64 << 20

// footage is a film as its page and its portions show it in a language. It is
// not changed any more.
type footage struct {
	viewer  view.Viewer // of a page with scripts
	tail    []view.Frame
	verdict string
	tone    timeline.Tone
	header  trace.Header
	rows    int
	events  int
	ended   bool
	long    bool // its page has some of its rows

	portions [][]byte // gzip; nil of a film that is in its page whole
	settled  int      // of these, those that stay as they are
	bytes    int      // about what it takes to keep
}

// portionJSON is some rows of a film.
type portionJSON struct {
	V      int               `json:"v"`
	From   int               `json:"from"`   // step of the first
	Before json.RawMessage   `json:"before"` // the key's state before that
	Rows   []json.RawMessage `json:"rows"`   // each a view.Frame with its HTML
}

// errLeft says that whoever asked for a film has left.
var errLeft = errors.New("the visitor has left")

// newFootage folds a recording. Before is how the film was when it had fewer
// events, or nil; portioned makes portions of a short one too.
func newFootage(l words.Language, made *recording, ended bool, before *footage, portioned bool) (*footage, error) {
	film := made.film(l)
	f := &footage{
		viewer: view.Viewer{
			Scenario: timeline.NewScenario(l, made.sc), Rows: len(film.Rows()), Lanes: lanesOf(l, film.Lanes(), len(film.Rows())),
			Scripts: film.Scripts(),
		},
		header: made.header, rows: len(film.Rows()), events: len(made.events), ended: ended,
	}
	f.verdict, f.tone = view.Verdict(l, film.Rows(), ended)
	if f.rows <= view.MaxWhole {
		whole, fits, err := wholeOf(l, film)
		if err != nil {
			return nil, err
		}
		if f.long = !fits; fits && !portioned {
			f.viewer.Table, f.viewer.Recorded = whole, film.RecordedWhole()
			return f, nil
		}
	}
	f.long = f.long || f.rows > view.MaxWhole
	return f, f.cut(l, film, before)
}

// wholeOf is the table of a film, and whether that and all that its script
// reads is short enough for a page.
func wholeOf(l words.Language, film *view.Film) (table string, fits bool, err error) {
	var b strings.Builder
	size := 0
	for i := range film.Rows() {
		row, html, err := frameOf(l, film, i)
		if err != nil {
			return "", false, err
		}
		text, err := json.Marshal(row)
		if err != nil {
			return "", false, fmt.Errorf("web: %w", err)
		}
		b.WriteString(html)
		if size += len(html) + len(text); size > wholeBytes || film.Rows()[i].TooLong() {
			return "", false, nil
		}
	}
	return b.String(), true, nil
}

// cut makes the portions of a film, but those that it had before, and what its
// page has of it.
func (f *footage) cut(l words.Language, film *view.Film, before *footage) error {
	size := 0
	index := film.Index(portionRows)
	tail := max(0, f.rows-tailRows) / portionRows * portionRows // the row where the page's tail begins
	f.viewer.Recorded = film.Recorded()
	f.viewer.Recorded.Index = index
	var table, html strings.Builder
	for first := 0; first < f.rows; first += portionRows {
		last := min(first+portionRows, f.rows)
		stays := f.ended || last < f.rows // a row changes until the next one begins
		inPage := first == 0 || first >= tail
		if n := len(f.portions); before != nil && n < before.settled && !inPage {
			f.portions, f.settled = append(f.portions, before.portions[n]), n+1
			continue
		}
		p := portionJSON{V: 1, From: first + 1}
		var err error
		if p.Before, err = json.Marshal(film.Before(first)); err != nil {
			return fmt.Errorf("web: %w", err)
		}
		for i := first; i < last; i++ {
			frame, made, err := frameOf(l, film, i)
			if err != nil {
				return err
			}
			text, err := framed(frame, made)
			if err != nil {
				return err
			}
			if size += len(text); len(text) > longestRow || size > filmBytes {
				if frame, made, err = tooLong(l, film, i); err != nil {
					return err
				}
				if text, err = framed(frame, made); err != nil {
					return err
				}
			}
			p.Rows = append(p.Rows, text)
			switch {
			case first == 0:
				table.WriteString(made)
			case inPage:
				html.WriteString(made)
			}
			if inPage {
				f.viewer.Recorded.Rows = append(f.viewer.Recorded.Rows, frame)
			}
			if first > 0 && inPage {
				f.tail = append(f.tail, frame)
			}
		}
		if first > 0 && first == tail {
			index.Before[first+1] = film.Before(first)
		}
		packed, err := packed(p)
		if err != nil {
			return err
		}
		f.portions = append(f.portions, packed)
		if stays {
			f.settled = len(f.portions)
		}
	}
	f.viewer.Table = table.String()
	f.viewer.Tail = view.Tail{First: tail + 1, Count: len(f.tail), HTML: html.String()}
	f.viewer.Part = &view.TablePart{From: 1, To: min(portionRows, f.rows)}
	return f.weigh()
}

// weigh counts what it takes to keep the film.
func (f *footage) weigh() error {
	text, err := json.Marshal(f.viewer.Recorded)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	f.bytes = aroundBytes + 2*len(text) + len(f.viewer.Table) + len(f.viewer.Tail.HTML)
	for _, p := range f.portions {
		f.bytes += len(p)
	}
	return nil
}

// frameOf is a row of a film, and its HTML.
func frameOf(l words.Language, film *view.Film, i int) (view.Frame, string, error) {
	row := film.Rows()[i]
	if row.TooLong() {
		return tooLong(l, film, i)
	}
	html, err := rendered(l, templates.RowView(row))
	return film.Frames()[i], html, err
}

// tooLong is a row that says that it is not shown, and its HTML.
func tooLong(l words.Language, film *view.Film, i int) (view.Frame, string, error) {
	frame := film.Cut(i)
	html, err := rendered(l, templates.RowTooLong(film.Rows()[i], frame.Why))
	return frame, html, err
}

// framed is a row with its HTML as JSON.
func framed(frame view.Frame, html string) (json.RawMessage, error) {
	frame.HTML = html
	return jsonLine(frame)
}

func packed(p portionJSON) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	if err := errors.Join(enc.Encode(p), z.Close()); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return bytes.Clone(b.Bytes()), nil
}

func unpacked(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return text, nil
}

// take returns rows of the film: count of them from the one with that index,
// or fewer where the film ends.
func (f *footage) take(from, count int) (portionJSON, error) {
	out := portionJSON{V: 1, From: from + 1, Rows: []json.RawMessage{}}
	to := min(from+count, f.rows)
	for n := from / portionRows; n*portionRows < to; n++ {
		text, err := unpacked(f.portions[n])
		if err != nil {
			return out, err
		}
		var p portionJSON
		if err := json.Unmarshal(text, &p); err != nil {
			return out, fmt.Errorf("web: %w", err)
		}
		first := n * portionRows
		a, b := max(from-first, 0), min(to-first, len(p.Rows))
		if len(out.Rows) == 0 {
			out.Before = p.Before
			if a > 0 {
				var last struct{ After json.RawMessage }
				if err := json.Unmarshal(p.Rows[a-1], &last); err != nil {
					return out, fmt.Errorf("web: %w", err)
				}
				out.Before = last.After
			}
		}
		out.Rows = append(out.Rows, p.Rows[a:b]...)
	}
	return out, nil
}

// filmKey names a film that is kept.
type filmKey struct {
	path string // of its page
	lang string
}

// filmShelf keeps films while there is room: those that were looked at last.
// It is safe for concurrent use.
type filmShelf struct {
	mu    sync.Mutex
	kept  map[filmKey]*footage
	order []filmKey // the one that was looked at last is the last
	bytes int
	made  map[filmKey]*making

	folded int // times that a film was put here
}

// making is a film that somebody makes and others wait for.
type making struct {
	done chan struct{}
	film *footage // nil: it was not made
}

func newFilmShelf() *filmShelf {
	return &filmShelf{kept: map[filmKey]*footage{}, made: map[filmKey]*making{}}
}

// Bytes is how many are kept.
func (k *filmShelf) Bytes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// get returns a film that is good enough: the one that is kept, or the one
// that somebody else is just making, or the one that it folds, given what was
// kept, if anything. It fails with ctx's cause, or as fold does.
func (k *filmShelf) get(ctx context.Context, key filmKey, good func(*footage) bool, fold func(*footage) (*footage, error)) (*footage, error) {
	for {
		k.mu.Lock()
		kept := k.kept[key]
		if kept != nil && good(kept) {
			k.touch(key)
			k.mu.Unlock()
			return kept, nil
		}
		if other := k.made[key]; other != nil {
			k.mu.Unlock()
			select {
			case <-other.done:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if other.film != nil && good(other.film) {
				return other.film, nil
			}
			continue
		}
		mine := &making{done: make(chan struct{})}
		k.made[key] = mine
		k.mu.Unlock()
		return k.finish(key, mine, kept, fold)
	}
}

// finish makes a film, keeps it, and hands it to who waits for it.
func (k *filmShelf) finish(key filmKey, mine *making, kept *footage, fold func(*footage) (*footage, error)) (film *footage, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		mine.film = film
		if film != nil && film.portions != nil {
			k.put(key, film)
		}
		delete(k.made, key)
		close(mine.done)
	}()
	return fold(kept)
}

// put keeps a film. The caller holds mu.
func (k *filmShelf) put(key filmKey, film *footage) {
	k.folded++
	k.drop(key)
	for len(k.order) > 0 && k.bytes+film.bytes > maxFilms {
		k.drop(k.order[0])
	}
	k.kept[key] = film
	k.order = append(k.order, key)
	k.bytes += film.bytes
}

// drop forgets a film. The caller holds mu.
func (k *filmShelf) drop(key filmKey) {
	film := k.kept[key]
	if film == nil {
		return
	}
	k.bytes -= film.bytes
	delete(k.kept, key)
	k.order = slices.DeleteFunc(k.order, func(one filmKey) bool { return one == key })
}

// touch notes that a film is looked at. The caller holds mu.
func (k *filmShelf) touch(key filmKey) {
	i := slices.Index(k.order, key)
	k.order = append(slices.Delete(k.order, i, i+1), key)
}

// which are the rows that r asks for: the index of the first, and how many.
func which(r *http.Request) (from, count int, err error) {
	q := r.URL.Query()
	from, err1 := strconv.Atoi(q.Get("from"))
	count, err2 := strconv.Atoi(q.Get("count"))
	if err1 != nil || err2 != nil || from < 1 || count < 1 || count > portionRows {
		return 0, 0, refuse(http.StatusBadRequest, "That is no place in a run",
			"The rows of a run are asked for by from, the number of a step from 1 on, and count, how many: 1 to %d.", portionRows)
	}
	return from - 1, count, nil
}

// answerRows answers with rows of a film.
func answerRows(w http.ResponseWriter, r *http.Request, f *footage, from, count int) error {
	if from >= f.rows {
		return refuse(http.StatusNotFound, "That is no place in a run", "This run has %d steps so far.", f.rows)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if f.ended || from+count < f.rows {
		h.Set("Cache-Control", "private, max-age=3600") // they stay as they are
	}
	n := from / portionRows
	if from%portionRows == 0 && count == portionRows && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Length", strconv.Itoa(len(f.portions[n])))
		_, _ = w.Write(f.portions[n]) // the visitor has left: nobody to tell
		return nil
	}
	p, err := f.take(from, count)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the visitor has left: nobody to tell
	return nil
}

// shown is what r's page has of a film at path: the beginning and the end for
// its script, or, without one and asked for it, a part of all rows.
func (f *footage) shown(r *http.Request, path string) (view.Viewer, error) {
	v := f.viewer
	if v.Part == nil {
		return v, nil
	}
	part := *v.Part
	all := path + "?rows=all"
	q := r.URL.Query()
	if q.Get("rows") != "all" {
		part.Next = all
		v.Part = &part
		return v, nil
	}
	first := 0
	if text := q.Get("from"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > f.rows {
			return v, refuse(http.StatusBadRequest, "That is no place in a run", "The steps of this run are numbered from 1 to %d.", f.rows)
		}
		first = (n - 1) / portionRows * portionRows
	}
	var table strings.Builder
	next := first
	for next < f.rows && next-first < view.MaxWhole && table.Len() < partBytes {
		p, err := f.take(next, portionRows)
		if err != nil {
			return v, err
		}
		for _, text := range p.Rows {
			var row struct{ HTML string }
			if err := json.Unmarshal(text, &row); err != nil {
				return v, fmt.Errorf("web: %w", err)
			}
			table.WriteString(row.HTML)
		}
		next += len(p.Rows)
	}
	part.From, part.To = first+1, next
	at := func(step int) string { return all + "&from=" + strconv.Itoa(step) }
	if first > 0 {
		part.Previous = at(max(1, first+1-view.MaxWhole/portionRows*portionRows))
	}
	if next < f.rows {
		part.Next = at(next + 1)
	}
	v.Table, v.Part = table.String(), &part
	recorded := *v.Recorded
	recorded.Rows = f.tail // those of the table have others beside them than the script expects
	v.Recorded = &recorded
	return v, nil
}

// film is the film of what has its page at path: the one that is kept, where
// that is good enough, or a new one of what there is so far. It fails with
// errLeft where the visitor has left.
func (s *Server) film(r *http.Request, path string, portioned bool, sofar func() (made *recording, ended bool, err error), good func(*footage) bool) (*footage, error) {
	l := words.From(r.Context())
	seat := seatOf(r)
	var f *footage
	var err error
	seat.Away(r.Context(), func() { // others may wait for who makes it, and would keep their turns from them
		f, err = s.films.get(r.Context(), filmKey{path, l.Code()}, good, func(before *footage) (*footage, error) {
			if seat.Take(r.Context()) != nil {
				return nil, errLeft
			}
			defer seat.Done()
			made, ended, err := sofar()
			if err != nil {
				return nil, err
			}
			return newFootage(l, made, ended, before, portioned)
		})
	})
	if r.Context().Err() != nil {
		return nil, errLeft
	}
	return f, err
}
