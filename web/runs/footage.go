package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"relock/engine/pause"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/page"
	"relock/web/site"
	"relock/web/words"
)

// How much of a film a page has. Bytes count HTML and JSON before compression.
const (
	wholeBytes  = 2 << 20  // a longer film comes in portions, however few its rows
	longestRow  = 64 << 10 // a longer one is left out, and says so
	filmBytes   = 64 << 20 // of all rows of a film; the rows after that are left out, and say so
	portionRows = 32       // rows of a portion
	tailRows    = 8        // rows at the end that the page has at least

	aroundBytes = 256 << 10 // about what the lanes and scripts of a film take
)

// maxFilms is how many bytes of compressed films are kept. Ten thousand events
// take some 1.5 MB in one language.
const maxFilms = 64 << 20

// filmKey names a film that is kept.
type filmKey struct {
	path string // of its page
	lang string
}

// Footage is a film as its page and its portions show it in one language. It is
// immutable.
type Footage struct {
	Viewer  page.Viewer // of a page with scripts
	tail    []film.Row
	Verdict string
	Tone    film.Tone

	Unjudged []string // page.Unjudged
	Late     string   // page.Lateness
	Header   trace.Header
	Rows     int
	Events   int
	Ended    bool
	Long     bool // its page has only some of its rows

	Portions [][]byte // gzip; nil if the page has the whole film
	settled  int      // how many of them will not change
	bytes    int      // about what it takes to keep
	costly   bool     // to make again: it is kept even if it is short
}

// portionJSON is some rows of a film.
type portionJSON struct {
	V      int               `json:"v"`
	From   int               `json:"from"`   // step of the first
	Before json.RawMessage   `json:"before"` // the key's state before that
	Rows   []json.RawMessage `json:"rows"`   // each a film.Row with its HTML
}

// NewFootage folds a recording. Before is the footage when it had fewer events,
// or nil; portioned makes portions even of a short film. It yields to others between
// events and rows, and fails as pause.Here does.
func NewFootage(ctx context.Context, l words.Language, made *Recording, ended bool, before *Footage, portioned bool) (*Footage, error) {
	f := &Footage{Header: made.Header, Rows: made.rows(), Events: len(made.Events), Ended: ended}
	c := &cutter{l: l, f: f, before: before}
	var each func(*film.Film) error
	if f.Rows > film.MaxWhole && !made.Covered {
		// What is cut is dropped: all rows at once take far more than what is made of them.
		each = func(reel *film.Film) error { return c.ahead(ctx, reel) }
	}
	reel, err := made.film(ctx, l, each)
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	f.Viewer = page.Viewer{
		Scenario: film.NewScenario(l, made.Scenario), Rows: f.Rows, Lanes: LanesAround(l, reel.Lanes(), f.Rows),
		Scripts: reel.Scripts(), Standing: page.Before(l, made.Scenario),
	}
	f.Viewer.Scenario.Bare = made.Header.Framed() || made.Covered
	if frames := reel.Rows(); len(frames) > 0 {
		last := frames[len(frames)-1]
		f.Viewer.Standing = f.Viewer.Standing.After(&last)
	}
	if made.Covered {
		f.Viewer.Standing = f.Viewer.Standing.Covered()
	}
	f.Verdict, f.Tone = page.Verdict(l, reel.Rows(), ended)
	f.Unjudged, f.Late = page.Unjudged(reel.Rows()), page.Lateness(reel.Rows())
	if ended {
		f.Viewer.Broken = page.BrokenIn(l, reel.Rows())
	}
	if f.Rows <= film.MaxWhole {
		whole, size, err := wholeOf(ctx, l, reel)
		if err != nil {
			return nil, err
		}
		if f.Long = size == 0 && f.Rows > 0; !f.Long && !portioned {
			f.Viewer.Table, f.Viewer.Recorded = whole, reel.RecordedWhole()
			f.bytes = aroundBytes + 2*(size-len(whole)) + len(whole)
			return f, nil
		}
	}
	f.Long = f.Long || f.Rows > film.MaxWhole
	return f, c.rest(ctx, reel)
}

// wholeOf returns the table of a film, and the bytes of it and of what the page's
// script reads; 0 if that is too long for a page.
func wholeOf(ctx context.Context, l words.Language, reel *film.Film) (table string, size int, err error) {
	var b strings.Builder
	for i := range reel.Rows() {
		if err := pause.Here(ctx); err != nil {
			return "", 0, err
		}
		row, html, err := closedOf(l, reel, i)
		if err != nil {
			return "", 0, err
		}
		text, err := json.Marshal(row)
		if err != nil {
			return "", 0, fmt.Errorf("runs: %w", err)
		}
		b.WriteString(html)
		if size += len(html) + len(text); size > wholeBytes || reel.Rows()[i].TooLong() {
			return "", 0, nil
		}
	}
	return b.String(), size, nil
}

// cutter makes the portions of a film, except those it had before, and what its
// page has of it.
type cutter struct {
	l      words.Language
	f      *Footage
	before *Footage

	size        int        // bytes of the rows so far
	frames      []film.Row // in the page
	table, html strings.Builder
	text        []byte // of the last portion, used again
}

// tail is the row where the page's tail begins.
func (c *cutter) tail() int { return max(0, c.f.Rows-tailRows) / portionRows * portionRows }

