package lessons_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

func TestGalleryHasEveryScenarioOnce(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	var shown []string
	for _, g := range groups {
		for _, e := range g.Scenarios {
			shown = append(shown, e.Name+".yaml")
		}
	}
	slices.Sort(shown)
	if !slices.Equal(shown, files) {
		t.Errorf("the gallery has\n%v\nthe folder\n%v", shown, files)
	}
}

// A card's text is there once, in English, and has its own address; whether it fits is
// checked when it is read, and for each language in web/words.
func TestGalleryTexts(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[phrase.Text]string{}
	check := func(where string, text phrase.Text) {
		t.Helper()
		if strings.ContainsFunc(string(text), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: not in English: %q", where, text)
		}
		if seen[text] != "" {
			t.Errorf("%s says what %s says: %q", where, seen[text], text)
		}
		seen[text] = where
	}
	for _, g := range groups {
		if !id.MatchString(g.ID) {
			t.Errorf("the id %q is not for an address", g.ID)
		}
		check("group "+g.ID, g.Name)
		for _, e := range g.Scenarios {
			check(e.Name+", title", e.Title)
			check(e.Name+", shows", e.Shows)
		}
	}
}

// Only a title that comes with the playground can be translated: another that
// happens to be one of the interface's words stays what its author wrote.
func TestTitle(t *testing.T) {
	if got := lessons.Title("Two threads, one reentrant lock"); got.Text == "" {
		t.Errorf("a bundled title is as it was written: %+v", got)
	}
	if got := lessons.Title("Locks"); got.Text != "" || got.String() != "Locks" {
		t.Errorf("another title is %+v", got)
	}
}

func TestGalleryTitlesAreTheScenarios(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			sc := lessonstest.Scenario(t, e.Name+".yaml")
			if string(e.Title) != sc.Title {
				t.Errorf("%s: the gallery's title is %q, the scenario's %q", e.Name, e.Title, sc.Title)
			}
		}
	}
}

func TestBadGalleryIsRefused(t *testing.T) {
	const group = `{id: g, name: N, scenarios: [%s]}`
	const a = `{name: a, title: T, shows: S}`
	one := fmt.Sprintf(group, a)
	with := func(old, replacement string) string { return "[" + strings.Replace(one, old, replacement, 1) + "]" }
	for _, c := range []struct{ name, texts, want string }{
		{"good", "[" + one + "]", ""},
		{"empty", "", "EOF"},
		{"unknown field", with("{id: g,", "{id: g, colour: red,"), "colour"},
		{"a text for each language", with("shows: S", "shows: {en: S}"), "cannot"},
		{"unknown scenario", with("name: a", "name: b"), `"b" is no scenario`},
		{"scenario twice", "[" + fmt.Sprintf(group, a+", "+a) + "]", `"a" is no scenario, or is there twice`},
		{"scenario missing", "[]", `"a" is in no group`},
		{"no id", with("id: g", "id: ''"), "id of its own"},
		{"id twice", "[" + one + ", " + one + "]", "id of its own"},
		{"empty group", "[" + fmt.Sprintf(group, "") + "]", "a scenario"},
		{"no name", with("name: N, ", ""), "name: 0"},
		{"no title", with("title: T, ", ""), "title: 0"},
		{"no description", with(", shows: S", ""), "shows: 0"},
		{"long title", with("title: T", "title: "+strings.Repeat("T", 61)), "title: 61"},
		{"long description", with("shows: S", "shows: "+strings.Repeat("S", 91)), "shows: 91"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lessons.ReadGallery([]byte(c.texts), []string{"a"})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A cure breaks none of the rules that the scenario breaks, or has the resource
// refuse what comes too late, so that nothing is lost.
func TestCuresMend(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		broken  []string
		refused bool
	}
	runs := map[string]run{}
	play := func(name string) run {
		r, has := runs[name]
		if !has {
			for _, e := range lessonstest.Play(t, name+".yaml").Events {
				switch b := e.Body.(type) {
				case trace.Violation:
					r.broken = append(r.broken, b.Rule)
				case trace.Resource:
					r.refused = r.refused || b.Refused
				}
			}
			runs[name] = r
		}
		return r
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			if e.Cure == "" {
				continue
			}
			ill, cured := play(e.Name), play(e.Cure)
			for _, rule := range cured.broken {
				harmless := cured.refused && rule == check.MutualExclusion
				if slices.Contains(ill.broken, rule) && !harmless {
					t.Errorf("%s breaks %s, and so does its cure %s", e.Name, rule, e.Cure)
				}
			}
		}
	}
}
