package catalog

import (
	"fmt"
	"io/fs"
	"net/http"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/link"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// Incident is the page for stepping through an incident, or through what would
// mend it.
func (s *Links) Incident(cured bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		symptoms, err := lessons.Incidents()
		if err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
		for _, symptom := range symptoms {
			for _, i := range symptom.Incidents {
				if i.ID == r.PathValue("id") && (i.Cured || !cured) {
					return s.staged(w, r, i, symptom.Rule, cured)
				}
			}
		}
		return site.ErrNoPage
	}
}

func (s *Links) staged(w http.ResponseWriter, r *http.Request, i lessons.Incident, rule string, cured bool) error {
	file := i.File(cured)
	data, err := fs.ReadFile(lessons.IncidentFiles(), file)
	if err != nil {
		return fmt.Errorf("catalog: incidents: %w", err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		return fmt.Errorf("catalog: incidents/%s: %w", file, err)
	}
	at := page.Moment{Scenario: sc}
	if !cured {
		if at, err = page.GoesWrong(i.ID, rule, sc); err != nil {
			return fmt.Errorf("catalog: incidents/%s: %w", file, err)
		}
	}
	open, err := link.Encode(link.Contents{Scenario: at.Scenario, At: len(at.Scenario.Schedule)})
	if err != nil {
		return fmt.Errorf("catalog: incidents/%s: %w", file, err)
	}
	l := words.From(r.Context())
	shows := i.Seen
	if cured {
		shows = i.Here
	}
	return s.playPage(w, r, played{open: open, row: at.Row, shown: sc, title: l.Say(i.Title), shows: l.Say(shows), incident: i.ID, elsewhere: !cured})
}

// Incidents is the page of what really happened to people.
func (s *Pages) Incidents(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	symptoms, err := lessons.Incidents()
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	p := page.Incidents{Page: s.Frame(r, l.Say("Incidents"))}
	for _, one := range symptoms {
		symptom := page.Symptom{ID: one.ID, Name: l.Say(one.Name)}
		for _, i := range one.Incidents {
			symptom.Incidents = append(symptom.Incidents, page.Incident{
				ID: i.ID, Title: l.Say(i.Title), Seen: l.Say(i.Seen), Why: l.Say(i.Why), There: l.Say(i.There), Here: l.Say(i.Here),
				Sources: i.Sources, Cured: i.Cured,
			})
		}
		p.Symptoms = append(p.Symptoms, symptom)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Incidents(p))
}
