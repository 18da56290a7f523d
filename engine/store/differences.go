package store

import _ "embed"

//go:embed DIFFERENCES.md
var differences string

// Differences is the table for readers, in Markdown: what an [Embedded] and Redis answer
// differently.
func Differences() string { return differences }
