package web

import (
	"fmt"
	"net/http"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/templates"
	"relock/web/view"
	"relock/web/words"
)

// locks says of each lock what it guarantees and where it fails.
func (s *Server) locks(w http.ResponseWriter, r *http.Request) error {
	texts, err := lessons.Protocols()
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	say := words.From(r.Context())
	p := view.Locks{Intro: say.Say("Each of them is a real implementation on the same stage. Some are here to be seen failing.")}
	p.Page = s.frame(r, say.Say("The locks"))
	for i, known := range scenario.Protocols() {
		l := view.Lock{Name: known.Name, Summary: say.Say(words.Text(known.Summary)), Lines: texts[i].English, Source: texts[i].Source}
		if say == words.Chinese {
			l.Lines, l.Source = texts[i].Chinese, texts[i].ChineseSource
		}
		for _, e := range s.examples {
			if e.sc.Lock.Protocol == known.Name {
				l.Examples = append(l.Examples, view.Example{Name: e.name, Title: titleOf(say, e.sc)})
			}
		}
		p.List = append(p.List, l)
	}
	return render(r.Context(), w, http.StatusOK, templates.LocksPage(p))
}
