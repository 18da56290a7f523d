// Package strict reads YAML, or JSON, that people write, and takes nothing it does not
// know: no other key, no key twice, no second document. It collects what is wrong, each
// [Mistake] with its line and key, as phrases; and it makes the schemas that tell editors
// the same. It does not know what a document is about.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"relock/engine/phrase"
)

// Value is a node of a document and its place.
type Value struct {
	*yaml.Node

	Key string // such as "threads[1].work"; "" for the whole
}

// Map are the values of a map by their keys.
type Map map[string]Value

// Has reports whether a key is there, whatever its value.
func (m Map) Has(key string) bool {
	_, ok := m[key]
	return ok
}

// Text returns a key's text, "" where it has none.
func (m Map) Text(key string) string {
	if v, ok := m[key]; ok && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// Document returns the one document that a text must contain, or why it does not;
// allowed says what it should be. Mistakes name the document where they have no key.
func Document(data []byte, name string, allowed phrase.Wording) (*yaml.Node, Mistakes) {
	wrong := func(line int, given phrase.Wording) Mistakes {
		return Mistakes{{Document: name, Line: max(line, 1), Given: given, Allowed: allowed}}
	}
	dec := yaml.NewDecoder(bytes.NewReader(JoinSurrogates(data)))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, wrong(1, phrase.Say("nothing"))
	}
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			return nil, wrong(more.Line, phrase.Say("a second document"))
		}
		if errors.Is(err, io.EOF) {
			return doc.Content[0], nil
		}
	}
	why := WhyUnread(err)[0]
	return nil, wrong(why.Line, phrase.Say("something that is not YAML (%s)", why.What))
}

// Unmarshal reads a text into a value whose types say which keys there are, and returns
// what is wrong.
func Unmarshal(data []byte, into any) Mistakes {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	var found Mistakes
	for _, why := range WhyUnread(err) {
		found = append(found, Mistake{Line: why.Line, Why: why.What})
	}
	return found
}

