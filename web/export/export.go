// Package export writes a run in the formats of other tools: a Markdown table,
// a spreadsheet, a sequence diagram, a picture of its lanes, a redis-cli
// transcript, spans of OpenTelemetry.
//
// Each format is a pure function of the trace. Names given by people (threads,
// the key, the title) are escaped, so no name breaks the format.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"relock/engine"
	"relock/engine/bound"
	"relock/engine/explore/mend"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// Format names a format for runs.
type Format string

// The formats.
const (
	Markdown Format = "md"             // the T-table
	CSV      Format = "csv"            // one line per event
	Mermaid  Format = "mermaid"        // a sequence diagram
	SVG      Format = "svg"            // the lanes as a picture, light and dark
	RedisCLI Format = "redis-cli"      // a transcript with replies, and comments saying who and when
	Commands Format = "redis-commands" // only the transcript's commands, for pasting into redis-cli
	JSONL    Format = "jsonl"          // the trace itself
	HTML     Format = "html"           // the film as a page in one file, which needs no server
	OTel     Format = "otel"           // spans of OpenTelemetry, as OTLP/JSON
)

// ErrFormat is returned by ParseFormat for an unknown format.
var ErrFormat = errors.New("there is no such format")

// form is everything about a format, including how to write it.
type form struct {
	name      Format
	label     phrase.Text // the page's name for it
	summary   phrase.Text // for the terminal's help
	single    bool        // files of this format cannot be concatenated
	media     string
	extension string
	write     func(*bound.Buffer, Run) error
}

func forms() []form {
	return []form{
		{Markdown, "Table (Markdown)", "the T-table in Markdown, below what happened and why", false, "text/markdown; charset=utf-8", ".md", writeMarkdown},
		{CSV, "Table (CSV)", "a line for each event", true, "text/csv; charset=utf-8; header=present", ".csv", writeCSV},
		{Mermaid, "Sequence diagram (Mermaid)", "a sequence diagram", true, "text/vnd.mermaid; charset=utf-8", ".mmd", writeMermaid},
		{SVG, "Lanes (SVG)", "the lanes as a picture", true, "image/svg+xml", ".svg", writeSVG},
		{RedisCLI, "redis-cli transcript", "a redis-cli transcript with replies and comments", false, "text/plain; charset=utf-8", ".txt", writeTranscript},
		{Commands, "redis-cli commands", "its commands alone, pasted into redis-cli", true, "text/plain; charset=utf-8", ".redis", writeCommands},
		{JSONL, "Trace (JSON Lines)", "the trace, as -json", false, "application/jsonl; charset=utf-8", ".jsonl", writeTrace},
		{HTML, "Film (one HTML file)", "the film as one page that needs no server: playing, stepping, in all languages", true, "text/html; charset=utf-8", ".html", writeHTML},
		{OTel, "OpenTelemetry (OTLP/JSON)", "spans of calls, attempts and work, a line of OTLP/JSON a run", false, "application/jsonl; charset=utf-8", ".otlp.jsonl", writeOTel},
	}
}

// Files returns the formats as a page offers them, in language l.
func Files(l words.Language) []page.File {
	var list []page.File
	for _, f := range forms() {
		list = append(list, page.File{Format: string(f.name), Label: l.Say(f.label)})
	}
	return list
}

// Summary describes the file in a few words, for the terminal.
func (f Format) Summary() phrase.Text { return f.form().summary }

// Single reports whether only one run can be written, because files of this
// format cannot be concatenated.
func (f Format) Single() bool { return f.form().single }

// Formats returns the formats in the order in which they are offered.
func Formats() []Format {
	var list []Format
	for _, f := range forms() {
		list = append(list, f.name)
	}
	return list
}

// Allowed returns Formats as text: "md, csv, …".
func Allowed() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// ParseFormat parses a format's name. It fails with ErrFormat, and says what is
// allowed.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats(), Format(name)) {
		return "", fmt.Errorf("%w: given %q, allowed: %s", ErrFormat, name, Allowed())
	}
	return Format(name), nil
}

func (f Format) form() form {
	for _, one := range forms() {
		if one.name == f {
			return one
		}
	}
	return form{name: f}
}

// MediaType returns the Content-Type of f's files.
func (f Format) MediaType() string { return f.form().media }

// maxFileName is in characters: a title's first words, within what every file
// system allows.
const maxFileName = 48

// FileName returns a file name for a run with a title.
func (f Format) FileName(title string) string {
	var words []string
	length := 0
	for _, w := range strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
		if length += len([]rune(w)) + 1; length > maxFileName {
			break
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		words = []string{"relock"}
	}
	return strings.ToLower(strings.Join(words, "-")) + f.form().extension
}

