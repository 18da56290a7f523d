package catalog

import (
	"fmt"
	"io/fs"
	"net/http"

	"relock/engine/check"
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
	sc, err := staging(i.File(false))
	if err != nil {
		return err
	}
	at, err := page.GoesWrong(i.ID, rule, sc)
	if err != nil {
		return fmt.Errorf("catalog: incidents/%s: %w", i.ID, err)
	}
	l := words.From(r.Context())
	of := played{title: l.Say(i.Title), shows: l.Say(i.Seen), incident: &page.Staged{ID: i.ID, Library: i.Library, Mended: cured, Cured: i.Cured}, elsewhere: true}
	if cured {
		if sc, err = staging(i.File(true)); err != nil {
			return err
		}
		if at, err = page.GoesWell(i.ID, at, sc); err != nil {
			return fmt.Errorf("catalog: incidents/%s: %w", i.ID, err)
		}
		of.title, of.shows = l.Say("%s (mended)", of.title), l.Say("What was changed: %s", l.Say(i.Here))
	}
	of.shown, of.row = sc, at.Row
	if of.open, err = link.Encode(link.Contents{Scenario: at.Scenario, At: len(at.Scenario.Schedule)}); err != nil {
		return fmt.Errorf("catalog: incidents/%s: %w", i.ID, err)
	}
	return s.playPage(w, r, of)
}

// staging reads a scenario of an incident.
func staging(file string) (*scenario.Scenario, error) {
	data, err := fs.ReadFile(lessons.IncidentFiles(), file)
	if err != nil {
		return nil, fmt.Errorf("catalog: incidents: %w", err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("catalog: incidents/%s: %w", file, err)
	}
	return sc, nil
}

// Incidents is the page of what really happened to people.
func (s *Pages) Incidents(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	symptoms, err := lessons.Incidents()
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	p := page.Incidents{Page: s.Frame(r, l.Say("Incidents"), "js/finder.js")}
	for _, one := range symptoms {
		symptom := page.Symptom{ID: one.ID, Name: l.Say(one.Name)}
		for _, i := range one.Incidents {
			sc, err := staging(i.File(false))
			if err != nil {
				return err
			}
			symptom.Incidents = append(symptom.Incidents, page.Incident{
				ID: i.ID, Title: l.Say(i.Title), Library: i.Library, Terms: one.Rule + " " + l.Clause(check.Title(one.Rule)) + " " + page.FoundBy(sc), Seen: l.Say(i.Seen), Why: l.Say(i.Why), There: l.Say(i.There), Here: l.Say(i.Here),
				Sources: i.Sources, Cured: i.Cured,
			})
		}
		p.Symptoms = append(p.Symptoms, symptom)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Incidents(p))
}
