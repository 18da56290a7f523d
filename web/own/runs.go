// Package own is the pages of what visitors make or bring: the editor and what it starts, runs on the wall
// clock, traces from elsewhere, labs, and all of them as files.
package own

import (
	"net/http"

	"relock/engine/trace"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/words"
)

// Runs are the pages of the runs that go on by the wall's clock, and of those
// that were started in the editor.
type Runs struct {
	*shell.Pages

	Sessions *runs.Registry
	Films    *runs.Films
}

func (s *Runs) session(r *http.Request) (*runs.Live, error) {
	found, ok := s.Sessions.Get(r.PathValue("id"))
	if !ok {
		return nil, site.ErrNoRun
	}
	return found, nil
}

// Show is the page of a run, with all rows so far or some of them.
func (s *Runs) Show(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	events, ended := found.Run.Log().Since(0)
	f, err := s.filmOf(r, found, false, func(f *runs.Footage) bool { return f.Events >= len(events) && f.Ended == ended })
	if err != nil {
		return err
	}
	run, err := runOf(r, "/runs/"+found.Run.ID(), f, found.Scenario)
	if err != nil {
		return err
	}
	run.ID, run.Place, run.Edit = found.Run.ID(), page.Place(l, f.Header, s.ExternalName()), "/edit?run="+found.Run.ID()
	run.Socket = "/runs/" + run.ID + "/socket?lang=" + l.Code() + "&"
	run.Slow = page.ClockNote(l, f.Header.Clock, found.Slow)
	if f.Header.Clock == trace.ClockWall && !f.Ended {
		run.Quiet = found.Quiet().Milliseconds()
	}
	if f.Header.Clock == trace.ClockWall && !f.Ended && found.Owned(s.VisitorOf(r)) {
		run.Controls = page.NewControls(l, found.Run.Controls())
	}
	return showRun(s.Pages, w, r, run, l.Say("A run"))
}

// filmOf returns the film of a run: the kept one if it is good enough, else the
// run as it is now.
func (s *Runs) filmOf(r *http.Request, found *runs.Live, portioned bool, good func(*runs.Footage) bool) (*runs.Footage, error) {
	return s.Films.OfRun(r, "/runs/"+found.Run.ID(), portioned, func() (*runs.Recording, bool, error) {
		events, ended := found.Run.Log().Since(0)
		return &runs.Recording{Scenario: found.Run.Scenario(), Header: found.Run.Header(), Events: events}, ended, nil
	}, good)
}

// Rows answers with rows of a run, for its page.
func (s *Runs) Rows(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	from, count, err := runs.AskedRows(r)
	if err != nil {
		return err
	}
	// While a run goes on, its last row can change until the next one begins.
	f, err := s.filmOf(r, found, true, func(f *runs.Footage) bool { return f.Ended || from+count < f.Rows })
	if err != nil {
		return err
	}
	return runs.AnswerRows(w, r, f, from, count)
}

// Lanes answers with a run's lanes around a row, as a part of its page.
func (s *Runs) Lanes(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	return runs.AnswerLanes(w, r, &runs.Recording{Scenario: found.Run.Scenario(), Header: found.Run.Header(), Events: events})
}

// Trace answers with the run as JSON Lines.
func (s *Runs) Trace(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", `inline; filename="relock-trace.jsonl"`)
	return trace.Write(w, found.Run.Header(), events)
}