var surrogates = regexp.MustCompile(`(\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// JoinSurrogates replaces surrogate pairs, which JSON escapes and YAML does not
// know, by their characters.
func JoinSurrogates(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) || !json.Valid(data) {
		return data
	}
	return surrogates.ReplaceAllFunc(data, func(pair []byte) []byte {
		var text string
		if json.Unmarshal([]byte(`"`+string(pair)+`"`), &text) != nil {
			return pair
		}
		return []byte(strings.ReplaceAll(text, `\`, `\\`))
	})
}

// Reader walks a document and collects its mistakes. The zero Reader is ready; it is not
// safe for concurrent use. What reads one value says whether it was right.
type Reader struct {
	Document string // what mistakes without a key name
	Mistakes Mistakes
}

// Wrong notes that a value is something else than what is allowed.
func (r *Reader) Wrong(v Value, given, allowed phrase.Wording) {
	r.Mistakes = append(r.Mistakes, Mistake{Document: r.Document, Line: max(v.Line, 1), Key: v.Key, Given: given, Allowed: allowed})
}

// Because notes that a value is wrong, and why.
func (r *Reader) Because(v Value, text phrase.Text, args ...any) {
	r.Mistakes = append(r.Mistakes, Mistake{Document: r.Document, Line: max(v.Line, 1), Key: v.Key, Why: phrase.Say(text, args...)})
}

// Needs notes that a map lacks a key. It reports whether the key is there.
func (r *Reader) Needs(m Map, of Value, key string, allowed phrase.Wording) bool {
	if !m.Has(key) {
		r.Wrong(Value{of.Node, join(of.Key, key)}, Say("nothing"), allowed)
	}
	return m.Has(key)
}

func kind(n *yaml.Node) phrase.Wording {
	switch n.Kind {
	case yaml.MappingNode:
		return Say("a map")
	case yaml.SequenceNode:
		return Say("a list")
	case yaml.AliasNode:
		return Say("an alias (*%s)", n.Value)
	default:
		if n.Tag == "!!null" {
			return Say("nothing")
		}
		return Quoted(n.Value)
	}
}

// Fields reads a map whose keys must be among allowed. It returns nil for what is no
// map.
func (r *Reader) Fields(v Value, allowed ...string) Map {
	keys, shape := Among(allowed...), Say("a map with the keys %s", strings.Join(allowed, ", "))
	if len(allowed) == 0 {
		keys, shape = Say("none"), Say("a map with the keys none")
	}
	if v.Kind != yaml.MappingNode {
		r.Wrong(v, kind(v.Node), shape)
		return nil
	}
	out := Map{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], Value{v.Content[i+1], join(v.Key, v.Content[i].Value)}
		switch {
		case !slices.Contains(allowed, k.Value) || k.Kind != yaml.ScalarNode:
			r.Wrong(Value{k, v.Key}, Meant(TheKey(k.Value), k.Value, allowed), keys)
		case out.Has(k.Value):
			r.Wrong(Value{k, child.Key}, Say("the key a second time"), Say("each key once"))
		default:
			out[k.Value] = child
		}
	}
	return out
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// List reads a list of at most so many values. The phrases say what is allowed, and what
// a longer list is. It returns nil for what is no such list.
func (r *Reader) List(v Value, most int, allowed, longer phrase.Text) []Value {
	if v.Kind != yaml.SequenceNode {
		r.Wrong(v, kind(v.Node), Say(allowed, most))
		return nil
	}
	if len(v.Content) > most {
		r.Wrong(v, Say(longer, len(v.Content)), Say(allowed, most))
		return nil
	}
	out := make([]Value, len(v.Content))
	for i, n := range v.Content {
		out[i] = Value{n, fmt.Sprintf("%s[%d]", v.Key, i)}
	}
	return out
}

// Scalar reads the text of a single value.
func (r *Reader) Scalar(v Value, allowed phrase.Wording) (string, bool) {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		r.Wrong(v, kind(v.Node), allowed)
		return "", false
	}
	return v.Value, true
}

// Text reads a text accepted by ok.
func (r *Reader) Text(v Value, into *string, allowed phrase.Wording, ok func(string) bool) bool {
	return r.text(v, into, allowed, nil, ok)
}

// text reads a text accepted by ok; a mistake names the one of the words that is meant.
func (r *Reader) text(v Value, into *string, allowed phrase.Wording, words []string, ok func(string) bool) bool {
	s, is := r.Scalar(v, allowed)
	if !is {
		return false
	}
	if !ok(s) {
		r.Wrong(v, Meant(Quoted(s), s, words), allowed)
		return false
	}
	*into = s
	return true
}

// OneOf reads one of a few words.
func (r *Reader) OneOf(v Value, into *string, words ...string) bool {
	return r.text(v, into, Among(words...), words, func(s string) bool { return slices.Contains(words, s) })
}

// Whole describes the whole numbers allowed.
func Whole[T int | uint64](low, high T) phrase.Wording {
	return Say("a whole number from %s to %s", low, high)
}

var digits = regexp.MustCompile(`^[0-9]{1,19}$`)

// Number reads a whole number from low to high.
func (r *Reader) Number(v Value, into *int, low, high int) bool {
	return r.NumberOr(v, into, low, high, "")
}

// NumberOr is Number where something else is allowed, too, which or says around what
// numbers are: "%s, or unlimited".
func (r *Reader) NumberOr(v Value, into *int, low, high int, or phrase.Text) bool {
	text := ""
	return r.Text(v, &text, also(Whole(low, high), or), func(s string) bool {
		n, err := strconv.Atoi(s)
		if err != nil || !digits.MatchString(s) || n < low || n > high {
			return false
		}
		*into = n
		return true
	})
}

// ParseWhole reads a whole number of any size up to 1<<63 - 1, without a sign.
func ParseWhole(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return n, err == nil && digits.MatchString(s)
}

// also says around what is allowed what else is; "" is nothing.
func also(allowed phrase.Wording, or phrase.Text) phrase.Wording {
	if or == "" {
		return allowed
	}
	return phrase.Say(or, allowed)
}

// Times are the lengths of time from Low to High that are multiples of Unit.
type Times struct {
	Low, High, Unit time.Duration
	Or              phrase.Text // around what is allowed, where something else is, too: "%s, or off"
}

// Allowed describes them.
func (t Times) Allowed() phrase.Wording {
	says := Say("a time with a unit from %s to %s, such as %s", phrase.Duration(t.Low), phrase.Duration(t.High), "50ms")
	if t.Unit > time.Microsecond {
		says = phrase.Say("%s, in whole milliseconds", says)
	}
	return also(says, t.Or)
}

// Has reports whether d is one of them.
func (t Times) Has(d time.Duration) bool { return d >= t.Low && d <= t.High && d%t.Unit == 0 }

// Time reads a length of time.
func (r *Reader) Time(v Value, into *time.Duration, among Times) bool {
	text := ""
	return r.Text(v, &text, among.Allowed(), func(s string) bool {
		d, ok := ParseTime(s)
		if ok = ok && among.Has(d); ok {
			*into = d
		}
		return ok
	})
}

var timeForm = regexp.MustCompile(`^` + TimePattern + `$`)

// ParseTime reads a length of time as people write it in documents: "50ms".
func ParseTime(s string) (time.Duration, bool) {
	if len(s) > maxTime || !timeForm.MatchString(s) {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

var unitOf = regexp.MustCompile(`[a-zµ]+$`)

// Span reads one length of time, or two with a dash between them; the first may take its
// unit from the second. They are up to high, in microseconds.
func (r *Reader) Span(v Value, low, up *time.Duration, high time.Duration) bool {
	text := ""
	allowed := Say("a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to %s", phrase.Duration(high))
	return r.Text(v, &text, allowed, func(s string) bool {
		from, to, two := strings.Cut(s, "-")
		if !two {
			to = from
		}
		if !unitOf.MatchString(from) {
			from += unitOf.FindString(to)
		}
		among := Times{High: high, Unit: time.Microsecond}
		a, ok1 := ParseTime(from)
		b, ok2 := ParseTime(to)
		ok := ok1 && ok2 && a <= b && among.Has(a) && among.Has(b)
		if ok {
			*low, *up = a, b
		}
		return ok
	})
}