// next is the first row that is in no portion yet.
func (c *cutter) next() int { return len(c.f.Portions) * portionRows }

// ahead makes the portions whose rows are all there and will not change, and drops
// those rows. Two rows after them say what of their folds is kept.
func (c *cutter) ahead(ctx context.Context, reel *film.Film) error {
	for c.next()+portionRows+2 < reel.Len() {
		if err := c.cut(ctx, reel); err != nil {
			return err
		}
		reel.Drop(c.next())
	}
	return nil
}

// rest makes the other portions, and the page.
func (c *cutter) rest(ctx context.Context, reel *film.Film) error {
	for c.next() < c.f.Rows {
		if err := c.cut(ctx, reel); err != nil {
			return err
		}
	}
	v := &c.f.Viewer
	v.Recorded = reel.Recorded()
	v.Recorded.Index, v.Recorded.Rows = reel.Index(portionRows), append(v.Recorded.Rows, c.frames...)
	v.Table = c.table.String()
	v.Tail = page.Tail{First: c.tail() + 1, Count: len(c.f.tail), HTML: c.html.String()}
	v.Part = &page.TablePart{From: 1, To: min(portionRows, c.f.Rows)}
	return c.f.weigh()
}

// cut makes the next portion.
func (c *cutter) cut(ctx context.Context, reel *film.Film) error {
	if err := pause.Here(ctx); err != nil {
		return err
	}
	f, first := c.f, c.next()
	last := min(first+portionRows, f.Rows)
	stays := f.Ended || last < f.Rows // the last row may still change
	inPage := first == 0 || first >= c.tail()
	if n := len(f.Portions); c.before != nil && n < c.before.settled && !inPage {
		f.Portions, f.settled = append(f.Portions, c.before.Portions[n]), n+1
		return nil
	}
	p := portionJSON{V: 1, From: first + 1}
	var err error
	if p.Before, err = json.Marshal(reel.Before(first)); err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	for i := first; i < last; i++ {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		draw := keptOf
		if c.size > filmBytes { // and so are all rows from here on
			draw = tooLong
		}
		frame, made, text, err := framed(draw(c.l, reel, i))
		if c.size += len(text); len(text) > longestRow || c.size > filmBytes {
			frame, made, text, err = framed(tooLong(c.l, reel, i))
		}
		if err != nil {
			return err
		}
		p.Rows = append(p.Rows, text)
		switch {
		case first == 0:
			c.table.WriteString(made)
		case inPage:
			c.html.WriteString(made)
		}
		if inPage {
			c.frames = append(c.frames, frame)
		}
		if first > 0 && inPage {
			f.tail = append(f.tail, frame)
		}
	}
	packed, err := c.packed(p)
	if err != nil {
		return err
	}
	f.Portions = append(f.Portions, packed)
	if stays {
		f.settled = len(f.Portions)
	}
	return nil
}

// weigh counts what it takes to keep the film.
func (f *Footage) weigh() error {
	text, err := json.Marshal(f.Viewer.Recorded)
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	f.bytes = aroundBytes + 2*len(text) + len(f.Viewer.Table) + len(f.Viewer.Tail.HTML)
	for _, p := range f.Portions {
		f.bytes += len(p)
	}
	return nil
}

// framed is a row, its HTML, and both as JSON.
func framed(frame film.Row, html string, err error) (film.Row, string, json.RawMessage, error) {
	if err != nil {
		return frame, html, nil, err
	}
	whole := frame
	whole.HTML = html
	text, err := Line(whole)
	return frame, html, text, err
}

// packed returns a portion as JSON, compressed. Its rows are JSON already, and the
// largest part of it: encoding/json would read each of them again.
func (c *cutter) packed(p portionJSON) ([]byte, error) {
	const around = 64 // bytes, at most
	size := around + len(p.Before) + len(p.Rows)
	for _, row := range p.Rows {
		size += len(row)
	}
	text := fmt.Appendf(slices.Grow(c.text[:0], size), `{"v":%d,"from":%d,"before":%s,"rows":[`, p.V, p.From, p.Before)
	for i, row := range p.Rows {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, row...)
	}
	text = append(text, "]}\n"...)
	c.text = text
	return site.Zipped(text)
}

// take returns count rows of the film from an index on, or fewer at its end.
func (f *Footage) take(from, count int) (portionJSON, error) {
	out := portionJSON{V: 1, From: from + 1, Rows: []json.RawMessage{}}
	to := min(from+count, f.Rows)
	for n := from / portionRows; n*portionRows < to; n++ {
		text, err := site.Unzipped(f.Portions[n])
		if err != nil {
			return out, err
		}
		var p portionJSON
		if err := json.Unmarshal(text, &p); err != nil {
			return out, fmt.Errorf("runs: %w", err)
		}
		first := n * portionRows
		a, b := max(from-first, 0), min(to-first, len(p.Rows))
		if len(out.Rows) == 0 {
			out.Before = p.Before
			if a > 0 {
				var last struct{ After json.RawMessage }
				if err := json.Unmarshal(p.Rows[a-1], &last); err != nil {
					return out, fmt.Errorf("runs: %w", err)
				}
				out.Before = last.After
			}
		}
		out.Rows = append(out.Rows, p.Rows[a:b]...)
	}
	return out, nil
}
