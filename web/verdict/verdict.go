// Package verdict puts into words what a search of a scenario's schedules came
// to: how many break which rule, at what cost, and what nobody has looked at. It
// is pure: a view model.
package verdict

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"relock/engine/explore"
	"relock/web/timeline"
	"relock/web/words"
)

// Grouped is a count with its digits in groups of three.
func Grouped(n *big.Int) string {
	text := n.String()
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Delays is "at most 2 delays".
func Delays(l words.Language, most int) string {
	switch most {
	case 0:
		return l.Say("no delay")
	case 1:
		return l.Say("at most 1 delay")
	default:
		return l.Say("at most %d delays", most)
	}
}

// Bounds is "at most 2 delays and 1 fault (crash, lose-reply)".
func Bounds(l words.Language, b explore.Bounds) string {
	delays := Delays(l, b.Delays)
	switch b.MaxFaults {
	case 0:
		return l.Say("%s and no fault", delays)
	case 1:
		return l.Say("%[1]s and 1 fault (%[2]s)", delays, strings.Join(b.Kinds, ", "))
	default:
		return l.Say("%[1]s and %[2]d faults (%[3]s)", delays, b.MaxFaults, strings.Join(b.Kinds, ", "))
	}
}

// Searched says what was searched: "182 orders with at most 2 delays and no
// fault, in 298 states".
func Searched(l words.Language, s *explore.Space) string {
	return l.Say("%[1]s orders with %[2]s, in %[3]s states", Grouped(s.Schedules()), Bounds(l, s.Bounds()), Grouped(big.NewInt(int64(s.States()))))
}

// Share is "109 of 182 (60 %)".
func Share(l words.Language, n, of *big.Int) string {
	return l.Say("%[1]s of %[2]s (%[3]s)", Grouped(n), Grouped(of), Percent(n, of))
}

// Percent is a share as a person uses it: never 0 % of something, and 100 % only
// of all.
func Percent(n, of *big.Int) string {
	if of.Sign() == 0 || n.Sign() == 0 {
		return "0 %"
	}
	if n.Cmp(of) == 0 {
		return "100 %"
	}
	share, _ := new(big.Rat).SetFrac(n, of).Float64()
	return Part(min(max(share, math.SmallestNonzeroFloat64), math.Nextafter(1, 0)))
}

// Part is Percent of a share from 0 to 1.
func Part(share float64) string {
	switch percent := share * 100; {
	case share <= 0:
		return "0 %"
	case share >= 1:
		return "100 %"
	case percent < 1:
		return "< 1 %"
	case percent > 99:
		return "> 99 %"
	default:
		return strconv.Itoa(int(percent+0.5)) + " %"
	}
}

// Cost is "1 delay, 3 moves": what the smallest schedule takes that breaks a
// rule.
func Cost(l words.Language, r explore.Rule) string {
	var parts []string
	switch {
	case r.Delays == 1:
		parts = append(parts, l.Say("1 delay"))
	case r.Delays > 1:
		parts = append(parts, l.Say("%d delays", r.Delays))
	}
	switch {
	case r.Faults == 1:
		parts = append(parts, l.Say("1 fault"))
	case r.Faults > 1:
		parts = append(parts, l.Say("%d faults", r.Faults))
	}
	if len(r.Schedule) == 1 {
		return l.List(append(parts, l.Say("1 move")))
	}
	return l.List(append(parts, l.Say("%d moves", len(r.Schedule))))
}

// Smallest introduces the smallest schedule that breaks a rule, and says from
// where on there is no way around.
func Smallest(l words.Language, r explore.Rule) string {
	named := timeline.RuleNamed(l, r.Name)
	switch {
	case r.Lost == 0:
		return l.Say("%s: the smallest order; every other comes to it, too", named)
	case r.Lost > 0 && r.Lost < len(r.Schedule):
		return l.Say("%[1]s: the smallest order; after move %[2]d, none avoids it any more", named, r.Lost)
	default:
		return l.Say("%s: the smallest order", named)
	}
}

// Ending says what is certain now, and what is not.
func Ending(l words.Language, s *explore.Space) string {
	bounds := Bounds(l, s.Bounds())
	orders, broken := Grouped(s.Schedules()), Grouped(s.Broken())
	seen := s.Broken().Sign() > 0
	switch {
	case s.Ending() == explore.Exhausted && seen:
		return l.Say("%[1]s of %[2]s orders with %[3]s break a rule. All of them were tried.", broken, orders, bounds)
	case s.Ending() == explore.Exhausted:
		return l.Say("No rule is broken in any of the %[1]s orders with %[2]s; beyond that nobody looked.", orders, bounds)
	case seen:
		return l.Say("The search was cut short: of %[1]s orders that were tried, %[2]s break a rule. What was not tried may break others.", orders, broken)
	default:
		return l.Say("The search was cut short: of %s orders that were tried, none breaks a rule. That does not mean that none can.", orders)
	}
}

// Drawn says what orders drawn at random came to, and what that leaves open.
func Drawn(l words.Language, s *explore.Sample) string {
	n := Grouped(big.NewInt(int64(s.Drawn)))
	odds := Grouped(big.NewInt(int64(math.Ceil(s.Odds))))
	if s.Broken == 0 {
		return l.Say("Of %[1]s orders drawn at random, none breaks a rule: with 95 %% confidence, fewer than %[2]s of such orders do. A break that needs just these decisions is drawn about once in %[3]s at worst.",
			n, tenths(s.High), odds)
	}
	rules := make([]string, len(s.Rules))
	for i, name := range s.Rules {
		rules[i] = timeline.RuleNamed(l, name)
	}
	return l.Say("Of %[1]s orders drawn at random, %[2]d break a rule: with 95 %% confidence, %[3]s to %[4]s of such orders do (%[5]s).",
		n, s.Broken, tenths(s.Low), tenths(s.High), l.List(rules))
}

// tenths is a share in percent with one decimal.
func tenths(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" }
