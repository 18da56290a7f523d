package film

import (
	"unicode/utf8"

	"relock/engine/check"
	"relock/engine/trace"
	"relock/web/words"
)

// permitsTaken says how many of a lock's permits are in its key: "2 of 3 permits"; "" where
// there is no key, or it has no members that could take them.
func permitsTaken(l words.Language, kind check.Kind, k trace.KeyState) string {
	if kind.Permits == 0 {
		return ""
	}
	switch n := k.CountMembers(); {
	case n == 0:
		return ""
	case n > kind.Permits:
		return l.Say("%d members for %d permits", n, kind.Permits)
	default:
		return l.Say("%d of %d permits", n, kind.Permits)
	}
}

// elements says how many a list has.
func elements(l words.Language, k trace.KeyState) string {
	return l.Say("elements: %d", k.Length)
}

// allTaken says that a lock has no permit left.
func allTaken(l words.Language, kind check.Kind) string {
	if kind.Permits == 2 {
		return l.Say("both are taken")
	}
	return l.Say("all %d are taken", kind.Permits)
}

// allFree says that nothing is in a lock's key: "" of one without permits.
func allFree(l words.Language, kind check.Kind) string {
	switch kind.Permits {
	case 0:
		return ""
	case 2:
		return l.Say("both permits are free")
	default:
		return l.Say("all %d permits are free", kind.Permits)
	}
}

// full reports whether a lock has no permit left.
func full(kind check.Kind, k trace.KeyState) bool {
	return kind.Permits > 0 && k.CountMembers() >= kind.Permits
}

// shared reports whether the key may have several holders, each of whom has only its part
// of it: what happens to the key happens to them all.
func shared(kind check.Kind, k trace.KeyState) bool {
	return kind.Permits > 0 && k.Value == nil || k.Mode() != "" || k.Type == trace.TypeZSet || k.Type == trace.TypeSet || k.CountMembers() > 1
}

// sayMode says who reads or writes by a hash of readers and a writer, given its holders: "A
// and B read"; "" of another key, or where it names nobody.
func sayMode(l words.Language, k trace.KeyState, holders []string) string {
	mode := k.Mode()
	switch {
	case len(holders) == 0 || len(holders) > 1 && mode != trace.ModeRead:
		return ""
	case mode == trace.ModeRead && len(holders) > 1:
		return brief(l.Say("%s read", fewOf(l, holders)), l.Say("%d read", len(holders)))
	case mode == trace.ModeRead:
		return brief(l.Say("%s reads", holders[0]), l.Say("a reader is in"))
	case mode == trace.ModeWrite:
		return brief(l.Say("%s writes", holders[0]), l.Say("a writer is in"))
	}
	return ""
}

// mostTie is how many characters fit beside a cord.
const mostTie = 16

// brief returns a text, or another in its place where it does not fit beside a cord.
func brief(text, short string) string {
	if utf8.RuneCountInString(text) > mostTie {
		return short
	}
	return text
}

// fewOf returns the names, or of many the first, and how many others there are.
func fewOf(l words.Language, names []string) string {
	if len(names) > 2 {
		return l.Say("%s and %d others", names[0], len(names)-1)
	}
	return l.List(names)
}
