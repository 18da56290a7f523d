package shell

import (
	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// JudgedSays is what came of a script, in a sentence or two.
func JudgedSays(l words.Language, j *course.Judged) string {
	switch {
	case j.Refused != nil:
		if says, ok := phrase.Of(j.Refused); ok {
			return l.Sentence(says)
		}
		return j.Refused.Error()
	case j.Rule != "":
		return l.Say("This still breaks: %s, in %s orders with %s.",
			film.RuleTitle(l, j.Rule), page.Share(l, j.Found.Broken, j.Found.All), page.Bounds(l, j.Found.Within))
	case j.Endless:
		return l.Say("Some order never ends, or there are too many to try them all.")
	case j.Tokenless != "":
		return l.Say("%s gets in without a token: it is the third number of the reply.", j.Tokenless)
	case j.Solved && len(j.Left) > 0:
		var left []string
		for _, rule := range j.Left {
			left = append(left, film.RuleTitle(l, rule))
		}
		return l.Say("All %s orders were tried: nothing breaks that this script can prevent. No such script can prevent this: %s.", page.Grouped(j.All), l.List(left))
	case j.Solved:
		return l.Say("Nothing breaks any more: all %s orders were tried.", page.Grouped(j.All))
	case j.Ends == j.Wanted:
		return l.Say("No rule breaks, and nothing comes late, but %s is done only at %s and could be at %s: the lock was not free in time.", j.Thread, l.Duration(j.Late.Duration()), l.Duration(j.InTime.Duration()))
	default:
		return l.Say("No rule breaks, but %s ends wrong: %s instead of %s.", j.Thread, film.Result(l, j.Ends), film.Result(l, j.Wanted))
	}
}
