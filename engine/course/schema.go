package course

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"relock/engine/fault"
	"relock/engine/scenario"
)

// Schema returns the JSON Schema of a chapter.yaml: draft-07, made of the types that
// a chapter is decoded into. What an item asks for, its moments, and whether an option
// differs from what is right only Read refuses. The result is the caller's own.
func Schema() scenario.Object {
	run := scenario.Schema()
	delete(run, "$schema")
	m := &schemaMaker{of: scenario.Object{}}
	item := m.object(reflect.TypeFor[itemYAML]())
	again := item
	item = scenario.Required(item, "id", "kind")
	item["oneOf"] = []any{needing("scenario"), needing("run"), needing("lab"), needing("review")}
	var byKind []any
	for _, k := range slices.SortedFunc(slices.Values(kinds), func(a, b *kind) int { return cmp.Compare(a.name, b.name) }) {
		then := needing(k.needs...)
		if k.most > 0 {
			options := scenario.Object{"minItems": k.least}
			if k.most < manyOptions {
				options["maxItems"] = k.most
			}
			then["properties"] = scenario.Object{"options": options}
			then = scenario.Required(then, append(slices.Clone(k.needs), "options")...)
		}
		byKind = append(byKind, scenario.Object{"if": scenario.Object{"properties": scenario.Object{"kind": scenario.Object{"const": string(k.name)}}, "required": []string{"kind"}}, "then": then})
	}
	item["allOf"] = byKind
	s := m.object(reflect.TypeFor[chapterYAML]())
	s["$schema"], s["title"], s["description"] = scenario.Dialect, "Relock chapter", "A chapter of a course: what is asked, of which run, and what is right."
	s["definitions"] = scenario.Object{"scenario": run, "item": item, "again": again}
	return scenario.Required(s, "id", "items")
}

func needing(keys ...string) scenario.Object {
	return scenario.Object{"required": append([]string{}, keys...)}
}

// schemaMaker makes schemas of the types that YAML is decoded into.
type schemaMaker struct{ of scenario.Object }

func (m *schemaMaker) object(t reflect.Type) scenario.Object {
	properties := scenario.Object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if how == "inline" {
			inner, _ := m.object(f.Type)["properties"].(scenario.Object)
			maps.Copy(properties, inner)
			continue
		}
		properties[name] = m.value(cmp.Or(name, f.Name), f.Type)
	}
	return scenario.MapOf(properties)
}

// value is the schema of a key's value.
func (m *schemaMaker) value(key string, t reflect.Type) scenario.Object {
	switch {
	case t == reflect.TypeFor[yaml.Node]():
		return nodes(key)
	case t == reflect.TypeFor[*itemYAML]():
		return scenario.Object{"$ref": "#/definitions/again"}
	case t == reflect.TypeFor[itemYAML]():
		return scenario.Object{"$ref": "#/definitions/item"}
	case t == reflect.TypeFor[placed](), t.Kind() == reflect.String:
		return texts(key)
	case t.Kind() == reflect.Int:
		return scenario.Object{"type": "integer", "minimum": 0}
	case t.Kind() == reflect.Bool:
		return scenario.Object{"type": "boolean"}
	case t.Kind() == reflect.Slice:
		return scenario.Object{"type": "array", "items": m.value(key, t.Elem())}
	default:
		return m.object(t)
	}
}

// texts is the schema of a text, by its key.
func texts(key string) scenario.Object {
	text := scenario.Object{"type": []string{"string", "number"}}
	switch key {
	case "id":
		text["pattern"] = name.String()
	case "kind":
		list := make([]string, len(kinds))
		for i, k := range kinds {
			list[i] = string(k.name)
		}
		return scenario.Object{"enum": list}
	case "table":
		return scenario.Object{"enum": []string{"textbook"}}
	case "controls":
		return scenario.Object{"enum": append([]string{"time"}, fault.Names()...)}
	case "faults":
		return scenario.Object{"enum": fault.Names()}
	}
	return text
}

// nodes is the schema of what is read by itself, by its key.
func nodes(key string) scenario.Object {
	switch key {
	case "run":
		return scenario.Object{"$ref": "#/definitions/scenario"}
	case "solution":
		return scenario.Object{"type": []string{"array", "string"}}
	default: // change, helps: a part of a scenario, where null takes away
		return scenario.Object{"type": "object"}
	}
}
