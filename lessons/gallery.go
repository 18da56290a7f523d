package lessons

import (
	"bytes"
	_ "embed" // the texts
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

//go:embed gallery.yaml
var galleryTexts []byte

// Group is some scenarios of the gallery that are read together.
type Group struct {
	ID        string    `yaml:"id"` // unique: what an address can name
	Name      Text      `yaml:"name"`
	Scenarios []Exhibit `yaml:"scenarios"` // in reading order, at least one
}

// Exhibit is one scenario in the gallery.
type Exhibit struct {
	Name  string `yaml:"name"`  // of the file, without .yaml
	Title Text   `yaml:"title"` // the English one is the scenario's own
	Shows Text   `yaml:"shows"` // what is seen in the run, in one line
}

// Text is the same in both languages of the site.
type Text struct {
	English string `yaml:"en"`
	Chinese string `yaml:"zh"`
}

// How many characters of English and of Chinese stay on one line of a card. A
// Han character is as wide as two Latin ones.
const (
	maxTitle, maxTitleHan = 60, 30
	maxShows, maxShowsHan = 90, 45
)

// Gallery returns all scenarios in teaching order: re-entry, then how locks
// fail, then what mends it. It fails where gallery.yaml leaves a scenario out,
// names one twice or one that is not there, or where a text is missing or too
// long. Every call returns the same groups: do not change them. It is safe for
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

// readGallery reads a gallery of the scenarios that have these names.
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
		if err := g.Name.check(maxTitle, maxTitleHan); err != nil {
			return nil, fmt.Errorf("lessons: gallery.yaml: group %q: name: %w", g.ID, err)
		}
		for _, e := range g.Scenarios {
			if !missing[e.Name] {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q is no scenario, or is there twice", e.Name)
			}
			delete(missing, e.Name)
			if err := e.Title.check(maxTitle, maxTitleHan); err != nil {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q: title: %w", e.Name, err)
			}
			if err := e.Shows.check(maxShows, maxShowsHan); err != nil {
				return nil, fmt.Errorf("lessons: gallery.yaml: %q: shows: %w", e.Name, err)
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

// check says what is wrong with a text of at most so many characters.
func (t Text) check(english, chinese int) error {
	for _, in := range []struct {
		language, text string
		limit          int
	}{{"en", t.English, english}, {"zh", t.Chinese, chinese}} {
		if n := utf8.RuneCountInString(in.text); n == 0 || n > in.limit {
			return fmt.Errorf("%s has %d characters, not 1 to %d", in.language, n, in.limit)
		}
	}
	return nil
}