// Run is a run to export. It is not changed.
type Run struct {
	Header   trace.Header
	Events   []trace.Event // from the first; they need not reach the run's end
	Scenario *scenario.Scenario
	Title    string          // its title in Language, "" for the scenario's own title
	Language words.Language  // of the texts around the data
	Link     string          // an absolute URL for stepping through the run, or ""
	Mended   *mend.Report    // what would mend it, where that has been asked, or nil; only Markdown says it
	Cured    []engine.Played // its moves as they are and with each cure, where Mended is not nil
	Cures    []page.LabCure  // what would have saved a lab's lock; only Markdown says it
	Style    string          // the style sheet of a picture, static.Files.PictureStyle; only SVG needs it
}

// Render writes r in the format f, and yields to others between its events (package
// pause). It fails with ErrFormat, if the trace cannot be written, if a picture has no
// style sheet, with bound.ErrWritten if the file is too long, and with what pause.Here
// says.
func Render(ctx context.Context, f Format, r Run) ([]byte, error) {
	write := f.form().write
	if write == nil {
		return nil, fmt.Errorf("export: %w: %q", ErrFormat, f)
	}
	r.Language = r.Language.Plain() // whoever asks: a file is searched, and read by programs
	b := bound.NewBuffer(ctx)
	err := write(b, r)
	if err == nil {
		err = b.Err() // writers ignore it between two events
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return b.Bytes(), nil
}

// each calls f with each event, and yields to others in between. It ends when b takes
// nothing more.
func (r Run) each(b *bound.Buffer, f func(i int, e trace.Event) error) error {
	for i, e := range r.Events {
		if err := b.Pause(); err != nil {
			return err
		}
		if err := f(i, e); err != nil {
			return err
		}
	}
	return b.Err()
}

// added is each for an f that cannot fail.
func (r Run) added(b *bound.Buffer, f func(trace.Event)) error {
	return r.each(b, func(_ int, e trace.Event) error {
		f(e)
		return nil
	})
}

// reel returns the film of the run.
func (r Run) reel(b *bound.Buffer) (*film.Film, error) {
	reel := film.Of(r.Language, r.Scenario, r.Header)
	return reel, r.added(b, func(e trace.Event) { reel.Add(e) })
}

// writeTrace writes the trace itself, with its verdict if it is whole.
func writeTrace(b *bound.Buffer, r Run) error {
	h := r.Header
	if n := len(r.Events); n > 0 && r.Events[n-1].Thread == "" && r.Events[n-1].Kind() == trace.KindEnd {
		h, _ = verdict.Judged(h, r.Scenario, r.Events)
	}
	return trace.Write(b, h, r.Events)
}

// title returns the scenario's title or a substitute.
func (r Run) title() string {
	return cmp.Or(r.Title, r.Scenario.Title, r.Language.Say("Untitled scenario"))
}

// place says where the run took place.
func (r Run) place() string {
	seed := fmt.Sprint(r.Header.Seed)
	switch {
	case r.Header.Framed(): // a seed does not play it again
		return page.Place(r.Language, r.Header, "")
	case r.Header.Store == trace.StoreExternal:
		return r.Language.Say("External Redis, wall clock, seed %s", seed)
	case r.Header.Clock == trace.ClockWall:
		return r.Language.Say("Embedded Redis, wall clock, seed %s", seed)
	default:
		return r.Language.Say("Embedded Redis, virtual clock, seed %s", seed)
	}
}

func (r Run) timeline() *film.Timeline {
	return film.NewTimeline(r.Language, r.scenario(), r.Header.Owners).Framed(r.Header)
}

func (r Run) scenario() film.Scenario { return film.NewScenario(r.Language, r.Scenario) }

// wording is the text for one event in a separate row.
type wording struct {
	title  string   // of a call's outcome or a piece of work
	notes  []string // what the thread does next, or what struck it
	event  string   // what Redis or the run did by itself
	broken []string // broken rules
}

// worded returns the text for e after the events soFar has worded.
func worded(soFar *film.Timeline, e trace.Event) wording {
	row := soFar.Alone(e)
	w := wording{event: row.Event}
	for _, v := range row.Violations {
		w.broken = append(w.broken, "✗ "+soFar.Language().Say("%s: %s", v.Named, v.Detail))
	}
	for _, c := range row.Cells {
		if c.Acting {
			w.title = c.Title
			for _, n := range c.Notes {
				w.notes = append(w.notes, n.Text)
			}
		}
	}
	return w
}

// headOf returns a thread's name and, in parentheses, what it belongs to.
func headOf(name string, t film.Thread) string {
	if t.Of == "" {
		return name
	}
	return name + " (" + t.Of + ")"
}

// oneLine removes everything that could end a line or hide in it.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}
