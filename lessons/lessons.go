// Package lessons holds what is taught: the scenarios that come with the
// playground. It speaks English; its translations stand with all others, in
// lessons.yaml of web/words.
package lessons

import (
	"embed"
	"io/fs"
)

//go:embed scenarios/*.yaml
var files embed.FS

// Scenarios are the scenario files, at the top of the file system.
func Scenarios() fs.FS {
	sub, err := fs.Sub(files, "scenarios")
	if err != nil {
		panic(err) // the path is the one embedded above
	}
	return sub
}
