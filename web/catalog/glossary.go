package catalog

import (
	"fmt"
	"net/http"

	"relock/engine/check"
	"relock/engine/verdict"
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
	p.Verdicts = []page.Term{
		{ID: string(verdict.Broken), Name: l.Say("a rule broke"), Text: l.Say("In an order that was tried, a rule is broken. The smallest such order is shown, and can be played again.")},
		{ID: string(verdict.Unbroken), Name: l.Say("no rule is broken"), Text: l.Say("In no order that was tried is a rule broken, and nothing is missing that a judgement needs. It says nothing beyond the bounds beside it.")},
		{ID: string(verdict.Unjudged), Name: l.Say("cannot be judged"), Text: l.Say("No rule was seen broken, but something is missing without which nobody can say that none can be. The reason stands beside it, with what helps: do that, and judge again.")},
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Glossary(p))
}
