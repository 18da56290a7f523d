package words_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/lessons"
	"relock/lessons/advice"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/width"
	"golang.org/x/tools/go/packages"
)

// textTypes are the types whose constants are translated.
var textTypes = []string{"relock/engine/phrase.Text"}

// said matches what a script says: say("…").
var said = regexp.MustCompile(`\bsay\(\s*("(?:[^"\\]|\\.)*")`)

// verb matches one of fmt's verbs, with its argument's number where it is
// named.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// TestEverythingIsTranslated fails where a text has no translation into one of
// the languages, where a translation has no text any more, and where the two
// take other arguments.
func TestEverythingIsTranslated(t *testing.T) {
	all := everyText(t)
	for _, l := range words.All() {
		if l != words.English {
			t.Run(l.Code(), func(t *testing.T) { checkTranslations(t, l.Code(), all) })
		}
	}
}

// texts are all that there is to translate, each with where it is said.
type texts struct{ inGo, inScripts, inLessons, inLua map[string]string }

func everyText(t *testing.T) texts {
	inGo := textsInGo(t)
	maps.Copy(inGo, textsOfTheInterface(t))
	return texts{inGo, textsInScripts(t), textsInLessons(t), commentsInLua()}
}

// file says whether a text belongs into a file of that name. Two files are read
// by themselves: the page gets what its scripts say, and a newcomer to the
// lessons finds them in one place.
func (all texts) file(name string) map[string]string {
	switch name {
	case "scripts.yaml":
		return all.inScripts
	case "lessons.yaml":
		return all.inLessons
	case "comments.yaml":
		return all.inLua
	default:
		return all.inGo
	}
}

func checkTranslations(t *testing.T, folder string, all texts) {
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no translations:", err)
	}
	lessons, scripts, comments := map[string]bool{}, map[string]bool{}, map[string]bool{}
	elsewhere := map[string]bool{}
	for _, name := range files {
		base := filepath.Base(name)
		if base == "language.yaml" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var translations map[string]string
		if err := yaml.Unmarshal(data, &translations); err != nil {
			t.Fatal(err)
		}
		needed, has := all.file(base), elsewhere
		switch base {
		case "scripts.yaml":
			has = scripts
		case "lessons.yaml":
			has = lessons
		case "comments.yaml":
			has = comments
		}
		for text, translation := range translations {
			has[text] = true
			if needed[text] == "" {
				t.Errorf("%s: %q is said nowhere", name, text)
			}
			// Lessons take no arguments: their per cents are per cents.
			if a, b := verbs(text), verbs(translation); base != "lessons.yaml" && base != "comments.yaml" && !slices.Equal(a, b) {
				t.Errorf("%s: %q takes %v, its translation %v", name, text, a, b)
			}
			if strings.TrimSpace(translation) == "" {
				t.Errorf("%s: %q has an empty translation", name, text)
			}
		}
	}
	for _, one := range []struct {
		needed map[string]string
		has    map[string]bool
		file   string
	}{{all.inGo, elsewhere, "a file named after its place"}, {all.inScripts, scripts, "scripts.yaml"}, {all.inLessons, lessons, "lessons.yaml"}, {all.inLua, comments, "comments.yaml"}} {
		for _, text := range slices.Sorted(maps.Keys(one.needed)) {
			if !one.has[text] {
				t.Errorf("%s: no translation of %q in %s/, in %s", one.needed[text], text, folder, one.file)
			}
		}
	}
}

// commentsInLua are the lines of comments in the scripts that pages show.
func commentsInLua() map[string]string {
	found := map[string]string{}
	for _, p := range exhibit.All() {
		for _, s := range p.Scripts {
			for line := range strings.Lines(s.Source) {
				if _, text := protocol.Comment(strings.TrimSpace(line)); text != "" {
					found[text] = s.Name
				}
			}
		}
	}
	return found
}

