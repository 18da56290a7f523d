package lessons

import (
	"bytes"
	_ "embed" // the texts
	"errors"
	"fmt"
	"sync"

	"relock/engine/lock/exhibit"

	"go.yaml.in/yaml/v3"
)

//go:embed protocols.yaml
var protocolTexts []byte

// Protocol says what a lock guarantees and where it fails.
type Protocol struct {
	Name          string `yaml:"name"`
	Source        string `yaml:"source"`     // the article or library that it comes from
	ChineseSource string `yaml:"zh-source"`  // the same, in Chinese
	Guarantees    Lines  `yaml:"guarantees"` // at least one
	Holes         Lines  `yaml:"holes"`      // at least one
}

// Lines are the same in both languages of the site, as many in each.
type Lines struct {
	English []string `yaml:"en"`
	Chinese []string `yaml:"zh"`
}

// In is what they are in Chinese, or in English.
func (l Lines) In(chinese bool) []string {
	if chinese {
		return l.Chinese
	}
	return l.English
}

func (l Lines) complete() bool { return len(l.English) > 0 && len(l.English) == len(l.Chinese) }

// Protocols returns the texts, in the order in which scenario.Protocols lists
// the locks. It fails where a text is missing or is about no lock.
var Protocols = sync.OnceValues(readProtocols)

func readProtocols() ([]Protocol, error) {
	var list []Protocol
	dec := yaml.NewDecoder(bytes.NewReader(protocolTexts))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("lessons: protocols.yaml: %w", err)
	}
	byName := map[string]Protocol{}
	for _, p := range list {
		if !p.Guarantees.complete() || !p.Holes.complete() || p.Source == "" || p.ChineseSource == "" {
			return nil, fmt.Errorf("lessons: protocols.yaml: %q needs a source, guarantees and holes in each language", p.Name)
		}
		byName[p.Name] = p
	}
	var out []Protocol
	for _, known := range exhibit.All() {
		p, ok := byName[known.Name]
		if !ok {
			return nil, fmt.Errorf("lessons: protocols.yaml: no text about %q", known.Name)
		}
		out = append(out, p)
	}
	if len(out) != len(list) {
		return nil, errors.New("lessons: protocols.yaml: a text about no lock, or two about one")
	}
	return out, nil
}
