package course

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strings"

	"relock/engine/check"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// labs is the folder of a course that has what a lab found: NAME.json as
// `playground lab -json` printed it, NAME.jsonl as -save wrote it, and the workers.
const labs = "labs"

// Lab is what a search of the lab found of somebody's own lock. It is not changed
// after it was read.
type Lab struct {
	Name    string
	Command []string // the worker's
	Worker  string   // its text, "" where it is not in the folder
	Orders  *big.Int // that were tried: all there are
	Broken  *big.Int // of them, those that break a rule
	Within  explore.Bounds

	resource string              // the key of what the lock protects, or ""
	once     bool                // what is pushed on it must be done once
	rules    map[string]*big.Int // of the orders, those that break a rule, by its name
}

// Breaks is how many of the orders break a rule.
func (f *Lab) Breaks(rule string) *big.Int {
	if n := f.rules[rule]; n != nil {
		return n
	}
	return new(big.Int)
}

// Rules are those that some order breaks, by name.
func (f *Lab) Rules() []string { return slices.Sorted(maps.Keys(f.rules)) }

// Line is the command that makes the search.
func (f *Lab) Line() string {
	words := []string{"playground", "lab", "-faults", "none"}
	if f.Within.MaxFaults > 0 {
		words[3] = strings.Join(f.Within.Kinds, ",")
	}
	if f.Within.MaxFaults > 1 {
		words = append(words, "-max-faults", fmt.Sprint(f.Within.MaxFaults))
	}
	if f.resource != "" {
		words = append(words, "-resource", f.resource)
	}
	if f.once {
		words = append(words, "-once")
	}
	return strings.Join(append(append(words, "--"), f.Command...), " ")
}

// recorded reads what a lab found, and the order that was saved of it: a run that
// nobody can play again without its worker.
func recorded(course fs.FS, folder, name string) (*Run, error) {
	if !nameLike(name) {
		return nil, phrase.New("lab: given %q, allowed: the name of a trace in %s, such as lost-reply", name, folder)
	}
	found, err := readLab(course, folder, name)
	if err != nil {
		return nil, err
	}
	file := folder + "/" + name + ".jsonl"
	data, err := readFile(course, file)
	if err != nil {
		return nil, phrase.New("%s: %s", "lab", err)
	}
	h, events, err := trace.Read(context.Background(), bytes.NewReader(data)) // of the course: nobody waits for it
	if err != nil {
		return nil, phrase.New("%s: %s", file, err)
	}
	if h.Store != trace.StoreLab || h.Lab == nil {
		return nil, phrase.New("%s is no trace of a lab's", file)
	}
	if fmt.Sprint(h.Lab.Command) != fmt.Sprint(found.Command) {
		return nil, phrase.New("%s is of %q, and %s.json of %q", file, h.Lab.Command, name, found.Command)
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil {
		return nil, phrase.New("%s: %s", file, err)
	}
	threads := make([]string, len(sc.Threads))
	for i, t := range sc.Threads {
		threads[i] = t.Name
	}
	if err := trace.Check(h, events, threads); err != nil {
		return nil, phrase.New("%s: %s", file, err)
	}
	return &Run{Scenario: sc, Header: h, Events: events, Lab: found}, nil
}

// notJSON is why a text is no JSON of the form that is read; nil for nil.
func notJSON(err error) error {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return phrase.New("this is not JSON from byte %d on", int(syntax.Offset))
	case errors.As(err, &typed):
		return phrase.New("the key %q has a value of another kind", typed.Field)
	default:
		return err
	}
}

func nameLike(text string) bool { return name.MatchString(text) }

// readLab reads what `playground lab -json` printed.
func readLab(course fs.FS, folder, name string) (*Lab, error) {
	file := folder + "/" + name + ".json"
	data, err := readFile(course, file)
	if err != nil {
		return nil, phrase.New("%s: %s", "lab", err)
	}
	f := &Lab{Name: name, rules: map[string]*big.Int{}}
	count := func(text string) *big.Int {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || n.Sign() < 0 {
			err = phrase.New("%s: %q is no count", file, text)
			return new(big.Int)
		}
		return n
	}
	for line := range bytes.Lines(data) {
		var said struct {
			Lab       int      `json:"lab"`
			Command   []string `json:"command"`
			Faults    []string `json:"faults"`
			MaxFaults int      `json:"max_faults"`
			Ending    string   `json:"ending"`
			Orders    string   `json:"orders"`
			Broken    string   `json:"broken"`
			Rule      string   `json:"rule"`
			Verdict   string   `json:"verdict"`
			Resource  string   `json:"resource"`
			Once      bool     `json:"once"`
		}
		if err := notJSON(json.Unmarshal(line, &said)); err != nil {
			return nil, phrase.New("%s: %s", file, err)
		}
		switch {
		case said.Lab == 1 && said.Ending != "exhausted":
			return nil, phrase.New("%s: it ended as %q; allowed: exhausted, so that a text can say all", file, said.Ending)
		case said.Lab == 1 && said.Verdict != string(verdict.Broken) && said.Verdict != string(verdict.Unbroken):
			return nil, phrase.New("%s: its verdict is %q; allowed: %s or %s, so that a text can say that none breaks a rule", file, said.Verdict, verdict.Broken, verdict.Unbroken)
		case said.Lab == 1:
			f.Command, f.Orders, f.Broken = said.Command, count(said.Orders), count(said.Broken)
			f.resource, f.once = said.Resource, said.Once
			f.Within = explore.Bounds{Delays: AnyDelays, Kinds: said.Faults, MaxFaults: said.MaxFaults}
		case said.Rule != "":
			rule, _ := check.Named(said.Rule) // the file may be older than its name
			f.rules[rule] = count(said.Orders)
		}
	}
	if err == nil && f.Orders == nil {
		err = phrase.New("%s is not what playground lab -json prints", file)
	}
	if err != nil {
		return nil, err
	}
	for _, word := range f.Command {
		if worker := folder + "/" + word; fs.ValidPath(worker) && word != "" {
			if text, err := readFile(course, worker); err == nil {
				f.Worker = string(text)
			}
		}
	}
	return f, nil
}

// AnyDelays replaces [explore.Bounds].Delays if the lab tried every order, however often
// somebody is held up.
const AnyDelays = -1

// found is what the search found of a rule.
func (f *Lab) found(rule string) *Found {
	return &Found{All: f.Orders, Broken: f.Breaks(rule), Within: f.Within}
}

// seeBroken is how many orders of a lab's search break a rule.
func seeBroken(rule string) seeing {
	return func(r *Run, _ int, _ trace.Millis) phrase.Wording {
		return phrase.Say("%s in %d of %d orders", check.Title(rule), int(r.Lab.Breaks(rule).Int64()), int(r.Lab.Orders.Int64()))
	}
}
