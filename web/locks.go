package web

import (
	"fmt"
	"net/http"

	"golang.org/x/text/language"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/templates"
	"relock/web/view"
)

// languages are those that the site has, the first being what others get.
var languages = language.NewMatcher([]language.Tag{language.English, language.Chinese}) //nolint:gochecknoglobals // a constant

// languageOf is "en" or "zh": as the address says, or else the browser.
func languageOf(r *http.Request) string {
	tag, _ := language.MatchStrings(languages, r.URL.Query().Get("lang"), r.Header.Get("Accept-Language"))
	base, _ := tag.Base()
	return base.String()
}

// locks says of each lock what it guarantees and where it fails.
func (s *Server) locks(w http.ResponseWriter, r *http.Request) error {
	texts, err := lessons.Protocols()
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	p := view.NewLocks(languageOf(r))
	p.Page = s.frame(p.Title)
	examples := s.grouped("")
	for i, known := range scenario.Protocols() {
		l := view.Lock{Name: known.Name, Summary: known.Summary, Lines: texts[i].English, Source: texts[i].Source}
		if p.Lang == "zh" {
			l.Lines, l.Summary = texts[i].Chinese, ""
		}
		for _, g := range examples {
			if g.Protocol == known.Name {
				l.Examples = g.List
			}
		}
		p.List = append(p.List, l)
	}
	w.Header().Add("Vary", "Accept-Language")
	return render(r.Context(), w, http.StatusOK, templates.LocksPage(p))
}
