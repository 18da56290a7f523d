package page

// Locks is the page about all locks.
type Locks struct {
	Page  Page
	Intro string
	List  []Lock

	First, Second string // whose cards stand in one; Second may be ""
	Both          CardTable
	Broken        [][]CardFound // by lock
	Legend        []CardEntry
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
