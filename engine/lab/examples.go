package lab

import (
	"embed"
	"slices"
	"strings"
)

//go:embed example/*.txt
var exampleFiles embed.FS

// Examples returns the names of the workers to start from, sorted.
func Examples() []string {
	files, _ := exampleFiles.ReadDir("example") // it is in the program
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".txt")
	}
	slices.Sort(names)
	return names
}

// Example returns the text of a worker to start from, and whether there is one of that
// name.
func Example(name string) (string, bool) {
	text, err := exampleFiles.ReadFile("example/" + name + ".txt")
	return string(text), err == nil
}
