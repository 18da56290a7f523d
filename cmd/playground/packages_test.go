package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of packages in CONTRIBUTING.md names each package of this module once,
// and each below what it imports. It leaves out packages that only test: those named
// *test, and those without other code.
func TestTheTableOfPackagesFollowsTheImports(t *testing.T) {
	root := filepath.Join("..", "..")
	imports := packageImports(t, root)
	rows := tableOfPackages(t, filepath.Join(root, ".github", "CONTRIBUTING.md"))
	row := map[string]int{}
	for n, name := range rows {
		if _, ok := row[name]; ok {
			t.Errorf("the table names %s twice", name)
		}
		if _, ok := imports[name]; !ok {
			t.Errorf("the table names %s, which is no package of the module, or only tests", name)
		}
		row[name] = n
	}
	for name, imported := range imports {
		at, ok := row[name]
		if !ok {
			t.Errorf("the table lacks %s", name)
			continue
		}
		for _, other := range imported {
			if below, ok := row[other]; ok && below > at {
				t.Errorf("%s imports %s, which stands below it", name, other)
			}
		}
	}
}

// tableOfPackages returns the first column of the table, from its top.
func tableOfPackages(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| package | what it has |\n| --- | --- |\n")
	if !ok {
		t.Fatalf("%s has no table of packages", file)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for _, line := range strings.Split(table, "\n") {
		found := regexp.MustCompile("^\\| `([^`]+)` \\| ").FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("a row of the table does not begin with one package: %s", line)
		}
		names = append(names, found[1])
	}
	return names
}

// packageImports returns the packages of the module at root, and which others of the
// module each imports in code that is no test, for any system.
func packageImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (err == nil || strings.ContainsAny(base[:1], "._") || base == "testdata" || base == "node_modules" || strings.HasSuffix(base, "test")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") || base[0] == '_' {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(dir)
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		others := imports[name]
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if other, ok := strings.CutPrefix(imported, "relock/"); ok {
				others = append(others, other)
			}
		}
		imports[name] = others
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
