package web

import (
	"net/http"

	"relock/web/link"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/static"
)

// route is a pattern of http.ServeMux, and what answers it.
type route struct {
	pattern string
	handler http.Handler
}

// table is every address that the server answers.
func (s *Server) table(c Config, links *link.Shelf, traces keep.Shelf) []route {
	front, common, searches := s.front, s.Pages, s.stepping.searches
	shown := &linkPages{Pages: common, links: links}
	kept := &tracePages{Pages: common, traces: traces, films: s.films}
	editor := &editorPages{Pages: common, sessions: s.sessions, searches: searches, traces: kept}
	run := &runPages{Pages: common, sessions: s.sessions, films: s.films}
	lab := &labPages{Pages: common, stepping: s.stepping, labs: s.labs, of: c.Lab}
	lessons := &coursePages{Pages: common, course: s.stepping.course, searches: searches}
	class := s.rooms
	list := []route{
		{"GET /{$}", s.ForAll(front.home)},
		{"GET /scenarios", s.ForAll(front.scenarios)},
		{"GET /about", s.ForAll(front.about)},
		{"GET /glossary", s.ForAll(front.glossary)},
		{"GET /api", s.ForAll(front.api)},
		{"GET /incidents", s.ForAll(front.incidents)},
		{"GET /incidents/{id}", s.Page(shown.incident(false))},
		{"GET /incidents/{id}/cured", s.Page(shown.incident(true))},
		{"GET /schema/{name}", s.Page(front.schema)},
		{"GET /edit", s.OfRun(site.InQuery, s.Page(editor.edit))},
		{"POST /edit", s.Page(editor.reedit)},
		{"POST /edit/scenario", s.Page(editor.convert)},
		{"POST /edit/card", s.Page(editor.ownCard)},
		{"POST /edit/file", s.Page(s.Largely(editor.openFile))},
		{"POST /traces", s.Page(s.Largely(kept.keepTrace))},
		{"GET /traces/{id}", s.Page(s.Largely(kept.showTrace))},
		{"GET /traces/{id}/again", s.Page(s.Largely(kept.readAgain))},
		{"GET /traces/{id}/trace", s.Page(kept.keptTrace)},
		{"GET /traces/{id}/lanes", s.Page(s.Largely(kept.traceLanes))},
		{"GET /traces/{id}/rows", s.Page(s.Largely(kept.traceRows))},
		{"GET /traces/{id}/export", s.Page(s.Largely(kept.exportTrace))},
		{"POST /runs", s.Page(editor.start)},
		{"GET /runs/{id}", s.OfRun(site.InPath, s.Page(run.show))},
		{"GET /runs/{id}/trace", s.OfRun(site.InPath, s.Page(run.trace))},
		{"GET /runs/{id}/socket", s.OfRun(site.InPath, s.Live(run.socket))},
		{"GET /runs/{id}/lanes", s.OfRun(site.InPath, s.Page(run.runLanes))},
		{"GET /runs/{id}/rows", s.OfRun(site.InPath, s.Page(run.runRows))},
		{"GET /runs/{id}/export", s.OfRun(site.InPath, s.Page(s.Largely(run.exportRun)))},
		{"POST /export", s.Page(s.Largely(run.exportLink))},
		{"GET /qr", s.Page(front.qr)},
		{"GET /locks", s.ForAll(front.locks)},
		{"GET /locks/card.svg", s.Page(front.cardPicture)},
		{"GET /locks/{lock}/{cell}", s.Page(front.cell)},
		{"GET /lab", s.Page(lab.door)},
		{"POST /lab", s.Page(lab.open)},
		{"GET /lab/{id}", s.Page(lab.show)},
		{"GET /lab/{id}/socket", s.Live(lab.socket)},
		{"GET /lab/{id}/trace", s.Page(s.Largely(lab.trace))},
		{"GET /lab/{id}/export", s.Page(s.Largely(lab.export))},
		{"GET /learn", s.ForAll(lessons.learn)},
		{"GET /learn/class", s.ForAll(lessons.class)},
		{"GET /learn/check", s.Page(lessons.checked)},
		{"GET /learn/made", s.Page(lessons.made)},
		{"GET /learn/made.yaml", s.Page(lessons.madeYAML)},
		{"POST /learn/made/judge", s.Page(lessons.judgeMade)},
		{"GET /learn/{chapter}", s.Page(lessons.chapter)},
		{"GET /learn/{chapter}/{item}", s.Page(lessons.lesson)},
		{"POST /learn/{chapter}/{item}", s.Page(lessons.wrote)},
		{"POST /learn/{chapter}/{item}/judge", s.Page(lessons.judge)},
		{"GET /play", s.Page(shown.play)},
		{"GET /play/{example}", s.Page(shown.play)},
		{"GET /play/socket", s.Live(s.stepping.playSocket)},
		{"GET /embed/play", s.Page(shown.embed)},
		{"GET /embed/play/{example}", s.Page(shown.embed)},
		{"GET /embed/s/{id}", s.Page(shown.embed)},
		{"GET /embed/room/{code}/stage", s.Page(class.roomStage)},
		{"GET /oembed", s.Page(shown.oembed)},
		{"POST /rooms", s.Page(class.makeRoom)},
		{"GET /room", s.ForAll(class.roomDoor)},
		{"GET /room/new", s.Page(class.newRoom)},
		{"GET /room/{code}", s.Page(class.roomPhone)},
		{"GET /room/{code}/host", s.Page(class.roomHost)},
		{"GET /room/{code}/stage", s.Page(class.roomStage)},
		{"GET /room/{code}/socket", s.Live(class.roomSocket)},
		{"GET /room/{code}/log", s.Page(class.roomLog)},
		{"GET /room/{code}/votes.csv", s.Page(class.roomVotes)},
		{"GET /room/{code}/scripts", s.Page(class.roomScripts)},
		{"GET /room/{code}/lesson.yaml", s.Page(class.taughtLesson)},
		{"GET /room/{code}/branches", s.Page(class.roomBranches)},
		{"POST /replay", s.Page(s.Largely(shown.replay))},
		{"POST /s", s.Page(shown.keep)},
		{"GET /s/{id}", s.Page(shown.kept)},
		{"GET /healthz", http.HandlerFunc(s.healthy)},
		{"GET /readyz", http.HandlerFunc(s.ready)},
		{"GET " + static.Prefix, s.FileForAll(s.Static)},
	}
	if c.Dev {
		list = append(list, route{"GET /storybook", s.Page(front.storybook)})
	}
	if !c.NoMetrics {
		list = append(list, route{"GET /metrics", s.meter})
	}
	return list
}
