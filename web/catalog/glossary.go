package catalog

import (
	"fmt"
	"net/http"

	"relock/engine/check"
	"relock/lessons"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// Glossary explains the terms, and the rules by their names.
func (s *Pages) Glossary(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	moments, err := page.TermMoments()
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	p := page.Glossary{Page: s.Frame(r, l.Say("Glossary"), "js/finder.js")}
	for _, t := range page.Terms() {
		shown, err := shell.ExhibitOf(t.Scenario)
		if err != nil {
			return err
		}
		m := moments[t.ID]
		p.Terms = append(p.Terms, page.Term{
			ID: t.ID, Name: l.Say(t.Name), Text: l.Say(t.Text), Other: t.Elsewhere(l), Address: "/play#" + m.Link,
			Seen: l.Say("See it: %s, step %d", l.Clause(lessons.Title(string(shown.Title))), m.Step),
		})
	}
	for _, rule := range check.Names() {
		p.Rules = append(p.Rules, page.Term{ID: rule, Name: l.Clause(check.Title(rule)), Text: l.Clause(check.Means(rule))})
		for _, older := range check.Older() {
			if now, _ := check.Named(older); now == rule {
				p.Rules[len(p.Rules)-1].Before = append(p.Rules[len(p.Rules)-1].Before, older)
			}
		}
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Glossary(p))
}
