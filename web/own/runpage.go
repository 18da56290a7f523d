package own

import (
	"cmp"
	"fmt"
	"net/http"

	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// showRun answers with the page of a run. Untitled is its title if the scenario
// has none.
func showRun(s *shell.Pages, w http.ResponseWriter, r *http.Request, run page.Run, untitled string) error {
	shown := s.Frame(r, cmp.Or(run.Title, untitled), "js/live.js")
	run.Reach, run.Viewer.Shared = s.ReachOf(r), true
	return site.Render(r.Context(), w, http.StatusOK, templates.RunPage(page.RunPage{Page: shown, Run: run}))
}

// runOf returns what the pages of a run and of a trace from elsewhere have in
// common: a film of sc at path, as r asks for it.
func runOf(r *http.Request, path string, f *runs.Footage, sc *scenario.Scenario) (page.Run, error) {
	l := words.From(r.Context())
	open, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		return page.Run{}, fmt.Errorf("own: %w", err)
	}
	viewer, err := f.Shown(r, path)
	return page.Run{
		Title: shell.TitleOf(l, sc), Viewer: viewer, LastSeq: f.Events, Ended: f.Ended, Verdict: f.Verdict, Tone: f.Tone, Unjudged: f.Unjudged, Late: f.Late,
		Picture: path + "/lanes?lang=" + l.Code() + "&row=", Portions: path + "/rows?lang=" + l.Code() + "&",
		Exports: path + "/export?format=", Files: export.Files(l), Step: "/play#" + open,
	}, err
}
