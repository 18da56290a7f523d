package infer

import (
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// unlike reports whether a key is of a type that no lock of this kind is known to have: of
// a sorted set or a set a person has to say that it is one.
func (j *Reading) unlike(k trace.KeyState) bool {
	switch {
	case !k.Exists(), k.Type == trace.TypeString, k.Type == trace.TypeHash:
		return false
	case k.Type == trace.TypeZSet, k.Type == trace.TypeSet:
		return !j.lock.Kind.Said()
	case k.Type == trace.TypeList:
		return j.lock.Kind.Permits == 0
	}
	return true
}

// look takes what a command shows of the kind of lock.
func (j *Reading) look(r Record) {
	j.last = r.Before
	_, mode := r.After.Fields[trace.Mode]
	switch {
	case j.unlike(r.After):
		j.kind = &verdict.Otherwise
		switch r.After.Type {
		case trace.TypeZSet:
			j.kind = &verdict.SortedSet
		case trace.TypeSet:
			j.kind = &verdict.Set
		case trace.TypeList:
			j.kind = &verdict.Tokens
		}
	case mode && r.After.Type == trace.TypeHash:
		j.moded = true
	case r.After.Exists() && j.lock.Kind.Readers && !j.moded:
		j.kind = &verdict.Unmoded
	}
}

// Kind says why the kind of lock is not known, a sentence, and what helps; "" if it is known.
func (j *Reading) Kind() (says, helps phrase.Wording) {
	switch {
	case j.kind != nil:
		return j.kind.Unknown()
	case j.several && !j.refused && !j.lock.Kind.Said() && !j.moded:
		return verdict.Shared.Unknown()
	}
	return phrase.Wording{}, phrase.Wording{}
}
