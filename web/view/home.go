package view

import (
	"github.com/a-h/templ"

	"relock/web/words"
)

// Home is the front door.
type Home struct {
	Page   Page
	Title  string
	Count  int // of scenarios
	Viewer Viewer
}

// Embed is the page that other pages frame.
type Embed struct {
	Page Page
	Open string // a link's text
}

// Gallery is the page of all scenarios.
type Gallery struct {
	Page   Page
	Groups []Group
}

// Group is some scenarios that are read together.
type Group struct {
	ID       string
	Name     string
	Exhibits []Exhibit
}

// Exhibit is a scenario in the gallery.
type Exhibit struct {
	Name     string
	Title    string
	Shows    string // what is seen in it
	Protocol string
	Broken   []string // rules that its run breaks
	Picture  templ.Component
}

// API is the page that documents the interface for programs.
type API struct {
	Page     Page
	Sections []Section
}

// Section is a part of it.
type Section struct {
	ID      string
	Name    string
	Text    string
	Entries []Entry
	Example string
}

// Entry is a name and what it means.
type Entry struct{ Name, Text string }

// Reference are the sections of the API page.
func Reference(l words.Language) []Section {
	return []Section{
		{
			ID: "http", Name: "HTTP",
			Entries: []Entry{
				{"GET /runs/{id}/trace", l.Say("the trace of a run: JSON Lines, a header and then an event a line")},
				{"GET /runs/{id}/export?format=F", l.Say("a run as md, csv, mermaid, svg, redis-cli, redis-commands or jsonl")},
				{"POST /export?format=F", l.Say("the same of the scenario and the moves in a link's text, sent as the body")},
				{"POST /s", l.Say("keeps a link's text and answers {\"path\": \"/s/…\"}, its short address")},
				{"POST /traces", l.Say("keeps a trace, sent as the body, for a while, and leads to the page that shows it")},
				{"GET /embed/play…", l.Say("what is at /play…, to be framed by another page")},
				{"GET /oembed?url=U", l.Say("how another site frames the address U of this one, under /play or /s, as oembed.com has it: JSON with the html of a frame, at most maxwidth by maxheight pixels")},
				{"GET /healthz", l.Say("says ok while the server is up")},
			},
		},
		{
			ID: "socket", Name: l.Say("The socket for stepping: /play/socket"),
			Text: l.Say("A client sends commands, one JSON object a frame, each with an id of its choice. The server answers with frames that carry the id as re; the last one has done: true, or refused with a sentence."),
			Entries: []Entry{
				{"open", l.Say("opens scenario (YAML or JSON) or link (a link's text), with branches if it had some")},
				{"step", l.Say("moves thread (background: true for its watchdog) after the first at moves of branch; without a thread the policy chooses")},
				{"run", l.Say("lets the policy move to: end, violation, mark, or the next outcome of thread")},
				{"time", l.Say("lets time pass to: event, expiry, or by a length such as 50ms")},
				{"strike", l.Say("lets a fault happen, as a scenario words it")},
				{"cut", l.Say("makes a branch of the first at moves")},
				{"drop", l.Say("forgets a branch")},
				{"compare", l.Say("puts branch beside the branch named by with")},
				{"locks", l.Say("plays the branch on two to four protocols")},
				{"lanes", l.Say("draws the lanes around row; without one, around the row to which the first at moves have led")},
				{"trace", l.Say("sends the branch as JSON Lines")},
				{"positions", l.Say("in an answer: where the branch stands after each move, with what each thread would do next as options and, as pointless, the faults that would change nothing there: do, thread, at, for and keep say which (one that is left out counts for all), and why says the reason; never, in the answer to open, are those that cannot strike anywhere in the scenario")},
			},
			Example: `{"id": 1, "do": "open", "scenario": "threads: [{name: A}, {name: B}]"}
{"id": 2, "do": "step", "branch": 0, "at": 0, "thread": "B"}
{"id": 3, "do": "strike", "branch": 0, "at": 1, "fault": {"do": "crash", "thread": "B"}}`,
		},
		{
			ID: "live", Name: l.Say("The socket of a run: /runs/{id}/socket"),
			Text: l.Say("Frames carry the rows since ?since=N, the number of the last event that the client has; others carry the lanes as they are. Who started the run may send the following."),
			Entries: []Entry{
				{"pause, resume", l.Say("stops a thread with its watchdog, and lets it go on")},
				{"gate, ungate, admit", l.Say("has a thread's calls wait, lets them pass, or lets one pass")},
				{"crash", l.Say("ends a thread where it stands")},
			},
			Example: `{"thread": "A", "do": "pause"}`,
		},
		{
			ID: "embed", Name: l.Say("Messages of an embed"),
			Text: l.Say("A page that frames an embed hears its height, and can send it to a step."),
			Entries: []Entry{
				{"relock:height", l.Say("from the embed: v is 1, px its height in pixels")},
				{"relock:seek", l.Say("to the embed: step is the row to stand at")},
			},
			Example: `{"type": "relock:seek", "step": 5}`,
		},
	}
}
