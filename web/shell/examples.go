package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/draft"
	"relock/web/page"
	"relock/web/words"
)

// Example is a scenario that comes with the server. It is safe for concurrent use.
type Example struct {
	Name     string                    // of its file, without .yaml
	Text     string                    // of the file, without its modeline
	Scenario func() *scenario.Scenario // read once, when somebody first asks
}

// FirstExample is what the editor opens with.
const FirstExample = "two-threads"

// modeline tells an editor on somebody's own machine where a file's schema is. It
// leads nowhere from the page.
var modeline = regexp.MustCompile(`^# yaml-language-server: .*\n`)

// ReadExamples reads the scenarios, *.yaml at the top of fsys, FirstExample first. It
// finds out whether they are scenarios when somebody asks for one, and panics if not.
func ReadExamples(fsys fs.FS) ([]Example, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("shell: examples: %w", err)
	}
	if at := slices.Index(names, FirstExample+".yaml"); at >= 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, FirstExample+".yaml")
	}
	var list []Example
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("shell: examples: %w", err)
		}
		list = append(list, Example{strings.TrimSuffix(name, path.Ext(name)), modeline.ReplaceAllString(string(data), ""), sync.OnceValue(func() *scenario.Scenario {
			sc, err := scenario.Parse(data)
			if err != nil {
				panic(fmt.Errorf("shell: example %s: %w", name, err)) // it is embedded
			}
			return sc
		})})
	}
	if len(list) == 0 {
		return nil, errors.New("shell: no examples")
	}
	return list, nil
}

// ExhibitOf is what the gallery says of a scenario; of one that it does not have, nothing.
func ExhibitOf(name string) (lessons.Exhibit, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return lessons.Exhibit{}, fmt.Errorf("shell: %w", err)
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			if e.Name == name {
				return e, nil
			}
		}
	}
	return lessons.Exhibit{}, nil
}

// Shelves returns the scenarios as the gallery groups them.
func Shelves(l words.Language) ([]page.Group, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return nil, fmt.Errorf("shell: %w", err)
	}
	var out []page.Group
	for _, g := range groups {
		group := page.Group{ID: g.ID, Name: l.Say(g.Name)}
		for _, e := range g.Scenarios {
			group.Exhibits = append(group.Exhibits, page.Exhibit{
				Name: e.Name, Title: l.Say(e.Title), Shows: l.Say(e.Shows),
			})
		}
		out = append(out, group)
	}
	return out, nil
}

// EndingOf is where to go on at the end of a scenario of the gallery.
func EndingOf(l words.Language, name string) (page.Ending, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return page.Ending{}, fmt.Errorf("shell: %w", err)
	}
	var all []lessons.Exhibit
	for _, g := range groups {
		all = append(all, g.Scenarios...)
	}
	way := func(name string) *page.Onward {
		at := slices.IndexFunc(all, func(e lessons.Exhibit) bool { return e.Name == name })
		if at < 0 {
			return nil
		}
		return &page.Onward{Name: name, Title: l.Say(all[at].Title)}
	}
	var ending page.Ending
	for i, e := range all {
		if e.Name == name {
			ending.Cure = way(e.Cure)
			if i+1 < len(all) && all[i+1].Name != e.Cure {
				ending.Next = way(all[i+1].Name)
			}
		}
	}
	return ending, nil
}

// TitleOf returns a scenario's title, translated into l if the scenario is a
// bundled one.
func TitleOf(l words.Language, sc *scenario.Scenario) string {
	return l.Clause(lessons.Title(sc.Title))
}

// Written returns a scenario as YAML, without defaults.
func Written(sc *scenario.Scenario) (string, error) {
	text, err := sc.Compact()
	if err != nil {
		return "", fmt.Errorf("shell: %w", err)
	}
	yaml, err := draft.Merge("", string(text), draft.Unfold, nil)
	if err != nil {
		return "", fmt.Errorf("shell: %w", err)
	}
	return yaml, nil
}

// Said joins clauses to a sentence without its full stop.
func Said(l words.Language, clauses []phrase.Wording) string {
	text := ""
	for i, c := range clauses {
		if i == 0 {
			text = l.Clause(c)
			continue
		}
		text = l.Say("%s; %s", text, l.Clause(c))
	}
	return words.Capital(text)
}
