package effects

import (
	"slices"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// Kind is a kind of lock, by what its key holds. It is immutable.
type Kind struct {
	Holds  phrase.Text // what the key holds, as a list of kinds says it
	Judged bool        // it is judged
	Told   bool        // it is judged where a person says who may be inside at once
	typed  string      // the key's type, for kinds that it alone tells
	says   phrase.Text // that a key holds this, a sentence, where it is not judged
	helps  phrase.Text // what helps then
}

// AsFlag is how a person says to lab and import which key is the lock, one of a kind that
// is judged.
const AsFlag = "-lock KEY, -lock KEY:exclusive, -lock KEY:permits=N, -lock KEY:readers, -lock KEY,KEY"

// sayKind is what helps where a person has to say the kind.
const sayKind phrase.Text = "Say how many it lets in at once: -lock KEY:exclusive or -lock KEY:permits=N."

// The kinds that the key's type alone does not tell, and that are not judged, or only if a person
// says who may be inside.
var (
	shared    = Kind{Holds: "several threads at once, none of whom was refused", Told: true, says: "The key names several threads at once, and none of them was refused.", helps: sayKind}
	unmoded   = Kind{Holds: "readers, and no field mode", says: "The key has no field mode, which says who reads.", helps: "A read-write lock of another form cannot be judged yet."}
	hashes    = Kind{Holds: "a hash on several servers at once", says: "The key is a hash on several servers.", helps: "For a lock of a majority, only strings can be judged so far."}
	oneValue  = Kind{Holds: "one value that all write, on several servers", says: "Several threads write one value on the same server, and it does not say whose it is.", helps: "For a lock of a majority, only values of one thread each can be judged so far."}
	otherwise = Kind{Holds: "anything else", says: "The key holds no string and no hash.", helps: "That cannot be judged yet."}
)

// tokens is a list of tokens: it says how many are free.
var tokens = Kind{Holds: "a list of tokens: a token taken is a permit, until one is put back", Told: true, typed: trace.TypeList, says: "The key holds a list.", helps: "If it is one of tokens, say how many permits it has, two or more: -lock KEY:permits=N."}

// Kinds returns the kinds of locks that we tell apart, first those that can be judged.
func Kinds() []Kind {
	return []Kind{
		{Holds: "a string, whatever its value", Judged: true},
		{Holds: "a count (INCR): a thread that counts from nothing is in", Judged: true},
		{Holds: "a hash of owners with their counts", Judged: true},
		{Holds: "a hash with a field mode (readers and a writer)", Judged: true},
		{Holds: "a sorted set of owners", Told: true, typed: trace.TypeZSet, says: "The key holds a sorted set.", helps: sayKind},
		{Holds: "a set of owners", Told: true, typed: trace.TypeSet, says: "The key holds a set.", helps: sayKind},
		shared,
		unmoded,
		tokens,
		hashes,
		oneValue,
		otherwise,
	}
}

// Judgeable says whether the kind is judged: yes, if told, or not yet.
func (k Kind) Judgeable() phrase.Text {
	switch {
	case k.Judged:
		return "yes"
	case k.Told:
		return "if told"
	}
	return "not yet"
}

// KindSaid returns what Reading.Kind returned, from the English of its first sentence.
func KindSaid(english string) (says, helps phrase.Wording) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return !k.Judged && string(k.says) == english })
	if i < 0 {
		return otherwise.unknown()
	}
	return kinds[i].unknown()
}

func (k Kind) unknown() (says, helps phrase.Wording) { return phrase.Say(k.says), phrase.Say(k.helps) }

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
		j.kind = &otherwise
		kinds := Kinds()
		if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.typed == r.After.Type }); i >= 0 {
			j.kind = &kinds[i]
		}
	case mode && r.After.Type == trace.TypeHash:
		j.moded = true
	case r.After.Exists() && j.lock.Kind.Readers && !j.moded:
		j.kind = &unmoded
	}
}

// Kind says why the kind of lock is not known, a sentence, and what helps; "" if it is known.
func (j *Reading) Kind() (says, helps phrase.Wording) {
	switch {
	case j.kind != nil:
		return j.kind.unknown()
	case j.several && !j.refused && !j.lock.Kind.Said() && !j.moded:
		return shared.unknown()
	}
	return phrase.Wording{}, phrase.Wording{}
}
