package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"relock/engine"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs/patch"
	"relock/web/templates"
	"relock/web/words"
)

// frameJSON is a frame of rows on the websocket.
type frameJSON struct {
	V       int        `json:"v"`
	Seq     int        `json:"seq"` // of the last event in it
	Rows    []film.Row `json:"rows"`
	Verdict string     `json:"verdict"`
	Ended   bool       `json:"ended"`
}

// lanesJSON is a frame of the lanes as they are now.
type lanesJSON struct {
	V     int    `json:"v"`
	Lanes string `json:"lanes"` // HTML
}

// pictureJSON is a frame of the lanes for viewers that get packed frames later.
type pictureJSON struct {
	V       int        `json:"v"`
	Picture changeJSON `json:"picture"`
}

// changeJSON turns the previous lanes into the current ones, as film.Lanes.Follow
// draws them.
type changeJSON struct {
	Whole bool         `json:"whole,omitempty"` // there are no previous ones
	Left  float64      `json:"left"`            // where they begin
	Right float64      `json:"right"`           // where the last state in them ends
	Width float64      `json:"width"`
	Scale float64      `json:"scale,omitempty"` // how wide a millisecond is that comes after them, 0 where none does
	Edits []patch.Edit `json:"edits"`           // of patch.Tags of their HTML
}

// controlsJSON is a frame of how the threads of a run are steered.
type controlsJSON struct {
	V        int    `json:"v"`
	Controls string `json:"controls"` // HTML
}

// HTML makes frames of HTML: each new or changed row once for all viewers of a
// form.
type HTML struct{}

// Rows implements session.Encoder.
func (HTML) Rows(run *engine.Run, form Form) Encode {
	l := form.Language
	reel := film.New(l, run.Scenario(), run.Header().Owners)
	var before []string // the lanes as viewers have them
	seq := 0
	return func(events []trace.Event, ended bool) (frames Frames, err error) {
		first := len(reel.Rows())
		f := frameJSON{V: 1, Ended: ended}
		for _, e := range events {
			first = min(first, reel.Add(e))
			seq = e.Seq
		}
		f.Seq = seq
		if f.Rows, err = RowsOf(l, reel, first, len(reel.Rows())); err != nil {
			return frames, err
		}
		verdict, tone := page.Verdict(l, reel.Rows(), ended)
		if f.Verdict, err = templates.Text(l, templates.RunVerdict(verdict, tone, page.Unjudged(reel.Rows()), page.Lateness(reel.Rows()))); err != nil {
			return frames, err
		}
		if frames.Rows, err = Line(f); err != nil {
			return frames, err
		}
		if form.Packed {
			frames.Picture, frames.Packed, err = recordOf(l, reel, f, &before)
			return frames, err
		}
		lanes := lanesJSON{V: 1}
		if lanes.Lanes, err = templates.Text(l, templates.Lanes(LanesAround(l, reel.Lanes(), len(reel.Rows())))); err != nil {
			return frames, err
		}
		frames.Picture, err = Line(lanes)
		return frames, err
	}
}

// recordOf returns a frame of the lanes and the columns of a record: f without
// HTML, the change of the lanes, the HTML inside each row, shown when somebody
// steps into it, and the HTML of the rows themselves. Similar texts share a
// column, so that they compress well. Before is the lanes as last sent.
func recordOf(l words.Language, reel *film.Film, f frameJSON, before *[]string) (picture []byte, columns [][]byte, err error) {
	lanes := followed(l, reel.Lanes(), len(reel.Rows()))
	html, err := templates.Text(l, templates.Lanes(lanes))
	if err != nil {
		return nil, nil, err
	}
	now := patch.Tags(html)
	change := changeJSON{Left: lanes.Left, Right: lanes.Right, Width: lanes.Width, Scale: lanes.PerMilli, Edits: patch.Between(*before, now)}
	whole := change
	whole.Whole, whole.Edits = true, patch.Between(nil, now)
	*before = now
	var inner, outer []string
	for i, r := range f.Rows {
		in, out := unnumbered(r)
		inner, outer = append(inner, in), append(outer, out)
		f.Rows[i].HTML = ""
	}
	if picture, err = Line(pictureJSON{V: 1, Picture: whole}); err != nil {
		return nil, nil, err
	}
	for _, column := range []any{f, change, inner, outer} {
		text, err := Line(column)
		if err != nil {
			return nil, nil, err
		}
		columns = append(columns, text)
	}
	return picture, columns, nil
}

