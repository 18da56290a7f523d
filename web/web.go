// Package web serves the playground: its pages, runs and traces, and the
// websockets that bring rows.
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
	"path"
	"strings"
	"sync"

	"relock/engine/course"
	"relock/engine/panics"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/web/link"
	"relock/web/room"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/static"
	"relock/web/words"
)

// MaxForm is how many bytes of a form are read: the YAML, the YAML its form was
// made from, and the form itself, with each character encoded as up to three.
const MaxForm = 8 * scenario.MaxBytes

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
	Rooms     room.Journal     // keeps the rooms; nil for one in memory
	Dev       bool             // also serve /storybook
	NoMetrics bool             // do not serve /metrics
}

// Server answers requests. It is safe for concurrent use; Close ends its runs.
type Server struct {
	*pages

	log      *slog.Logger
	sessions *runs.Registry
	external *store.External
	meter    *meter
	links    *link.Shelf
	traces   keep.Shelf
	films    *runs.Films
	searches *turn.Turns // to have a search under way
	ledger   *limit.Ledger
	spaces   *limit.Ledger // what searches hold
	gallery  map[string]func() picture
	course   *course.Course
	rooms    *room.House
	guesses  guesses
	visits   sync.WaitGroup // of rooms
	handler  http.Handler
	routes   []string // the patterns it answers

	front     sync.Mutex
	frontFilm *runs.Recording // what the front page shows, from its first request on
}

type example struct {
	name string
	text string // of the file
	sc   *scenario.Scenario
}

// firstExample is what the editor opens with.
const firstExample = "two-threads"

