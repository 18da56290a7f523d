// Package lessonstest reads and plays the bundled scenarios for tests. It must
// not know what those tests make of them.
package lessonstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

// Run is a run that has ended.
type Run struct {
	Scenario *scenario.Scenario
	Header   trace.Header
	Owners   map[string]string // owner id to thread, as in the header
	Events   []trace.Event
}

// Names returns the files of all scenarios.
func Names(tb testing.TB) []string {
	tb.Helper()
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(names) == 0 {
		tb.Fatalf("%d scenarios, %v", len(names), err)
	}
	return names
}

// Text returns what is in the file of a scenario.
func Text(tb testing.TB, name string) string {
	tb.Helper()
	data, err := fs.ReadFile(lessons.Scenarios(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// Scenario parses the scenario of a file.
func Scenario(tb testing.TB, name string) *scenario.Scenario {
	tb.Helper()
	sc, err := scenario.Parse([]byte(Text(tb, name)))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return sc
}

// played has the run of each file, which is the same whenever it is played.
var played sync.Map // name to a func() (Run, error)

// Play plays the scenario of a file, once for all tests: nobody may change what
// the run's scenario and events refer to.
func Play(tb testing.TB, name string) Run {
	tb.Helper()
	once, _ := played.LoadOrStore(name, sync.OnceValues(func() (Run, error) {
		sc, err := scenario.Parse([]byte(Text(tb, name)))
		if err != nil {
			return Run{}, fmt.Errorf("%s: %w", name, err)
		}
		return play(context.Background(), sc, engine.Options{})
	}))
	run, err := once.(func() (Run, error))()
	if err != nil {
		tb.Fatal(err)
	}
	run.Events = slices.Clone(run.Events)
	return run
}

// PlayRenamed plays the scenario of a file with each thread's name changed by
// rename.
func PlayRenamed(tb testing.TB, name string, rename func(string) string) Run {
	tb.Helper()
	sc := Scenario(tb, name)
	for i := range sc.Threads {
		sc.Threads[i].Name = rename(sc.Threads[i].Name)
	}
	for i := range sc.Faults {
		if sc.Faults[i].Thread != "" {
			sc.Faults[i].Thread = rename(sc.Faults[i].Thread)
		}
	}
	for _, m := range sc.Schedule {
		if m.Fault != nil && m.Fault.Thread != "" {
			m.Fault.Thread = rename(m.Fault.Thread)
		}
	}
	return PlayScenario(tb, sc)
}

// PlayScenario plays a scenario on the virtual clock to the end.
func PlayScenario(tb testing.TB, sc *scenario.Scenario) Run {
	tb.Helper()
	return PlayWith(tb, sc, engine.Options{})
}

// PlayWith plays a scenario to the end as the options say.
func PlayWith(tb testing.TB, sc *scenario.Scenario, o engine.Options) Run {
	tb.Helper()
	run, err := play(tb.Context(), sc, o)
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

func play(ctx context.Context, sc *scenario.Scenario, o engine.Options) (Run, error) {
	run, err := engine.Start(ctx, sc, o)
	if err != nil {
		return Run{}, err
	}
	if err := run.Wait(); err != nil {
		return Run{}, err
	}
	events, _ := run.Log().Since(0)
	return Run{sc, run.Header(), run.Header().Owners, events}, nil
}

// Schema compiles a JSON Schema.
func Schema(tb testing.TB, schema any) *jsonschema.Schema {
	tb.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		tb.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", read); err != nil {
		tb.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

// SchemaIsKept fails if a file of lessons/schema is not this schema. It writes it first
// if told to.
func SchemaIsKept(tb testing.TB, schema any, name string, write bool) {
	tb.Helper()
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	want = append(want, '\n')
	file := filepath.Join("..", "..", "lessons", "schema", name)
	if write {
		if err := os.WriteFile(file, want, 0o644); err != nil { //nolint:gosec // a file of the repository, which everybody reads
			tb.Fatal(err)
		}
	}
	got, err := os.ReadFile(file) //nolint:gosec // as above
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(slices.Collect(strings.Lines(string(want))), slices.Collect(strings.Lines(string(got)))); diff != "" {
		tb.Errorf("make generate writes lessons/schema/%s again:\n%s", name, diff)
	}
}

var modeline = regexp.MustCompile(`(?m)^# yaml-language-server: \$schema=(\S+)$`)

// SchemaOf returns the schema that a file names to an editor, or "".
func SchemaOf(file []byte) string {
	if m := modeline.FindSubmatch(file); m != nil {
		return string(m[1])
	}
	return ""
}
