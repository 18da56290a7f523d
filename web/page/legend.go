package page

import "relock/web/words"

// LegendEntry is a mark and what it means.
type LegendEntry struct {
	Mark string // the data-mark of what it explains, or the class of a table's cell
	Text string
}

// LegendGroup is some entries under a heading.
type LegendGroup struct {
	Name    string
	Entries []LegendEntry
}

// Legend explains in l every mark of the lanes and of the table.
func Legend(l words.Language) []LegendGroup {
	return []LegendGroup{
		{l.Say("On a thread's lane"), []LegendEntry{
			{"bar", l.Say("It believes that it holds the lock. A second bar on top: level 2.")},
			{"parted", l.Say("It believes that it holds the lock, but Redis does not know of it.")},
			{"leaving", l.Say("Its work is over: it only has to unlock.")},
			{"wait", l.Say("It waits: for its next try, or for a message.")},
			{"still", l.Say("Its process is paused.")},
			{"refused", l.Say("It was refused: another holds the lock.")},
			{"failed", l.Say("A call or a write failed: lost, not held, an error.")},
			{"renewed", l.Say("Its watchdog renewed the lease.")},
			{"late", l.Say("A late copy of a request arrived.")},
			{"fault", l.Say("A fault struck.")},
			{"crashed", l.Say("Its process died.")},
			{"gave-up", l.Say("It ended without doing its work.")},
			{"done", l.Say("It ended.")},
			{"broken", l.Say("A rule was broken here; the flag says which.")},
		}},
		{l.Say("What the lock protects"), []LegendEntry{
			{"value", l.Say("The value, as long as it stays.")},
			{"touch-read", l.Say("A thread reads it.")},
			{"touch-write", l.Say("A thread writes it.")},
			{"touch-refused", l.Say("A write is refused: its token is older than one seen before.")},
		}},
		{l.Say("The lock's key"), []LegendEntry{
			{"lease", l.Say("The key's time to live, in its owner's colour: it falls as time passes.")},
			{"endless", l.Say("The key has no expiry: it would stay for ever.")},
			{"expired", l.Say("The lease ran out: Redis dropped the key, on the virtual clock at that very instant. A real Redis keeps it 1 ms longer, with PTTL 0.")},
			{"node", l.Say("The key on one node; its owner has too few of them.")},
			{"majority", l.Say("The key on one node; its owner has a majority. For a spin lock: the thread in its word.")},
			{"down", l.Say("The node does not answer.")},
			{"together", l.Say("Several steps at one instant.")},
			{"axis-break", l.Say("A long wait, drawn shorter than it was; its length is written above.")},
		}},
	}
}

// Glossary is the page of the terms.
type Glossary struct {
	Page  Page
	Terms []Term
	Rules []Term // without an address

	Verdicts []Term // without an address
}

// Term is a word of the field.
type Term struct {
	ID      string
	Name    string
	Text    string   // what it means
	Other   string   // what it is called elsewhere, "" where everybody says the same
	Address string   // of a moment in which it is seen
	Seen    string   // which that is
	Before  []string // IDs that it had before, for older links
}
