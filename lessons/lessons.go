// Package lessons holds the teaching material: the bundled scenarios and their
// texts in English. The translations are in lessons.yaml of web/words, with all
// others.
package lessons

import (
	"embed"
	"io/fs"
)

//go:embed scenarios/*.yaml
var files embed.FS

// Scenarios returns the scenario files, at the top of the file system.
func Scenarios() fs.FS {
	sub, err := fs.Sub(files, "scenarios")
	if err != nil {
		panic(err) // the path is the one embedded above
	}
	return sub
}

//go:embed course/*/*
var course embed.FS

// Course returns the chapters of the course, a folder each at the top of the
// file system. Package engine/course reads them.
func Course() fs.FS {
	sub, err := fs.Sub(course, "course")
	if err != nil {
		panic(err) // the path is the one embedded above
	}
	return sub
}

//go:embed workshops/*.yaml
var workshops embed.FS

// Workshops returns the lessons for a class, at the top of the file system: each
// is a file that package web/lesson reads.
func Workshops() fs.FS {
	sub, err := fs.Sub(workshops, "workshops")
	if err != nil {
		panic(err) // the path is the one embedded above
	}
	return sub
}
