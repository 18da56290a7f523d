package course_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/course"
	"relock/engine/trial"
	"relock/lessons"
	"relock/web/words"
)

// getDel is a mutex whose unlock is two commands: what is between them can be
// broken, and mended.
const getDel = `
    run:
      lock: {protocol: mutex-get-del, lease: 100ms, watchdog: "off", retry: {times: 5, interval: 50ms}}
      threads: [{name: A, work: 80ms}, {name: B, start: 10ms, work: 80ms}]
`

// unlockScript has an item put together the script by which a mutex is unlocked.
const unlockScript = `kind: order
    scenario: mutex-get-del-foreign-release
    at: end
    script:
      lock: mutex
      name: mutex-unlock
      pieces: ["5", "6", "7", "8", "9"]
      cases: [{before: [[SET, key, A, PX, "100"]], args: [A]}, {before: [], args: [A]}]
      then: mutex-late-release
`

// loopIn is the number of a line of a script with a loop.
func loopIn(t *testing.T, lock, name string) string {
	t.Helper()
	lines, err := trial.Lines(lock, name)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "while true do") })
	if at < 0 {
		t.Fatalf("%s has no loop", name)
	}
	return strconv.Itoa(at + 1)
}

var idOfOption = regexp.MustCompile(`- \{id: ([a-z]+)`)

