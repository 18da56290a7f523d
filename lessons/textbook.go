package lessons

import (
	"bytes"
	_ "embed" // the table
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed textbook.yaml
var textbook []byte

// TextbookRow is a row of the first article's T1–T10 table and its place in the
// run of the scenario "textbook".
type TextbookRow struct {
	Row   string `yaml:"row"`   // "T1" to "T10"
	Stops []Stop `yaml:"stops"` // at least one
}

// Stop is a place in a run to stop at.
type Stop struct {
	Thread  string            `yaml:"thread"`
	Step    int               `yaml:"step"`    // from 1
	Command int               `yaml:"command"` // of the step, from 1; 0: the outcome of its call
	Is      string            `yaml:"is"`      // the command's name, or a result, or "work" or "wait"
	Hash    map[string]string `yaml:"hash"`    // right after it: thread to hold count
}

// Textbook returns the ten rows in order. It fails if textbook.yaml is
// malformed.
func Textbook() ([]TextbookRow, error) {
	var rows []TextbookRow
	dec := yaml.NewDecoder(bytes.NewReader(textbook))
	dec.KnownFields(true)
	if err := dec.Decode(&rows); err != nil {
		return nil, fmt.Errorf("lessons: textbook.yaml: %w", err)
	}
	return rows, nil
}
