package step

import (
	"bytes"
	"encoding/json"
	"fmt"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// command has the fields common to all commands.
type command struct {
	ID int    `json:"id"`
	Do string `json:"do"`
}

func (c command) name() string { return c.Do }

// onBranch has the fields of commands about a branch.
type onBranch struct {
	command

	Branch int `json:"branch"`
}

// afterMoves has the fields of commands that act somewhere on a branch.
type afterMoves struct {
	onBranch

	At *int `json:"at"` // after so many moves; left out: at the branch's end
}

type openArgs struct {
	command

	Link     string        `json:"link"`     // what to open
	Scenario string        `json:"scenario"` // or this, as YAML or JSON
	Branches []broughtJSON `json:"branches"` // and these branches of it
}

// broughtJSON is a branch that a returning page brings along.
type broughtJSON struct {
	Branch

	Moves []json.RawMessage `json:"moves"`
}

type stepArgs struct {
	afterMoves

	Thread     string `json:"thread"` // "": the one that the policy chooses
	Background bool   `json:"background"`
	Network    bool   `json:"network"`
	Node       int    `json:"node"` // from 1; 0: none in particular
}

type runArgs struct {
	onBranch

	To     string `json:"to"`
	Thread string `json:"thread"` // whose outcome
}

type timeArgs struct {
	afterMoves

	To string `json:"to"`
	By string `json:"by"`
}

type strikeArgs struct {
	afterMoves

	Fault map[string]json.RawMessage `json:"fault"`
}

// argsOf reads a command's arguments. It fails with errNotCommand, also for
// unknown ones.
func argsOf[T any](frame []byte) (args T, err error) {
	dec := json.NewDecoder(bytes.NewReader(frame))
	dec.DisallowUnknownFields()
	if dec.Decode(&args) != nil {
		return args, errNotCommand
	}
	return args, nil
}

// errNotCommand is returned for a frame whose arguments fit no command.
var errNotCommand = phrase.New("that is not a command: it must be one JSON object with the keys of a command")

// MovesOf reads a list of moves, in the format of a scenario's schedule.
func MovesOf[T any](sc *scenario.Scenario, list []T) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	return sc.ParseMoves(text)
}

// stood is what the commands have that are about where a page stands, and act
// nowhere.
type stood struct {
	onBranch

	Moves int `json:"moves"` // after so many
}
