package view

import "relock/web/report"

// Locks is the page about all locks.
type Locks struct {
	Page  Page
	Intro string
	List  []Lock

	First, Second string // whose cards stand in one; Second may be ""
	Both          report.Table
	Broken        [][]report.Found // by lock
	Legend        []report.Entry
}

// Lock is what is said about one.
type Lock struct {
	Name       string
	Summary    string
	Guarantees []string
	Holes      []string
	Source     string
	Examples   []Example // in reading order
	Card       report.Table
	Tally      []report.Count // of its card
}
