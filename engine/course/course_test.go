package course_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/words"
)

// read is the course as its files have it, without what is kept of its searches.
var read = sync.OnceValues(func() (*course.Course, error) {
	return course.ReadCourse(words.All(), lessons.Course(), lessons.Scenarios())
})

func whole(t *testing.T) *course.Course {
	t.Helper()
	c, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every item, in every language: its runs are played, its goal is not met where
// it begins, its solution meets it, no wrong option is true, and every number
// in its texts is found in a run.
func TestEveryItemIsProven(t *testing.T) {
	t.Parallel()
	c := whole(t)
	for _, i := range c.All() {
		t.Run(i.Path(), func(t *testing.T) {
			t.Parallel()
			made, err := i.Made()
			if err != nil {
				t.Fatal(err)
			}
			proved(t, i, made)
			for _, l := range words.All() {
				p, err := i.Prose(l)
				if err != nil {
					t.Fatal(err)
				}
				if p.Title == "" || p.Body == "" || i.Kind != course.Read && p.Goal == "" || i.Kind != course.Read && i.When() == "" && (p.Nudge == "" || p.After == "") {
					t.Errorf("%s: a part is empty", l.Code())
				}
				if strings.Contains(fmt.Sprint(p), "{{") {
					t.Errorf("%s: something was not filled in: %v", l.Code(), p)
				}
				if i.Kind == course.Predict {
					distinct(t, l, made)
				}
			}
		})
	}
	if err := c.Prove(); err != nil {
		t.Error(err)
	}
}

func proved(t *testing.T, i *course.Item, made *course.Made) {
	t.Helper()
	right := 0
	for _, a := range made.Answers {
		if a.Right {
			right++
		} else if a.Run == nil || a.Shown <= 0 || a.Shown > len(a.Run.Events) {
			t.Errorf("option %s cannot be watched where it is true", a.Option.ID)
		}
	}
	switch i.Kind {
	case course.Predict, course.Why, course.Diagnose:
		if right != 1 {
			t.Errorf("%d right answers", right)
		}
		if i.Kind == course.Diagnose {
			diagnosed(t, i, made)
		}
	case course.Rank:
		ranked(t, i, made)
	case course.Mend:
		if right == 0 || right == len(made.Answers) {
			t.Errorf("%d of %d options mend it", right, len(made.Answers))
		}
	case course.Break:
		broken(t, i)
	case course.Arrange:
		ordered(t, i)
	case course.Write:
		wrote(t, i)
	case course.ReviewCode:
		marked(t, i)
	case course.Read:
	}
}

// task is what an item asks.
func task[T any](t *testing.T, i *course.Item) T {
	t.Helper()
	of, err := course.TaskOf[T](i)
	if err != nil {
		t.Fatal(i.Path(), err)
	}
	return of
}

// ordered tries the lock's own script, and without each of its pieces.
func ordered(t *testing.T, i *course.Item) {
	t.Helper()
	whole := map[int]int{}
	o := task[*course.Ordering](t, i)
	for n, p := range o.Pieces {
		if !p.Stray {
			whole[n] = n + 1
		}
	}
	if tried, err := o.Try(t.Context(), whole); err != nil || !tried.Solved {
		t.Errorf("the lock's own script is wrong: %+v, %v", tried, err)
	}
	for n := range whole {
		less := maps.Clone(whole)
		delete(less, n)
		if tried, err := o.Try(t.Context(), less); err != nil || tried.Solved {
			t.Errorf("it works without %q: %v", o.Pieces[n].Lua, err)
		}
	}
	if tried, err := o.Try(t.Context(), nil); err != nil || tried.Solved {
		t.Errorf("no script at all is right: %v", err)
	}
}

// Every order that does what the lock's script does is right, and no other.
func TestAnyOrderThatWorksIsRight(t *testing.T) {
	t.Parallel()
	i, _ := whole(t).Item("again/enter-and-count")
	o := task[*course.Ordering](t, i)
	for _, c := range []struct {
		name  string
		order string // the pieces' numbers
		wrong int    // cases in which it does something else; -1: it cannot be run
	}{
		{"as in the lock", "0 1 2 3 4 5", 0},
		{"one's own lock first", "4 0 1 2 3 5", 0},
		{"a lease for a key that is not there yet", "0 2 1 3 4 5", 1},
		{"refused before one's own is seen", "0 1 2 3 5 4", -1},
		{"without a lease", "0 1 3 4 5", 1},
		{"with a SET instead", "0 6 2 3 4 5", -1},
		{"the end before the beginning", "3 0 1 2 4 5", -1},
	} {
		places := map[int]int{}
		for place, n := range strings.Fields(c.order) {
			piece, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			places[piece] = (place + 1) * 2 // the order counts, and not the numbers
		}
		tried, err := o.Try(t.Context(), places)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, one := range tried.Cases {
			if !one.Right {
				wrong++
			}
		}
		if tried.Solved != (c.wrong == 0) || c.wrong < 0 != (tried.Err != "") || c.wrong >= 0 && wrong != c.wrong {
			t.Errorf("%s: %d cases are wrong: %+v", c.name, wrong, tried)
		}
	}
	if tried, err := o.Try(t.Context(), map[int]int{0: 1, 1: 2, 2: 2}); err != nil || tried.Twice != 2 || tried.Solved {
		t.Errorf("two pieces in one place: %+v, %v", tried, err)
	}
}

func broken(t *testing.T, i *course.Item) {
	t.Helper()
	b := task[*course.Breaking](t, i)
	for n := range b.Steps {
		v, err := b.Judge(t.Context(), b.Steps[:n])
		if err != nil || v.Met {
			t.Fatalf("after %d moves of %d: %+v, %v", n, b.Par, v, err)
		}
	}
	v, err := b.Judge(t.Context(), b.Steps)
	if err != nil || !v.Met || v.Moves != len(b.Steps) || v.Own != v.Par || v.Par != b.Par || v.Par == 0 {
		t.Fatalf("the solution: %+v, %v", v, err)
	}
	if presses, first := b.Solution(); len(presses) == 0 || len(presses) > len(b.Steps) || first >= len(presses) {
		t.Errorf("%d presses for %d moves, the first that matters is %d", len(presses), len(b.Steps), first)
	}
}

// distinct holds the options of a question against each other as they are read.
func distinct(t *testing.T, l words.Language, made *course.Made) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range made.Answers {
		text := ""
		for _, s := range a.Says {
			text += l.Clause(s) + "; "
		}
		if seen[text] {
			t.Errorf("%s: %q stands there twice", l.Code(), text)
		}
		seen[text] = true
	}
}

