package web

import (
	"fmt"
	"io/fs"
	"net/http"
	"sync"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/link"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// incidentLinks are the texts of the links to the incidents' scenarios, by file. They
// are made when somebody first asks.
var incidentLinks = sync.OnceValues(func() (map[string]string, error) {
	files, err := fs.Glob(lessons.IncidentFiles(), "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("web: incidents: %w", err)
	}
	links := map[string]string{}
	for _, file := range files {
		data, err := fs.ReadFile(lessons.IncidentFiles(), file)
		if err != nil {
			return nil, fmt.Errorf("web: incidents: %w", err)
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("web: incidents/%s: %w", file, err)
		}
		if links[file], err = link.Encode(link.State{Scenario: sc}); err != nil {
			return nil, fmt.Errorf("web: incidents/%s: %w", file, err)
		}
	}
	return links, nil
})

// incidents is the page of what really happened to people.
func (s *frontPages) incidents(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	symptoms, err := lessons.Incidents()
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	links, err := incidentLinks()
	if err != nil {
		return err
	}
	p := page.Incidents{Page: s.frame(r, l.Say("Incidents"))}
	for _, one := range symptoms {
		symptom := page.Symptom{ID: one.ID, Name: l.Say(one.Name)}
		for _, i := range one.Incidents {
			symptom.Incidents = append(symptom.Incidents, page.Incident{
				ID: i.ID, Title: l.Say(i.Title), Seen: l.Say(i.Seen), Why: l.Say(i.Why), There: l.Say(i.There), Here: l.Say(i.Here),
				Sources: i.Sources, Open: links[i.File(false)], Cured: links[i.File(true)],
			})
		}
		p.Symptoms = append(p.Symptoms, symptom)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Incidents(p))
}
