package lessons_test

import (
	"bytes"
	"io/fs"
	"testing"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

// Every scenario comes out as it says, and twice the same to the byte.
func TestScenariosKeepTheirWord(t *testing.T) {
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d scenarios, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(lessons.Scenarios(), name)
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if sc.Expect == nil || sc.Title == "" {
				t.Error("a scenario that is taught has a title and says what it expects")
			}
			var first []byte
			for range 2 {
				run, err := engine.Start(t.Context(), sc, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if err := run.Wait(); err != nil {
					t.Fatal(err)
				}
				events, _ := run.Log().Since(0)
				for _, d := range engine.Unexpected(sc.Expect, events) {
					t.Error(d)
				}
				var b bytes.Buffer
				if err := trace.Write(&b, run.Header(), events); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = b.Bytes()
				}
				if !bytes.Equal(first, b.Bytes()) {
					t.Error("two runs differ")
				}
			}
		})
	}
}