// Each question of the course has another one on the same idea, with another run.
func TestEachIdeaHasAnotherQuestion(t *testing.T) {
	t.Parallel()
	for _, i := range whole(t).Items() {
		switch {
		case i.Kind != course.Predict && i.Kind != course.Why:
		case i.Again == nil:
			t.Errorf("%s returns as it is: again: is missing", i.Path())
		default:
			one, err := i.Scenario.Compact()
			if err != nil {
				t.Fatal(err)
			}
			if other, err := i.Again.Scenario.Compact(); err != nil || string(one) == string(other) && (i.Lab() == nil || i.Lab().Name == i.Again.Lab().Name) {
				t.Errorf("%s asks of the same run again: %v", i.Path(), err)
			}
		}
	}
}

var update = flag.Bool("update", false, "write found.json")

// The kept results are what a search finds.
func TestWhatIsKeptIsWhatIsFound(t *testing.T) {
	t.Parallel()
	again := whole(t)
	found, err := again.Found()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("found.json", found, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile("found.json"); err != nil || string(kept) != string(found) {
		t.Errorf("found.json is not what is found (make generate): %v", err)
	}
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	for n, i := range c.All() {
		if testing.Short() && n%6 > 0 {
			continue
		}
		made, err := i.Made()
		searched, ok := again.Item(i.Path())
		if err != nil || !ok {
			t.Fatal(err)
		}
		found, err := searched.Made()
		if err != nil || len(found.Answers) != len(made.Answers) {
			t.Errorf("%s: %v", i.Path(), err)
		}
		if i.Kind != course.Break {
			continue
		}
		if kept, found := task[*course.Breaking](t, i), task[*course.Breaking](t, searched); kept.Par != found.Par || !reflect.DeepEqual(kept.Steps, found.Steps) {
			t.Errorf("%s: kept %v, found %v", i.Path(), kept.Steps, found.Steps)
		}
	}
}

// The concept check asks about six cases, and again on other runs and in other code.
func TestTheConceptCheckAsksTwice(t *testing.T) {
	t.Parallel()
	c := whole(t)
	if c.Check == nil || len(c.Check.Items) != 6 {
		t.Fatal("it has not six questions")
	}
	for n, before := range c.Check.Items {
		after := before.Again
		if before.When() != "before" || after.When() != "after" || after.Taught != before.Taught || before.Number() != n+1 || after.Number() != n+1 {
			t.Errorf("%s and %s do not belong together", before.ID, after.ID)
		}
		if after.Plays(before.Scenario) {
			t.Errorf("%s: the same run twice", before.ID)
		}
		for _, l := range words.All() {
			one, err := before.Prose(l)
			if err != nil {
				t.Fatal(err)
			}
			two, err := after.Prose(l)
			if err != nil {
				t.Fatal(err)
			}
			for id, option := range one.Labels {
				for _, other := range two.Labels {
					if option == other && !before.Option(id).None {
						t.Errorf("%s, %s: %q is to be chosen among both times", l.Code(), before.ID, option)
					}
				}
			}
		}
	}
	for _, ch := range c.Chapters {
		last := ch.Items[len(ch.Items)-1]
		if n := len(c.Earlier(last)); ch.Number > 1 && n != course.MostEarlier || len(ch.Items) > 1 && len(c.Earlier(ch.Items[0])) > 0 {
			t.Errorf("%s ends with %d earlier questions", ch.ID, n)
		}
	}
	items := len(c.Items())
	if items < 30 {
		t.Errorf("the course has %d items", items)
	}
	kinds := map[course.Kind]int{}
	for _, i := range c.Items() {
		kinds[i.Kind]++
	}
	if len(kinds) != 9 || len(c.Chapters) != 13 {
		t.Errorf("%d kinds in %d chapters: %v", len(kinds), len(c.Chapters), kinds)
	}
}

// A chapter's stated length is within a fifth of what its items take: reading three words
// a second, and answering, which takes more if the learner has to find a way, or to
// write.
func TestAChapterTakesAboutAsLongAsItSays(t *testing.T) {
	t.Parallel()
	for _, ch := range whole(t).Chapters {
		minutes := 0.0
		for _, i := range ch.Items {
			takes := i.Takes()
			if least := map[course.Kind]float64{course.Read: 2, course.Break: 3, course.Write: 3}[i.Kind]; takes <= least {
				t.Errorf("%s takes %.1f minutes, and is not read in any", i.Path(), takes)
			}
			minutes += takes
		}
		if said := float64(ch.Minutes); said < minutes*0.8 || said > minutes*1.2 {
			t.Errorf("%s says %d minutes, and takes about %.0f: %d items", ch.ID, ch.Minutes, minutes, len(ch.Items))
		}
	}
}

// A mistake is told with its file and line, and one is enough to refuse all.
func TestMistakesAreToldByLine(t *testing.T) {
	t.Parallel()
	const chapter = `id: one
minutes: 1
items:
  - id: it
    kind: predict
    scenario: lease-expiry
    at: expired
    until: B acquired
    ask: [call B]
    options:
      - {id: long, change: {lock: {lease: 1s}}}
      - {id: gone, change: {threads: [{name: A, work: 10ms}]}, until: B released}
`
	const text = `# One
## It {#it}
At {{at "expired"}} it ends.
### goal
What now?
### nudge
Think.
### long
A long one.
### gone
A is gone.
### after
So it is.
`
	for _, c := range []struct{ name, file, old, new, want string }{
		{"good", "", "", "", ""},
		{"an unknown key", "chapter.yaml", "minutes: 1", "minute: 1", "0-one/chapter.yaml:2: field minute not found"},
		{"no YAML", "chapter.yaml", "[call B]", "[call B", "0-one/chapter.yaml:8: did not find expected ',' or ']'"},
		{"an unknown anchor", "chapter.yaml", "[call B]", "[*call]", "0-one/chapter.yaml:1: unknown anchor 'call' referenced"},
		{"a value of another type", "chapter.yaml", "minutes: 1", "minutes: soon", "0-one/chapter.yaml:2: given `soon`, allowed: a whole number"},
		{"keys where a list is", "chapter.yaml", "[call B]", "{call: B}", "0-one/chapter.yaml:9: given !!map, allowed: a list"},
		{"a key twice", "chapter.yaml", "minutes: 1", "id: two", "0-one/chapter.yaml:2: the key \"id\" is there already, in line 1"},
		{"a change of another type", "chapter.yaml", "change: {lock: {lease: 1s}}", "change: x", "0-one/chapter.yaml:11: it: option long: change: given `x`, allowed: a map"},
		{"an unknown option", "chapter.yaml", "id: long,", "id: Long,", "0-one/chapter.yaml:11: it: option \"Long\": allowed: an id of its own"},
		{"too few options", "chapter.yaml", "      - {id: long, change: {lock: {lease: 1s}}}\n", "", "0-one/chapter.yaml:4: it: predict needs two to four options"},
		{"an unknown control", "chapter.yaml", "    at: expired", "    controls: [rain]\n    at: expired", "it: controls: given \"rain\", allowed: time, and faults such as pause"},
		{"an unknown rule", "chapter.yaml", "    at: expired", "    goal: broken weather\n    at: expired", "it: \"broken weather\": there is no rule \"weather\""},
		{"a zeroth moment", "chapter.yaml", "at: expired", "at: expired 0", "it: \"expired 0\": 1 is the first"},
		{"an unknown word for a thread", "chapter.yaml", "until: B acquired", "until: A flies", "\"A flies\": nothing is called \"flies\""},
		{"no end of a call", "en.md", `{{at "expired"}}`, `{{at "expired"`, "0-one/en.md:3: {{ without a }} after it"},
		{"no call", "en.md", `{{at "expired"}}`, `{{at expired}}`, "0-one/en.md:3: {{at expired}} is no call"},
		{"too few arguments", "en.md", `{{at "expired"}}`, `{{at}}`, "0-one/en.md:3: wrong number of args for at"},
		{"an argument of another type", "en.md", `{{at "expired"}}`, `{{at 5}}`, "0-one/en.md:3: argument 1 of at: given 5, allowed: a text in quotes"},
		{"a line that is not there", "en.md", `{{at "expired"}}`, `{{lua "nothing" 5}}`, "0-one/en.md:3: lua: the lock has no script \"nothing\""},
		{"no command", "en.md", `{{at "expired"}}`, `{{command "expired"}}`, "0-one/en.md:3: command: \"expired\" is no command"},
		{"no heading of an item", "en.md", "## It {#it}", "## It", "0-one/en.md:2: a heading of an item is"},
		{"no heading within an item", "en.md", "### goal", "### Goal!", "0-one/en.md:4: a heading within an item is"},
		{"no title", "en.md", "# One\n", "\n", "0-one/en.md:1: the first line is the chapter's title"},
		{"an unknown kind", "chapter.yaml", "kind: predict", "kind: guess", "0-one/chapter.yaml:5: it: kind: given \"guess\""},
		{"an unknown scenario", "chapter.yaml", "lease-expiry", "nothing", "0-one/chapter.yaml:6: it: there is no scenario \"nothing\""},
		{"no moment", "chapter.yaml", "until: B acquired", "until: B flies", "0-one/chapter.yaml:8: it: \"B flies\""},
		{"an unknown thread", "chapter.yaml", "until: B acquired", "until: Z acquired", "0-one/chapter.yaml:8: it: \"Z acquired\" is no moment"},
		{"what cannot be asked", "chapter.yaml", "[call B]", "[weather]", "0-one/chapter.yaml:9: it: ask: \"weather\""},
		{"a change that does not fit", "chapter.yaml", "lease: 1s", "lease: soon", "0-one/chapter.yaml:11: it: option long: change: lock.lease"},
		{"a moment that never comes", "chapter.yaml", "at: expired", "at: A crash", "0-one/chapter.yaml:4: it: at: the run never comes"},
		{"an option that is true", "chapter.yaml", "{lock: {lease: 1s}}", "{lock: {lease: 199ms}}", "0-one/chapter.yaml:11: it: option long: \"B gets in\" is what happens here"},
		{"no text", "en.md", "## It {#it}", "## It {#that}", "it is not there"},
		{"a typed number", "en.md", "What now?", "What at 200 ms?", "0-one/en.md:5: \"200\" is typed"},
		{"a typed number in Chinese", "zh.md", "What now?", "到了200毫秒呢？", "0-one/zh.md:5: \"了200\" is typed"},
		{"an unknown function", "en.md", `{{at "expired"}}`, `{{when "expired"}}`, "0-one/en.md:3: function \"when\" not defined"},
		{"what the run does not do", "en.md", `{{at "expired"}}`, `{{at "B crash"}}`, "0-one/en.md:3: at: the run never comes to \"B crash\""},
		{"HTML", "en.md", "Think.", "<b>Think</b>.", "0-one/en.md:7: HTML is not allowed"},
		{"a part too few", "zh.md", "### nudge\nThink.\n", "", "it has no text under \"### nudge\""},
		{"an option too many", "en.md", "### gone", "### other", "it has no option \"other\""},
		{"too long", "en.md", "it ends.", strings.Repeat("word ", course.MaxWords), "words before its goal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"chapter.yaml": chapter, "en.md": text, "zh.md": text}
			if c.file != "" {
				if !strings.Contains(files[c.file], c.old) {
					t.Fatalf("%s has no %q", c.file, c.old)
				}
				files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
			}
			fsys := fstest.MapFS{}
			for name, data := range files {
				fsys["0-one/"+name] = &fstest.MapFile{Data: []byte(data)}
			}
			got, err := course.ReadCourse(words.All(), fsys, lessons.Scenarios())
			if err == nil {
				err = got.Prove()
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "it is not there":
				if err == nil {
					t.Error("no mistake")
				}
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
			toldInChinese(t, err)
			var mistakes course.Mistakes
			if err != nil && !errors.As(err, &mistakes) {
				t.Errorf("%T is no list of mistakes", err)
			}
		})
	}
}

// spared is what may be English in a Chinese sentence: what is quoted, and code.
var spared = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|\\{\\{[^}]*\\}\\}|INFO s[a-z]+|playground lab|client NAME|broken RULE|[a-z./-]+: ")

