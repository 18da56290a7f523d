package lesson_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/lesson"
	"relock/web/link"
)

const whole = `
title: {en: "Who holds it?", zh-CN: "谁持有它？"}
steps:
  - {example: lease-expiry, at: T5, hold: true, ask: predict, notes: "Let them\ntalk."}
  - notes: still there
  - {at: T0, hold: false}
  - {item: lease/who-knows, ask: item}
  - {link: v1.z.abc~3, title: Mine}
  - question: {text: "Who is in?", options: [A, {en: nobody, zh-CN: 没有人}], right: 2}
`

func TestALessonIsAFileAndALink(t *testing.T) {
	want, err := lesson.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	steps := []lesson.Step{
		{Place: lesson.Place{Example: "lease-expiry", At: "T5"}, Hold: &yes, Ask: "predict", Notes: lesson.Words{"en": "Let them\ntalk."}},
		{Place: lesson.Place{Example: "lease-expiry", At: "T5"}, Notes: lesson.Words{"en": "still there"}},
		{Place: lesson.Place{Example: "lease-expiry"}, Hold: &no},
		{Place: lesson.Place{Item: "lease/who-knows"}, Ask: "item"},
		{Place: lesson.Place{Link: "v1.z.abc~3"}, Title: lesson.Words{"en": "Mine"}},
		{Place: lesson.Place{Link: "v1.z.abc~3"}, Question: &lesson.Question{Text: lesson.Words{"en": "Who is in?"}, Options: []lesson.Words{{"en": "A"}, {"en": "nobody", "zh-CN": "没有人"}}, Right: 2}},
	}
	if diff := cmp.Diff(&lesson.Lesson{Title: lesson.Words{"en": "Who holds it?", "zh-CN": "谁持有它？"}, Steps: steps}, want); diff != "" {
		t.Error(diff)
	}
	file, err := want.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := lesson.Parse(file)
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Error("as a file: ", err, diff, string(file))
	}
	packed, err := want.Link()
	if err != nil || !lesson.IsLink(packed) {
		t.Fatal(packed, err)
	}
	again, err = lesson.FromLink(packed)
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Error("as a link: ", err, diff)
	}
	if _, err := lesson.FromLink(packed[:len(packed)-5]); !errors.Is(err, link.ErrBroken) {
		t.Errorf("a link cut short: %v", err)
	}
	if _, err := lesson.FromLink(strings.Replace(packed, "l1", "l2", 1)); !errors.Is(err, link.ErrVersion) {
		t.Errorf("a link of another version: %v", err)
	}
}

// A file has a scenario of one's own as it was written, once for all steps that are in
// it; it is the same lesson as with a link to its start.
func TestALessonHasItsScenario(t *testing.T) {
	const file = `
title: Mine
steps:
  - scenario:
      title: Two of mine
      threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]
      lock:
        protocol: own
        lease: 200ms
        like: mutex
        scripts:
          unlock: |
            -- whoever asks
            return redis.call("DEL", KEYS[1])
      schedule: [1, 0, 0]
    at: T2
    ask: predict
  - notes: still there
  - {at: T0, title: Again}
  - {chapter: lease, notes: theirs}
  - {example: mutex}
`
	read, err := lesson.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	own, err := link.Decode(read.Steps[0].Link)
	if err != nil || own.At != 0 || len(own.Scenario.Schedule) != 3 || own.Scenario.Title != "Two of mine" {
		t.Fatalf("the scenario is %+v: %v", own, err)
	}
	here := lesson.Place{Link: read.Steps[0].Link, At: "T2"}
	want := []lesson.Step{
		{Place: here, Ask: "predict"},
		{Place: here, Notes: lesson.Plain("still there")},
		{Place: lesson.Place{Link: here.Link}, Title: lesson.Plain("Again")},
		{Chapter: "lease", Notes: lesson.Plain("theirs")},
		{Place: lesson.Place{Example: "mutex"}},
	}
	if diff := cmp.Diff(want, read.Steps); diff != "" {
		t.Error(diff)
	}
	text, err := read.YAML()
	if err != nil || strings.Count(string(text), "scenario:") != 1 || strings.Contains(string(text), "v1.z.") || !strings.Contains(string(text), "start: 10ms") {
		t.Errorf("%v: the file is\n%s", err, text)
	}
	again, err := lesson.Parse(text)
	if diff := cmp.Diff(read, again); err != nil || diff != "" {
		t.Error("as a file: ", err, diff)
	}
	packed, err := read.Link()
	if err != nil {
		t.Fatal(err)
	}
	again, err = lesson.FromLink(packed)
	if diff := cmp.Diff(read, again); err != nil || diff != "" {
		t.Error("as a link: ", err, diff)
	}
	if lines := lesson.Lines([]byte(file)); !slices.Equal(lines, []int{4, 18, 19, 20, 21}) {
		t.Errorf("its steps begin on the lines %v", lines)
	}

	// Where all scenarios are too long for a file as they are, links are in their places.
	long := strings.Builder{}
	long.WriteString("title: Many\nsteps:\n")
	for n := range lesson.MaxSteps {
		fmt.Fprintf(&long, "- {link: %s}\n", must(t, link.Contents{Scenario: own.Scenario.WithSchedule(make([]scenario.Move, 300+n))}))
	}
	if read, err = lesson.Parse([]byte(long.String())); err != nil {
		t.Fatal(err)
	}
	if text, err = read.YAML(); err != nil || len(text) > lesson.MaxBytes || strings.Contains(string(text), "scenario:") {
		t.Errorf("a long file has %d bytes: %v", len(text), err)
	}
}

