package scenario

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"relock/engine/phrase"
	"relock/engine/strict"
)

// Values are the values that a key can have.
type Values struct {
	Words   []Word // the words among them
	Numeric bool   // they are whole numbers
	Times   bool   // they are lengths of time, or ranges of them
	List    bool   // they are lists of words, which a form has in one input
	Lua     bool   // they are scripts
	Keys    Keys   // of a map, or of each map of a list
	Entries bool   // they are lists of such maps

	read   func(r *strict.Reader, v strict.Value) (any, bool) // nil: other keys decide how they are read
	schema strict.Object
	word   string // stands for means, which is none of the others: off
	means  any
}

// Word is a word that a key can have.
type Word struct {
	Name  string
	Label phrase.Text // what it means, as a choice of a form; "": its name says it
}

func words(names ...string) []Word {
	list := make([]Word, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
}

// Names returns the words among them.
func (v Values) Names() []string {
	names := make([]string, len(v.Words))
	for i, one := range v.Words {
		names[i] = one.Name
	}
	return names
}

// valuesOf are values that are read into a T.
func valuesOf[T any](schema strict.Object, read func(r *strict.Reader, v strict.Value, into *T) bool) Values {
	return Values{schema: schema, read: func(r *strict.Reader, v strict.Value) (any, bool) {
		var value T
		ok := read(r, v, &value)
		return value, ok
	}}
}

// or is values and one more, which has a word; schemas are of either.
func (v Values) or(word string, means any, schemas ...any) Values {
	others := v.read
	v.word, v.means, v.schema = word, means, strict.Object{"anyOf": schemas}
	v.read = func(r *strict.Reader, at strict.Value) (any, bool) {
		// YAML 1.1 readers turn a bare off into false.
		if at.Kind == yaml.ScalarNode && (at.Value == word || word == off && at.Value == "false" && at.Tag == "!!bool") {
			return means, true
		}
		return others(r, at)
	}
	return v
}

// Text returns a value as scenarios have it.
func (v Values) Text(value any) string { return fmt.Sprint(v.plain(value)) }

// plain returns a value as JSON has it: times as texts, numbers as numbers.
func (v Values) plain(value any) any {
	if v.word != "" && value == v.means {
		return v.word
	}
	switch value := value.(type) {
	case time.Duration:
		if value < 0 {
			return "-" + phrase.Duration(-value)
		}
		return phrase.Duration(value)
	case fmt.Stringer:
		return value.String()
	default:
		return value
	}
}

// aText is a text that is ok.
func aText(allowed phrase.Wording, schema strict.Object, ok func(string) bool) Values {
	return valuesOf(schema, func(r *strict.Reader, v strict.Value, into *string) bool { return r.Text(v, into, allowed, ok) })
}

// parsed is a text that parse can read.
func parsed[T any](allowed phrase.Wording, schema strict.Object, parse func(string) (T, bool)) Values {
	return valuesOf(schema, func(r *strict.Reader, v strict.Value, into *T) bool {
		text := ""
		return r.Text(v, &text, allowed, func(text string) (ok bool) {
			*into, ok = parse(text)
			return ok
		})
	})
}

// oneOf is one of some words.
func oneOf(among ...Word) Values {
	names := Values{Words: among}.Names()
	values := valuesOf(strict.OneWord(names...), func(r *strict.Reader, v strict.Value, into *string) bool { return r.OneOf(v, into, names...) })
	values.Words = among
	return values
}

// truth is true or false, with what they mean, in the order in which a form has them. It
// is read as true where it is the word yes.
func truth(yes string, schema strict.Object, among ...Word) Values {
	values := parsed(strict.Among("true", "false"), schema, func(s string) (bool, bool) { return s == yes, s == "true" || s == "false" })
	values.Words = among
	return values
}

// trueOrFalse is what an editor takes for a truth, in quotes, too.
func trueOrFalse() strict.Object { return strict.Object{"enum": []any{true, false, "true", "false"}} }

// aNumber is a whole number from low to high.
func aNumber(low, high int) Values {
	values := valuesOf(strict.ANumber(low, high), func(r *strict.Reader, v strict.Value, into *int) bool { return r.Number(v, into, low, high) })
	values.Numeric = true
	return values
}

// aTime is a length of time.
func aTime(among strict.Times) Values {
	values := valuesOf(strict.ATime(), func(r *strict.Reader, v strict.Value, into *time.Duration) bool { return r.Time(v, into, among) })
	values.Times = true
	return values
}

// aSpan is one length of time up to high, or two with a dash between them.
func aSpan(high time.Duration) Values {
	values := valuesOf(strict.ASpan(), func(r *strict.Reader, v strict.Value, into *Range) bool { return r.Span(v, &into.Min, &into.Max, high) })
	values.Times = true
	return values
}

// fixed are values of which other keys say how they are read.
func fixed(schema strict.Object) Values { return Values{schema: schema} }

// listed is a list of words.
func listed(schema strict.Object) Values { return Values{schema: schema, List: true} }

// aMap is a map with keys.
func aMap(keys Keys, schema strict.Object) Values { return Values{schema: schema, Keys: keys} }

// entries is a list of maps with keys.
func entries(keys Keys, schema strict.Object) Values {
	return Values{schema: schema, Keys: keys, Entries: true}
}

// aPattern is a text that matches all of a pattern.
func aPattern(pattern string) strict.Object {
	return strict.Object{"type": "string", "pattern": "^" + pattern + "$"}
}