// toldInChinese fails where an error is told in no Chinese, or partly in English.
func toldInChinese(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	says, ok := phrase.Of(err)
	if !ok {
		t.Errorf("it has no other language: %v", err)
		return
	}
	zh := words.Match("zh")
	var tell func(error) string
	tell = func(err error) string {
		var missing *fs.PathError // which the terminal tells
		if errors.As(err, &missing) {
			return "没有 " + missing.Path
		}
		if w, ok := phrase.Of(err); ok && w.String() == err.Error() { // or else a part of it would be English
			return zh.Clause(w.Causes(tell))
		}
		return err.Error()
	}
	text := zh.Clause(says.Causes(tell))
	if found := inEnglish.FindString(spared.ReplaceAllString(text, "")); found != "" || !han.MatchString(text) {
		t.Errorf("told as %s, with %q", text, found)
	}
}

// inEnglish is more than a name: two words, one after the other.
var inEnglish = regexp.MustCompile(`\b[A-Za-z]+ [a-z]{2,}\b`)

// Moves of another scenario are not judged.
func TestOnlyTheItemsOwnScenarioIsPlayed(t *testing.T) {
	t.Parallel()
	i, ok := whole(t).Item("trouble/sell-it-twice")
	if !ok {
		t.Fatal("no item")
	}
	other, err := scenario.Parse([]byte("threads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	if i.Plays(other) || !i.Plays(i.Scenario.WithSchedule([]scenario.Move{{}})) {
		t.Error("an item plays its scenario, whatever the moves, and no other")
	}
}

// The article's T8 and T9 are one step of our run, and nothing else differs.
func TestTheArticleDiffersWhereOneScriptGoesOn(t *testing.T) {
	t.Parallel()
	data, err := fs.ReadFile(lessons.Scenarios(), "textbook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := course.Play(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := course.Article(run)
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for _, r := range rows {
		if r.Article == "" || len(r.Ours) == 0 {
			t.Errorf("%s is empty", r.Row)
		}
		if r.Differs != "" {
			differ = append(differ, r.Row)
		}
	}
	if len(rows) != 10 || fmt.Sprint(differ) != "[T8 T9]" {
		t.Errorf("%d rows, and these differ: %v", len(rows), differ)
	}
}

var han = regexp.MustCompile(`\p{Han}`)

// linked is where a link leads to, which nobody reads.
var linked = regexp.MustCompile(`\]\([^)]*\)`)

// Phrases that nobody writes in Chinese, in the course's texts.
var unwritten = map[string]*regexp.Regexp{
	"a half-width mark at a Chinese word":              regexp.MustCompile(`\p{Han}[,;:!?.(]|[,;:!?)]\p{Han}`),
	"a space at a full-width mark":                     regexp.MustCompile(` [，。：；、？！（）]|[，。：；、？！（] \S`),
	"no space between a Chinese and a Latin word":      regexp.MustCompile(`\p{Han}[A-Za-z]|[A-Za-z]\p{Han}`),
	"no space between a Chinese word and a {{number}}": regexp.MustCompile(`\p{Han}\{\{|\}\}\p{Han}`),
	"straight quotes around a Chinese word":            regexp.MustCompile(`"\p{Han}|\p{Han}"`),
}

// The Chinese texts are written as Chinese is.
func TestTheCourseIsWrittenInChinese(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(lessons.Course(), "*/zh.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := fs.ReadFile(lessons.Course(), name)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for n, line := range strings.Split(string(data), "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if strings.HasPrefix(line, "### ") || code {
				continue
			}
			if i := strings.Index(line, " {#"); i >= 0 {
				line = line[:i]
			}
			if line != "" && !han.MatchString(line) && !strings.Contains(line, "{{") && !strings.HasPrefix(line, "```") {
				t.Errorf("%s:%d: not Chinese: %s", name, n+1, line)
			}
			line = itsClaim.ReplaceAllString(linked.ReplaceAllString(line, "]"), "")
			for what, pattern := range unwritten {
				if found := pattern.FindString(line); found != "" {
					t.Errorf("%s:%d: %s, %q: %s", name, n+1, what, found, line)
				}
			}
		}
	}
}

// From any bundled scenario, at its start and on its way, a question can be
// made in which no wrong option is true; as YAML it is an item of the course.
func TestAQuestionIsMadeOfARun(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, enough := 0, 25
	if testing.Short() {
		enough = 10
	}
	for _, name := range files {
		data, err := fs.ReadFile(lessons.Scenarios(), name)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Schedule) > 0 || made >= enough {
			continue
		}
		at := 3
		moves := make([]scenario.Move, at)
		q, err := course.Ask(t.Context(), sc.WithSchedule(moves), at)
		if errors.Is(err, course.ErrNothingToAsk) || err != nil && strings.Contains(err.Error(), "schedule") {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made++
		right, seen, told := 0, map[string]bool{}, map[bool]bool{}
		for _, a := range q.Answers {
			if a.Right {
				right++
			}
			text := fmt.Sprint(a.Says)
			if seen[text] {
				t.Errorf("%s: %q is there twice", name, text)
			}
			seen[text] = true
			if held := heldBy.FindStringSubmatch(text); held != nil {
				told[held[1] != ""] = true
			}
		}
		if len(told) > 1 {
			t.Errorf("%s: who holds the lock is told with a count and without: %v", name, seen)
		}
		if right != 1 || len(q.Answers) < 3 {
			t.Errorf("%s: %d right answers of %d", name, right, len(q.Answers))
		}
		kept(t, name, q)
	}
	if made < min(enough, 20) {
		t.Errorf("questions were made of %d scenarios only", made)
	}
}

var heldBy = regexp.MustCompile(`is held by \w+(, with a count)?`)

// kept reads a question's YAML as an item of the course.
func kept(t *testing.T, name string, q *course.Question) {
	t.Helper()
	text, err := q.YAML()
	if err != nil {
		t.Fatal(name, err)
	}
	prose := "# One\n## It {#what-next}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
	for _, a := range q.Answers {
		if !a.Right {
			prose += "### " + a.Option.ID + "\nNo.\n"
		}
	}
	indented := strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	c, err := course.ReadCourse(words.All(), fstest.MapFS{
		"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems:\n  " + indented + "\n")}, "0-one/en.md": {Data: []byte(prose)}, "0-one/zh.md": {Data: []byte(prose)},
	}, lessons.Scenarios())
	if err == nil {
		err = c.Prove()
	}
	if err != nil {
		t.Errorf("%s: kept as\n%s\n%v", name, text, err)
	}
}

