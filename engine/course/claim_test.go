package course_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/course"
	"relock/lessons"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
)

// claiming are the words of a language with which a sentence says something of every order.
type claiming struct {
	Words []string   `yaml:"words"`
	But   [][]string `yaml:"but"`
}

var (
	aSentence = regexp.MustCompile(`[.!?][”")*]*(\s|$)|[。！？]|\n`)
	noText    = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
	itsClaim  = regexp.MustCompile(`\{\{claim "[^"]+"\}\}`)
	itsCall   = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// unclaimed are the sentences of a text that say something of every order, and carry no claim.
func unclaimed(text string, c claiming) (list []string) {
	is := func(phrases []string) *regexp.Regexp {
		quoted := make([]string, len(phrases))
		for n, one := range phrases {
			quoted[n] = regexp.QuoteMeta(one)
			if one[0] < 0x80 {
				quoted[n] = `\b` + quoted[n] + `\b`
			}
		}
		return regexp.MustCompile(`(?i)` + strings.Join(quoted, "|"))
	}
	word, but := is(c.Words), is(slices.Concat(c.But...))
	for _, sentence := range aSentence.Split(text, -1) {
		if strings.HasPrefix(sentence, "#") || itsClaim.MatchString(sentence) {
			continue
		}
		plain := itsCall.ReplaceAllString(noText.ReplaceAllString(sentence, ""), "…")
		if len(c.But[0]) > 0 {
			plain = but.ReplaceAllString(plain, "")
		}
		if word.MatchString(plain) {
			list = append(list, strings.TrimSpace(sentence))
		}
	}
	return list
}

// A sentence that says of every order what happens carries a claim, which is searched; or it
// says less.
func TestWhatIsSaidOfEveryOrderIsClaimed(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/claiming.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var languages map[string]claiming
	if err := yaml.Unmarshal(data, &languages); err != nil || len(languages) != len(words.All()) {
		t.Fatal(languages, err)
	}
	for code, c := range languages {
		files, err := fs.Glob(lessons.Course(), "*/"+code+".md")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(lessons.Course(), name)
			if err != nil {
				t.Fatal(err)
			}
			for _, sentence := range unclaimed(string(text), c) {
				t.Errorf("%s: %q carries no claim", name, sentence)
			}
		}
		bold := "**" + c.Words[0] + "**"
		for text, want := range map[string]int{bold: 1, bold + `{{claim "x"}}.`: 0, "# " + bold: 0, "`" + c.Words[0] + "`": 0} {
			if got := unclaimed(text, c); len(got) != want {
				t.Errorf("%s: %q has %d sentences to be claimed", code, text, len(got))
			}
		}
	}
}

// What is claimed holds in every order, with faults of every length that is tried.
func TestClaimsHold(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("TestEveryItemIsProven tries fewer lengths")
	}
	if err := whole(t).TryClaims(t.Context(), 2*course.Steps); err != nil {
		t.Error(err)
	}
}

// A claim is held to its orders, and to the sentences that make it.
func TestAClaimIsTried(t *testing.T) {
	t.Parallel()
	const item = `kind: read
    run:
      lock: {protocol: fenced, lease: 100ms, watchdog: 30ms, retry: {times: 14, interval: 25ms}}
      resource: {kind: counter, checks: token}
      threads: [{name: A, work: 40ms}, {name: B, start: 5ms, work: 20ms}]
    claims:
      - {id: kept, change: {resource: {checks: version}}, holds: [lost-update], within: {faults: [pause]}}
`
	const said = `It never is{{claim "kept"}}.`
	for _, c := range []struct{ name, old, new, said, want string }{
		{"as it is", "", "", said, ""},
		{"with a token, and a pause of 80 ms", "change: {resource: {checks: version}}, ", "", said, "orders break lost-update, such as ["},
		{"of nothing", "holds: [lost-update], ", "", said, `claim "kept": allowed: an id of its own`},
		{"of an unknown rule", "lost-update", "weather", said, `claim kept: there is no rule "weather"`},
		{"of an unknown option", "id: kept, ", "id: kept, option: cat, ", said, `the item has no option "cat"`},
		{"that nobody makes", "", "", "It is.", `no sentence of it makes the claim "kept"`},
		{"of any length, and no mend", "    claims:", "    within: {any-length: true}\n    claims:", said, "any-length is for items of the kind mend"},
		{"that is not there", "", "", said + ` Nor{{claim "cat"}}.`, `it has no claim "cat"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(item, c.old) {
				t.Fatalf("no %q", c.old)
			}
			fsys := fstest.MapFS{
				"0-one/chapter.yaml": {Data: fmt.Appendf(nil, "id: one\nminutes: 1\nitems:\n  - id: it\n    %s", strings.Replace(item, c.old, c.new, 1))},
				"0-one/en.md":        {Data: []byte("# One\n## It {#it}\n" + c.said + "\n")},
			}
			got, err := course.ReadCourse(words.All()[:1], fsys, lessons.Scenarios())
			if err == nil {
				err = got.Prove()
			}
			toldInChinese(t, err)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
