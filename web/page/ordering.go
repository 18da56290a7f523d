package page

import "relock/web/film"

// Ordering is a script to be put together, and what came of it.
type Ordering struct {
	Pieces   []LessonPiece
	Tries    []LessonTry
	TryError string // why Redis could not run it, or ""
}

// LessonPiece is a piece to put in its place.
type LessonPiece struct {
	Name  string            // of its field
	Lua   []film.ScriptLine // of a script
	HTML  string            // of what is no script
	Place int               // that was chosen, 0 for none
}

// LessonTry is what a script that was put together did in one case, and what
// it was to do.
type LessonTry struct {
	Owner            string // who calls it
	Was, Wanted, Got string // what Redis holds
	WantedReply      string
	GotReply         string // "" where Redis could not run it
	Right            bool
}