// Each kind of item is held to what it promises, by its runs and by searches: an
// item that gives itself away, cannot be solved, or has two right answers where one
// is to be found is a mistake.
func TestEachKindKeepsItsPromise(t *testing.T) {
	t.Parallel()
	with := func(old, replacement string) string {
		if !strings.Contains(unlockScript, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(unlockScript, old, replacement, 1)
	}
	const (
		why    = "kind: why\n    scenario: lease-expiry\n    at: end\n    goal: broken mutual-exclusion\n    options:\n"
		mend   = "kind: mend" + getDel + "    goal: broken foreign-release\n    within: {delays: 2}\n    options:\n"
		longer = "      - {id: longer, change: {lock: {lease: 1s}}}\n"
		faster = "      - {id: faster, change: {threads: [{name: A, work: 10ms}]}}\n"
		later  = "      - {id: later, change: {threads: [{name: B, start: 12ms}]}}\n"
		script = "      - {id: script, change: {lock: {protocol: mutex}}}\n"
		counts = "      - {id: counts, change: {lock: {protocol: reentrant}}}\n"
		twice  = "      - {id: patient, change: {lock: {retry: {times: 10}}}}\n"
		none   = "      - {id: other, none: true}\n"
	)
	for _, c := range []struct{ name, item, want string }{
		{"predict, of what was seen already", "kind: predict\n    scenario: lease-expiry\n    at: B acquired\n    until: A acquired\n    ask: [call A]\n    options:\n" + longer + faster, `until: "A acquired" is seen already`},
		{"why, with one cure", why + longer + later, ""},
		{"why, with two", why + longer + faster + later, "exactly one option is to prevent \"broken mutual-exclusion\"; these do: "},
		{"why, with none", why + later + twice, "exactly one option is to prevent"},
		{"why, where none of them is right", why + none + later + twice, ""},
		{"why, where none of them is wrong", why + none + longer + later, ""},
		{"why, where none of them changes something", why + later + longer + strings.Replace(none, "none: true", "none: true, change: {lock: {lease: 1s}}", 1), "none is for items of the kind why, and changes nothing"},
		{"mend, where none of them is right", mend + twice + script + none, "none is for items of the kind why"},
		{"why, of what does not happen", strings.Replace(why, "mutual-exclusion", "orphan", 1) + longer + later, "goal: the run never comes to"},
		{"mend, with one cure", mend + twice + script, ""},
		{"mend, with nothing but cures", mend + script + counts, "2 of 2 options mend it"},
		{"mend, without a cure", mend + twice + later, "0 of 2 options mend it"},
		{"mend, of what is whole", strings.Replace(mend, "mutex-get-del", "mutex", 1) + twice + counts, "there is nothing to mend"},
		{"break", "kind: break" + getDel + "    goal: broken foreign-release\n    within: {delays: 2}\n", ""},
		{"break, of what nobody can break", "kind: break" + getDel + "    goal: broken foreign-release\n    within: {delays: 1}\n", "no schedule within the bounds comes to"},
		{"break, of what breaks by itself", "kind: break\n    scenario: lease-expiry\n    goal: broken mutual-exclusion\n    within: {delays: 1}\n", "by itself"},
		{"break, with a solution", "kind: break" + getDel + "    goal: A crash\n    solution: [{thread: A, do: crash}]\n", ""},
		{"break, with one that goes on", "kind: break" + getDel + "    goal: A crash\n    solution: [{thread: A, do: crash}, 0]\n", "is reached after 1 moves already"},
		{"break, with one that does not", "kind: break" + getDel + "    goal: A crash\n    solution: [0]\n", "solution: it does not come to"},
		{"order", unlockScript, ""},
		{"order, with lines twice", with(`"6", "7"`, `"6", "6", "7"`), `given "6", allowed: lines up to`},
		{"order, with lines in another order", with(`"6", "7"`, `"7", "6"`), "allowed: lines up to"},
		{"order, without a line", with(`"6", "7"`, `"7"`), "line 6 belongs to none"},
		{"order, without its end", with(`, "9"`, ``), "line 9 belongs to no piece"},
		{"order, of a comment", with(`["5"`, `["1", "5"`), `"1" is a comment`},
		{"order, of a loop", with("      cases:", "      strays: [{lock: reentrant-fair, name: fair-lock, pieces: [\""+loopIn(t, "reentrant-fair", "fair-lock")+"\"]}]\n      cases:"), "would go round for ever"},
		{"order, without an owner", with("args: [A]", "args: []"), "args begin with the owner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prose := "# One\n## It {#it}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
			for _, m := range idOfOption.FindAllStringSubmatch(c.item, -1) {
				prose += "### " + m[1] + "\nThat.\n"
			}
			fsys := fstest.MapFS{"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems:\n  - id: it\n    " + c.item)}, "0-one/en.md": {Data: []byte(prose)}, "0-one/zh.md": {Data: []byte(prose)}}
			got, err := course.ReadCourse(words.All(), fsys, lessons.Scenarios())
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

// The concept check has causes and code, of which an answer is right or wrong at once.
func TestTheCheckHasCausesAndCode(t *testing.T) {
	t.Parallel()
	const again = "    again:\n      run: {threads: [{name: A}]}\n"
	for item, want := range map[string]string{
		"kind: read\n    scenario: crash\n" + again:                                                       "the concept check has items of the kinds why, rank, review and diagnose",
		"kind: review\n    review: settle\n    again:\n      review: refund\n      goal: broken orphan\n": "",
		"kind: review\n    review: refund\n    again:\n      review: settle\n      goal: broken orphan\n": "taught is one/it, which is extra",
	} {
		text := "# One\n"
		for _, id := range []string{"it", "it-again"} {
			text += "## It {#" + id + "}\nIt.\n### goal\nWhat?\n"
		}
		if want == "" {
			text += "### retry\nThat.\n### finally\nThat.\n"
		}
		files, err := fs.Glob(lessons.Course(), "review/*.*")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		fsys := fstest.MapFS{
			"0-one/chapter.yaml": {Data: fmt.Appendf(nil, "id: one\nminutes: 1\nitems: [{id: it, kind: read, extra: %t, scenario: crash}]\n", strings.Contains(want, "extra"))},
			"0-one/en.md":        {Data: []byte("# One\n## It {#it}\nIt.\n")},
			"9-two/chapter.yaml": {Data: []byte("id: two\nminutes: 1\ncheck: true\nitems:\n  - id: it\n    taught: one/it\n    " + item)},
			"9-two/en.md":        {Data: []byte(text)},
		}
		for _, name := range files {
			data, err := fs.ReadFile(lessons.Course(), name)
			if err != nil {
				t.Fatal(err)
			}
			fsys[name] = &fstest.MapFile{Data: data}
		}
		got, err := course.ReadCourse(words.All()[:1], fsys, lessons.Scenarios())
		if err == nil {
			err = got.Prove()
		}
		toldInChinese(t, err)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", item, err, want)
		}
	}
}

// The lab's findings must agree with its files, and with what an item asks.
func TestALabIsHeldToItsFiles(t *testing.T) {
	t.Parallel()
	const predict = "kind: predict\n    lab: lost\n    at: A lose-reply\n    until: A refused\n    ask: [call A, key]\n    options:\n" +
		"      - {id: never, lab: never-came, until: A acquired}\n      - {id: late, lab: too-late, until: A refused}\n"
	const mend = "kind: mend\n    lab: lost\n    goal: broken orphan\n    options:\n      - {id: patient, lab: lost-patient}\n      - {id: always, lab: lost-always}\n"
	for _, c := range []struct{ name, item, old, new, want string }{
		{"predict", predict, "", "", ""},
		{"mend", mend, "", "", ""},
		{"what nobody recorded", strings.Replace(predict, "lab: lost\n", "lab: nowhere\n", 1), "", "", "labs/nowhere.json"},
		{"a name with a way out", strings.Replace(predict, "lab: lost\n", "lab: ../lost\n", 1), "", "", `lab: given "../lost"`},
		{"an option that is played", strings.Replace(predict, "lab: too-late, until: A refused", "change: {lock: {lease: 1s}}", 1), "", "", "an option of a lab's trace is another one"},
		{"a change", strings.Replace(predict, "lab: lost\n", "lab: lost\n    change: {lock: {lease: 1s}}\n", 1), "", "", "cannot be changed"},
		{"both", strings.Replace(predict, "lab: lost\n", "lab: lost\n    scenario: crash\n", 1), "", "", "either scenario, run, lab or review"},
		{"something to step", "kind: break\n    lab: lost\n    goal: broken orphan\n    within: {delays: 1}\n", "", "", "nobody can step what a lab recorded"},
		{"nothing to mend", strings.Replace(mend, "broken orphan", "broken deadlock", 1), "", "", "there is nothing to mend"},
		{"an order that does not break it", strings.Replace(mend, "lab: lost\n", "lab: release-lost\n", 1), "", "", "does not come to \"broken orphan\""},
		{"counts of a search that was cut", mend, `"ending":"exhausted"`, `"ending":"bound"`, `it ended as "bound"`},
		{"counts that cannot be judged", mend, `"verdict":"broken"`, `"verdict":"unjudged"`, `its verdict is "unjudged"`},
		{"counts of another worker", mend, `["sh","script.sh"]`, `["sh","other.sh"]`, `lost.json of ["sh" "other.sh"]`},
		{"no counts", mend, `"orders":"92"`, `"orders":"-"`, "is no count"},
		{"no JSON", mend, `{"lab"`, `"lab"`, "labs/lost.json"},
		{"what is asked of a scenario", "kind: predict\n    scenario: lease-expiry\n    until: B acquired\n    ask: [broken orphan]\n    options:\n      - {id: x, change: {lock: {lease: 1s}}}\n      - {id: y, change: {lock: {lease: 2s}}}\n", "", "", "is asked of what a lab found"},
		{"no rule", strings.Replace(predict, "[call A, key]", "[broken weather]", 1), "", "", `there is no rule "weather"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prose := "# One\n## It {#it}\nIt.\n### goal\nWhat?\n### nudge\nThink.\n### after\nSo.\n"
			for _, m := range idOfOption.FindAllStringSubmatch(c.item, -1) {
				prose += "### " + m[1] + "\nThat.\n"
			}
			fsys := fstest.MapFS{"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems:\n  - id: it\n    " + c.item)}, "0-one/en.md": {Data: []byte(prose)}}
			files, err := fs.Glob(lessons.Course(), "labs/*")
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, name := range files {
				data, err := fs.ReadFile(lessons.Course(), name)
				if err != nil {
					t.Fatal(err)
				}
				if name == "labs/lost.json" && c.old != "" {
					if !strings.Contains(string(data), c.old) {
						t.Fatalf("no %s in %s", c.old, data)
					}
					data = []byte(strings.Replace(string(data), c.old, c.new, 1))
				}
				fsys[name] = &fstest.MapFile{Data: data}
			}
			got, err := course.ReadCourse(words.All(), fsys, lessons.Scenarios())
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
