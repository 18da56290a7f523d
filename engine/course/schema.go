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
	"relock/engine/strict"
)

// Schema returns the JSON Schema of a chapter.yaml: draft-07, made of the types that
// a chapter is decoded into. What an item asks for, its moments, and whether an option
// differs from what is right only Read refuses. The result is the caller's own.
func Schema() strict.Object {
	run := scenario.Schema()
	delete(run, "$schema")
	m := &schemaMaker{of: strict.Object{}}
	item := m.object(reflect.TypeFor[itemYAML]())
	again := item
	item = strict.Required(item, "id", "kind")
	item["oneOf"] = []any{needing("scenario"), needing("run"), needing("lab"), needing("review")}
	var byKind []any
	for _, k := range slices.SortedFunc(slices.Values(kinds), func(a, b *kind) int { return cmp.Compare(a.name, b.name) }) {
		then := needing(k.needs...)
		if k.most > 0 {
			options := strict.Object{"minItems": k.least}
			if k.most < manyOptions {
				options["maxItems"] = k.most
			}
			then["properties"] = strict.Object{"options": options}
			then = strict.Required(then, append(slices.Clone(k.needs), "options")...)
		}
		byKind = append(byKind, strict.Object{"if": strict.Object{"properties": strict.Object{"kind": strict.Object{"const": string(k.name)}}, "required": []string{"kind"}}, "then": then})
	}
	item["allOf"] = byKind
	s := m.object(reflect.TypeFor[chapterYAML]())
	s["$schema"], s["title"], s["description"] = strict.Dialect, "Relock chapter", "A chapter of a course: what is asked, of which run, and what is right."
	s["definitions"] = strict.Object{"scenario": run, "item": item, "again": again}
	return strict.Required(s, "id", "items")
}

func needing(keys ...string) strict.Object {
	return strict.Object{"required": append([]string{}, keys...)}
}

// schemaMaker makes schemas of the types that YAML is decoded into.
type schemaMaker struct{ of strict.Object }

func (m *schemaMaker) object(t reflect.Type) strict.Object {
	properties := strict.Object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if how == "inline" {
			inner, _ := m.object(f.Type)["properties"].(strict.Object)
			maps.Copy(properties, inner)
			continue
		}
		properties[name] = m.value(cmp.Or(name, f.Name), f.Type)
	}
	return strict.MapOf(properties)
}

// value is the schema of a key's value.
func (m *schemaMaker) value(key string, t reflect.Type) strict.Object {
	switch {
	case t == reflect.TypeFor[yaml.Node]():
		return nodes(key)
	case t == reflect.TypeFor[*itemYAML]():
		return strict.Object{"$ref": "#/definitions/again"}
	case t == reflect.TypeFor[itemYAML]():
		return strict.Object{"$ref": "#/definitions/item"}
	case t == reflect.TypeFor[placed](), t.Kind() == reflect.String:
		return texts(key)
	case t.Kind() == reflect.Int:
		return strict.Object{"type": "integer", "minimum": 0}
	case t.Kind() == reflect.Bool:
		return strict.Object{"type": "boolean"}
	case t.Kind() == reflect.Slice:
		return strict.Object{"type": "array", "items": m.value(key, t.Elem())}
	default:
		return m.object(t)
	}
}

// texts is the schema of a text, by its key.
func texts(key string) strict.Object {
	text := strict.Object{"type": []string{"string", "number"}}
	switch key {
	case "id":
		text["pattern"] = name.String()
	case "kind":
		list := make([]string, len(kinds))
		for i, k := range kinds {
			list[i] = string(k.name)
		}
		return strict.Object{"enum": list}
	case "table":
		return strict.Object{"enum": []string{"textbook"}}
	case "controls":
		return strict.Object{"enum": append([]string{"time"}, fault.Names()...)}
	case "faults":
		return strict.Object{"enum": fault.Names()}
	}
	return text
}

// nodes is the schema of what is read by itself, by its key.
func nodes(key string) strict.Object {
	switch key {
	case "run":
		return strict.Object{"$ref": "#/definitions/scenario"}
	case "solution":
		return strict.Object{"type": []string{"array", "string"}}
	default: // change, helps: a part of a scenario, where null takes away
		return strict.Object{"type": "object"}
	}
}
