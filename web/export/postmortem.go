package export

import (
	"context"
	"fmt"
	"slices"

	"relock/engine"
	"relock/engine/explore/mend"
	"relock/engine/pause"
	"relock/engine/trace"
)

// PostMortem is a run as Markdown, with what would mend it: r itself, or the smallest
// order that breaks a rule where r breaks none. It fails like Render, or with the
// error of a run.
func PostMortem(ctx context.Context, r Run, report *mend.Report) (string, error) {
	broken := slices.ContainsFunc(r.Events, func(e trace.Event) bool { return e.Kind() == trace.KindViolation })
	if !broken && report.Broken() {
		r.Scenario, r.Link = report.Before.Example(), "" // the link is of another run
		run, err := engine.Start(ctx, r.Scenario, engine.Options{})
		if err != nil {
			return "", fmt.Errorf("export: %w", err)
		}
		if err := run.Wait(); err != nil {
			return "", fmt.Errorf("export: %w", err)
		}
		r.Header = run.Header()
		r.Events, _ = run.Log().Since(0)
	}
	r.Mended, r.Pause = report, func() error { return pause.Here(ctx) }
	text, err := Render(Markdown, r)
	return string(text), err
}
