package scenario

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"relock/engine/fault"
)

// Each key that is read by the table has a field, which has values of its kind; and each field a key.
func TestKeysAndFieldsBelongTogether(t *testing.T) {
	for _, part := range []struct {
		keys Keys
		of   any
	}{
		{scenarioKeys, Scenario{}},
		{lockKeys, Lock{}},
		{retryKeys, Retry{}},
		{threadKeys, Thread{}},
		{resourceKeys, Resource{}},
		{faultKeys, Fault{}},
		{expectKeys, Expect{}},
		{exploredKeys, Explored{}},
	} {
		fields := reflect.ValueOf(part.of)
		for i := range fields.NumField() {
			if name, _ := tagOf(fields, i); name != "" && !slices.Contains(part.keys.Names(), name) {
				t.Errorf("%T has a field for %s, which is no key", part.of, name)
			}
		}
		for _, key := range part.keys {
			into, ok := field(fields, key.Name)
			if !ok && key.Values.read != nil {
				t.Errorf("%T has no field for the key %s", part.of, key.Name)
			}
			if ok && key.Values.read != nil && key.Usual != nil && reflect.TypeOf(key.Usual) != into.Type() {
				t.Errorf("%T: what %s usually is, is a %T", part.of, key.Name, key.Usual)
			}
			if key.Values.schema == nil || key.Says == "" {
				t.Errorf("%T: %s says nothing to editors", part.of, key.Name)
			}
		}
	}
}

func TestEachDetailOfAFaultIsAKey(t *testing.T) {
	for _, kind := range fault.Kinds() {
		for _, name := range slices.Concat(kind.Fields, kind.Optional) {
			if !slices.Contains(faultKeys.Names(), name) {
				t.Errorf("%s has the detail %s, which is no key of a fault", kind.Name, name)
			}
		}
	}
}

func TestKeysAreFoundByTheirPlaces(t *testing.T) {
	for place, name := range map[string]string{
		"title": "title", "lock.retry.times": "times", "threads[12].name": "name", "defaults.retry.wait": "wait",
		"faults[0].lose": "lose", "lock.scripts.renew": "renew", "resource.once-per": "once-per",
		"defaults.name": "", "threads.name": "", "threads[100].name": "", "lock[0].key": "", "nothing": "", "title.x": "", "": "",
	} {
		if key, ok := KeyAt(place); key.Name != name || ok != (name != "") {
			t.Errorf("at %q is the key %q, %v, want %q", place, key.Name, ok, name)
		}
	}
}

func TestScenariosNamesEveryKey(t *testing.T) {
	document, err := os.ReadFile("../../lessons/docs/SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	var in func(keys Keys)
	in = func(keys Keys) {
		for _, key := range keys {
			if !regexp.MustCompile(`\b` + key.Name + `(: |:` + "`" + `|:\n)`).Match(document) {
				t.Errorf("SCENARIOS does not say what %s: is", key.Name)
			}
			in(key.Values.Keys)
		}
	}
	in(scenarioKeys)
}
