package web

import (
	"net/http"

	"relock/web/catalog"
	"relock/web/link"
	"relock/web/own"
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
	reading, common, searches := s.front, s.Pages, s.stepping.Searches
	shown := &catalog.Links{Pages: common, Shelf: links}
	found := &own.Traces{Pages: common, Shelf: traces, Films: s.films}
	editor := &own.Editor{Pages: common, Sessions: s.sessions, Searches: searches, Traces: found}
	run := &own.Runs{Pages: common, Sessions: s.sessions, Films: s.films}
	lab := &own.Labs{Pages: common, Stepping: s.stepping, Labs: s.labs, Config: c.Lab}
	lessons, class := s.lessons, s.rooms
	list := []route{
		{"GET /{$}", s.ForAll(reading.Home)},
		{"GET /scenarios", s.ForAll(reading.Scenarios)},
		{"GET /about", s.ForAll(reading.About)},
		{"GET /glossary", s.ForAll(reading.Glossary)},
		{"GET /api", s.ForAll(reading.API)},
		{"GET /incidents", s.ForAll(reading.Incidents)},
		{"GET /incidents/{id}", s.Page(shown.Incident(false))},
		{"GET /incidents/{id}/cured", s.Page(shown.Incident(true))},
		{"GET /schema/{name}", s.Page(reading.Schema)},
		{"GET /edit", s.OfRun(site.InQuery, s.Page(editor.Edit))},
		{"POST /edit", s.Page(editor.Reedit)},
		{"POST /edit/scenario", s.Page(editor.Convert)},
		{"POST /edit/card", s.Page(editor.OwnCard)},
		{"POST /edit/file", s.Page(s.Largely(editor.OpenFile))},
		{"POST /traces", s.Page(s.Largely(found.Keep))},
		{"GET /traces/{id}", s.Page(s.Largely(found.Show))},
		{"GET /traces/{id}/again", s.Page(s.Largely(found.Again))},
		{"GET /traces/{id}/trace", s.Page(found.File)},
		{"GET /traces/{id}/lanes", s.Page(s.Largely(found.Lanes))},
		{"GET /traces/{id}/rows", s.Page(s.Largely(found.Rows))},
		{"GET /traces/{id}/export", s.Page(s.Largely(found.Export))},
		{"POST /runs", s.Page(editor.Start)},
		{"GET /runs/{id}", s.OfRun(site.InPath, s.Page(run.Show))},
		{"GET /runs/{id}/trace", s.OfRun(site.InPath, s.Page(run.Trace))},
		{"GET /runs/{id}/socket", s.OfRun(site.InPath, s.Live(run.Socket))},
		{"GET /runs/{id}/lanes", s.OfRun(site.InPath, s.Page(run.Lanes))},
		{"GET /runs/{id}/rows", s.OfRun(site.InPath, s.Page(run.Rows))},
		{"GET /runs/{id}/export", s.OfRun(site.InPath, s.Page(s.Largely(run.Export)))},
		{"POST /export", s.Page(s.Largely(run.ExportLink))},
		{"GET /qr", s.Page(reading.QR)},
		{"GET /locks", s.ForAll(reading.Locks)},
		{"GET /locks/{lock}", s.Page(reading.Lock)},
		{"GET /locks/card.svg", s.Page(reading.CardPicture)},
		{"GET /locks/{lock}/{cell}", s.Page(reading.Cell)},
		{"GET /lab", s.Page(lab.Door)},
		{"POST /lab", s.Page(lab.Open)},
		{"GET /lab/script", s.Page(editor.Own)},
		{"GET /lab/{id}", s.Page(lab.Show)},
		{"GET /lab/{id}/socket", s.Live(lab.Socket)},
		{"GET /lab/{id}/trace", s.Page(s.Largely(lab.Trace))},
		{"GET /lab/{id}/export", s.Page(s.Largely(lab.Export))},
		{"GET /learn", s.ForAll(lessons.Learn)},
		{"GET /learn/ladder", s.ForAll(lessons.Ladder)},
		{"GET /learn/class", s.ForAll(lessons.Class)},
		{"GET /learn/check", s.Page(lessons.Checked)},
		{"GET /learn/made", s.Page(lessons.Made)},
		{"GET /learn/made.yaml", s.Page(lessons.MadeYAML)},
		{"POST /learn/made/judge", s.Page(lessons.JudgeMade)},
		{"GET /learn/{chapter}", s.Page(lessons.Chapter)},
		{"GET /learn/{chapter}/{item}", s.Page(lessons.Lesson)},
		{"POST /learn/{chapter}/{item}", s.Page(lessons.Wrote)},
		{"POST /learn/{chapter}/{item}/judge", s.Page(lessons.Judge)},
		{"GET /play", s.Page(shown.Play)},
		{"GET /play/{example}", s.Page(shown.Play)},
		{"GET /play/socket", s.Live(s.stepping.PlaySocket)},
		{"GET /embed/play", s.Page(shown.Embed)},
		{"GET /embed/play/{example}", s.Page(shown.Embed)},
		{"GET /embed/s/{id}", s.Page(shown.Embed)},
		{"GET /embed/room/{code}/stage", s.Page(class.Framed)},
		{"GET /oembed", s.Page(shown.OEmbed)},
		{"POST /rooms", s.Page(class.Make)},
		{"GET /room", s.ForAll(class.Door)},
		{"GET /room/new", s.Page(class.Propose)},
		{"GET /room/{code}", s.Page(class.Phone)},
		{"GET /room/{code}/host", s.Page(class.Host)},
		{"GET /room/{code}/stage", s.Page(class.Stage)},
		{"GET /room/{code}/socket", s.Live(class.Socket)},
		{"GET /room/{code}/log", s.Page(class.LogFile)},
		{"GET /room/{code}/votes.csv", s.Page(class.Votes)},
		{"GET /room/{code}/scripts", s.Page(class.Scripts)},
		{"GET /room/{code}/lesson.yaml", s.Page(class.Lesson)},
		{"GET /room/{code}/branches", s.Page(class.Branches)},
		{"POST /replay", s.Page(s.Largely(shown.Replay))},
		{"POST /s", s.Page(shown.Keep)},
		{"GET /s/{id}", s.Page(shown.Kept)},
		{"GET /healthz", http.HandlerFunc(s.healthy)},
		{"GET /readyz", http.HandlerFunc(s.ready)},
		{"GET " + static.Prefix, s.FileForAll(s.Static)},
	}
	if c.Dev {
		list = append(list, route{"GET /storybook", s.Page(reading.Storybook)})
	}
	if !c.NoMetrics {
		list = append(list, route{"GET /metrics", s.meter})
	}
	return list
}
