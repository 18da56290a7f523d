// Package web serves the playground: it is the table of routes, and wires what answers them.
// The pages are in separate packages, the rooms, which know web/shell and not the server.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"

	"relock/engine/course"
	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/store"
	"relock/web/board"
	"relock/web/catalog"
	"relock/web/class"
	"relock/web/labs"
	"relock/web/learn"
	"relock/web/link"
	"relock/web/own"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/site/limit"
	"relock/web/static"
	"relock/web/stepper"
	"relock/web/words"
)

// Config configures a Server.
type Config struct {
	Log       *slog.Logger
	Limits    runs.Limits
	External  *store.External  // the operator's Redis, nil without one
	Listening net.Addr         // where it listens, nil if unknown
	Secure    *tls.Config      // with which it serves HTTPS, nil for HTTP
	Advertise *url.URL         // where others that share External reach it; nil to find out; see ParseAdvertise
	Proxies   []netip.Prefix   // their X-Forwarded-For and Forwarded are believed; see ParseProxies
	Scenarios fs.FS            // the examples, *.yaml at its top
	Course    fs.FS            // the chapters; nil for the built-in ones
	Languages *words.Languages // to choose from; nil for the built-in ones
	Links     string           // the folder that keeps links; "" keeps them on External, or in memory without one
	PublicURL *url.URL         // how visitors reach it; nil if only their requests say so; see ParsePublicURL
	Rooms     board.Journal    // keeps the rooms; nil for one in memory
	Lab       LabConfig        // labs, and for whom
	Box       *box.Pool        // runs the locks that visitors write; nil: they are not run. Close it after the server
	BoxErr    error            // why there is none
	Dev       bool             // also serve /storybook
	NoMetrics bool             // do not serve /metrics
}

// LabConfig says whether there are labs, and for whom.
type LabConfig = own.LabConfig

// Server answers requests. It is safe for concurrent use; Close ends its runs.
type Server struct {
	*shell.Pages

	sessions *runs.Registry
	films    *runs.Films
	meter    *meter
	front    *catalog.Pages
	stepping *stepper.Sockets
	rooms    *class.Pages
	lessons  *learn.Pages
	labs     *labs.Labs
	handler  http.Handler
	routes   []string // the patterns it answers
}

// New returns a server. It reads none of the examples: their tests check that they are
// scenarios.
func New(c Config) (*Server, error) {
	files, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	links, traces, err := shelvesOf(c)
	if err != nil {
		return nil, err
	}
	examples, err := shell.ReadExamples(c.Scenarios)
	if err != nil {
		return nil, err
	}
	lessons, err := taught(c)
	if err != nil {
		return nil, err
	}
	at := site.New(site.Config{
		Log: c.Log, External: c.External, Listening: c.Listening, Secure: c.Secure, Advertise: c.Advertise, Proxies: c.Proxies,
		PublicURL: c.PublicURL, Languages: cmp.Or(c.Languages, words.BuiltIn()), Static: files,
	})
	s := &Server{sessions: runs.NewRegistry(c.Limits), films: runs.NewFilms()}
	s.sessions.RunOwn(c.Box)
	s.meter = newMeter(s.sessions, s.films, at)
	s.Pages = &shell.Pages{
		Site: at, Log: c.Log, Starts: s.sessions, External: c.External, Examples: examples, Box: c.Box, BoxErr: c.BoxErr, Meter: counter{s.meter},
	}
	s.Count, s.Message = counter{s.meter}, s.MessagePage
	s.front = catalog.New(s.Pages)
	s.stepping = &stepper.Sockets{Pages: s.Pages, Sessions: s.sessions, Searches: stepper.NewSearches(s.Pages), Ledger: limit.NewLedger(limit.BytesOfAddress, limit.BytesOfAll), Course: lessons}
	s.lessons = &learn.Pages{Pages: s.Pages, Course: lessons, Own: c.Course != nil, Searches: s.stepping.Searches}
	if s.rooms, err = class.New(s.stepping, c.Rooms, s.lessons.Sheet); err != nil {
		return nil, err
	}
	s.labs = labs.New(cmp.Or(c.Lab.Limits, labs.DefaultLimits()), c.Lab.Start, s.stepping.Ledger)
	if c.Lab.Fixed != nil {
		if _, err := s.labs.Fix(c.Lab.Fixed, c.Lab.Command); err != nil {
			return nil, err
		}
	}
	s.sessions.Panicked = func(p *panics.Error) { s.Panicked(context.Background(), site.OfRun, p) }
	s.sessions.TakeTurns(s.Turns)
	s.sessions.OnHeld(func(from string) { s.NoteRefusal(context.Background(), from, "max-kept-bytes") })
	if c.External != nil {
		c.External.Client().AddHook(redisMeter{s.meter})
	}
	mux := http.NewServeMux()
	other := s.Page(func(w http.ResponseWriter, r *http.Request) error { return site.NoRoute(w, r, mux) })
	for _, one := range append(s.table(c, links, traces), route{"/", other}) {
		s.routes = append(s.routes, one.pattern)
		mux.Handle(one.pattern, one.handler)
	}
	if s.handler, err = s.Around(mux); err != nil {
		return nil, err
	}
	return s, nil
}

