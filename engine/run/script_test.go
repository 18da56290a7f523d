package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"relock/engine/run"
	"relock/engine/trace"
)

// telling is what a part of a script of this name says of a run, a line each;
// nil where there is no such part.
func telling(name string) func([]trace.Event) []string {
	switch name {
	case "facts": // what happened, but for commands and waits
		return facts
	case "leaving": // who is on the way out of the critical section, and from when on
		return leavings
	case "broken": // the rules, in the order in which they were broken
		return brokenRules
	default:
		return nil
	}
}

// Each script of testdata is a scenario, with its moves as its schedule, and
// what has to happen on the virtual clock; the comment above says why. The times
// in it are worked out by hand from the scenario's.
//
// A thread is leaving as soon as it has called the first unlock after which no
// level of it has work left to do, whatever becomes of the call, and no sooner.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txtar")
		t.Run(name, func(t *testing.T) {
			script, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(script.Files) < 2 || script.Files[0].Name != "scenario.yaml" {
				t.Fatal("want a scenario.yaml, and what has to happen")
			}
			_, events := play(t, parse(t, string(script.Files[0].Data)), run.Options{})
			for i := 1; i < len(script.Files); i++ {
				part := &script.Files[i]
				tell := telling(part.Name)
				if tell == nil {
					t.Fatalf("nothing is called %s", part.Name)
				}
				got := strings.Join(append(tell(events), ""), "\n")
				if diff := cmp.Diff(strings.Split(string(part.Data), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s: %s", part.Name, diff)
				}
				part.Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(script), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
