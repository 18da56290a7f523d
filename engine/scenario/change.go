package scenario

import (
	"errors"
	"fmt"
	"slices"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

// Changed is the scenario in base, YAML, with a change merged into it and without
// what it expects: an expectation is of the scenario as it was. A change has the
// keys of a scenario: maps are merged key by key, where nil removes a key, and
// lists of named entries name by name, where "absent: true" removes one; anything
// else takes the place of what was there. It fails with the first mistake, by its
// key: its lines would belong to a text that nobody sees.
func Changed(base []byte, with map[string]any) (*Scenario, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(base, &tree); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	delete(tree, "expect")
	if tree == nil {
		tree = map[string]any{}
	}
	if with != nil {
		tree, _ = merge(tree, with).(map[string]any) // of two maps
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	sc, err := Parse(text)
	var mistakes Mistakes
	if errors.As(err, &mistakes) {
		return nil, phrase.New("%s: given %s, allowed: %s", mistakes[0].Key, mistakes[0].Given, mistakes[0].Allowed)
	}
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return sc, nil
}

// Change is [Changed] of s, which stays as it is.
func (s *Scenario) Change(with map[string]any) (*Scenario, error) {
	base, err := s.Compact()
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Changed(base, with)
}

// merge puts a change over a value.
func merge(into, with any) any {
	a, aMap := into.(map[string]any)
	b, bMap := with.(map[string]any)
	if aMap && bMap {
		for key, value := range b {
			if value == nil {
				delete(a, key)
				continue
			}
			a[key] = merge(a[key], value)
		}
		return a
	}
	x, xList := into.([]any)
	y, yList := with.([]any)
	if !xList || !yList {
		return with
	}
	for _, one := range y {
		entry, ok := one.(map[string]any)
		if !ok || entry["name"] == nil {
			return with
		}
		at := slices.IndexFunc(x, func(o any) bool {
			other, ok := o.(map[string]any)
			return ok && other["name"] == entry["name"]
		})
		switch {
		case at < 0:
			x = append(x, entry)
		case len(entry) == 2 && entry["absent"] == true:
			x = slices.Delete(x, at, at+1)
		default:
			x[at] = merge(x[at], entry)
		}
	}
	return x
}
