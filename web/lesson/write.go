package lesson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"relock/web/draft"
	"relock/web/link"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
)

// IsLink reports whether a text is a lesson's link, whole or not.
func IsLink(text string) bool { return link.IsLesson(text) }

// Link returns the lesson as a link's text: the part after the # of
// /room/new.
func (l *Lesson) Link() (string, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("lesson: %w", err)
	}
	packed, err := link.PackLesson(text)
	if err != nil {
		return "", fmt.Errorf("lesson: %w", err)
	}
	return packed, nil
}

// FromLink reads a link's text. It fails like link.UnpackLesson and Parse.
func FromLink(text string) (*Lesson, error) {
	plain, err := link.UnpackLesson(text)
	if err != nil {
		return nil, err
	}
	return Parse(plain)
}

// MarshalYAML writes one text for all languages as that.
func (w Words) MarshalYAML() (any, error) {
	w = maps.Clone(w).filled()
	switch text, plain := w[words.English.Code()]; {
	case len(w) == 0:
		return "", nil
	case len(w) == 1 && plain:
		return text, nil
	default:
		return map[string]string(w), nil
	}
}

// stepYAML is a step as a file has it. Notes are there to be filled in.
type stepYAML struct {
	Title    Words         `yaml:"title,omitempty"`
	Example  string        `yaml:"example,omitempty"`
	Scenario *yaml.Node    `yaml:"scenario,omitempty"`
	Link     string        `yaml:"link,omitempty"`
	Item     string        `yaml:"item,omitempty"`
	Chapter  string        `yaml:"chapter,omitempty"`
	At       string        `yaml:"at,omitempty"`
	Hold     *bool         `yaml:"hold,omitempty"`
	Ask      string        `yaml:"ask,omitempty"`
	Question *questionYAML `yaml:"question,omitempty"`
	Minutes  int           `yaml:"minutes,omitempty"`
	Notes    Words         `yaml:"notes"`
}

type questionYAML struct {
	Text    Words   `yaml:"text"`
	Options []Words `yaml:"options"`
	Right   int     `yaml:"right"`
}

// YAML returns the lesson as a file, with a place for the notes of every step. It writes
// out a user's own scenario, unless the file would be too long.
func (l *Lesson) YAML() ([]byte, error) {
	text, err := l.file(true)
	if err == nil && len(text) > MaxBytes {
		return l.file(false)
	}
	return text, err
}

func (l *Lesson) file(plain bool) ([]byte, error) {
	file := struct {
		Title Words      `yaml:"title"`
		Steps []stepYAML `yaml:"steps"`
	}{Title: l.Title}
	var before Place
	for _, s := range l.Steps {
		one := stepYAML{Title: s.Title, Example: s.Example, Link: s.Link, Item: s.Item, Chapter: s.Chapter, At: s.At, Hold: s.Hold, Ask: s.Ask, Minutes: s.Minutes, Notes: s.Notes}
		if plain && s.starts() {
			if s.Link == before.Link {
				one.Link, one.At = "", cmp.Or(s.At, "T0")
			} else if one.Scenario = written(s.Link); one.Scenario != nil {
				one.Link = ""
			}
		}
		if q := s.Question; q != nil {
			one.Question = &questionYAML{q.Text, q.Options, q.Right}
		}
		file.Steps, before = append(file.Steps, one), s.Place
	}
	var out bytes.Buffer
	out.WriteString("# A lesson of Relock: choose it on /room/new. Notes are for the host alone.\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(file); err != nil {
		return nil, fmt.Errorf("lesson: %w", err)
	}
	return out.Bytes(), nil
}

// written is a link's scenario as a file has it, nil for one that would be read as
// another link.
func written(text string) *yaml.Node {
	c, err := link.Decode(text)
	if err != nil {
		return nil
	}
	if same, err := link.Encode(c); err != nil || same != text {
		return nil
	}
	compact, err := c.Scenario.Compact()
	var doc yaml.Node
	if err != nil || yaml.Unmarshal(compact, &doc) != nil {
		return nil
	}
	unquote(&doc)
	plain, err := yaml.Marshal(&doc)
	if err != nil {
		return nil
	}
	d, err := draft.Read(string(plain))
	if err != nil {
		return nil
	}
	folded, err := d.String()
	if err != nil || yaml.Unmarshal([]byte(folded), &doc) != nil {
		return nil
	}
	return doc.Content[0]
}

// unquote writes texts of JSON as a person would, scripts line by line. It reports
// whether there are several lines.
func unquote(n *yaml.Node) (lines bool) {
	for _, c := range n.Content {
		lines = unquote(c) || lines
	}
	switch n.Style &^= yaml.DoubleQuotedStyle; {
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n"):
		n.Style, lines = yaml.LiteralStyle, true
	case lines:
		n.Style = 0
	}
	return lines
}
