package main

import (
	"flag"
	"slices"
	"strings"

	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/words"
)

// searchFlags are the flags of what searches a scenario's orders, explore and mend.
type searchFlags struct {
	bounds   explore.Bounds // without Kinds: these depend on the scenario
	faults   string         // the kinds, as kindsOf reads them
	json     bool
	workers  int
	language *words.Language
	given    map[string]bool // the flags that were given, by name
}

// searchHelp is what the flags do where two commands differ, and their default.
type searchHelp struct {
	faults, maxFaults, maxStates phrase.Text
	states                       int
}

// add adds the flags.
func (f *searchFlags) add(fs *flag.FlagSet, env environment, help searchHelp) {
	fs.IntVar(&f.bounds.Delays, "delays", 2, env.say("at most `N` delays in a schedule, 0 to %d", scenario.MaxDelays))
	fs.StringVar(&f.faults, "faults", "", env.say(help.faults))
	fs.IntVar(&f.bounds.MaxFaults, "max-faults", 0, env.say(help.maxFaults, scenario.MaxStruck))
	fs.IntVar(&f.bounds.MaxStates, "max-states", help.states, env.say(help.maxStates, typed(explore.MaxStates)))
	fs.IntVar(&f.workers, "workers", 0, env.say("search `N` states at once; 0: one for each processor. The result is the same"))
	fs.BoolVar(&f.json, "json", false, env.say("print JSON Lines"))
	f.language = languageFlag(fs, env)
}

// check reads which of the parsed flags were given, and refuses what explore.Bounds would
// take for its default.
func (f *searchFlags) check(fs *flag.FlagSet, env environment) (code int, ok bool) {
	f.given = map[string]bool{}
	fs.Visit(func(one *flag.Flag) { f.given[one.Name] = true })
	if f.given["faults"] && !f.given["max-faults"] {
		f.bounds.MaxFaults = 1
	}
	if f.bounds.MaxStates == 0 {
		return env.refuseWhy(explore.ErrStates, "-max-states 0"), false
	}
	return exitOK, true
}

// kindsOf reads the flag -faults.
func kindsOf(sc *scenario.Scenario, text string) []string {
	if strings.TrimSpace(text) == "all" {
		return sc.StrikeKinds()
	}
	return named(text)
}

// named are the names in a list with commas, each once.
func named(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// faultsForm and boundsForm are the bounds of a search in the lines of -json.
type (
	faultsForm struct {
		Faults    []string `json:"faults"`
		MaxFaults int      `json:"max_faults"`
	}
	boundsForm struct {
		Delays int `json:"delays"`
		faultsForm
	}
)

func newBoundsForm(b explore.Bounds) boundsForm {
	return boundsForm{b.Delays, newFaultsForm(b.Kinds, b.MaxFaults)}
}

func newFaultsForm(kinds []string, most int) faultsForm {
	return faultsForm{append([]string{}, kinds...), most}
}
