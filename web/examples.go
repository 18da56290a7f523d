package web

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

type example struct {
	name string
	text string                    // of the file, without its modeline
	sc   func() *scenario.Scenario // read once, when somebody first asks
}

// firstExample is what the editor opens with.
const firstExample = "two-threads"

// modeline tells an editor on somebody's own machine where a file's schema is. It
// leads nowhere from the page.
var modeline = regexp.MustCompile(`^# yaml-language-server: .*\n`)

func readExamples(fsys fs.FS) ([]example, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("web: examples: %w", err)
	}
	if at := slices.Index(names, firstExample+".yaml"); at >= 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, firstExample+".yaml")
	}
	var list []example
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("web: examples: %w", err)
		}
		list = append(list, example{strings.TrimSuffix(name, path.Ext(name)), modeline.ReplaceAllString(string(data), ""), sync.OnceValue(func() *scenario.Scenario {
			sc, err := scenario.Parse(data)
			if err != nil {
				panic(fmt.Errorf("web: example %s: %w", name, err)) // it is embedded
			}
			return sc
		})})
	}
	if len(list) == 0 {
		return nil, errors.New("web: no examples")
	}
	return list, nil
}

func exhibitOf(name string) (lessons.Exhibit, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return lessons.Exhibit{}, fmt.Errorf("web: %w", err)
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

// shelves returns the scenarios as the gallery groups them.
func shelves(l words.Language) ([]page.Group, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
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

// endingOf is where to go on at the end of a scenario of the gallery.
func endingOf(l words.Language, name string) (page.Ending, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return page.Ending{}, fmt.Errorf("web: %w", err)
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

// titleOf returns a scenario's title, translated into l if the scenario is a
// bundled one.
func titleOf(l words.Language, sc *scenario.Scenario) string {
	return l.Clause(lessons.Title(sc.Title))
}

// written returns a scenario as YAML, without defaults.
func written(sc *scenario.Scenario) (string, error) {
	text, err := sc.Compact()
	if err != nil {
		return "", fmt.Errorf("web: %w", err)
	}
	yaml, err := draft.Merge("", string(text), draft.Unfold, nil)
	if err != nil {
		return "", fmt.Errorf("web: %w", err)
	}
	return yaml, nil
}

// said joins clauses to a sentence without its full stop.
func said(l words.Language, clauses []phrase.Wording) string {
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
