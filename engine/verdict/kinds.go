package verdict

import (
	"slices"

	"relock/engine/phrase"
)

// Kind is a kind of lock, by what its key holds. It is immutable.
type Kind struct {
	Holds  phrase.Text // what the key holds, as a list of kinds says it
	Judged bool        // it is judged
	Told   bool        // it is judged where a person says who may be inside at once
	says   phrase.Text // that a key holds this, a sentence, where it is not judged
	helps  phrase.Text // what helps then
}

// AsFlag is how a person says to lab and import which key is the lock, one of a kind that
// is judged.
const AsFlag = "-lock KEY, -lock KEY:exclusive, -lock KEY:permits=N, -lock KEY:readers, -lock KEY,KEY"

// sayKind is what helps where a person has to say the kind.
const sayKind phrase.Text = "Say how many it lets in at once: -lock KEY:exclusive or -lock KEY:permits=N."

// The kinds that are not judged, or only if a person says who may be inside.
var (
	SortedSet = Kind{Holds: "a sorted set of owners", Told: true, says: "The key holds a sorted set.", helps: sayKind}
	Set       = Kind{Holds: "a set of owners", Told: true, says: "The key holds a set.", helps: sayKind}
	Shared    = Kind{Holds: "several threads at once, none of whom was refused", Told: true, says: "The key names several threads at once, and none of them was refused.", helps: sayKind}
	Unmoded   = Kind{Holds: "readers, and no field mode", says: "The key has no field mode, which says who reads.", helps: "A read-write lock of another form cannot be judged yet."}
	Tokens    = Kind{Holds: "a list of tokens: a token taken is a permit, until one is put back", Told: true, says: "The key holds a list.", helps: "If it is one of tokens, say how many permits it has, two or more: -lock KEY:permits=N."}
	Hashes    = Kind{Holds: "a hash on several servers at once", says: "The key is a hash on several servers.", helps: "For a lock of a majority, only strings can be judged so far."}
	OneValue  = Kind{Holds: "one value that all write, on several servers", says: "Several threads write one value on the same server, and it does not say whose it is.", helps: "For a lock of a majority, only values of one thread each can be judged so far."}
	Otherwise = Kind{Holds: "anything else", says: "The key holds no string and no hash.", helps: "That cannot be judged yet."}
)

// Kinds returns the kinds of locks that we tell apart, first those that can be judged.
func Kinds() []Kind {
	return []Kind{
		{Holds: "a string, whatever its value", Judged: true},
		{Holds: "a count (INCR): a thread that counts from nothing is in", Judged: true},
		{Holds: "a hash of owners with their counts", Judged: true},
		{Holds: "a hash with a field mode (readers and a writer)", Judged: true},
		SortedSet, Set, Shared, Unmoded, Tokens, Hashes, OneValue, Otherwise,
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

// Unknown says why a lock of this kind is not judged, a sentence, and what helps.
func (k Kind) Unknown() (says, helps phrase.Wording) { return phrase.Say(k.says), phrase.Say(k.helps) }

// kindSaid returns what Unknown returned, from the English of its first sentence.
func kindSaid(english string) (says, helps phrase.Wording) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return !k.Judged && string(k.says) == english })
	if i < 0 {
		return Otherwise.Unknown()
	}
	return kinds[i].Unknown()
}
