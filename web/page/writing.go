package page

import "relock/web/film"

// Writing is a script that somebody writes.
type Writing struct {
	Script    Field
	WrongLine int           // of it, 0 for none
	NoBox     string        // why it cannot be judged here, or ""
	Beside    []film.Script // once it is right: that, and the bundled one
}