func must(t *testing.T, c link.Contents) string {
	t.Helper()
	text, err := link.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mistakes are files that are no lesson, and what each is told.
func mistakes() map[string]string {
	step := "title: x\nsteps:\n- "
	question := step + "example: a\n  question: "
	return map[string]string{
		"":                                      "line 1 of the lesson: given nothing, allowed: one YAML or JSON document with title and steps",
		"\t":                                    "line 1 of the lesson: given something that is not YAML (found character that cannot start any token), allowed: one YAML or JSON document with title and steps",
		"title: x\nsteps: [{example: a}":        "line 1 of the lesson: given something that is not YAML (did not find expected ',' or ']'), allowed: one YAML or JSON document with title and steps",
		"[]":                                    "line 1 of the lesson: given a list, allowed: a map with the keys title, steps",
		"title: x\n---\ntitle: y":               "line 2 of the lesson: given a second document, allowed: one YAML or JSON document with title and steps",
		"title: x\nsteps: []":                   "line 2 of the lesson: steps is a list of 1 to 60 steps",
		"title: x":                              "line 1 of the lesson: steps is a list of 1 to 60 steps",
		"steps:\n- example: a":                  "line 1 of the lesson: a lesson needs a title",
		"title: x\nstep:\n- example: a":         `line 2 of the lesson: given the key "step" (did you mean steps?), allowed: title, steps`,
		"title: x\ntitle: y":                    "line 2 of the lesson: title: given the key a second time, allowed: each key once",
		"title: {fr: x}":                        `line 1 of the lesson: title: given the key "fr", allowed: en, zh-CN`,
		"title: [x]":                            "line 1 of the lesson: title is a text, or one for each language",
		"title: " + strings.Repeat("x", 121):    "line 1 of the lesson: title has at most 120 characters",
		`title: "a\x07b"`:                       "line 1 of the lesson: title has invisible characters",
		step + "at: T5":                         "line 3 of the lesson: the first step, and the one after a chapter, needs a scenario: example, scenario, link or item",
		step + "example: a\n  note: x":          `line 4 of the lesson: steps[0]: given the key "note" (did you mean notes?), allowed: title, example, scenario, link, item, chapter, at, hold, minutes, ask, question, notes`,
		step + "example: a\n  item: b":          "line 3 of the lesson: a step is in one scenario: say example, scenario, link, item or chapter",
		step + "example:":                       "line 3 of the lesson: example is a text",
		step + "example: a\n  at: 5":            "line 4 of the lesson: at is a row of the run, T0 to T10000",
		step + "example: a\n  at: T05":          "line 4 of the lesson: at is a row of the run, T0 to T10000",
		step + "example: a\n  at: T10001":       "line 4 of the lesson: at is a row of the run, T0 to T10000",
		step + "link: a\n  at: T5":              "line 3 of the lesson: a link has its own place after the ~: leave out at",
		step + "example: a\n  hold: maybe":      "line 4 of the lesson: hold is true or false",
		step + "example: a\n  ask: why":         "line 4 of the lesson: ask is predict or item; a question of your own is a question",
		step + "example: a\n  ask: item":        "line 3 of the lesson: only a step in an item of the course can ask what the item asks",
		step + "item: a\n  at: T5\n  ask: item": "line 3 of the lesson: an item asks at its own place: leave out at",
		step + "scenario: 7":                    "line 3 of the lesson: scenario: given \"7\", allowed: a map with the keys title, kind, lock, locks, resource, threads, defaults, faults, seed, policy, schedule, expect",
		step + "scenario:\n    threads:\n    - name: A\n      work: soon": "line 6 of the lesson: scenario.threads[0].work: given \"soon\", allowed: a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to 1h",
		step + "scenario: {threads: [{name: A}]}\n  example: a":           "line 3 of the lesson: a step is in one scenario: say example, scenario, link, item or chapter",
		step + "chapter: lease\n  at: T5":                                 "line 3 of the lesson: a chapter asks its own questions, each at its place: leave out at, ask and question",
		step + "chapter: lease\n- at: T5":                                 "line 4 of the lesson: the first step, and the one after a chapter, needs a scenario: example, scenario, link or item",
		question + "x":                                                    `line 4 of the lesson: steps[0].question: given "x", allowed: a map with the keys text, options, right`,
		question + "{options: [a, b], right: 1}":                          "line 4 of the lesson: a question needs a text",
		question + "{text: x, options: a, right: 1}":                      "line 4 of the lesson: options is a list of 2 to 6",
		question + "{text: x, options: [a], right: 1}":                    "line 4 of the lesson: a question has 2 to 6 options",
		question + "{text: x, options: [a, b, c, d, e, f, g], right: 1}":  "line 4 of the lesson: a question has 2 to 6 options",
		question + "{text: x, options: [a, a], right: 1}":                 "line 4 of the lesson: two options of a question are the same",
		question + `{text: x, options: [a, ""], right: 1}`:                "line 4 of the lesson: an option has 1 to 120 characters",
		question + "{text: x, options: [a, b], right: 3}":                 "line 4 of the lesson: say which option is right, by its number from 1",
		question + "{text: x, options: [a, b], right: b}":                 "line 4 of the lesson: right is the number of the right option, from 1",
		question + "{text: x, options: [a, b], right: 1}\n  ask: predict": "line 3 of the lesson: a step asks one question: ask or question",
	}
}

// One sentence says what is wrong, with the line.
func TestMistakes(t *testing.T) {
	for text, want := range mistakes() {

		_, err := lesson.Parse([]byte(text))
		var m *lesson.Mistake
		if !errors.As(err, &m) || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := lesson.Parse([]byte("title: x #" + strings.Repeat("x", lesson.MaxBytes))); !errors.Is(err, lesson.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	if _, err := lesson.Parse([]byte("title: x\nsteps:\n" + strings.Repeat("- example: a\n", lesson.MaxSteps+1))); err == nil {
		t.Error("it may have more steps")
	}
}

// Whatever is sent is a lesson, which is written and read again as the same, or
// it is refused with a sentence.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"title":"x","steps":[{"example":"a","at":"T3"},{"question":{"text":"?","options":["a","b"],"right":1}}]}`))
	f.Add([]byte("title: x\nsteps:\n- scenario: {threads: [{name: A}, {name: B}], schedule: [1, 0]}\n  at: T2\n- {at: T0}\n- chapter: lease"))
	f.Add([]byte("title: &a x\nsteps: [*a]"))
	f.Add([]byte("title: x\nsteps: [{example: !!binary aGk=}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := lesson.Parse(text)
		if err != nil {
			if _, speaks := phrase.Of(err); !speaks {
				t.Fatal(err)
			}
			return
		}
		file, err := read.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if len(file) <= lesson.MaxBytes {
			again, err := lesson.Parse(file)
			if diff := cmp.Diff(read, again); err != nil || diff != "" {
				t.Fatal(fmt.Sprintf("%q: ", file), err, diff)
			}
		}
		packed, err := read.Link()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := lesson.FromLink(packed); err == nil {
			if diff := cmp.Diff(read, again); diff != "" {
				t.Fatal(packed, diff)
			}
		}
	})
}
