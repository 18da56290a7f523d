// Package export writes a run down in the forms of other tools: a Markdown
// table, a spreadsheet, a sequence diagram, a picture of its lanes, a
// redis-cli transcript.
//
// Each form is a pure function of the trace. What people named (threads, the
// key, the title) is escaped for the form, so that no name breaks it.
package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/timeline"
	"relock/web/view"
	"relock/web/words"
)

// Format names a form in which a run can be had.
type Format string

// The formats.
const (
	Markdown Format = "md"             // the T-table
	CSV      Format = "csv"            // a line for each event
	Mermaid  Format = "mermaid"        // a sequence diagram
	SVG      Format = "svg"            // the lanes as a picture, light and dark
	RedisCLI Format = "redis-cli"      // a transcript with replies, and comments for who and when
	Commands Format = "redis-commands" // the transcript's commands alone, to be pasted into redis-cli
	JSONL    Format = "jsonl"          // the trace itself
)

// ErrFormat is returned by ParseFormat for a format that there is not.
var ErrFormat = errors.New("there is no such format")

// form is a format: everything about it but how it is written.
type form struct {
	name      Format
	label     phrase.Text // what a page offers
	summary   string      // what the terminal's help says
	single    bool        // two files, one after the other, are none
	media     string
	extension string
	write     func(*bytes.Buffer, Run) error
}

func forms() []form {
	return []form{
		{Markdown, "Table (Markdown)", "the T-table in Markdown", false, "text/markdown; charset=utf-8", ".md", writeMarkdown},
		{CSV, "Table (CSV)", "a line for each event", true, "text/csv; charset=utf-8; header=present", ".csv", writeCSV},
		{Mermaid, "Sequence diagram (Mermaid)", "a sequence diagram", true, "text/vnd.mermaid; charset=utf-8", ".mmd", writeMermaid},
		{SVG, "Lanes (SVG)", "the lanes as a picture", true, "image/svg+xml", ".svg", writeSVG},
		{RedisCLI, "redis-cli transcript", "a redis-cli transcript with replies and comments", false, "text/plain; charset=utf-8", ".txt", writeTranscript},
		{Commands, "redis-cli commands", "its commands alone, pasted into redis-cli", true, "text/plain; charset=utf-8", ".redis", writeCommands},
		{JSONL, "Trace (JSON Lines)", "the trace, as -json", false, "application/jsonl; charset=utf-8", ".jsonl", writeTrace},
	}
}

// Files are the formats as a page offers them, in l.
func Files(l words.Language) []view.File {
	var list []view.File
	for _, f := range forms() {
		list = append(list, view.File{Format: string(f.name), Label: l.Say(f.label)})
	}
	return list
}

// Summary is what the file holds, in a few words for the terminal.
func (f Format) Summary() string { return f.form().summary }

// Single tells whether only one run can be written: two files, one after the
// other, are none.
func (f Format) Single() bool { return f.form().single }

// Formats lists the formats in the order in which they are offered.
func Formats() []Format {
	var list []Format
	for _, f := range forms() {
		list = append(list, f.name)
	}
	return list
}

// Allowed is Formats as a text: "md, csv, …".
func Allowed() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// ParseFormat reads a format's name. It fails with ErrFormat, and says what is
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

// MediaType is the Content-Type of f's files.
func (f Format) MediaType() string { return f.form().media }

// maxFileName is in characters: a title's first words, within what every file
// system takes.
const maxFileName = 48

// FileName is a name for the file of a run with that title.
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

// Run is what is exported. Nothing in it is changed.
type Run struct {
	Header   trace.Header
	Events   []trace.Event // from the first on; they need not reach the run's end
	Scenario *scenario.Scenario
	Title    string         // what to call it in Language, "" for the scenario's own title
	Language words.Language // of what is said around the data
	Link     string         // where the run can be stepped, an absolute URL, or ""
	Pause    func() error   // is called between events, and ends the export with its error; nil is allowed
	Style    string         // the style sheet of a picture, static.Files.PictureStyle; only SVG needs it
}

// Render writes r in the format f. It fails with ErrFormat, where the
// trace cannot be written down, and where a picture has no style sheet.
func Render(f Format, r Run) ([]byte, error) {
	write := f.form().write
	if write == nil {
		return nil, fmt.Errorf("export: %w: %q", ErrFormat, f)
	}
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return b.Bytes(), nil
}

// each calls f with each event, and lets others go first in between.
func (r Run) each(f func(i int, e trace.Event) error) error {
	for i, e := range r.Events {
		if r.Pause != nil {
			if err := r.Pause(); err != nil {
				return err
			}
		}
		if err := f(i, e); err != nil {
			return err
		}
	}
	return nil
}

// added is each with what cannot fail.
func (r Run) added(f func(trace.Event)) error {
	return r.each(func(_ int, e trace.Event) error {
		f(e)
		return nil
	})
}

func writeTrace(b *bytes.Buffer, r Run) error { return trace.Write(b, r.Header, r.Events) }

// title is the scenario's, or what stands in its place.
func (r Run) title() string {
	return cmp.Or(r.Title, r.Scenario.Title, r.Language.Say("Untitled scenario"))
}

// place says where the run took place.
func (r Run) place() string {
	seed := fmt.Sprint(r.Header.Seed)
	switch {
	case r.Header.Store == trace.StoreExternal:
		return r.Language.Say("External Redis, wall clock, seed %s", seed)
	case r.Header.Clock == trace.ClockWall:
		return r.Language.Say("Embedded Redis, wall clock, seed %s", seed)
	default:
		return r.Language.Say("Embedded Redis, virtual clock, seed %s", seed)
	}
}

func (r Run) timeline() *timeline.Timeline {
	return timeline.New(r.Language, r.scenario(), r.Header.Owners)
}

func (r Run) scenario() timeline.Scenario { return timeline.NewScenario(r.Language, r.Scenario) }

// wording is what one event is called in a row of its own.
type wording struct {
	title  string   // of a call's outcome, of a piece of work
	notes  []string // what the thread does next, what struck it
	event  string   // what Redis or the run did by itself
	broken []string // rules
}

// worded is what e is called after the events that soFar has worded.
func worded(soFar *timeline.Timeline, e trace.Event) wording {
	t := soFar.After()
	t.Add(e)
	row := t.Rows()[0]
	w := wording{event: row.Event}
	for _, v := range row.Violations {
		w.broken = append(w.broken, "✗ "+v.Rule+": "+v.Detail)
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

// headOf is a thread's name and, in brackets, what it belongs to.
func headOf(name string, t timeline.Thread) string {
	if t.Of == "" {
		return name
	}
	return name + " (" + t.Of + ")"
}

// oneLine is text without anything that could end a line or hide in it.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}
