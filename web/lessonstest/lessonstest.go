// Package lessonstest plays the bundled scenarios for tests of what is made of
// their traces. It must not know what that is.
package lessonstest

import (
	"io/fs"
	"testing"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

// Run is a run that has ended.
type Run struct {
	Scenario *scenario.Scenario
	Owners   map[string]string // owner id to thread
	Events   []trace.Event
}

// Names are the files of all scenarios.
func Names(tb testing.TB) []string {
	tb.Helper()
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(names) == 0 {
		tb.Fatalf("%d scenarios, %v", len(names), err)
	}
	return names
}

// Play plays the scenario of a file.
func Play(tb testing.TB, name string) Run {
	tb.Helper()
	return PlayRenamed(tb, name, func(thread string) string { return thread })
}

// PlayRenamed plays the scenario of a file, its threads called as rename says.
func PlayRenamed(tb testing.TB, name string, rename func(string) string) Run {
	tb.Helper()
	data, err := fs.ReadFile(lessons.Scenarios(), name)
	if err != nil {
		tb.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		tb.Fatal(err)
	}
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

// PlayScenario plays a scenario on the virtual clock to its end.
func PlayScenario(tb testing.TB, sc *scenario.Scenario) Run {
	tb.Helper()
	run, err := engine.Start(tb.Context(), sc, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		tb.Fatal(err)
	}
	events, _ := run.Log().Since(0)
	return Run{sc, run.Header().Owners, events}
}
