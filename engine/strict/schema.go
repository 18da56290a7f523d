package strict

import (
	"maps"
	"slices"
)

// Object is a JSON Schema, or a part of one.
type Object = map[string]any

// Dialect is the dialect of the schemas. Editors' YAML servers read it and older ones.
const Dialect = "http://json-schema.org/draft-07/schema#"

// MapOf is the schema of a map with these keys and no others.
func MapOf(properties Object) Object {
	return Object{"type": "object", "additionalProperties": false, "properties": properties}
}

// Required is a part of a schema that requires these keys.
func Required(s Object, keys ...string) Object { return With(s, "required", keys) }

// Described is a part of a schema with the text that an editor shows.
func Described(s Object, description string) Object { return With(s, "description", description) }

// With is a part of a schema with one more word. It leaves s as it is: several keys may
// share it.
func With(s Object, word string, value any) Object {
	s = maps.Clone(s)
	s[word] = value
	return s
}

// OneWord is one of some words, each once.
func OneWord(list ...string) Object {
	var enum []string
	for _, one := range list {
		if !slices.Contains(enum, one) {
			enum = append(enum, one)
		}
	}
	return Object{"enum": enum}
}

// ANumber is a whole number from low to high.
func ANumber[T int | uint64](low, high T) Object {
	return Object{"type": "integer", "minimum": low, "maximum": high}
}

// AText is a text of at most so many characters, or what YAML takes for a number.
func AText(most int, pattern string) Object {
	s := Object{"type": []string{"string", "number"}, "maxLength": most}
	if pattern != "" {
		s["pattern"] = pattern
	}
	return s
}

// AList is a list of least to most things; least 0 says nothing.
func AList(least, most int, of Object) Object {
	s := Object{"type": "array", "maxItems": most, "items": of}
	if least > 0 {
		s["minItems"] = least
	}
	return s
}

// TimePattern matches a length of time, without what is around it.
const TimePattern = `([0-9]+(\.[0-9]+)?(us|µs|ms|s|m|h))+`

// maxTime is how many characters a length of time has.
const maxTime = 32

// ATime is a length of time.
func ATime() Object {
	return Object{"type": "string", "maxLength": maxTime, "pattern": "^" + TimePattern + "$"}
}

// ASpan is a time, or two with a dash between them; the first may leave its unit out.
func ASpan() Object {
	return Object{"type": "string", "pattern": "^" + TimePattern + "$|^(" + TimePattern + "|[0-9]+(\\.[0-9]+)?)-" + TimePattern + "$"}
}
