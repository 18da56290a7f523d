package infer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// unlike reports whether a key is of a type of which nobody knows who is inside without marks.
func unlike(k trace.KeyState) bool {
	return k.Exists() && k.Type != trace.TypeString && k.Type != trace.TypeHash
}

// look takes what a command shows of the kind of lock.
func (j *Reading) look(r Record) {
	j.last = r.Before
	_, mode := r.After.Fields[trace.Mode]
	switch {
	case unlike(r.After):
		j.kind = &verdict.Otherwise
		switch r.After.Type {
		case trace.TypeZSet:
			j.kind = &verdict.SortedSet
		case trace.TypeSet:
			j.kind = &verdict.Set
		case trace.TypeList:
			j.kind = &verdict.List
		}
	case r.counts(j.key) && !Equal(r.Before, r.After):
		j.kind = &verdict.Count
	case mode && r.After.Type == trace.TypeHash:
		j.moded = true
	case r.After.Type == trace.TypeHash && !ofOwners(r.After):
		j.kind = &verdict.Data
	}
}

// ofOwners reports whether the fields of a hash are owners with their counts; the number of a
// call may stand beside each.
func ofOwners(k trace.KeyState) bool {
	for field, value := range k.Fields {
		if n, err := strconv.Atoi(value); !trace.IsNumber(field) && (err != nil || n < 1 || isDeadline(value)) {
			return false
		}
	}
	return true
}

// Kind says why the kind of lock is not known, a sentence, and what helps; "" if it is known.
// With marks nobody has to know it.
func (j *Reading) Kind() (says, helps phrase.Wording) {
	switch {
	case j.marks:
	case j.lock.Kind.Permits > 0:
		return verdict.Several.Unknown()
	case j.kind != nil:
		return j.kind.Unknown()
	case j.several && !j.refused && !j.moded:
		return verdict.Shared.Unknown()
	}
	return phrase.Wording{}, phrase.Wording{}
}

// MarkLines returns the two lines by which a worker says that it is inside, and that it has left, in the language
// of its command; the marks themselves where that is not known.
func MarkLines(command []string) (enter, leave string) {
	languages := []struct {
		ends  []string // of a word of the command
		lines string
	}{
		{[]string{".py", "python", "python3"}, `r.echo("%s")`},
		{[]string{".go"}, `client.Echo(ctx, "%s")`},
		{[]string{".js", ".mjs", ".cjs", ".ts", "node", "bun", "deno"}, `await client.echo("%s")`},
		{[]string{".java", ".jar", "java"}, `client.echo("%s")`},
	}
	for _, l := range languages {
		if slices.ContainsFunc(command, func(word string) bool {
			return slices.ContainsFunc(l.ends, func(end string) bool {
				return word == end || filepath.Base(word) == end || end[0] == '.' && strings.HasSuffix(word, end)
			})
		}) {
			return fmt.Sprintf(l.lines, MarkEnter), fmt.Sprintf(l.lines, MarkLeave)
		}
	}
	return "ECHO " + MarkEnter, "ECHO " + MarkLeave
}
