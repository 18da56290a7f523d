package scenario

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

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
)

// Parse reads a scenario. Its error is a Mistakes; then there is no scenario.
func Parse(data []byte) (*Scenario, error) { return parse(data, &parser{}) }

// ParseNode reads a scenario that is a part of a larger document, whose lines its
// mistakes name.
func ParseNode(root *yaml.Node) (*Scenario, error) {
	p := &parser{}
	s := p.scenario(root)
	if mistakes := p.mistakes.named(); len(mistakes) > 0 {
		return nil, mistakes
	}
	return s, nil
}

func parse(data []byte, p *parser) (*Scenario, error) {
	s, mistakes := read(data, p)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return s, nil
}

// Draft reads what it can of a scenario that someone is writing, with defaults
// for what is wrong or missing. The result is for showing beside its mistakes,
// which are Parse's, never for running; without mistakes it equals Parse's. It
// is nil if the text is not YAML.
func Draft(data []byte) (*Scenario, Mistakes) { return read(data, &parser{}) }

func read(data []byte, p *parser) (*Scenario, Mistakes) {
	if len(data) > MaxBytes {
		return nil, Mistakes{{1, "", say("more than 64 KiB"), say("at most 64 KiB")}}
	}
	root, mistakes := document(data)
	if mistakes != nil {
		return nil, mistakes
	}
	s := p.scenario(root)
	return s, p.mistakes.named()
}

// ParseMoves reads moves as a schedule of s writes them, as YAML or JSON: a list. The
// error is Mistakes, with keys such as "schedule[0].thread".
func (s *Scenario) ParseMoves(list []byte) ([]Move, error) {
	if len(list) > MaxBytes {
		return nil, Mistakes{{1, "schedule", say("more than 64 KiB"), say("at most 64 KiB")}}
	}
	root, mistakes := document(list)
	if mistakes != nil {
		return nil, mistakes
	}
	read, p := s.WithSchedule(nil), &parser{}
	p.schedule(map[string]value{"schedule": {root, "schedule"}}, read)
	if found := p.mistakes.named(); len(found) > 0 {
		return nil, found
	}
	return read.Schedule, nil
}

// ParsePassage reads how much time passes, say 50ms, and refuses a time that may not
// pass.
func ParsePassage(s string) (time.Duration, bool) {
	d, ok := parseDuration(s)
	return d, ok && d >= time.Microsecond && d <= MaxPassage && d%time.Microsecond == 0
}

// document reads the one YAML document that data must contain.
func document(data []byte) (*yaml.Node, Mistakes) {
	allowed := say("one YAML or JSON document with the keys of a scenario")
	dec := yaml.NewDecoder(bytes.NewReader(JoinSurrogates(data)))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, Mistakes{{1, "", say("nothing"), allowed}}
	}
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			return nil, Mistakes{{max(more.Line, 1), "", say("a second document"), allowed}}
		}
		if errors.Is(err, io.EOF) {
			return doc.Content[0], nil
		}
	}
	why := WhyUnread(err)[0]
	return nil, Mistakes{{why.Line, "", phrase.Say("something that is not YAML (%s)", why.What), allowed}}
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

// parser walks a document and collects its mistakes.
type parser struct {
	mistakes Mistakes
	unknown  bool // the lock's protocol is not known
	several  bool // there are several locks
}

// judges reports whether settings without effect on the lock are mistakes.
func (p *parser) judges() bool { return !p.unknown }

// value is a node and its place.
type value struct {
	*yaml.Node

	key string
}

func (p *parser) wrong(v value, given, allowed phrase.Wording) {
	p.mistakes = append(p.mistakes, Mistake{max(v.Line, 1), v.key, given, allowed})
}

func kind(n *yaml.Node) phrase.Wording {
	switch n.Kind {
	case yaml.MappingNode:
		return say("a map")
	case yaml.SequenceNode:
		return say("a list")
	case yaml.AliasNode:
		return say("an alias (*%s)", n.Value)
	default:
		if n.Tag == "!!null" {
			return say("nothing")
		}
		return quoted(n.Value)
	}
}

