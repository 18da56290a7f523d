package lesson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"relock/web/link"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
)

// IsLink reports whether a text is a lesson's link, whole or not.
func IsLink(text string) bool { return link.IsLesson(text) }

// Link returns the lesson as a link's text: what stands after the # of
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
	Link     string        `yaml:"link,omitempty"`
	Item     string        `yaml:"item,omitempty"`
	At       string        `yaml:"at,omitempty"`
	Hold     *bool         `yaml:"hold,omitempty"`
	Ask      string        `yaml:"ask,omitempty"`
	Question *questionYAML `yaml:"question,omitempty"`
	Notes    Words         `yaml:"notes"`
}

type questionYAML struct {
	Text    Words   `yaml:"text"`
	Options []Words `yaml:"options"`
	Right   int     `yaml:"right"`
}

// YAML returns the lesson as a file, with a place for the notes of every step.
func (l *Lesson) YAML() ([]byte, error) {
	file := struct {
		Title Words      `yaml:"title"`
		Steps []stepYAML `yaml:"steps"`
	}{Title: l.Title}
	for _, s := range l.Steps {
		one := stepYAML{Title: s.Title, Example: s.Example, Link: s.Link, Item: s.Item, At: s.At, Hold: s.Hold, Ask: s.Ask, Notes: s.Notes}
		if q := s.Question; q != nil {
			one.Question = &questionYAML{q.Text, q.Options, q.Right}
		}
		file.Steps = append(file.Steps, one)
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