// textsInLessons are all that the lessons say.
func textsInLessons(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		found[string(g.Name)] = "lessons/gallery.yaml: " + g.ID
		for _, e := range g.Scenarios {
			found[string(e.Title)] = "lessons/gallery.yaml: " + e.Name
			found[string(e.Shows)] = "lessons/gallery.yaml: " + e.Name
		}
	}
	for _, rule := range check.Names() {
		for _, c := range append(advice.Cures([]advice.Broken{{Rule: rule}}), advice.Cures([]advice.Broken{{Rule: rule, Faults: []string{"lose-reply"}, ForEver: true}})...) {
			found[string(c.Title)] = "lessons/advice/cures.yaml: " + c.Name
			found[string(c.Says)] = "lessons/advice/cures.yaml: " + c.Name
		}
	}
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symptoms {
		found[string(s.Name)] = "lessons/incidents.yaml: " + s.ID
		for _, i := range s.Incidents {
			for _, text := range i.Texts() {
				found[string(text)] = "lessons/incidents.yaml: " + i.ID
			}
		}
	}
	protocols, err := lessons.Protocols()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range protocols {
		for _, text := range slices.Concat([]phrase.Text{p.Source}, p.Guarantees, p.Holes) {
			found[string(text)] = "lessons/protocols.yaml: " + p.Name
		}
	}
	return found
}

// TestLessonsFitOnTheirCards holds every language to what one line of a card
// has room for.
func TestLessonsFitOnTheirCards(t *testing.T) {
	groups, err := lessons.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range words.All() {
		fits := func(text phrase.Text, limit int) {
			t.Helper()
			if said := l.Say(text); columns(said) > limit {
				t.Errorf("%s: %d columns, at most %d: %q", l.Code(), columns(said), limit, said)
			}
		}
		for _, g := range groups {
			fits(g.Name, lessons.MaxTitle)
			for _, e := range g.Scenarios {
				fits(e.Title, lessons.MaxTitle)
				fits(e.Shows, lessons.MaxShows)
			}
		}
	}
}

// columns is how wide a text is where a Latin letter is 1, and a Han character 2.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}

// textsInGo are all constants of textTypes in the module, and where they are.
func textsInGo(t *testing.T) map[string]string {
	t.Helper()
	list, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, "relock/...")
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(list) > 0 {
		t.Fatal("the module does not compile")
	}
	found := map[string]string{}
	for _, p := range list {
		for expr, tv := range p.TypesInfo.Types {
			if tv.Value == nil || tv.Value.Kind() != constant.String || !isText(tv.Type) {
				continue
			}
			if _, named := expr.(*ast.Ident); named {
				continue // its declaration is there as well
			}
			if text := constant.StringVal(tv.Value); text != "" {
				found[text] = p.Fset.Position(expr.Pos()).String()
			}
		}
	}
	return found
}

// textsOfTheInterface are all that the page about the interface for programs says.
func textsOfTheInterface(t *testing.T) map[string]string {
	t.Helper()
	const name = "../page/api.yaml"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var sections []struct {
		Name, Text string
		Entries    []map[string]string
	}
	if err := yaml.Unmarshal(data, &sections); err != nil || len(sections) == 0 {
		t.Fatal(name, ": ", err)
	}
	found := map[string]string{}
	for _, s := range sections {
		found[s.Name], found[s.Text] = name, name
		for _, entry := range s.Entries {
			for _, text := range entry {
				found[text] = name
			}
		}
	}
	return found
}

func isText(typ types.Type) bool {
	named, ok := types.Unalias(typ).(*types.Named)
	return ok && slices.Contains(textTypes, named.String())
}

// textsInScripts are all that the page's scripts say.
func textsInScripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../static/js/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	found := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllSubmatch(data, -1) {
			text, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, m[1], err)
			}
			found[text] = name
		}
	}
	return found
}

// verbs are the arguments that a text takes, in their order.
func verbs(text string) []string {
	var out []string
	next := 1
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		if m[2] == "%" {
			continue
		}
		n := next
		if m[1] != "" {
			n, _ = strconv.Atoi(m[1])
		}
		out = append(out, fmt.Sprintf("%d%s", n, m[2]))
		next = n + 1
	}
	slices.Sort(out)
	return out
}
