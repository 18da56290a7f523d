package web

import (
	"fmt"
	"net/http"
	"slices"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/templates"
	"relock/web/view"
	"relock/web/words"
)

// locks is the page that says what each lock guarantees and where it fails.
func (s *Server) locks(w http.ResponseWriter, r *http.Request) error {
	texts, err := lessons.Protocols()
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	say := words.From(r.Context())
	p := view.Locks{Intro: say.Say("Each of them is a real implementation on the same stage. Some are here to be seen failing.")}
	p.Page = s.frame(r, say.Say("The locks"))
	groups, err := shelves(say)
	if err != nil {
		return err
	}
	for i, known := range exhibit.All() {
		l := view.Lock{
			Name: known.Name, Summary: say.Say(known.Summary), Source: say.Say(texts[i].Source),
			Guarantees: say.Each(texts[i].Guarantees), Holes: say.Each(texts[i].Holes), Examples: s.playedOn(known.Name, groups),
		}
		p.List = append(p.List, l)
	}
	return render(r.Context(), w, http.StatusOK, templates.LocksPage(p))
}

// playedOn returns the gallery's scenarios with a lock, in the gallery's order.
// Heartbeats have none.
func (s *Server) playedOn(protocol string, groups []view.Group) []view.Example {
	var list []view.Example
	for _, g := range groups {
		for _, e := range g.Exhibits {
			if slices.ContainsFunc(s.examples, func(x example) bool {
				return x.name == e.Name && x.sc.Lock.Protocol == protocol && x.sc.Kind != scenario.KindHeartbeat
			}) {
				list = append(list, view.Example{Name: e.Name, Title: e.Title})
			}
		}
	}
	return list
}
