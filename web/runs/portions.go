package runs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"relock/web/film"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// partBytes is how many bytes of HTML a page without scripts shows of a film at
// once.
const partBytes = 512 << 10

// Films are the films kept for their pages: those that come in portions, and those of
// traces. It is safe for concurrent use.
type Films struct {
	shelf *site.Shelf[filmKey, Footage]
}

// NewFilms returns an empty shelf of films.
func NewFilms() *Films {
	return &Films{site.NewShelf[filmKey](maxFilms, func(f *Footage) int {
		if f.Portions == nil && !f.costly {
			return 0
		}
		return f.bytes
	})}
}

// Bytes returns how many bytes are kept.
func (k *Films) Bytes() int { return k.shelf.Bytes() }

// Folded returns how often a film was folded that is kept.
func (k *Films) Folded() int { return k.shelf.Folded() }

// OfRun returns the film of the run whose page is at path: the one that is kept if
// it is good enough, or a new one of what there is so far. It has portions if its
// page needs them, or if portioned says so. It fails with site.ErrLeft.
func (k *Films) OfRun(r *http.Request, path string, portioned bool, sofar func() (made *Recording, ended bool, err error), good func(*Footage) bool) (*Footage, error) {
	return k.of(r, path, portioned, false, sofar, good)
}

// OfTrace is OfRun for a trace from elsewhere, which read reads. Its film is kept
// even if it is short: to make it, all of the trace is read and checked.
func (k *Films) OfTrace(r *http.Request, path string, portioned bool, read func() (*Recording, error)) (*Footage, error) {
	return k.of(r, path, portioned, true, func() (*Recording, bool, error) {
		made, err := read()
		if err != nil {
			return nil, true, err
		}
		made.once = true // nobody else has it
		return made, true, nil
	}, func(*Footage) bool { return true })
}

func (k *Films) of(r *http.Request, path string, portioned, costly bool, sofar func() (made *Recording, ended bool, err error), good func(*Footage) bool) (*Footage, error) {
	l := words.From(r.Context())
	fits := func(f *Footage) bool { return (f.Long || portioned == (f.Portions != nil)) && good(f) }
	return site.Taken(r, k.shelf, filmKey{path, l.Code()}, fits, func(before *Footage) (*Footage, error) {
		made, ended, err := sofar()
		if err != nil {
			return nil, err
		}
		f, err := NewFootage(r.Context(), l, made, ended, before, portioned)
		if err != nil {
			return nil, err
		}
		f.costly = costly
		return f, nil
	})
}

// AskedRows returns which rows r asks for: the index of the first, and how many.
func AskedRows(r *http.Request) (from, count int, err error) {
	q := r.URL.Query()
	from, err1 := strconv.Atoi(q.Get("from"))
	count, err2 := strconv.Atoi(q.Get("count"))
	if err1 != nil || err2 != nil || from < 1 || count < 1 || count > portionRows {
		return 0, 0, site.Refuse(http.StatusBadRequest, "There is no such place in a run",
			"The rows of a run need from, the number of a step from 1 on, and count, how many: 1 to %d.", portionRows)
	}
	return from - 1, count, nil
}

// AnswerRows answers with rows of a film.
func AnswerRows(w http.ResponseWriter, r *http.Request, f *Footage, from, count int) error {
	if from >= f.Rows {
		return site.Refuse(http.StatusNotFound, "There is no such place in a run", "This run has %d steps so far.", f.Rows)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if f.Ended || from+count < f.Rows {
		h.Set("Cache-Control", "private, max-age=3600") // these rows will not change
	}
	n := from / portionRows
	if from%portionRows == 0 && count == portionRows && site.TakesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Length", strconv.Itoa(len(f.Portions[n])))
		_, _ = w.Write(f.Portions[n]) // the visitor has left: nobody to tell
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

// Shown returns what a page has of the film at path: its beginning and its end,
// for the page's script, or, if r asks for all rows as pages without scripts do,
// a part of them.
func (f *Footage) Shown(r *http.Request, path string) (page.Viewer, error) {
	v := f.Viewer
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
		if err != nil || n < 1 || n > f.Rows {
			return v, site.Refuse(http.StatusBadRequest, "There is no such place in a run", "The steps of this run are numbered from 1 to %d.", f.Rows)
		}
		first = (n - 1) / portionRows * portionRows
	}
	var table strings.Builder
	next := first
	for next < f.Rows && next-first < film.MaxWhole && table.Len() < partBytes {
		p, err := f.take(next, portionRows)
		if err != nil {
			return v, err
		}
		for _, text := range p.Rows {
			row := struct {
				HTML string
				page.Standing
			}{Standing: page.Standing{Start: v.Standing.Start}}
			if err := json.Unmarshal(text, &row); err != nil {
				return v, fmt.Errorf("runs: %w", err)
			}
			table.WriteString(row.HTML)
			v.Standing = row.Standing
		}
		next += len(p.Rows)
	}
	part.From, part.To = first+1, next
	at := func(step int) string { return all + "&from=" + strconv.Itoa(step) }
	if first > 0 {
		part.Previous = at(max(1, first+1-film.MaxWhole/portionRows*portionRows))
	}
	if next < f.Rows {
		part.Next = at(next + 1)
	}
	v.Table, v.Part = table.String(), &part
	recorded := *v.Recorded
	recorded.Rows = f.tail // the script expects the table to begin with the first row
	v.Recorded = &recorded
	return v, nil
}

// AnswerLanes answers with the lanes around the row that r asks for.
func AnswerLanes(w http.ResponseWriter, r *http.Request, run *Recording) error {
	row, err := strconv.Atoi(r.URL.Query().Get("row"))
	if err != nil || row < 0 {
		return site.Refuse(http.StatusBadRequest, "There is no such place in a run", "The row of a picture is the number of a step, 0 or more.")
	}
	l := words.From(r.Context())
	lanes, err := run.Lanes(r.Context())
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Lanes(LanesAround(l, lanes, row)))
}
