// Package lessons holds the teaching material: the bundled scenarios and their
// texts in English, and the documents. The translations of the texts are in
// lessons.yaml of web/words, with all others.
package lessons

import (
	"embed"
	"errors"
	"io/fs"
	"path"
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

//go:embed docs/*.md docs/*/*.md
var documents embed.FS

// Document is a document for users, such as USE.md, in the language with that code; in
// English where nobody has translated it, or if language is "".
func Document(name, language string) ([]byte, error) {
	text, err := documents.ReadFile(path.Join("docs", language, name))
	if language != "" && errors.Is(err, fs.ErrNotExist) {
		return documents.ReadFile(path.Join("docs", name))
	}
	return text, err
}
