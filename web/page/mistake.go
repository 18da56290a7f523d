package page

import (
	"strconv"

	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/web/words"
)

// Mistake is a mistake in a scenario, for people and for scripts.
type Mistake struct {
	Line     int    `json:"line"`
	Key      string `json:"key"` // "" for the whole
	Given    string `json:"given"`
	Allowed  string `json:"allowed"`
	Sentence string `json:"sentence"`
	Short    string `json:"-"`     // the text beside the input
	Input    string `json:"input"` // id of the form's input for it, "" without one

	Script int `json:"script,omitempty"` // the line of the script that Key names, from 1; 0 where it is not known
}

// ScriptMistake is a mistake in a script of the lock, on that line of the scenario's
// text.
func ScriptMistake(l words.Language, m *ownlock.Mistake, line int) Mistake {
	key := "lock.scripts." + m.Call
	return Mistake{
		Line: line, Key: key, Script: m.Line, Input: Field{Name: key}.ID(),
		Sentence: l.Sentence(m.Says()), Short: l.Sentence(m.Says()),
	}
}

// NewMistakes returns what is wrong with a scenario.
func NewMistakes(l words.Language, found scenario.Mistakes) []Mistake {
	list := make([]Mistake, 0, len(found))
	for _, m := range found {
		one := Mistake{Line: m.Line, Key: m.Key, Given: l.Clause(m.Given), Allowed: l.Clause(m.Allowed)}
		one.Short = l.Say("Given %s; allowed: %s.", one.Given, one.Allowed)
		if m.Key == "" {
			one.Sentence = l.Say("Line %[1]s: given %[2]s; allowed: %[3]s.", strconv.Itoa(m.Line), one.Given, one.Allowed)
		} else {
			one.Sentence = l.Say("Line %[1]s, %[2]s: given %[3]s; allowed: %[4]s.", strconv.Itoa(m.Line), m.Key, one.Given, one.Allowed)
		}
		list = append(list, one)
	}
	return list
}
