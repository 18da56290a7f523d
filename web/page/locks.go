package page

import (
	"relock/engine/lock/protocol"
	"relock/lessons/advice"
)

// Locks is the page about all locks.
type Locks struct {
	Page  Page
	Intro string
	Which Which
	List  []Lock

	Libraries Libraries

	Cards         bool   // the address asks for cards
	First, Second string // whose cards are in one; Second may be ""
	Both          CardTable
	Broken        [][]CardFound // by lock
	Legend        []CardEntry
}

// Which asks "Which lock do I use?", and answers.
type Which struct {
	Questions []advice.Question
	Answers   advice.Answers
	Advice    *advice.Advice // nil until all is answered
	Lock      *Lock          // that is advised; nil where none is
}

// Lock is what is said about one.
type Lock struct {
	Name       string
	Summary    string
	Guarantees []string
	Holes      []string
	Source     string
	Examples   []Example // in reading order
	Card       CardTable
	Tally      []CardCount // of its card
}

// LockPage is the page about one lock.
type LockPage struct {
	Page   Page
	Lock   Lock
	Legend []CardEntry
}

// Path is the address of the page about it.
func (l Lock) Path() string { return LockPath(l.Name) }

// LockPath is the address of the page about a protocol. A user's own lock has the page on
// which they write it.
func LockPath(name string) string {
	if name == protocol.Own {
		return OwnPath
	}
	return "/locks/" + name
}

// OwnPath is where users write their own lock.
const OwnPath = "/lab/script"