// taught is the course. The built-in one is read when somebody first asks for it;
// of another one New says what is wrong with it.
func taught(c Config) (func() *course.Course, error) {
	if c.Course == nil {
		return sync.OnceValue(func() *course.Course {
			one, err := course.BuiltIn(words.All())
			if err != nil {
				panic(err) // it is embedded
			}
			return one
		}), nil
	}
	one, err := course.ReadCourse(words.All(), c.Course, c.Scenarios)
	if err != nil {
		return nil, fmt.Errorf("web: the course: %w", err)
	}
	return func() *course.Course { return one }, nil
}

// shelvesOf returns where links and traces from elsewhere are kept.
func shelvesOf(c Config) (*link.Shelf, keep.Shelf, error) {
	links, traces := link.NewShelf(keep.InMemory(link.MemoryLimits)), keep.InMemory(own.TraceLimits)
	if c.External != nil {
		client := c.External.Client()
		links, traces = link.NewShelf(keep.OnRedis(client, "link", link.RedisLimits)), keep.OnRedis(client, "trace", own.TraceLimits)
	}
	if c.Links == "" {
		return links, traces, nil
	}
	links, err := link.InFolder(c.Links)
	if err != nil {
		return nil, nil, fmt.Errorf("web: %w", err)
	}
	return links, traces, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handler.ServeHTTP(w, r.WithContext(ownlock.WithBox(r.Context(), s.Box)))
}

// errClosing is why a server that closes is not ready.
var errClosing = errors.New("shutting down")

// healthy says whether the server works.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	answerHealth(w, "ok", s.CheckTurns())
}

// ready says whether new visitors should be sent here. They should even if the
// external Redis does not answer: everything but the runs on it works.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.sessions.Closed() {
		answerHealth(w, "", errClosing)
		return
	}
	answerHealth(w, "ready", s.CheckTurns())
}

// answerHealth tells a monitor that all is well, or why it is not.
func answerHealth(w http.ResponseWriter, well string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, well)
}

// Close stops all runs, closes all websockets, its own with 1001, and returns when
// everything has ended.
func (s *Server) Close() {
	var apart sync.WaitGroup
	apart.Go(s.Site.Close) // a Redis that does not answer holds nobody up
	s.rooms.House.Close()
	s.labs.Close()
	s.sessions.Close()
	s.rooms.Wait()
	apart.Wait()
}

// Prepare gets ready what the first who asks for it would wait for: the course,
// the other languages' texts, and pictures of the gallery that are not kept. It
// works only while nobody else wants the processor, and returns when all is
// there, or when ctx ends.
func (s *Server) Prepare(ctx context.Context) { s.front.Prepare(ctx, func() { s.stepping.Course() }) }
