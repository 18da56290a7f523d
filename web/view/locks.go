package view

// Locks is the page about all locks.
type Locks struct {
	Page  Page
	Intro string
	List  []Lock
}

// Lock is what is said about one.
type Lock struct {
	Name       string
	Summary    string
	Guarantees []string
	Holes      []string
	Source     string
	Examples   []Example // in reading order
}
