package lesson_test

import (
	"flag"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"relock/lessons"
	"relock/lessons/lessonstest"
	"relock/web/lesson"
)

var updateSchema = flag.Bool("update-schema", false, "write the schema beside the workshops again")

// The schema takes a lesson in each of its forms: as people write it, as we do, and as
// JSON.
func TestTheSchemaTakesEveryLesson(t *testing.T) {
	s := lessonstest.Schema(t, lesson.Schema())
	files, err := fs.Glob(lessons.Workshops(), "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	texts := map[string]string{
		"whole":            whole,
		"its own scenario": "title: x\nsteps:\n- scenario: {threads: [{name: A}, {name: B}], schedule: [1, 0]}\n  at: T2\n- {at: T0, notes: }\n- chapter: lease",
	}
	for _, file := range files {
		data, err := fs.ReadFile(lessons.Workshops(), file)
		if err != nil {
			t.Fatal(err)
		}
		if lessonstest.SchemaOf(data) != "../schema/lesson.json" {
			t.Errorf("%s does not begin with # yaml-language-server: $schema=../schema/lesson.json", file)
		}
		texts[file] = string(data)
	}
	for name, text := range texts {
		read, err := lesson.Parse([]byte(text))
		if err != nil {
			t.Fatal(name, err)
		}
		written, err := read.YAML()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text, string(written)} {
			var document any
			if err := yaml.Unmarshal([]byte(form), &document); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(document); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The schema refuses what Parse refuses. What it cannot see is listed.
func TestTheSchemaOfALessonRefuses(t *testing.T) {
	s := lessonstest.Schema(t, lesson.Schema())
	unseen := []string{
		"the first step, and the one after a chapter", "a step is in one scenario",
		"has its own place", "only a step in an item", "an item asks at its own place", "a chapter asks its own", "two options of a question are the same",
		"by its number from 1", "asks one question", "T0 to T10000",
	}
	seen := map[string]int{}
	for text, says := range mistakes() {
		var document any
		err := yaml.Unmarshal([]byte(text), &document)
		if err == nil {
			err = s.Validate(document)
		}
		why := slices.IndexFunc(unseen, func(one string) bool { return strings.Contains(says, one) })
		switch {
		case err == nil && why < 0:
			t.Errorf("the schema takes %q, of which Parse says: %s", text, says)
		case err == nil:
			seen[unseen[why]]++
		}
	}
	for _, one := range unseen {
		if _, ok := seen[one]; !ok {
			t.Errorf("the schema sees %q now: take it off the list", one)
		}
	}
}

// The schema and Parse know the same keys.
func TestTheSchemaOfALessonHasTheKeysThatAreRead(t *testing.T) {
	properties := func(schema any, path ...string) []string {
		for _, key := range path {
			schema = schema.(map[string]any)[key]
		}
		return slices.Sorted(maps.Keys(schema.(map[string]any)))
	}
	s := lesson.Schema()
	step := []string{"properties", "steps", "items", "properties"}
	for text, has := range map[string][]string{
		"no: x":                                  properties(s, "properties"),
		"title: x\nsteps: [{no: x}]":             properties(s, step...),
		"title: {no: x}":                         slices.Sorted(maps.Keys(s["properties"].(map[string]any)["title"].(map[string]any)["anyOf"].([]any)[1].(map[string]any)["properties"].(map[string]any))),
		"title: x\nsteps: [{question: {no: x}}]": properties(s, append(step, "question", "properties")...),
	} {
		_, err := lesson.Parse([]byte(text))
		_, list, ok := strings.Cut(err.Error(), "allowed: ")
		keys := strings.Split(list, ", ")
		slices.Sort(keys)
		if diff := cmp.Diff(keys, has); !ok || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

// Each key of a step has a description of its own.
func TestEachKeyOfAStepIsDescribed(t *testing.T) {
	steps := lesson.Schema()["properties"].(map[string]any)["steps"].(map[string]any)
	of := map[any]string{}
	for key, s := range steps["items"].(map[string]any)["properties"].(map[string]any) {
		says := s.(map[string]any)["description"]
		if other, twice := of[says]; twice || says == nil {
			t.Errorf("%s says %q, like %s", key, says, other)
		}
		of[says] = key
	}
}

// Editors read the schema from a file beside the workshops.
func TestTheSchemaBesideTheWorkshopsIsTheSchema(t *testing.T) {
	lessonstest.SchemaIsKept(t, lesson.Schema(), "lesson.json", *updateSchema)
}
