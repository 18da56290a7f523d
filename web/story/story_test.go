package story_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/web/page"
	"relock/web/story"
	"relock/web/words"
)

var update = flag.Bool("update", false, "write the golden files again")

// languages are those that somebody reads the golden files in: every other one
// is made of the same components.
var languages = []words.Language{words.English.OnPages(), words.Match("zh").OnPages()}

// secondToo are the groups whose golden files are in the second language, too: those with
// its longest texts, with whole sentences and plurals, and those that are drawn around the
// width of a text. The others have the same components with a word or two.
var secondToo = []string{"controls", "editor", "explorer", "goals", "lab", "lanes", "marks", "mender", "rooms", "rows", "stage", "tables"}

// html is a group's stories, an element a line.
func html(t *testing.T, l words.Language, g story.Group) string {
	t.Helper()
	var b bytes.Buffer
	for _, s := range g.Stories {
		b.WriteString("<!-- " + s.Name + " -->\n")
		if err := s.Component.Render(words.With(t.Context(), l), &b); err != nil {
			t.Fatal(s.Name, ": ", err)
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), "><", ">\n<")
}

// TestGolden compares each component with what somebody has looked at.
func TestGolden(t *testing.T) {
	kept := map[string]bool{}
	for i, l := range languages {
		for _, g := range story.Groups(l) {
			if i > 0 && !slices.Contains(secondToo, g.ID) {
				continue
			}
			name := filepath.Join("testdata", g.ID+"."+l.Code()+".html")
			kept[name] = true
			t.Run(g.ID+" "+l.Code(), func(t *testing.T) {
				got := html(t, l, g)
				if *update {
					if err := os.MkdirAll("testdata", 0o750); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (look at /storybook; go test ./web/story -update writes it again):\n%s", name, diff)
				}
			})
		}
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !kept[name] {
			t.Errorf("%s is no group's", name)
		}
	}
}

// TestEveryComponentHasAStory fails where a component is added to
// web/templates and not here.
func TestEveryComponentHasAStory(t *testing.T) {
	elsewhere := []string{
		"MessagePage", "PlayPage", "RunPage", "EditorPage", "OwnCardPage", "Incidents", "Home", "Gallery", "About", "API", "EmbedPage", "FileBody", "FilmFile", "LocksPage", "LockPage", "WayPage", "LadderPage", "LessonPage", "ClassPage", "CheckedPage", "Glossary", "RoomDoorPage", "RoomNewPage", "LessonPlanPage", "RoomBoardPage", "RoomPhonePage", "RoomScriptsPage", "LabDoorPage", "LabPage", // pages
		"Viewer", "RunView", "Lua", "Keys", "Legend", "EndingWays", "ShareRun", "RoomSeats", "RoomThreads", "LabRail", // made of what is here
		"LessonChoice", "LessonTally", "LessonBroken", "LessonOrder", "LessonRank", "LessonTries", "LessonReview", "LessonMended", "LessonDiagnosis", "LessonWriting", "LessonScripts", "LessonSituations", "DiagnosisKnown", // parts of LessonPage
		"LessonSheet", "LessonTold", "LessonCode", // parts of what a class is asked
		"Film",                                            // nothing to see
		"LanesFile", "LanesStill", "QRScreen", "CardFile", // has a style sheet of its own
	}
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "*.templ"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(data)
		}
	}
	files, err := filepath.Glob("../templates/*.templ")
	if err != nil || len(files) == 0 {
		t.Fatal("no templates:", err)
	}
	found := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^templ ([A-Z]\w*)\(`).FindAllSubmatch(data, -1) {
			found++
			component := string(m[1])
			has := strings.Contains(sources.String(), "templates."+component+"(")
			if has == slices.Contains(elsewhere, component) {
				t.Errorf("%s: %s: has a story: %v", name, component, has)
			}
		}
	}
	if found <= len(elsewhere) {
		t.Errorf("only %d components were found", found)
	}
}

// TestIDsAreUnique reads the whole page: an id in two places would tie a label
// to the wrong input.
func TestIDsAreUnique(t *testing.T) {
	for _, l := range languages {
		var b bytes.Buffer
		if err := story.Page(page.Page{}, story.Groups(l), "/script.js").Render(words.With(t.Context(), l), &b); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
			// Both tables of a comparison are closed by a button of one id:
			// the pages that have them have one at a time.
			if seen[m[1]] && m[1] != "close-compared" {
				t.Errorf("%s: the id %q twice", l.Code(), m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 50 {
			t.Errorf("%s: only %d ids", l.Code(), len(seen))
		}
		for _, m := range regexp.MustCompile(`url\(#([^)]*)\)`).FindAllStringSubmatch(b.String(), -1) {
			if !seen[m[1]] {
				t.Errorf("%s: nothing has the id %q", l.Code(), m[1])
			}
		}
	}
}
