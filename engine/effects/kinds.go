package effects

import (
	"slices"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// Kind is a kind of lock, by what its key holds. It is immutable.
type Kind struct {
	Holds  phrase.Text // what the key holds, as a list of kinds says it
	Judged bool        // one thread at a time may be inside, and that is judged
	typed  string      // the key's type, of those that are told by it alone
	says   phrase.Text // that a key holds this, a sentence, where it is not judged
	helps  phrase.Text // what helps then
}

// AsFlag is how a person says to lab and import which key is the lock, one of a kind that
// is judged.
const AsFlag = "-lock KEY, -lock KEY:exclusive"

// The kinds that cannot be judged yet, and are not told by the key's type alone.
var (
	readersWriter = Kind{Holds: "a hash with a field mode (readers and a writer)", says: "The key is a hash with a field mode: readers may share it.", helps: "A read-write lock cannot be judged yet."}
	hashes        = Kind{Holds: "a hash on several servers at once", says: "The key is a hash on several servers.", helps: "Of a lock of a majority only strings can be judged yet."}
	shared        = Kind{Holds: "several threads at once, none of whom was refused", says: "The key names several threads at once, and none of them was refused.", helps: "A lock that several may hold cannot be judged yet."}
	otherwise     = Kind{Holds: "anything else", says: "The key holds no string and no hash.", helps: "That cannot be judged yet."}
)

// Kinds returns the kinds of locks that are told apart, those that can be judged first.
func Kinds() []Kind {
	return []Kind{
		{Holds: "a string, whatever its value", Judged: true},
		{Holds: "a count (INCR): a thread that counts from nothing is in", Judged: true},
		{Holds: "a hash of owners with their counts", Judged: true},
		readersWriter,
		{Holds: "a sorted set", typed: "zset", says: "The key holds a sorted set.", helps: "A sorted set cannot be judged yet."},
		{Holds: "a set", typed: "set", says: "The key holds a set.", helps: "A set cannot be judged yet."},
		{Holds: "a list of tokens", typed: "list", says: "The key holds a list.", helps: "A list of tokens cannot be judged yet."},
		shared,
		hashes,
		otherwise,
	}
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

// unlike reports whether a key is of a type that no exclusive lock is known to have.
func unlike(k trace.KeyState) bool {
	return k.Exists() && k.Type != trace.TypeString && k.Type != trace.TypeHash
}

// look takes what a command shows of the kind of lock.
func (j *Reading) look(r Record) {
	j.last = r.Before
	_, mode := r.After.Fields["mode"]
	switch {
	case unlike(r.After):
		j.kind = &otherwise
		kinds := Kinds()
		if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.typed == r.After.Type }); i >= 0 {
			j.kind = &kinds[i]
		}
	case mode:
		j.kind = &readersWriter
	}
}

// Kind says why the kind of lock is not known, a sentence, and what helps; "" if it is known.
func (j *Reading) Kind() (says, helps phrase.Wording) {
	switch {
	case j.kind != nil:
		return j.kind.unknown()
	case j.several && !j.refused:
		return shared.unknown()
	}
	return phrase.Wording{}, phrase.Wording{}
}
