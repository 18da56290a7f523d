package class

import (
	"relock/engine/course"
	"relock/web/words"
)

// verdict is what can come of a script that a class writes: an option of the
// question, which stays in logs.
type verdict int

const (
	isRight verdict = iota
	breaksARule
	endsOtherwise
	isRefused
)

// verdicts are what can come of a script, in their order.
func verdicts(l words.Language) []string {
	return []string{
		isRight:       l.Say("right: every order was tried"),
		breaksARule:   l.Say("some order still breaks a rule"),
		endsOtherwise: l.Say("no rule breaks, but a thread comes late, never, or without a token"),
		isRefused:     l.Say("not a script of this lock: Lua, or the lock, refuses it"),
	}
}

func verdictOf(j *course.Judged) verdict {
	switch {
	case j.Solved:
		return isRight
	case j.Refused != nil:
		return isRefused
	case j.Rule != "":
		return breaksARule
	default:
		return endsOtherwise
	}
}
