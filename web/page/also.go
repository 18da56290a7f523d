package page

import _ "embed" // what things are called elsewhere

// Also says by which words a search finds what is called otherwise here: a line for each, "ttl,
// timeout: lease".
//
//go:embed also.txt
var Also string