// step replaces the number of a row in its HTML. No HTML contains it.
const step = "\x7f"

// unnumbered returns the HTML inside a row and the row's own HTML, with step in place of
// its number: with numbers no two rows would be alike.
func unnumbered(r film.Row) (inner, outer string) {
	n := strconv.Itoa(r.Step)
	html := strings.NewReplacer(
		step, "", `#row-`+n+`"`, `#row-`+step+`"`, `"row-`+n+`"`, `"row-`+step+`"`,
		`data-step="`+n+`"`, `data-step="`+step+`"`, `>T`+n+`<`, `>T`+step+`<`, `>T`+n+`.`, `>T`+step+`.`,
	).Replace(r.HTML)
	if i := strings.Index(html, `<tr id="`); i >= 0 {
		return html[:i], html[i:]
	}
	return "", html
}

// Line returns a frame or a column as one line of JSON. A script reads it, so
// HTML is not escaped.
func Line(frame any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(frame); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// RowsOf returns the rows of a film from one up to another, without that one,
// each with its HTML.
func RowsOf(l words.Language, reel *film.Film, from, to int) ([]film.Row, error) {
	list := make([]film.Row, 0, to-from) // never null
	for i := from; i < to; i++ {
		frame, html, err := frameOf(l, reel, i)
		if err != nil {
			return nil, err
		}
		frame.HTML = html
		list = append(list, frame)
	}
	return list, nil
}

// Controls implements session.Encoder.
func (HTML) Controls(run *engine.Run, l words.Language) ([]byte, error) {
	html, err := templates.Text(l, templates.Controls(page.NewControls(l, run.Controls())))
	if err != nil {
		return nil, err
	}
	return json.Marshal(controlsJSON{V: 1, Controls: html})
}

// frameOf returns a row of a film, and its HTML.
func frameOf(l words.Language, reel *film.Film, i int) (film.Row, string, error) {
	return drawn(l, reel, i, reel.Rows()[i])
}

// keptOf is frameOf for a film whose later rows are there: of the folds of rows in
// turn it draws the longest, and that without the last row of the film.
func keptOf(l words.Language, reel *film.Film, i int) (film.Row, string, error) {
	row, _ := longest(reel.Rows(), i)
	return drawn(l, reel, i, row)
}

// closedOf is keptOf for a table that opens with its folds closed.
func closedOf(l words.Language, reel *film.Film, i int) (film.Row, string, error) {
	row, within := longest(reel.Rows(), i)
	row.Closed = within
	return drawn(l, reel, i, row)
}

// longest returns a row with its fold only if that is the longest, and whether it is
// within a fold.
func longest(rows []film.Row, i int) (row film.Row, within bool) {
	row = rows[i]
	if i+2 < len(rows) && rows[i+1].Fold != nil && rows[i+1].Fold.First <= row.Step {
		row.Fold = nil
		return row, true
	}
	return row, row.Fold != nil && i+1 < len(rows)
}

func drawn(l words.Language, reel *film.Film, i int, row film.Row) (film.Row, string, error) {
	if row.TooLong() {
		return tooLong(l, reel, i)
	}
	html, err := templates.Text(l, templates.RowView(row))
	return reel.Rows()[i], html, err
}

// tooLong returns a row that only says that it is left out, and its HTML.
func tooLong(l words.Language, reel *film.Film, i int) (film.Row, string, error) {
	frame := reel.Cut(i)
	html, err := templates.Text(l, templates.RowTooLong(reel.Rows()[i], frame.Why))
	return frame, html, err
}
