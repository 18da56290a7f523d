package scenario

import (
	"time"

	"relock/engine/phrase"
	"relock/engine/strict"

	"go.yaml.in/yaml/v3"
)

// Mistakes are all mistakes of a scenario, by line.
type Mistakes strict.Mistakes

// Error lists the mistakes, one per line.
func (m Mistakes) Error() string { return phrase.Lines(m).String() }

// Says implements phrase.Speaker: all mistakes, one per line.
func (m Mistakes) Says() phrase.Wording {
	return phrase.Say("the scenario has mistakes: %s", phrase.Lines(m))
}

// document is what mistakes call a scenario.
const document = "scenario"

// Parse reads a scenario. Its error is a Mistakes; then there is no scenario.
func Parse(data []byte) (*Scenario, error) {
	s, mistakes := Draft(data)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return s, nil
}

// ReadNode reads a scenario that is a part of a larger document, whose lines and keys its
// mistakes name. Then there is no scenario.
func ReadNode(v strict.Value) (*Scenario, strict.Mistakes) {
	p := newParser()
	s := p.scenario(v)
	if found := p.Mistakes.Listed(); len(found) > 0 {
		return nil, found
	}
	return s, nil
}

// Draft reads what it can of a scenario that someone is writing, with defaults
// for what is wrong or missing. The result is for showing beside its mistakes,
// which are Parse's, never for running; without mistakes it equals Parse's. It
// is nil if the text is not YAML.
func Draft(data []byte) (*Scenario, Mistakes) {
	root, mistakes := read(data, "")
	if mistakes != nil {
		return nil, mistakes
	}
	p := newParser()
	return p.scenario(strict.Value{Node: root}), p.found()
}

// ParseMoves reads moves as a schedule of s writes them, as YAML or JSON: a list. The
// error is Mistakes, with keys such as "schedule[0].thread".
func (s *Scenario) ParseMoves(list []byte) ([]Move, error) {
	root, mistakes := read(list, "schedule")
	if mistakes != nil {
		return nil, mistakes
	}
	made, p := s.WithSchedule(nil), newParser()
	p.schedule(strict.Map{"schedule": {Node: root, Key: "schedule"}}, made)
	if found := p.found(); len(found) > 0 {
		return nil, found
	}
	return made.Schedule, nil
}

// read returns the one YAML document that data must contain, of what is at a key.
func read(data []byte, key string) (*yaml.Node, Mistakes) {
	if len(data) > MaxBytes {
		return nil, Mistakes{{Document: document, Line: 1, Key: key, Given: strict.Say("more than 64 KiB"), Allowed: strict.Say("at most 64 KiB")}}
	}
	root, mistakes := strict.Document(data, document, strict.Say("one YAML or JSON document with the keys of a scenario"))
	return root, Mistakes(mistakes)
}

// ParsePassage reads how much time passes, say 50ms, and refuses a time that may not
// pass.
func ParsePassage(s string) (time.Duration, bool) {
	d, ok := strict.ParseTime(s)
	return d, ok && strict.Times{Low: time.Microsecond, High: MaxPassage, Unit: time.Microsecond}.Has(d)
}

// ParseSeed reads a seed. Its error says what is allowed.
func ParseSeed(s string) (uint64, error) {
	n, ok := strict.ParseWhole(s)
	if !ok {
		return 0, phrase.New("given %s, allowed: %s", strict.Quote(s), strict.Whole[uint64](0, MaxSeed))
	}
	return n, nil
}

// parser walks a document and collects its mistakes.
type parser struct {
	strict.Reader

	unknown bool // the lock's protocol is not known
	several bool // there are several locks
}

func newParser() *parser { return &parser{Reader: strict.Reader{Document: document}} }

// found returns the mistakes, by line.
func (p *parser) found() Mistakes { return Mistakes(p.Mistakes.Listed()) }

// judges reports whether settings without effect on the lock are mistakes.
func (p *parser) judges() bool { return !p.unknown }