// fields reads a map whose keys must be among allowed.
func (p *parser) fields(v value, allowed ...string) map[string]value {
	keys, shape := among(allowed...), say("a map with the keys %s", strings.Join(allowed, ", "))
	if len(allowed) == 0 {
		keys, shape = say("none"), say("a map with the keys none")
	}
	if v.Kind != yaml.MappingNode {
		p.wrong(v, kind(v.Node), shape)
		return nil
	}
	out := map[string]value{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], value{v.Content[i+1], k(v.key, v.Content[i].Value)}
		switch {
		case !slices.Contains(allowed, k.Value) || k.Kind != yaml.ScalarNode:
			p.wrong(value{k, v.key}, say("the key %s", quote(k.Value)), keys)
		case has(out, k.Value):
			p.wrong(value{k, child.key}, say("the key a second time"), say("each key once"))
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

// list reads a list of at most limit values. The phrases say what is allowed,
// and what a longer list is.
func (p *parser) list(v value, limit int, allowed, longer phrase.Text) []value {
	if v.Kind != yaml.SequenceNode {
		p.wrong(v, kind(v.Node), say(allowed, limit))
		return nil
	}
	if len(v.Content) > limit {
		p.wrong(v, say(longer, len(v.Content)), say(allowed, limit))
		return nil
	}
	out := make([]value, len(v.Content))
	for i, n := range v.Content {
		out[i] = value{n, fmt.Sprintf("%s[%d]", v.key, i)}
	}
	return out
}

// scalar reads the text of a single value.
func (p *parser) scalar(v value, allowed phrase.Wording) (string, bool) {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		p.wrong(v, kind(v.Node), allowed)
		return "", false
	}
	return v.Value, true
}

// text reads a text accepted by ok.
func (p *parser) text(m map[string]value, name string, into *string, allowed phrase.Wording, ok func(string) bool) {
	v, there := m[name]
	if !there {
		return
	}
	if s, is := p.scalar(v, allowed); is {
		if !ok(s) {
			p.wrong(v, quoted(s), allowed)
			return
		}
		*into = s
	}
}

// oneOf reads one of a few words.
func (p *parser) oneOf(m map[string]value, name string, into *string, words ...string) {
	p.text(m, name, into, among(words...), func(s string) bool { return slices.Contains(words, s) })
}

// whole describes the whole numbers allowed.
func whole[T int | uint64](low, high T) phrase.Wording {
	return say("a whole number from %s to %s", low, high)
}

var digits = regexp.MustCompile(`^[0-9]{1,19}$`)

// number reads a whole number from low to high.
func (p *parser) number(m map[string]value, name string, into *int, low, high int) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := whole(low, high)
	if s, is := p.scalar(v, allowed); is {
		n, err := strconv.Atoi(s)
		if err != nil || !digits.MatchString(s) || n < low || n > high {
			p.wrong(v, quoted(s), allowed)
			return
		}
		*into = n
	}
}

// ParseSeed reads a seed. Its error says what is allowed.
func ParseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || !digits.MatchString(s) {
		return 0, phrase.New("given %s, allowed: %s", quote(s), whole[uint64](0, MaxSeed))
	}
	return n, nil
}

// durations describes the durations from low to high.
func durations(low, high time.Duration) phrase.Wording {
	return say("a time with a unit from %s to %s, such as %s", phrase.Duration(low), phrase.Duration(high), "50ms")
}

// duration reads a duration from low to high that is a multiple of unit.
func (p *parser) duration(m map[string]value, name string, into *time.Duration, low, high, unit time.Duration) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := durations(low, high)
	if unit > time.Microsecond {
		allowed.Text = "a time with a unit from %s to %s, such as %s, in whole milliseconds"
	}
	if s, is := p.scalar(v, allowed); is {
		d, ok := parseDuration(s)
		if !ok || d < low || d > high || d%unit != 0 {
			p.wrong(v, quoted(s), allowed)
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

// between reads one duration, or two with a dash between them; the first may
// take its unit from the second.
func (p *parser) between(m map[string]value, name string, into *Range, high time.Duration) {
	v, there := m[name]
	if !there {
		return
	}
	allowed := say("a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to %s", phrase.Duration(high))
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
		p.wrong(v, quoted(s), allowed)
		return
	}
	*into = Range{low, up}
}
