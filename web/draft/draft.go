// Package draft edits the YAML of a scenario while someone writes it, valid or
// not: one key at a time, leaving everything else as it is, including comments.
// It does not judge the scenario; engine/scenario does.
package draft

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/strict"
)

// ErrUnreadable is returned for a text that is not a single YAML map.
var ErrUnreadable = errors.New("draft: no YAML map")

// Draft is a scenario's YAML. Keys are written as in strict.Mistake:
// "threads[1].retry.times". It is not safe for concurrent use.
type Draft struct {
	doc *yaml.Node
}

// Read reads a text of at most scenario.MaxBytes. It fails with
// ErrUnreadable.
func Read(text string) (*Draft, error) {
	if sc, _ := scenario.Draft([]byte(text)); sc == nil {
		return nil, ErrUnreadable
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(strict.JoinSurrogates([]byte(text)), &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, ErrUnreadable
	}
	return &Draft{&doc}, nil
}

// widest is how long a line may get before a map or list in it is split into
// one entry per line.
const widest = 78

// String returns the draft as YAML.
func (d *Draft) String() (string, error) {
	root := d.doc.Content[0]
	root.Style &^= yaml.FlowStyle
	unfold(root, 0, 0)
	return d.encode()
}

func (d *Draft) encode() (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d.doc); err != nil {
		return "", fmt.Errorf("draft: %w", err)
	}
	if err := enc.Close(); err != nil {
		return "", fmt.Errorf("draft: %w", err)
	}
	return b.String(), nil
}

// unfold splits flow collections that are too long for one line. N starts at a
// column, and its own lines at an indent. Lists of scalars stay as they are: a
// schedule has thousands.
func unfold(n *yaml.Node, indent, column int) {
	if block(n) {
		n.Style &^= yaml.FlowStyle
	}
	if n.Style&yaml.FlowStyle != 0 && column+width(n) > widest && !slices.ContainsFunc(n.Content, hasComment) {
		if n.Kind == yaml.MappingNode || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }) {
			n.Style &^= yaml.FlowStyle
		}
	}
	if n.Style&yaml.FlowStyle != 0 {
		return
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			unfold(c, indent+2, indent+width(n.Content[i-1]))
			continue
		}
		unfold(c, indent+2, indent+2)
	}
}

// block reports whether n holds a text of several lines, which has no place on one.
func block(n *yaml.Node) bool {
	return n.Style&yaml.LiteralStyle != 0 || slices.ContainsFunc(n.Content, block)
}

func hasComment(n *yaml.Node) bool { return n.HeadComment+n.LineComment+n.FootComment != "" }

// width returns roughly how many characters n takes on one line.
func width(n *yaml.Node) int {
	w := utf8.RuneCountInString(n.Value) + 2
	for _, c := range n.Content {
		w += width(c)
	}
	return w
}

type step struct {
	name  string
	index int // of a list; with name ""
}

var keySteps = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

func steps(key string) []step {
	var list []step
	for _, s := range keySteps.FindAllString(key, -1) {
		if s[0] == '[' {
			i, err := strconv.Atoi(s[1 : len(s)-1])
			if err != nil {
				return nil
			}
			list = append(list, step{index: i})
			continue
		}
		list = append(list, step{name: s})
	}
	return list
}

func entry(n *yaml.Node, name string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i
		}
	}
	return -1
}

func child(n *yaml.Node, s step) *yaml.Node {
	if n == nil {
		return nil
	}
	if s.name != "" {
		if i := entry(n, s.name); i >= 0 {
			return n.Content[i+1]
		}
		return nil
	}
	if n.Kind == yaml.SequenceNode && s.index < len(n.Content) {
		return n.Content[s.index]
	}
	return nil
}

func (d *Draft) node(key string) *yaml.Node {
	n := d.doc.Content[0]
	for _, s := range steps(key) {
		n = child(n, s)
	}
	return n
}

// isList reports whether the value of a key is a list of words. A form has them in one
// input, with spaces between.
func isList(place string) bool {
	key, _ := scenario.KeyAt(place)
	return key.Values.List
}

// Value returns the scalar value of a key, and whether it has one. Of a list of words it is
// the words.
func (d *Draft) Value(key string) (string, bool) {
	n := d.node(key)
	if n != nil && n.Kind == yaml.SequenceNode && isList(key) {
		words := make([]string, len(n.Content))
		for i, one := range n.Content {
			words[i] = one.Value
		}
		return strings.Join(words, " "), true
	}
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return "", false
	}
	return n.Value, true
}

// Has reports whether the key exists, whatever its value.
func (d *Draft) Has(key string) bool { return d.node(key) != nil }

// Line returns the line of the text on which the nth line of a key's value is, both
// from 1; of a value that is not written line by line, its first. It is 0 where there
// is no such key.
func (d *Draft) Line(key string, n int) int {
	value := d.node(key)
	switch {
	case value == nil:
		return 0
	case value.Style&yaml.LiteralStyle != 0:
		return value.Line + n
	default:
		return value.Line
	}
}

// Len returns the length of a key's list.
func (d *Draft) Len(key string) int {
	n := d.node(key)
	if n == nil || n.Kind != yaml.SequenceNode {
		return 0
	}
	return len(n.Content)
}

