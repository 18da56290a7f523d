package scenario

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/engine/strict"
)

// Key is a key of a scenario, and all that is said of it: parse.go reads it, json.go
// writes it, schema.go describes it for editors, and package web/page has its input. The
// field that has its value is tagged with its name.
type Key struct {
	Name   string
	Values Values
	Usual  any         // what a scenario has that does not say it; nil: nothing, or what others decide
	Says   string      // what editors show of it
	Label  phrase.Text // of its input in a form; "": it has none there
	Hint   phrase.Text // below its input
	Wide   bool        // its input has a line of its own
	// Where reports whether a form offers it although nobody has said it; nil: everywhere.
	Where func(*Scenario) bool
	With  string // a key of the same map, with which the form offers it, too
}

// Keys are the keys of a part of a scenario, in the order in which mistakes list them.
type Keys []Key

// KeyAt returns the key of a place such as "threads[1].retry.times".
func KeyAt(place string) (Key, bool) {
	keys, found := scenarioKeys, Key{}
	for name := range strings.SplitSeq(place, ".") {
		name, index, entry := strings.Cut(name, "[")
		i := slices.Index(keys.Names(), name)
		if i < 0 || entry != keys[i].Values.Entries || entry && !placeInList.MatchString(index) {
			return Key{}, false
		}
		found, keys = keys[i], keys[i].Values.Keys
	}
	return found, true
}

var placeInList = regexp.MustCompile(`^\d{1,2}\]$`)

// KeysAt returns the keys of the map at a place such as "threads[1]"; "" is the scenario.
func KeysAt(place string) Keys {
	if place == "" {
		return scenarioKeys
	}
	key, _ := KeyAt(place)
	return key.Values.Keys
}

// Names returns the names of the keys.
func (k Keys) Names() []string {
	names := make([]string, len(k))
	for i, one := range k {
		names[i] = one.Name
	}
	return names
}

// Named returns the key with a name, which must be one of them.
func (k Keys) Named(name string) Key {
	return k[slices.IndexFunc(k, func(one Key) bool { return one.Name == name })]
}

// Last returns the keys with some of them at the end.
func (k Keys) Last(names ...string) Keys {
	last := k.Without(names...)
	for _, name := range names {
		last = append(last, k.Named(name))
	}
	return last
}

// Without returns the keys without some of them.
func (k Keys) Without(names ...string) Keys {
	return slices.DeleteFunc(slices.Clone(k), func(key Key) bool { return slices.Contains(names, key.Name) })
}

// with returns the keys, of which one has other values.
func (k Keys) with(name string, values Values) Keys {
	k = slices.Clone(k)
	k[slices.Index(k.Names(), name)].Values = values
	return k
}

// field returns the field of a part that has the value of a key, and whether it has one.
func field(part reflect.Value, name string) (reflect.Value, bool) {
	for i := range part.NumField() {
		if tagged, _ := tagOf(part, i); tagged == name {
			return part.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// tagOf returns the key of a part's field, "" for none, and whether it is rare: that most scenarios do
// not have it.
func tagOf(part reflect.Value, i int) (name string, rare bool) {
	name, option, _ := strings.Cut(part.Type().Field(i).Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-"), option == "omitzero"
}

// Value returns what a part, a struct, has for a key, as a scenario has it; "" where it has none.
func (k Key) Value(part any) string {
	value, ok := field(reflect.ValueOf(part), k.Name)
	if !ok {
		return ""
	}
	return k.Values.Text(value.Interface())
}

// usual gives a part, a pointer to a struct, what it has where nobody says it.
func (k Keys) usual(part any) {
	for _, one := range k {
		if into, ok := field(reflect.ValueOf(part).Elem(), one.Name); ok && one.Usual != nil {
			into.Set(reflect.ValueOf(one.Usual))
		}
	}
}

// take reads keys of a map into a part, a pointer to a struct: those with names, or all
// for none.
func (p *parser) take(m strict.Map, keys Keys, part any, names ...string) {
	for _, key := range keys {
		v, there := m[key.Name]
		if !there || key.Values.read == nil || len(names) > 0 && !slices.Contains(names, key.Name) {
			continue
		}
		if value, ok := key.Values.read(&p.Reader, v); ok {
			into, _ := field(reflect.ValueOf(part).Elem(), key.Name)
			into.Set(reflect.ValueOf(value))
		}
	}
}

// only refuses a key that has no effect, and removes it.
func (p *parser) only(m strict.Map, name string, fits bool, allowed phrase.Wording) {
	if v, there := m[name]; there && !fits {
		p.Wrong(v, strict.TheKey(name), allowed)
		delete(m, name)
	}
}

// schema is the schema of a map with the keys.
func (k Keys) schema() strict.Object {
	properties := strict.Object{}
	for _, one := range k {
		s := strict.Described(one.Values.schema, one.Says)
		if one.Usual != nil {
			s["default"] = one.Values.plain(one.Usual)
		}
		properties[one.Name] = s
	}
	return strict.MapOf(properties)
}
