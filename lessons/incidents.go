package lessons

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

//go:embed incidents.yaml
var incidentTexts []byte

//go:embed incidents/*.yaml
var incidentFiles embed.FS

// IncidentFiles returns the scenarios of the incidents, at the top of the file
// system: ID.yaml, and ID-cured.yaml where there is something that would mend it.
func IncidentFiles() fs.FS {
	sub, err := fs.Sub(incidentFiles, "incidents")
	if err != nil {
		panic(err) // the path is the one embedded above
	}
	return sub
}

// Symptom is what people see first, and the incidents that began so.
type Symptom struct {
	ID        string      `yaml:"id"` // unique; addresses name it
	Name      phrase.Text `yaml:"name"`
	Rule      string      `yaml:"rule"`      // the rule whose break it is; some of its incidents break none
	Incidents []Incident  `yaml:"incidents"` // at least one
}

// Incident is what really happened to people, as they told it in public.
type Incident struct {
	ID      string      `yaml:"id"`      // unique; addresses name it
	Title   phrase.Text `yaml:"title"`   // its scenarios', too
	Library string      `yaml:"library"` // whose lock it was, and its language, in all languages the same
	Seen    phrase.Text `yaml:"seen"`
	Why     phrase.Text `yaml:"why"`
	There   phrase.Text `yaml:"there"` // what mended it there
	Here    phrase.Text `yaml:"here"`  // what would mend it here
	Sources []Source    `yaml:"sources"`

	Cured bool `yaml:"-"` // there is a scenario of what would mend it
}

// Source is where people told of an incident.
type Source struct {
	Name string `yaml:"name"`
	URL  string `yaml:"url"` // https
}

// Texts are all texts about the incident, for translation.
func (i Incident) Texts() []phrase.Text {
	return []phrase.Text{i.Title, i.Seen, i.Why, i.There, i.Here}
}

// File returns the name of the incident's scenario, or of that with its cure.
func (i Incident) File(cured bool) string {
	if cured {
		return i.ID + "-cured.yaml"
	}
	return i.ID + ".yaml"
}

// Incidents returns all incidents by their symptoms. It fails if incidents.yaml lacks
// a text, a source or a scenario, or says nothing of a scenario that is there. Every
// call returns the same: do not change it. It is safe for concurrent use.
func Incidents() ([]Symptom, error) { return incidents() }

var incidents = sync.OnceValues(func() ([]Symptom, error) {
	files, err := fs.Glob(IncidentFiles(), "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	return readIncidents(incidentTexts, files)
})

// readIncidents reads incidents whose scenarios are in these files.
func readIncidents(texts []byte, files []string) ([]Symptom, error) {
	var symptoms []Symptom
	dec := yaml.NewDecoder(bytes.NewReader(texts))
	dec.KnownFields(true)
	if err := dec.Decode(&symptoms); err != nil {
		return nil, fmt.Errorf("lessons: incidents.yaml: %w", err)
	}
	untold := map[string]bool{}
	for _, file := range files {
		untold[file] = true
	}
	ids := map[string]bool{}
	for _, s := range symptoms {
		if s.ID == "" || ids[s.ID] || s.Name == "" || s.Rule == "" || len(s.Incidents) == 0 {
			return nil, fmt.Errorf("lessons: incidents.yaml: symptom %q: an id of its own, a name, a rule and an incident are needed", s.ID)
		}
		ids[s.ID] = true
		for n := range s.Incidents {
			i := &s.Incidents[n]
			if err := i.check(untold); err != nil {
				return nil, fmt.Errorf("lessons: incidents.yaml: %q: %w", i.ID, err)
			}
			i.Cured = untold[i.File(true)]
			delete(untold, i.File(false))
			delete(untold, i.File(true))
		}
	}
	for file := range untold {
		return nil, fmt.Errorf("lessons: incidents.yaml says nothing of incidents/%s", file)
	}
	return symptoms, nil
}

func (i Incident) check(files map[string]bool) error {
	for _, text := range i.Texts() {
		if text == "" {
			return errors.New("title, seen, why, there and here are needed")
		}
	}
	if i.Library == "" {
		return errors.New("a library is needed")
	}
	if len(i.Sources) == 0 {
		return errors.New("a source is needed")
	}
	for _, s := range i.Sources {
		if s.Name == "" || !strings.HasPrefix(s.URL, "https://") {
			return fmt.Errorf("the source %q needs a name and an address with https", s.Name)
		}
	}
	if !files[i.File(false)] {
		return fmt.Errorf("there is no scenario incidents/%s that is not another's", i.File(false))
	}
	return nil
}
