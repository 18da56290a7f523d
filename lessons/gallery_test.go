package lessons_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"relock/engine/scenario"
	"relock/lessons"
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

// What stands on a card is there in both languages, fits on it, and is
// written in the language that it is said to be.
func TestGalleryTexts(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]string{}
	check := func(where string, text lessons.Text, english, chinese int) {
		t.Helper()
		if n := utf8.RuneCountInString(text.English); n == 0 || n > english || strings.ContainsFunc(text.English, han) {
			t.Errorf("%s: %d characters, at most %d, of English: %q", where, n, english, text.English)
		}
		if n := utf8.RuneCountInString(text.Chinese); n == 0 || n > chinese || !strings.ContainsFunc(text.Chinese, han) {
			t.Errorf("%s: %d characters, at most %d, of Chinese: %q", where, n, chinese, text.Chinese)
		}
		if at := unspaced(text.Chinese); at != "" {
			t.Errorf("%s: a space is missing in %q", where, at)
		}
		for _, s := range []string{text.English, text.Chinese} {
			if seen[s] != "" {
				t.Errorf("%s says what %s says: %q", where, seen[s], s)
			}
			seen[s] = where
		}
	}
	for _, g := range groups {
		if !id.MatchString(g.ID) {
			t.Errorf("the id %q is not for an address", g.ID)
		}
		check("group "+g.ID, g.Name, 60, 30)
		for _, e := range g.Scenarios {
			check(e.Name+", title", e.Title, 60, 30)
			check(e.Name+", shows", e.Shows, 90, 45)
		}
	}
}

func TestGalleryTitlesAreTheScenarios(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			data, err := fs.ReadFile(lessons.Scenarios(), e.Name+".yaml")
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if e.Title.English != sc.Title {
				t.Errorf("%s: the gallery's title is %q, the scenario's %q", e.Name, e.Title.English, sc.Title)
			}
		}
	}
}

// The Chinese texts about the locks keep to the same spacing.
func TestProtocolTextsAreSpaced(t *testing.T) {
	list, err := lessons.Protocols()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for _, line := range slices.Concat(p.Guarantees.Chinese, p.Holes.Chinese) {
			if at := unspaced(line); at != "" {
				t.Errorf("%s: a space is missing in %q", p.Name, at)
			}
		}
	}
}

func TestBadGalleryIsRefused(t *testing.T) {
	const group = `{id: g, name: {en: N, zh: 名}, scenarios: [%s]}`
	const a = `{name: a, title: {en: T, zh: 题}, shows: {en: S, zh: 述}}`
	one := fmt.Sprintf(group, a)
	with := func(old, replacement string) string { return "[" + strings.Replace(one, old, replacement, 1) + "]" }
	for _, c := range []struct{ name, texts, want string }{
		{"good", "[" + one + "]", ""},
		{"empty", "", "EOF"},
		{"unknown field", with("{id: g,", "{id: g, colour: red,"), "colour"},
		{"unknown language", with("zh: 述", "zh: 述, fr: D"), "fr"},
		{"unknown scenario", with("name: a", "name: b"), `"b" is no scenario`},
		{"scenario twice", "[" + fmt.Sprintf(group, a+", "+a) + "]", `"a" is no scenario, or is there twice`},
		{"scenario missing", "[]", `"a" is in no group`},
		{"no id", with("id: g", "id: ''"), "id of its own"},
		{"id twice", "[" + one + ", " + one + "]", "id of its own"},
		{"empty group", "[" + fmt.Sprintf(group, "") + "]", "a scenario"},
		{"no name", with("en: N, ", ""), "name: en has 0"},
		{"no title", with("zh: 题", ""), "title: zh has 0"},
		{"no description", with("en: S, ", ""), "shows: en has 0"},
		{"long title", with("en: T", "en: "+strings.Repeat("T", 61)), "title: en has 61"},
		{"long English", with("en: S", "en: "+strings.Repeat("S", 91)), "shows: en has 91"},
		{"long Chinese", with("zh: 述", "zh: "+strings.Repeat("述", 46)), "shows: zh has 46"},
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

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

// unspaced is the first place where a Han character touches a Latin letter or
// a digit, "" where none does.
func unspaced(s string) string {
	latin := func(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	runes := []rune(s)
	for i := 1; i < len(runes); i++ {
		before, after := runes[i-1], runes[i]
		if han(before) && latin(after) || latin(before) && han(after) {
			return string(runes[i-1 : i+1])
		}
	}
	return ""
}
