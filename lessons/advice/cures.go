package advice

import (
	"bytes"
	_ "embed" // the cures
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"relock/engine/phrase"
)

//go:embed cures.yaml
var cureTexts []byte

// Cure is what helps against broken rules in a program of somebody's own, of which nobody
// knows the source.
type Cure struct {
	Name  string            `yaml:"name"`
	Title phrase.Text       `yaml:"title"`
	Says  phrase.Text       `yaml:"says"`  // sentences
	Run   string            `yaml:"run"`   // a bundled scenario in which it holds
	Rules []string          `yaml:"rules"` // against which it helps
	When  map[string]string `yaml:"when"`  // by rule: only where this fault broke it, or NoFault
	Code  map[string]string `yaml:"code"`  // a few lines, by language: one of Languages
}

// Words in the place of a fault.
const (
	NoFault = "no fault" // the rule is broken without any
	ForEver = "for ever" // what stays is there for ever
)

// Broken is a rule, with the faults of the smallest order that breaks it.
type Broken struct {
	Rule    string
	Faults  []string
	Harms   bool // what the lock protects, and not the lock alone
	ForEver bool // of who is shut out
}

// helps reports whether the cure helps against it.
func (c Cure) helps(b Broken) bool {
	when, only := c.When[b.Rule]
	return slices.Contains(c.Rules, b.Rule) && (!only || when == NoFault && len(b.Faults) == 0 || when == ForEver && b.ForEver || slices.Contains(b.Faults, when))
}

// Languages are those in which cures have code.
var Languages = []string{"go", "python", "node", "java"}

var allCures = sync.OnceValue(func() (list []Cure) {
	d := yaml.NewDecoder(bytes.NewReader(cureTexts))
	d.KnownFields(true)
	if err := d.Decode(&list); err != nil {
		panic("advice: cures.yaml: " + err.Error())
	}
	return list
})

// Cures returns what helps against broken rules: first against harm to what the lock protects.
// The caller must not change them.
func Cures(broken []Broken) []Cure {
	mends := func(c Cure) bool { return slices.ContainsFunc(broken, c.helps) }
	saves := func(c Cure) bool {
		return slices.ContainsFunc(broken, func(b Broken) bool { return b.Harms && c.helps(b) })
	}
	list := slices.DeleteFunc(slices.Clone(allCures()), func(c Cure) bool { return !mends(c) })
	slices.SortStableFunc(list, func(a, b Cure) int {
		switch {
		case saves(a) == saves(b):
			return 0
		case saves(a):
			return -1
		default:
			return 1
		}
	})
	return list
}

// LanguageOf is the language of a worker's command, one of Languages; "go" where nobody knows.
func LanguageOf(command []string) string {
	for _, word := range command {
		name := filepath.Base(word)
		switch {
		case strings.HasPrefix(name, "python"), strings.HasSuffix(name, ".py"):
			return "python"
		case name == "node", name == "npx", name == "bun", name == "deno", strings.HasSuffix(name, ".js"), strings.HasSuffix(name, ".mjs"), strings.HasSuffix(name, ".ts"):
			return "node"
		case name == "java", name == "mvn", name == "gradle", strings.HasSuffix(name, ".jar"):
			return "java"
		}
	}
	return "go"
}