// Set gives a key a scalar value or, where it has one, a list of words, creating its parents. The last index of a
// list may be one past its end. A key that cannot exist changes nothing.
func (d *Draft) Set(key, value string) {
	n := d.doc.Content[0]
	path := steps(key)
	for i, s := range path {
		next := child(n, s)
		last := i == len(path)-1
		switch {
		case last && next != nil && isList(key):
			writeWords(next, key, value)
			return
		case last && next != nil:
			write(next, value)
			return
		case next == nil || !last && next.Kind != yaml.MappingNode && next.Kind != yaml.SequenceNode:
			made := &yaml.Node{Kind: yaml.ScalarNode}
			switch {
			case !last && path[i+1].name == "":
				made = &yaml.Node{Kind: yaml.SequenceNode}
			case !last:
				made = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			case isList(key):
				writeWords(made, key, value)
			default:
				write(made, value)
			}
			if !attach(n, s, made) {
				return
			}
			next = made
		}
		n = next
	}
}

// write turns n into a scalar.
func write(n *yaml.Node, value string) {
	quoted := n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	n.Kind, n.Tag, n.Value, n.Content, n.Alias, n.Anchor = yaml.ScalarNode, "", value, nil, nil, ""
	if !quoted {
		n.Style = 0
	}
	if strings.Contains(value, "\n") {
		n.Style = yaml.LiteralStyle
	}
	if n.Style == 0 && n.ShortTag() == "!!null" {
		n.Style = yaml.DoubleQuotedStyle // a text that YAML would read as null
	}
}

// writeWords turns n into a key's list of words. An argument of a script that is a text of its
// own has quotes.
func writeWords(n *yaml.Node, key, value string) {
	n.Kind, n.Tag, n.Value, n.Style, n.Alias, n.Anchor, n.Content = yaml.SequenceNode, "", "", yaml.FlowStyle, nil, "", nil
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		one := &yaml.Node{}
		write(one, word)
		if strings.HasPrefix(key, "lock.args.") && one.ShortTag() == "!!str" && !slices.Contains(protocol.ArgWords, word) {
			one.Style = yaml.DoubleQuotedStyle
		}
		n.Content = append(n.Content, one)
	}
}

func attach(n *yaml.Node, s step, made *yaml.Node) bool {
	switch {
	case s.name == "" && n.Kind == yaml.SequenceNode && s.index == len(n.Content):
		n.Content = append(n.Content, made)
		return true
	case s.name != "" && n.Kind == yaml.MappingNode:
		if i := entry(n, s.name); i >= 0 {
			n.Content[i+1] = made
			return true
		}
		at := len(n.Content)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if rank(n.Content[i].Value) > rank(s.name) {
				at = i
				break
			}
		}
		n.Content = slices.Insert(n.Content, at, &yaml.Node{Kind: yaml.ScalarNode, Value: s.name}, made)
		return true
	default:
		return false
	}
}

// order is the order in which keys are written: some before or after others of their map,
// the rest as the table of keys has them.
func order() []string {
	first := []string{"title", "kind", "protocol", "like", "key", "lease", "watchdog", "max-hold", "min-replicas", "name"}
	late := []string{"nodes", "times", "interval", "jitter", "give-back", "wait", "args", "keys", "replies", "release", "scripts"}
	return slices.Concat(first, keysOf("faults[0]"), keysOf("defaults"), keysOf("lock.scripts"), late, keysOf("lock"), keysOf("resource"), keysOf(""))
}

// keysOf returns the names of the keys in the map, or in the entries, of a key; "" is the
// scenario.
func keysOf(place string) []string { return scenario.KeysAt(place).Names() }

func rank(name string) int {
	if i := slices.Index(order(), name); i >= 0 {
		return i
	}
	return len(order())
}

// Delete removes a key, along with parents that become empty. It ignores
// missing keys.
func (d *Draft) Delete(key string) {
	path := steps(key)
	for len(path) > 0 {
		n := d.doc.Content[0]
		for _, s := range path[:len(path)-1] {
			n = child(n, s)
		}
		last := path[len(path)-1]
		if n == nil || child(n, last) == nil {
			return
		}
		if last.name == "" {
			n.Content = slices.Delete(n.Content, last.index, last.index+1)
		} else {
			i := entry(n, last.name)
			if above := n.Content[i].HeadComment; i == 0 && above != "" && len(n.Content) > 2 {
				// A comment above the first key is about the whole file.
				n.Content[2].HeadComment = strings.TrimSuffix(above+"\n"+n.Content[2].HeadComment, "\n")
			}
			n.Content = slices.Delete(n.Content, i, i+2)
		}
		path = path[:len(path)-1]
		if len(n.Content) > 0 || len(path) > 0 && path[len(path)-1].name == "" {
			return
		}
	}
}

// Copy inserts a copy of entry i of a list after it.
func (d *Draft) Copy(list string, i int) {
	n := d.node(list)
	if n == nil || n.Kind != yaml.SequenceNode || i < 0 || i >= len(n.Content) {
		return
	}
	n.Content = slices.Insert(n.Content, i+1, clone(n.Content[i]))
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor, c.HeadComment, c.LineComment, c.FootComment = "", "", "", ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}
