package verdict

import (
	"slices"

	"relock/engine/phrase"
)

// Kind is a kind of lock, by what its key holds. It is immutable.
type Kind struct {
	Holds  phrase.Text // what the key holds, as a list of kinds says it
	Judged bool        // it is judged by that; else only by what the worker says
	says   phrase.Text // that a key holds this, a sentence, where it is not judged
}

// AsFlag is how a person says to lab and import which key is the lock.
const AsFlag = "-lock KEY, -lock KEY,KEY"

// The kinds that are not judged by what their key holds.
var (
	SortedSet = Kind{Holds: "a sorted set", says: "The key holds a sorted set."}
	Set       = Kind{Holds: "a set", says: "The key holds a set."}
	List      = Kind{Holds: "a list", says: "The key holds a list."}
	Count     = Kind{Holds: "a number that is counted up and down", says: "The key holds a number that is counted up and down."}
	Data      = Kind{Holds: "a hash with other fields than owners with counts", says: "The key holds a hash with other fields than owners with their counts."}
	Shared    = Kind{Holds: "several threads at once, none of whom was refused", says: "The key names several threads at once, and none of them was refused."}
	Several   = Kind{Holds: "anything, where more than one may be inside at once", says: "More than one may be inside at once, and the key does not say who is."}
	Hashes    = Kind{Holds: "a hash on several servers at once", says: "The key is a hash on several servers."}
	OneValue  = Kind{Holds: "one value that all write, on several servers", says: "Several threads write one value on the same server, and it does not say whose it is."}
	Otherwise = Kind{Holds: "anything else", says: "The key holds no string and no hash."}
)

// Kinds returns the kinds of locks that we tell apart, first those that are judged.
func Kinds() []Kind {
	return []Kind{
		{Holds: "a string that its owner wrote", Judged: true},
		{Holds: "a hash whose fields are owners with counts", Judged: true},
		{Holds: "a hash with a field mode (readers and a writer)", Judged: true},
		SortedSet, Set, List, Count, Data, Shared, Several, Hashes, OneValue, Otherwise,
	}
}

// Judgeable says whether the kind is judged: yes, or with marks.
func (k Kind) Judgeable() phrase.Text {
	if k.Judged {
		return "yes"
	}
	return "with marks"
}

// Unknown says why a lock of this kind is not judged, a sentence, and what helps.
func (k Kind) Unknown() (says, helps phrase.Wording) {
	return phrase.Say(k.says), Marks("ECHO relock:enter", "ECHO relock:leave")
}

// Marks is what helps where only the worker knows who is inside: two lines of it.
func Marks(enter, leave string) phrase.Wording {
	return phrase.Say("Let the worker say when it is inside: %[1]s before its critical section, %[2]s after it.", enter, leave)
}

// kindSaid returns what Unknown returned, from the English of its first sentence.
func kindSaid(english string) (says, helps phrase.Wording) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return !k.Judged && string(k.says) == english })
	if i < 0 {
		return Otherwise.Unknown()
	}
	return kinds[i].Unknown()
}
