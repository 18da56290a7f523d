package page

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"relock/engine/explore"
	"relock/web/film"
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

// Bounds is "at most 2 delays and 1 fault (crash, lose-reply)"; of a negative number of
// delays, which a lab does not count, the faults alone.
func Bounds(l words.Language, b explore.Bounds) string {
	if b.Delays < 0 && b.MaxFaults == 0 {
		return l.Say("no fault")
	}
	if b.Delays < 0 {
		return l.Say("faults: %s, at most %d", cmp.Or(strings.Join(b.Kinds, ", "), l.Say("none")), b.MaxFaults)
	}
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
	orders, bounds, states := Grouped(s.Schedules()), Bounds(l, s.Bounds()), Grouped(big.NewInt(int64(s.States())))
	if s.Ending() != explore.Exhausted {
		return l.Say("some of the orders with %[2]s: %[1]s orders, in %[3]s states", orders, bounds, states)
	}
	return l.Say("%[1]s orders with %[2]s, in %[3]s states", orders, bounds, states)
}

// Share is "109 of 182 (60 %)". If a search was cut short before any of n was finished,
// it says that.
func Share(l words.Language, n, of *big.Int) string {
	if n.Sign() == 0 {
		return l.Say("in none that was tried to the end")
	}
	return l.Say("%[1]s of %[2]s (%[3]s)", Grouped(n), Grouped(of), Percent(n, of))
}

// Percent is a share as a person uses it: never 0 % of something, and 100 % only
// of all.
func Percent(n, of *big.Int) string {
	if n.Sign() == 0 {
		return "0 %"
	}
	if n.Cmp(of) == 0 {
		return "100 %"
	}
	return PercentOf(min(max(Ratio(n, of), math.SmallestNonzeroFloat64), math.Nextafter(1, 0)))
}

// Ratio is n of all, 0 to 1; 0 where there are none at all.
func Ratio(n, all *big.Int) float64 {
	if all.Sign() == 0 {
		return 0
	}
	share, _ := new(big.Rat).SetFrac(n, all).Float64()
	return share
}

// PercentOf is Percent of a share from 0 to 1.
func PercentOf(share float64) string {
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
// rule. Its moves are not known before the search has ended, and not said then.
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
	switch n := len(r.Schedule); {
	case n == 0 && len(parts) == 0:
		return "…"
	case n == 1:
		parts = append(parts, l.Say("1 move"))
	case n > 1:
		parts = append(parts, l.Say("%d moves", n))
	}
	return l.List(parts)
}

// Smallest introduces the smallest schedule that breaks a rule, or that was found
// to, and says from where on there is no way around.
func Smallest(l words.Language, r explore.Rule) string {
	named := film.RuleNamed(l, r.Name)
	switch {
	case r.Least < r.Delays+r.Faults:
		return l.Say("%s: the smallest order in which no thread stands still longer than its lease", named)
	case !r.Smallest:
		return l.Say("%s: the smallest order found; there may be smaller ones that were not tried", named)
	case r.Lost == 0:
		return l.Say("%s: the smallest order; every other one breaks it as well", named)
	case r.Lost > 0 && r.Lost < len(r.Schedule):
		return l.Say("%[1]s: the smallest order; after move %[2]d, none avoids it any more", named, r.Lost)
	default:
		return l.Say("%s: the smallest order", named)
	}
}

// AllSmallest reports whether what was found of each broken rule is the smallest
// there is.
func AllSmallest(s *explore.Space) bool {
	return !slices.ContainsFunc(s.Rules(), func(r explore.Rule) bool { return !r.Smallest })
}

// StandingStill says, as a clause, how many of the orders that break a rule do so only
// after a thread stood still; "" if none does. That this is why is certain only if all do.
func StandingStill(l words.Language, broken, standing *big.Int) string {
	switch {
	case standing == nil || standing.Sign() == 0:
		return ""
	case standing.Cmp(broken) == 0:
		return l.Say("all only because a thread stood still longer than its lease")
	default:
		return l.Say("%s of them only after a thread stood still longer than its lease", Grouped(standing))
	}
}

