package film

import (
	"strings"
	"time"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/words"
)

// Failure is a thread that ended with an error. That need not break a rule: a thread that
// got WRONGTYPE has done no harm, and got no lock either.
type Failure struct {
	Thread string
	Error  string // as the trace has it
	Cause  trace.Cause
}

// FailureOf returns the failure that an event reports, if it does.
func FailureOf(e trace.Event) (Failure, bool) {
	end, ok := e.Body.(trace.End)
	return Failure{e.Thread, end.Error, end.Cause}, ok && e.Thread != "" && end.Result == trace.Failed
}

// failedToo adds the failure that an event reports, if it does. A thread ends once; in a
// handwritten trace, it reports no more than a run has threads.
func failedToo(list []Failure, e trace.Event) []Failure {
	if f, ok := FailureOf(e); ok && len(list) < scenario.MaxThreads {
		return append(list, f)
	}
	return list
}

// OnlyFailed sums up a run in which no rule was broken but these threads
// failed; "" if none did.
func OnlyFailed(l words.Language, list []Failure) string {
	var groups []string
	for i, f := range list {
		why := reason(l, f)
		if contains(l, list[:i], why) {
			continue
		}
		var names []string
		for _, other := range list[i:] {
			if reason(l, other) == why {
				names = append(names, other.Thread)
			}
		}
		groups = append(groups, l.Say("%s ended with an error: %s", l.List(names), why))
	}
	if len(groups) == 0 {
		return ""
	}
	return l.Say("no rule was broken, but %s", strings.Join(groups, l.Say("; ")))
}

func contains(l words.Language, list []Failure, why string) bool {
	for _, f := range list {
		if reason(l, f) == why {
			return true
		}
	}
	return false
}

// reason says why a thread failed.
func reason(l words.Language, f Failure) string {
	why := causeOf(f.Cause, f.Error)
	switch why.Kind {
	case trace.NoMajority:
		return l.Say("no majority of the nodes")
	case trace.NothingHeld:
		return l.Say("it did not hold what it wanted to unlock")
	case trace.BusinessPanic:
		return l.Say("the business code panicked")
	case trace.Answered:
		return why.Code
	case trace.UnknownCommand:
		return l.Say("this Redis does not know %s", why.Code)
	case trace.Unsynced:
		return l.Say("too few replicas acknowledged it")
	}
	if f.Error == "" {
		return l.Say("unknown")
	}
	return failure(l, why, f.Error)
}

// Unjudged says what keeps a judgement from being given, and what helps: a line for each
// thing that is missing, the first of which says so. It is nil where nothing is missing.
func Unjudged(l words.Language, j verdict.Judgement) []string {
	if len(j.Unjudged) == 0 {
		return nil
	}
	list := []string{l.Say("This cannot be judged:")}
	if j.Verdict == verdict.Broken {
		list[0] = l.Say("What else could break cannot be judged:")
	}
	for _, lack := range j.Unjudged {
		list = append(list, l.Clause(lack.Says.And(lack.Helps)))
	}
	return list
}

// Lateness says that the timers of a run were late by up to d, and what that means.
func Lateness(l words.Language, d time.Duration) string {
	return l.Say("the machine was up to %s late: these instants are not the scenario's", l.Duration(d))
}
