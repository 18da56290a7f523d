package course_test

import (
	"flag"
	"io/fs"
	"testing"

	"go.yaml.in/yaml/v3"

	"relock/engine/course"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

var updateSchema = flag.Bool("update-schema", false, "write the schema beside the course again")

func TestTheSchemaTakesEveryChapter(t *testing.T) {
	s := lessonstest.Schema(t, course.Schema())
	files, err := fs.Glob(lessons.Course(), "*/chapter.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(lessons.Course(), file)
		if err != nil {
			t.Fatal(err)
		}
		if lessonstest.SchemaOf(data) != "../../schema/chapter.json" {
			t.Errorf("%s does not begin with # yaml-language-server: $schema=../../schema/chapter.json", file)
		}
		var document any
		if err := yaml.Unmarshal(data, &document); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheSchemaOfAChapterRefuses(t *testing.T) {
	s := lessonstest.Schema(t, course.Schema())
	for name, text := range map[string]string{
		"nothing":                  "{}",
		"no items":                 "{id: a}",
		"an unknown key":           "{id: a, items: [], minute: 3}",
		"an unknown kind":          "{id: a, items: [{id: x, kind: guess, scenario: fair}]}",
		"a capital in an id":       "{id: a, items: [{id: X, kind: read, scenario: fair}]}",
		"no run":                   "{id: a, items: [{id: x, kind: read}]}",
		"two runs":                 "{id: a, items: [{id: x, kind: read, scenario: fair, run: {threads: [{name: A}]}}]}",
		"a run with a mistake":     "{id: a, items: [{id: x, kind: read, run: {threads: [{name: A, depth: 99}]}}]}",
		"predict without ask":      "{id: a, items: [{id: x, kind: predict, scenario: fair, until: end, options: [{id: p}, {id: q}]}]}",
		"predict with one option":  "{id: a, items: [{id: x, kind: predict, scenario: fair, until: end, ask: [key], options: [{id: p}]}]}",
		"why without a goal":       "{id: a, items: [{id: x, kind: why, scenario: fair, options: [{id: p}, {id: q}]}]}",
		"an unknown control":       "{id: a, items: [{id: x, kind: read, scenario: fair, controls: [rain]}]}",
		"an unknown fault, within": "{id: a, items: [{id: x, kind: break, goal: broken stuck, scenario: fair, within: {faults: [rain]}}]}",
	} {
		var document any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(document); err == nil {
			t.Errorf("%s: the schema takes %s", name, text)
		}
	}
}

// Editors read the schema from a file beside the course.
func TestTheSchemaBesideTheCourseIsTheSchema(t *testing.T) {
	lessonstest.SchemaIsKept(t, course.Schema(), "chapter.json", *updateSchema)
}
