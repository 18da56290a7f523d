package own

import (
	"context"
	"net/http"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/shell"
)

// ExportLink runs the scenario of a link and answers with a file. If the link
// has a position, the run is what the link shows: its moves up to there.
// Otherwise the run goes on to the end.
func (s *Runs) ExportLink(w http.ResponseWriter, r *http.Request) error {
	format, err := shell.FormatOf(r)
	if err != nil {
		return err
	}
	state, whole, err := s.SentLink(w, r, "That cannot be exported")
	if err != nil {
		return err
	}
	file := export.Run{Scenario: state.Scenario}
	if whole || state.At == 0 { // a file of nothing is of no use
		state.At = len(state.Scenario.Schedule)
		file.Header, file.Events, err = toTheEnd(r.Context(), state.Scenario)
	} else {
		file.Header, file.Events, err = upTo(r.Context(), state)
	}
	if err != nil {
		return shell.NotShown(r, err, "That cannot be exported")
	}
	return s.AnswerFile(w, r, format, file, state)
}

// Export answers with a run so far as a file.
func (s *Runs) Export(w http.ResponseWriter, r *http.Request) error {
	format, err := shell.FormatOf(r)
	if err != nil {
		return err
	}
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	file := export.Run{Header: found.Run.Header(), Events: events, Scenario: found.Run.Scenario()}
	return s.AnswerFile(w, r, format, file, link.Contents{Scenario: found.Scenario})
}

// toTheEnd plays a scenario to the end.
func toTheEnd(ctx context.Context, sc *scenario.Scenario) (trace.Header, []trace.Event, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return trace.Header{}, nil, err
	}
	err = r.Wait()
	events, _ := r.Log().Since(0)
	return r.Header(), events, err
}

// upTo plays the moves up to a link's position.
func upTo(ctx context.Context, state link.Contents) (trace.Header, []trace.Event, error) {
	b, err := engine.PathOf(ctx, state.Scenario.WithSchedule(state.Scenario.Schedule[:state.At]))
	if err != nil {
		return trace.Header{}, nil, err
	}
	return b.Trace(state.Scenario)
}
