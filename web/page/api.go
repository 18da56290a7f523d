package page

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/words"
)

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

//go:embed api.yaml
var apiText []byte

// apiSection is a section as the document has it.
type apiSection struct {
	ID         string
	Name, Text phrase.Text
	Entries    []map[string]phrase.Text // a name and what it means, each
	Example    string
}

// document is the whole one. A mistake in it is a bug: a test reads all of it.
var document = sync.OnceValue(func() []apiSection {
	dec := yaml.NewDecoder(bytes.NewReader(apiText))
	dec.KnownFields(true)
	var list []apiSection
	if err := dec.Decode(&list); err != nil {
		panic("page: api.yaml: " + err.Error())
	}
	return list
})

// Reference are the sections of the API page. Formats are the formats in which you can
// get a run.
func Reference(l words.Language, formats string) []Section {
	with := map[string]any{ // by the entry whose text has a place for it
		"POST /runs":                     scenario.MaxSlow,
		"GET /runs/{id}/export?format=F": formats,
		"GET /traces/{id}/again?key=K&inside=N&threads=WHO": "1 to 1000",
		"POST /lab": lab.MaxThreads,
		"like":      l.List(scenario.Writable()),
		"args":      l.List(protocol.ArgWords),
	}
	var list []Section
	for _, from := range document() {
		s := Section{ID: from.ID, Name: l.Say(from.Name), Text: l.Say(from.Text), Example: from.Example}
		if s.ID == "own" {
			s.Example = "lock:\n  protocol: own\n  scripts:\n" + frame(lock.CallLock) + frame(lock.CallUnlock)
		}
		for _, entry := range from.Entries {
			for name, text := range entry {
				if value, has := with[name]; has {
					s.Entries = append(s.Entries, Entry{name, l.Say(text, value)})
				} else {
					s.Entries = append(s.Entries, Entry{name, l.Say(text)})
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// frame is the empty script of a call, as a scenario has it.
func frame(call string) string {
	return "    " + call + ": |\n      " + strings.ReplaceAll(strings.TrimSpace(protocol.Frame(call)), "\n", "\n      ") + "\n"
}