// Of two threads under a mutex without a check a break can be made, and its
// solution breaks the rule.
func TestABreakIsMadeOfARun(t *testing.T) {
	t.Parallel()
	data, err := fs.ReadFile(lessons.Scenarios(), "mutex-unsafe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	made, err := course.BreakOf(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	i := made.Item
	if i.Rule() == "" {
		t.Fatal("nothing to break")
	}
	v, err := course.Breaks(t.Context(), i.Scenario.WithSchedule(made.Steps), i.Rule())
	if err != nil || !v.Met || v.Own != made.Par {
		t.Errorf("%+v, %v", v, err)
	}
	if text, err := made.YAML(); err != nil || !strings.Contains(text, "goal: broken "+i.Rule()) {
		t.Error(text, err)
	}
}

// If it could not try every order, it does not say that none breaks a rule.
func TestTooManyOrdersToSayThatNoneBreaks(t *testing.T) {
	t.Parallel()
	sc, err := scenario.Parse([]byte(`
lock: {lease: 30s}
defaults: {depth: 3, retry: {times: 30}}
threads: [{name: A, work: 51ms}, {name: B, work: 52ms}, {name: C, work: 53ms}, {name: D, work: 54ms}, {name: E, work: 55ms}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if i, err := course.BreakOf(t.Context(), sc); !errors.Is(err, course.ErrNothingFound) {
		t.Errorf("%+v, %v", i, err)
	}
}

// A run that breaks by itself cannot be an item to break, and the check says so.
func TestWhatBreaksByItselfIsNothingToBreak(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"lease-expiry": course.ErrBreaksByItself, "redlock": nil} {
		data, err := fs.ReadFile(lessons.Scenarios(), name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := course.BreakOf(t.Context(), sc); want != nil && !errors.Is(err, want) || want == nil && errors.Is(err, course.ErrBreaksByItself) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// A course needs a text in one language, any language, and may have its own title; a
// reader of another language gets what there is.
func TestACourseNeedsOneLanguage(t *testing.T) {
	t.Parallel()
	const chapter = "id: one\nminutes: 1\nitems:\n  - {id: it, kind: read, scenario: crash}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // the titles of course, chapter and item, in English and in Chinese; or the mistake
	}{
		{"English", map[string]string{"0-one/en.md": "# One\n## It {#it}\nText.\n", "en.md": "# Ours\n"}, "Ours One It / Ours One It"},
		{"Chinese", map[string]string{"0-one/zh.md": "# 一\n## 它 {#it}\n字。\n"}, " 一 它 /  一 它"},
		{"both", map[string]string{"0-one/en.md": "# One\n## It {#it}\nText.\n", "0-one/zh.md": "# 一\n## 它 {#it}\n字。\n", "zh.md": "# 我们的\n", "en.md": "# Ours\n\nMore.\n"}, "Ours One It / 我们的 一 它"},
		{"none", nil, "0-one/en.md: the chapter has no text in any language"},
		{"no title", map[string]string{"0-one/en.md": "# One\n## It {#it}\nText.\n", "en.md": "Ours\n"}, "en.md:1: the first line is the course's title"},
	} {
		fsys := fstest.MapFS{"0-one/chapter.yaml": {Data: []byte(chapter)}}
		for name, text := range c.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := course.ReadCourse(words.All(), fsys, lessons.Scenarios())
		if err == nil {
			err = got.Prove()
		}
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var titles []string
		for _, l := range words.All() {
			i, _ := got.Item("one/it")
			titles = append(titles, strings.Join([]string{got.Title(l), i.Chapter.Title(l), i.Title(l)}, " "))
		}
		if s := strings.Join(titles, " / "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// The run that is shown of a right mend can be one in which it is seen to help: a write that
// comes late is refused, since its token is the older one.
func TestARightMendIsSeenToHelp(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"need/who-decides": 1, "need/under-a-lock": 1} {
		i, _ := whole(t).Item(path)
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, a := range made.Answers {
			if !a.Right {
				continue
			}
			newest := int64(0)
			for _, e := range a.Run.Events {
				r, is := e.Body.(trace.Resource)
				if is && r.Refused && e.Thread == "A" && (a.Option.ID != "token" || r.Token < newest) {
					seen++
				}
				newest = max(newest, r.Token)
			}
		}
		if seen != want {
			t.Errorf("%s: %d right answers show a late write that is refused, not %d", path, seen, want)
		}
	}
}
