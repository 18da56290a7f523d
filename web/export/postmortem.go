package export

import (
	"context"

	"relock/engine"
	"relock/engine/explore/mend"
	"relock/web/words"
)

// PostMortem is a run that breaks a rule as Markdown, with what would mend it. Cured is
// what engine.Cured returned for the report. It fails like Render.
func PostMortem(ctx context.Context, l words.Language, title string, report *mend.Report, cured []engine.Played) (string, error) {
	as := cured[0]
	text, err := Render(ctx, Markdown, Run{
		Header: as.Header, Events: as.Events, Scenario: as.Scenario, Title: title, Language: l,
		Mended: report, Cured: cured,
	})
	return string(text), err
}
