package learn

import (
	"fmt"
	"net/http"
	"path"
	"sync"

	"relock/engine/course"
	"relock/lessons"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// ladder is the ladder, which is read once.
var ladder = sync.OnceValues(func() (*course.Ladder, error) { return course.ReadLadder(words.All(), lessons.Course()) })

// Ladder is the page of the way to a lock of one's own, and of how far one is.
func (s *Pages) Ladder(w http.ResponseWriter, r *http.Request) error {
	g, err := ladder()
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	l := words.From(r.Context())
	title, says := g.Intro(l)
	p := page.Ladder{Page: s.Frame(r, title, "js/course-way.js"), Title: title, Intro: page.Prose(says)}
	for _, level := range g.Levels {
		p.Levels = append(p.Levels, page.LadderLevel{
			ID: level.ID, Path: level.Path(), Title: level.Title(l), Lab: level.Lab, Holds: page.Prose(level.Says(l, "")),
			Does: page.Prose(level.Says(l, course.PartDoes)), Missing: page.Prose(level.Says(l, course.PartMissing)), Hint: page.Prose(level.Says(l, course.PartHint)),
		})
	}
	for _, one := range g.Sentences {
		p.Sentences = append(p.Sentences, one.Title(l))
	}
	for _, name := range course.LadderWorkers() {
		text, err := course.LadderWorker(name)
		if err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		p.Workers = append(p.Workers, page.LadderWorker{File: name, ID: "worker-" + path.Ext(name)[1:], Text: text})
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.LadderPage(p))
}
