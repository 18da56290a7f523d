package scenario_test

import (
	"flag"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"relock/engine/scenario"
	"relock/engine/strict"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

var update = flag.Bool("update", false, "write the schema beside the scenarios again")

func TestTheSchemaTakesEveryScenario(t *testing.T) {
	s := lessonstest.Schema(t, scenario.Schema())
	files, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	texts := map[string]string{"full": full, "as it is printed": printedText}
	incidents, err := fs.Glob(lessons.IncidentFiles(), "*.yaml")
	if err != nil || len(incidents) == 0 {
		t.Fatal(err)
	}
	for _, file := range append(incidents, files...) {
		from := lessons.Scenarios()
		if slices.Contains(incidents, file) {
			from = lessons.IncidentFiles()
		}
		data, err := fs.ReadFile(from, file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(data)
		if lessonstest.SchemaOf(data) != "../schema/scenario.json" {
			t.Errorf("%s does not begin with # yaml-language-server: $schema=../schema/scenario.json", file)
		}
	}
	for name, text := range texts {
		var document any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []func() ([]byte, error){sc.MarshalJSON, sc.Compact} {
			written, err := form()
			if err != nil {
				t.Fatal(err)
			}
			again, err := jsonschema.UnmarshalJSON(strings.NewReader(string(written)))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(again); err != nil {
				t.Errorf("%s, as it is written: %v\n%s", name, err, written)
			}
		}
	}
}

// The schema refuses what Parse refuses, or the test says why it cannot.
func TestTheSchemaRefusesWhatParseRefuses(t *testing.T) {
	s := lessonstest.Schema(t, scenario.Schema())
	alike := 0
	for _, c := range refused {
		var document any
		err := yaml.Unmarshal([]byte(c.text), &document)
		if err == nil {
			err = s.Validate(document)
		}
		switch {
		case err == nil && c.alone == "":
			t.Errorf("%s: the schema takes %q", c.name, c.text)
		case err != nil && c.alone != "":
			t.Errorf("%s: it is said that the schema cannot refuse it (%s), and it does: %v", c.name, c.alone, err)
		case err != nil:
			alike++
		}
	}
	if alike < 30 || len(refused) < 40 {
		t.Errorf("only %d of %d mistakes are refused alike", alike, len(refused))
	}
}

// A key that Parse reads has its own schema, and a text for an editor.
func TestEveryKeyHasASchema(t *testing.T) {
	var walk func(at string, s any)
	walk = func(at string, s any) {
		switch s := s.(type) {
		case strict.Object:
			if properties, ok := s["properties"].(strict.Object); ok && s["additionalProperties"] == false {
				for key, one := range properties {
					if part, ok := one.(strict.Object); !ok || len(part) == 0 || part["description"] == nil {
						t.Errorf("%s.%s has no schema of its own, or says nothing: %v", at, key, one)
					}
				}
			}
			for key, one := range s {
				walk(at+"."+key, one)
			}
		case []any:
			for _, one := range s {
				walk(at, one)
			}
		}
	}
	walk("", scenario.Schema())
}

// Editors read the schema from a file beside the scenarios.
func TestTheSchemaBesideTheScenariosIsTheSchema(t *testing.T) {
	lessonstest.SchemaIsKept(t, scenario.Schema(), "scenario.json", *update)
}
