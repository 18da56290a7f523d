package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Parse reads a scenario. The error is Mistakes, and then there is no
// scenario.
func Parse(data []byte) (*Scenario, error) { return parse(data, &parser{}) }

// Adapt is Parse for a scenario that was given another lock, or its watchdog
// another setting, than it was written for: what can never do anything with
// these, for which Parse refuses a scenario, is left out as With leaves it out.
func Adapt(data []byte) (*Scenario, error) { return parse(data, &parser{adapting: true}) }

func parse(data []byte, p *parser) (*Scenario, error) {
	if len(data) > MaxBytes {
		return nil, Mistakes{{1, "", "more than 64 KiB", "at most 64 KiB"}}
	}
	root, mistakes := document(data)
	if mistakes != nil {
		return nil, mistakes
	}
	s := p.scenario(root)
	if len(p.mistakes) > 0 {
		return nil, p.mistakes.sorted()
	}
	return s, nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// document reads the one YAML document that there must be.
func document(data []byte) (*yaml.Node, Mistakes) {
	const allowed = "one YAML or JSON document with the keys of a scenario"
	dec := yaml.NewDecoder(bytes.NewReader(joinSurrogates(data)))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, Mistakes{{1, "", "nothing", allowed}}
	}
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			return nil, Mistakes{{max(more.Line, 1), "", "a second document", allowed}}
		}
		if errors.Is(err, io.EOF) {
			return doc.Content[0], nil
		}
	}
	line := 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return nil, Mistakes{{max(line, 1), "", "what is no YAML (" + strings.TrimPrefix(err.Error(), "yaml: ") + ")", allowed}}
}

var surrogates = regexp.MustCompile(`(\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// joinSurrogates writes the characters for which JSON has two escapes, and
// YAML none, as they are.
func joinSurrogates(data []byte) []byte {
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

// parser walks a document and collects its mistakes.
type parser struct {
	mistakes Mistakes
	adapting bool // what can never do anything is left out, and no mistake
	unknown  bool // which lock it is
}

// judges tells whether what can never do anything with the lock is a mistake.
func (p *parser) judges() bool { return !p.adapting && !p.unknown }

// value is a node and its place.
type value struct {
	*yaml.Node

	key string
}

func (p *parser) wrong(v value, given, allowed string) {
	p.mistakes = append(p.mistakes, Mistake{max(v.Line, 1), v.key, given, allowed})
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (*" + n.Value + ")"
	default:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return quote(n.Value)
	}
}

// fields opens a map whose keys must be among allowed.
func (p *parser) fields(v value, allowed ...string) map[string]value {
	keys := "none"
	if len(allowed) > 0 {
		keys = strings.Join(allowed, ", ")
	}
	if v.Kind != yaml.MappingNode {
		p.wrong(v, kind(v.Node), "a map with the keys "+keys)
		return nil
	}
	out := map[string]value{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], value{v.Content[i+1], k(v.key, v.Content[i].Value)}
		switch {
		case !contains(allowed, k.Value) || k.Kind != yaml.ScalarNode:
			p.wrong(value{k, v.key}, "the key "+quote(k.Value), keys)
		case has(out, k.Value):
			p.wrong(value{k, child.key}, "the key a second time", "each key once")
		default:
			out[k.Value] = child
		}
	}
	return out
}

func k(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func has(m map[string]value, name string) bool {
	_, ok := m[name]
	return ok
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// list opens a list of at most limit values.
func (p *parser) list(v value, limit int, of string) []value {
	allowed := fmt.Sprintf("a list of at most %d %s", limit, of)
	if v.Kind != yaml.SequenceNode {
		p.wrong(v, kind(v.Node), allowed)
		return nil
	}
	if len(v.Content) > limit {
		p.wrong(v, fmt.Sprintf("%d %s", len(v.Content), of), allowed)
		return nil
	}
	out := make([]value, len(v.Content))
	for i, n := range v.Content {
		out[i] = value{n, fmt.Sprintf("%s[%d]", v.key, i)}
	}
	return out
}

// scalar is the text of a single value.
func (p *parser) scalar(v value, allowed string) (string, bool) {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		p.wrong(v, kind(v.Node), allowed)
		return "", false
	}
	return v.Value, true
}

// text reads a text that ok accepts.
func (p *parser) text(m map[string]value, name string, into *string, allowed string, ok func(string) bool) {
	v, there := m[name]
	if !there {
		return
	}
	if s, is := p.scalar(v, allowed); is {
		if !ok(s) {
			p.wrong(v, quote(s), allowed)
			return
		}
		*into = s
	}
}

// oneOf reads one of a few words.
func (p *parser) oneOf(m map[string]value, name string, into *string, words ...string) {
	p.text(m, name, into, strings.Join(words, ", "), func(s string) bool { return contains(words, s) })
}

var digits = regexp.MustCompile(`^[0-9]{1,19}$`)

// number reads a whole number from low to high.
func (p *parser) number(m map[string]value, name string, into *int, low, high int) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := fmt.Sprintf("a whole number from %d to %d", low, high)
	if s, is := p.scalar(v, allowed); is {
		n, err := strconv.Atoi(s)
		if err != nil || !digits.MatchString(s) || n < low || n > high {
			p.wrong(v, quote(s), allowed)
			return
		}
		*into = n
	}
}

// ParseSeed reads a seed. Its error says what is allowed.
func ParseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || !digits.MatchString(s) {
		return 0, fmt.Errorf("given %s, allowed: a whole number from 0 to %d", quote(s), uint64(MaxSeed))
	}
	return n, nil
}

// durations says what a length of time from low to high looks like.
func durations(low, high time.Duration) string {
	return fmt.Sprintf("a time with a unit from %s to %s, such as %s", Duration(low), Duration(high), "50ms")
}

// duration reads a length of time from low to high that is a multiple of unit.
func (p *parser) duration(m map[string]value, name string, into *time.Duration, low, high, unit time.Duration) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := durations(low, high)
	if unit > time.Microsecond {
		allowed += ", in whole milliseconds"
	}
	if s, is := p.scalar(v, allowed); is {
		d, ok := parseDuration(s)
		if !ok || d < low || d > high || d%unit != 0 {
			p.wrong(v, quote(s), allowed)
			return
		}
		*into = d
	}
}

var durationForm = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(us|µs|ms|s|m|h))+$`)

func parseDuration(s string) (time.Duration, bool) {
	if len(s) > 32 || !durationForm.MatchString(s) {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

var unitOf = regexp.MustCompile(`[a-zµ]+$`)

// between reads one length of time, or two with a dash between them, of
// which the first may leave its unit to the second.
func (p *parser) between(m map[string]value, name string, into *Range, high time.Duration) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := "a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to " + Duration(high)
	s, is := p.scalar(v, allowed)
	if !is {
		return
	}
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	if !unitOf.MatchString(from) {
		from += unitOf.FindString(to)
	}
	low, ok1 := parseDuration(from)
	up, ok2 := parseDuration(to)
	if !ok1 || !ok2 || low > up || up > high || low%time.Microsecond != 0 || up%time.Microsecond != 0 {
		p.wrong(v, quote(s), allowed)
		return
	}
	*into = Range{low, up}
}

// Duration words d as scenarios do: in milliseconds below a second, and
// without parts that are zero.
func Duration(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + "ms"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