// SearchEnding says what is certain now, what is not, and why.
func SearchEnding(l words.Language, s *explore.Space) string {
	bounds := Bounds(l, s.Bounds())
	orders, broken := Grouped(s.Schedules()), Grouped(s.Broken())
	seen := s.Broken().Sign() > 0
	switch standing := StandingStill(l, s.Broken(), s.ByStandingStill()); {
	case s.Ending() == explore.Exhausted && standing != "":
		return l.Say("%[1]s of %[2]s orders with %[3]s break a rule, %[4]s. All orders were tried.", broken, orders, bounds, standing)
	case s.Ending() == explore.Exhausted && seen:
		return l.Say("%[1]s of %[2]s orders with %[3]s break a rule. All of them were tried.", broken, orders, bounds)
	case s.Ending() == explore.Exhausted:
		return l.Say("None of the %[1]s orders with %[2]s breaks a rule. Nothing beyond that was searched.", orders, bounds)
	}
	return l.Say("%s %s", l.Say("The search was cut short: %s.", l.Clause(s.Why())), seenSoFar(l, s))
}

// seenSoFar says what a search has seen that was cut short.
func seenSoFar(l words.Language, s *explore.Space) string {
	orders := Grouped(s.Schedules())
	begun := len(s.Rules()) > 0 && s.Broken().Sign() == 0 // where a rule is broken, but not gone on from there
	switch {
	case s.Schedules().Sign() == 0 && begun:
		return l.Say("No order was tried to the end, but some unfinished ones break a rule.")
	case s.Schedules().Sign() == 0:
		return l.Say("No order was tried to the end: nothing is known yet.")
	case begun:
		return l.Say("None of the %s orders tried to the end breaks a rule, but some unfinished ones do.", orders)
	case s.ByStandingStill().Sign() > 0:
		return l.Say("Of the %[1]s orders tried, %[2]s break a rule, %[3]s. Untried orders may break others.", orders, Grouped(s.Broken()), StandingStill(l, s.Broken(), s.ByStandingStill()))
	case s.Broken().Sign() > 0:
		return l.Say("Of the %[1]s orders tried, %[2]s break a rule. Untried orders may break others.", orders, Grouped(s.Broken()))
	default:
		return l.Say("None of the %s orders tried breaks a rule. That does not mean that none can.", orders)
	}
}

// Drawn says what orders drawn at random came to. They are not drawn evenly, so
// that it is no share of all.
func Drawn(l words.Language, s *explore.Sample) string {
	n := Grouped(big.NewInt(int64(s.Drawn)))
	rules := make([]string, len(s.Rules))
	for i, name := range s.Rules {
		rules[i] = film.RuleNamed(l, name)
	}
	var text string
	switch {
	case s.Drawn == 0:
		text = l.Say("None of the orders drawn at random (PCT) ended.")
	case s.Broken > 0:
		text = l.Say("Of %[1]s orders drawn at random (PCT), %[2]s break a rule. They are not drawn evenly: this is not a share of all.", n, Grouped(big.NewInt(int64(s.Broken))))
	default:
		text = l.Say("Of %[1]s orders drawn at random (PCT), none breaks a rule. A break that needs just these decisions is drawn about once in %[2]s at worst.", n, about(s.Odds))
	}
	if s.Drawn > 0 && s.Endless > 0 {
		text = l.Say("%s %s", text, l.Say("%d more did not end within the moves played.", s.Endless))
	}
	if len(rules) > 0 {
		text = l.Say("%s %s", text, l.Say("Broken in them: %s.", l.List(rules)))
	}
	return text
}

// about is a count with two digits that are not zero: 1,234 is "1,200".
func about(n float64) string {
	exact, _ := big.NewFloat(math.Ceil(n)).Int(nil)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(len(exact.String())-2, 0))), nil)
	half := new(big.Int).Rsh(unit, 1)
	exact.Add(exact, half).Quo(exact, unit)
	return Grouped(exact.Mul(exact, unit))
}
