package explore

import (
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Unexpected says how the space differs from what a scenario expects of these
// bounds, or "".
func (s *Space) Unexpected(claim scenario.Explored) phrase.Wording {
	var got []string
	for _, r := range s.Rules() {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	want := slices.Compact(slices.Sorted(slices.Values(claim.Violations)))
	foreign := func(rule string) bool { return !slices.Contains(want, rule) }
	switch {
	case s.ending == Exhausted && !slices.Equal(got, want), slices.ContainsFunc(got, foreign):
		return phrase.Say("explore: expected schedules that break %s, but they break %s", listed(want), listed(got))
	case s.ending != Exhausted:
		return phrase.Say("explore: the search did not finish (%s), so nothing is certain", s.Why())
	default:
		return phrase.Wording{}
	}
}

func listed(rules []string) phrase.Wording {
	if len(rules) == 0 {
		return phrase.Say("no rule")
	}
	return phrase.Plain(strings.Join(rules, ", "))
}
