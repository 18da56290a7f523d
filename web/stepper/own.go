package stepper

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"relock/engine/explore"
	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/page"
	"relock/web/templates"
)

// mistaken returns what is wrong with a user's script, if err is that.
func mistaken(err error) *ownlock.Mistake {
	var m *ownlock.Mistake
	if errors.As(err, &m) {
		return m
	}
	return nil
}

// mistakeOf returns where a script is wrong, nil if err is about something else.
func mistakeOf(err error) *mistakeJSON {
	if m := mistaken(err); m != nil {
		return &mistakeJSON{m.Call, m.Line}
	}
	return nil
}

// toldMistake tells who asked for a search what is wrong with a script.
func (r *Reader) toldMistake(x *Exploration, m *ownlock.Mistake) error {
	html, err := templates.Text(r.Language, templates.Found(page.Found{Ending: r.Language.Sentence(m.Says())}))
	if err != nil {
		return err
	}
	return r.Tell(x, Told{
		Mistake:  &mistakeJSON{m.Call, m.Line},
		Explored: &exploredJSON{Found: html, Judged: &judgedJSON{Failed: true}},
	})
}

// newJudged is what a search has found of the lock of a scenario.
func newJudged(sc *scenario.Scenario, s *explore.Space) *judgedJSON {
	if !s.Evidence().Misused.IsZero() { // nothing was played
		return &judgedJSON{Failed: true, Misused: !s.Evidence().Advice.Misused.Says.IsZero()}
	}
	j := &judgedJSON{
		Broken: page.Grouped(s.Broken()), All: page.Grouped(s.Schedules()),
		Sound: s.Ending() == explore.Exhausted && s.Broken().Sign() == 0 && !page.Useless(s), Unreached: map[string][]int{},
	}
	for _, u := range s.Unreached() {
		call := strings.TrimSuffix(u.Script, ".lua")
		for _, line := range u.Lines {
			j.Unreached[call] = append(j.Unreached[call], line.Number)
		}
	}
	open, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(nil)})
	if err == nil && len(open) <= link.MaxPacked { // else it is shared as a file
		b, kinds := s.Bounds(), ""
		if b.MaxFaults > 0 && len(b.Kinds) < len(sc.StrikeKinds()) { // else all
			kinds = "&kinds=" + strings.Join(b.Kinds, ",")
		}
		j.Link = fmt.Sprintf("/edit?delays=%d&faults=%d%s#%s", b.Delays, b.MaxFaults, kinds, open)
	}
	return j
}

// withLinks gives each broken rule the address of its smallest order, as far as that
// fits into a link.
func withLinks(f *page.Found, sc *scenario.Scenario, rules []explore.Rule) error {
	for i, r := range rules {
		open, err := link.PlayAddress(sc.WithSchedule(r.Schedule), cmp.Or(max(r.Lost, 0), len(r.Schedule)))
		if err != nil {
			return err
		}
		f.Rules[i].Link = open
	}
	return nil
}