// New returns a server. It fails if an example is not a valid scenario.
func New(c Config) (*Server, error) {
	files, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	links, traces, err := shelvesOf(c)
	if err != nil {
		return nil, err
	}
	examples, err := readExamples(c.Scenarios)
	if err != nil {
		return nil, err
	}
	s := &Server{
		log: c.Log, external: c.External, links: links, traces: traces, films: runs.NewFilms(), searches: turn.New(searchesAtOnce, 1),
		ledger: limit.NewLedger(limit.BytesOfAddress, limit.BytesOfAll), spaces: limit.NewLedger(searchBytesOfAddress, searchBytesOfAll),
	}
	s.pages = &pages{examples: examples, Site: site.New(site.Config{
		Log: c.Log, External: c.External, Listening: c.Listening, Secure: c.Secure, Advertise: c.Advertise, Proxies: c.Proxies,
		PublicURL: c.PublicURL, Languages: cmp.Or(c.Languages, words.BuiltIn()), Static: files,
	})}
	s.gallery = paint(s.examples)
	if s.course, err = course.BuiltIn(words.All()); c.Course != nil {
		s.course, err = course.ReadCourse(words.All(), c.Course, c.Scenarios)
	}
	if err != nil {
		return nil, fmt.Errorf("web: the course: %w", err)
	}
	s.sessions = runs.NewRegistry(c.Limits)
	s.meter = newMeter(s.sessions, s.films, s.Waiting)
	s.Count, s.Message = counter{s.meter}, s.message
	if err := s.openHouse(c.Rooms); err != nil {
		return nil, err
	}
	s.sessions.Panicked = func(p *panics.Error) { s.Panicked(context.Background(), site.OfRun, p) }
	s.sessions.TakeTurns(s.Turns)
	s.sessions.OnHeld(func(from string) { s.NoteRefusal(context.Background(), from, "max-kept-bytes") })
	if c.External != nil {
		c.External.Client().AddHook(redisMeter{s.meter})
	}
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) {
		s.routes = append(s.routes, pattern)
		mux.Handle(pattern, h)
	}
	handle("GET /{$}", s.ForAll(s.home))
	handle("GET /scenarios", s.ForAll(s.scenarios))
	handle("GET /about", s.ForAll(s.about))
	handle("GET /glossary", s.ForAll(s.glossary))
	handle("GET /api", s.ForAll(s.api))
	handle("GET /edit", s.OfRun(site.InQuery, s.Page(s.edit)))
	handle("POST /edit", s.Page(s.reedit))
	handle("POST /edit/scenario", s.Page(s.convert))
	handle("POST /edit/file", s.Page(s.Largely(s.openFile)))
	handle("POST /traces", s.Page(s.Largely(s.keepTrace)))
	handle("GET /traces/{id}", s.Page(s.Largely(s.showTrace)))
	handle("GET /traces/{id}/trace", s.Page(s.keptTrace))
	handle("GET /traces/{id}/lanes", s.Page(s.Largely(s.traceLanes)))
	handle("GET /traces/{id}/rows", s.Page(s.Largely(s.traceRows)))
	handle("GET /traces/{id}/export", s.Page(s.Largely(s.exportTrace)))
	handle("POST /runs", s.Page(s.start))
	handle("GET /runs/{id}", s.OfRun(site.InPath, s.Page(s.show)))
	handle("GET /runs/{id}/trace", s.OfRun(site.InPath, s.Page(s.trace)))
	handle("GET /runs/{id}/socket", s.OfRun(site.InPath, s.Live(s.socket)))
	handle("GET /runs/{id}/lanes", s.OfRun(site.InPath, s.Page(s.runLanes)))
	handle("GET /runs/{id}/rows", s.OfRun(site.InPath, s.Page(s.runRows)))
	handle("GET /runs/{id}/export", s.OfRun(site.InPath, s.Page(s.Largely(s.exportRun))))
	handle("POST /export", s.Page(s.Largely(s.exportLink)))
	handle("GET /qr", s.Page(s.qr))
	handle("GET /locks", s.ForAll(s.locks))
	handle("GET /locks/{lock}/{cell}", s.Page(s.cell))
	handle("GET /learn", s.ForAll(s.learn))
	handle("GET /learn/class", s.ForAll(s.class))
	handle("GET /learn/check", s.Page(s.checked))
	handle("GET /learn/made", s.Page(s.made))
	handle("GET /learn/made.yaml", s.Page(s.madeYAML))
	handle("POST /learn/made/judge", s.Page(s.judgeMade))
	handle("GET /learn/{chapter}/{item}", s.Page(s.lesson))
	handle("POST /learn/{chapter}/{item}/judge", s.Page(s.judge))
	handle("GET /play", s.Page(s.play))
	handle("GET /play/{example}", s.Page(s.play))
	handle("GET /play/socket", s.Live(s.playSocket))
	handle("GET /embed/play", s.Page(s.embed))
	handle("GET /embed/play/{example}", s.Page(s.embed))
	handle("GET /embed/s/{id}", s.Page(s.embed))
	handle("GET /oembed", s.Page(s.oembed))
	handle("POST /rooms", s.Page(s.makeRoom))
	handle("GET /room", s.ForAll(s.roomDoor))
	handle("GET /room/new", s.Page(s.newRoom))
	handle("GET /room/{code}", s.Page(s.roomPhone))
	handle("GET /room/{code}/host", s.Page(s.roomHost))
	handle("GET /room/{code}/stage", s.Page(s.roomStage))
	handle("GET /room/{code}/socket", s.Live(s.roomSocket))
	handle("GET /room/{code}/log", s.Page(s.roomLog))
	handle("GET /room/{code}/votes.csv", s.Page(s.roomVotes))
	handle("GET /room/{code}/branches", s.Page(s.roomBranches))
	handle("POST /replay", s.Page(s.Largely(s.replay)))
	handle("POST /s", s.Page(s.keep))
	handle("GET /s/{id}", s.Page(s.kept))
	if c.Dev {
		handle("GET /storybook", s.Page(s.storybook))
	}
	handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	handle("GET /readyz", http.HandlerFunc(s.ready))
	if !c.NoMetrics {
		handle("GET /metrics", s.meter)
	}
	handle("GET "+static.Prefix, s.FileForAll(files))
	handle("/", s.Page(func(w http.ResponseWriter, r *http.Request) error { return site.NoRoute(w, r, mux) }))
	if s.handler, err = s.Around(mux); err != nil {
		return nil, err
	}
	return s, nil
}

// shelvesOf returns where links and traces from elsewhere are kept.
func shelvesOf(c Config) (*link.Shelf, keep.Shelf, error) {
	links, traces := link.NewShelf(keep.InMemory(link.MemoryLimits)), keep.InMemory(traceLimits)
	if c.External != nil {
		client := c.External.Client()
		links, traces = link.NewShelf(keep.OnRedis(client, "link", link.RedisLimits)), keep.OnRedis(client, "trace", traceLimits)
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

func readExamples(fsys fs.FS) ([]example, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("web: examples: %w", err)
	}
	var list []example
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("web: examples: %w", err)
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("web: example %s: %w", name, err)
		}
		one := example{strings.TrimSuffix(name, path.Ext(name)), string(data), sc}
		if one.name == firstExample {
			list = append([]example{one}, list...)
			continue
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil, errors.New("web: no examples")
	}
	return list, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ready says whether new visitors should be sent here. They should even if the
// external Redis does not answer: everything but the runs on it works.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.sessions.Closed() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// Close stops all runs, closes all websockets, its own with 1001, and returns when
// everything has ended.
func (s *Server) Close() {
	var apart sync.WaitGroup
	apart.Go(s.Site.Close) // a Redis that does not answer holds nobody up
	s.rooms.Close()
	s.sessions.Close()
	s.visits.Wait()
	apart.Wait()
}

func (s *Server) externalName() string {
	if s.external == nil {
		return ""
	}
	return s.external.Name()
}
