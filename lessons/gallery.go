package lessons

import (
	"bytes"
	_ "embed" // the texts
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

//go:embed gallery.yaml
var galleryTexts []byte

// Group is a group of scenarios in the gallery.
type Group struct {
	ID        string      `yaml:"id"` // unique; addresses may name it
	Name      phrase.Text `yaml:"name"`
	Scenarios []Exhibit   `yaml:"scenarios"` // in reading order, at least one
}

// Exhibit is one scenario in the gallery.
type Exhibit struct {
	Name  string      `yaml:"name"`  // of the file, without .yaml
	Title phrase.Text `yaml:"title"` // the scenario's own
	Shows phrase.Text `yaml:"shows"` // what the run shows, in one line
	Cure  string      `yaml:"cure"`  // name of the scenario that mends what goes wrong here, or ""
}

// How many characters fit on one line of a card. A Han character is as wide as
// two.
const (
	MaxTitle = 60
	MaxShows = 90
)

// Gallery returns all scenarios in teaching order: re-entry, then how locks
// fail, then what fixes it. It fails if gallery.yaml omits a scenario, names
// one twice or one that does not exist, or if a text is missing or too long.
// Every call returns the same groups: do not change them. It is safe for
// concurrent use.
func Gallery() ([]Group, error) { return gallery() }

var gallery = sync.OnceValues(func() ([]Group, error) {
	files, err := fs.Glob(Scenarios(), "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(file, ".yaml")
	}
	return readGallery(galleryTexts, names)
})

// readGallery reads a gallery of the scenarios with these names.
func readGallery(texts []byte, names []string) ([]Group, error) {
	var groups []Group
	dec := yaml.NewDecoder(bytes.NewReader(texts))
	dec.KnownFields(true)
	if err := dec.Decode(&groups); err != nil {
		return nil, fmt.Errorf("lessons: gallery.yaml: %w", err)
	}
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	ids := map[string]bool{}
	for _, g := range groups {
		if g.ID == "" || ids[g.ID] || len(g.Scenarios) == 0 {
			return nil, fmt.Errorf("lessons: gallery.yaml: group %q: an id of its own and a scenario are needed", g.ID)
		}
		ids[g.ID] = true
		if err := check(g.Name, MaxTitle); err != nil {
			return nil, fmt.Errorf("lessons: gallery.yaml: group %q: name: %w", g.ID, err)
		}
		for _, e := range g.Scenarios {
			if !missing[e.Name] {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q is no scenario, or is there twice", e.Name)
			}
			delete(missing, e.Name)
			if err := check(e.Title, MaxTitle); err != nil {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q: title: %w", e.Name, err)
			}
			if err := check(e.Shows, MaxShows); err != nil {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q: shows: %w", e.Name, err)
			}
		}
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			if e.Cure != "" && !slices.Contains(names, e.Cure) {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q: its cure %q is no scenario", e.Name, e.Cure)
			}
		}
	}
	for _, name := range names {
		if missing[name] {
			return nil, fmt.Errorf("lessons: gallery.yaml: %q is in no group", name)
		}
	}
	return groups, nil
}

// check says what is wrong with a text that may have so many characters.
func check(text phrase.Text, limit int) error {
	if n := utf8.RuneCountInString(string(text)); n == 0 || n > limit {
		return fmt.Errorf("%d characters, not 1 to %d", n, limit)
	}
	return nil
}

// Title returns a bundled scenario's title for translation, and any other title
// as it was written.
func Title(title string) phrase.Wording {
	if titles()[title] {
		return phrase.Say(phrase.Text(title))
	}
	return phrase.Plain(title)
}

// OfAClass is the title of a lock with a script that somebody in a class has written.
const OfAClass phrase.Text = "A script of this class"

// titles are the titles in the gallery, of the incidents, and OfAClass.
var titles = sync.OnceValue(func() map[string]bool {
	groups, _ := Gallery() // tests catch an unreadable gallery
	out := map[string]bool{string(OfAClass): true}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			out[string(e.Title)] = true
		}
	}
	symptoms, _ := Incidents() // and these
	for _, s := range symptoms {
		for _, i := range s.Incidents {
			out[string(i.Title)] = true
		}
	}
	return out
})
