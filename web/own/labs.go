package own

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/labs"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/templates"
	"relock/web/words"
)

// Labs are the pages of labs.
type Labs struct {
	*shell.Pages

	Stepping *stepper.Sockets
	Labs     *labs.Labs
	Config   LabConfig
}

// LabConfig says whether there are labs, and for whom.
type LabConfig struct {
	Start   labs.Start // nil: there are none
	Limits  labs.Limits
	Anyone  bool     // also for visitors who are not on this machine
	Fixed   lab.Desk // one that is there already, for every visitor; it is the server's to close
	Command string   // that Fixed has started, "" if clients come by themselves
	Wall    bool     // Fixed is on the wall's clock
}

// labPatience is how long a client of a lab that a page opens may be silent in a search.
const labPatience = time.Minute

var errNoLab = site.Refuse(http.StatusNotFound, "There is no such lab", "A lab is closed once nobody has looked at it for a while, and gone when its process ends. Open another one: /lab.")

// may says why a visitor can open no lab, or "".
func (s *Labs) may(r *http.Request) phrase.Text {
	switch {
	case s.Config.Start == nil && s.Config.Fixed == nil:
		return "This server has no lab."
	case !s.Config.Anyone && !site.FromHere(r):
		return "A lab holds the commands of programs on the machine of this server, and you are not on it, or not directly. Start a server of your own, or ask for -lab-anyone."
	}
	return ""
}

// Door is the page on which a lab is opened.
func (s *Labs) Door(w http.ResponseWriter, r *http.Request) error {
	if id := s.Labs.Fixed(); id != "" && s.may(r) == "" {
		http.Redirect(w, r, "/lab/"+id, http.StatusSeeOther)
		return nil
	}
	return s.showDoor(w, r, http.StatusOK, page.LabDoor{Threads: 2})
}

func (s *Labs) showDoor(w http.ResponseWriter, r *http.Request, status int, p page.LabDoor) error {
	l := words.From(r.Context())
	p.Page, p.Most, p.MostNodes = s.Frame(r, l.Say("Your own lock")), lab.MaxThreads, lab.MaxNodes
	if why := s.may(r); why != "" {
		p.Closed = l.Say(why)
	}
	others, err := page.NewLibraries(l)
	if err != nil {
		return fmt.Errorf("own: %w", err)
	}
	p.Others = others.Beside()
	return site.Render(r.Context(), w, status, templates.LabDoorPage(p))
}

// Open opens a lab, and leads to its page.
func (s *Labs) Open(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	if why := s.may(r); why != "" || s.Config.Start == nil {
		return s.showDoor(w, r, http.StatusForbidden, page.LabDoor{Threads: 2})
	}
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return site.OfLimit(err)
	}
	p := page.LabDoor{Key: r.PostFormValue("key"), Shared: r.PostFormValue("resource")}
	p.Threads, _ = strconv.Atoi(r.PostFormValue("threads")) // what is no number is refused below
	if text := r.PostFormValue("nodes"); text != "" {       // forms made by hand may lack it
		if p.Nodes, _ = strconv.Atoi(text); p.Nodes == 0 {
			p.Nodes = -1
		}
	}
	o := lab.Options{Threads: p.Threads, Nodes: p.Nodes, Resource: p.Shared, MaxOrders: stepper.MostOrders, Clock: lab.ClockGate, Timeout: labPatience, Seed: 1}
	var err error
	if p.Key != "" {
		o, err = o.Of(p.Key)
	}
	if text := r.PostFormValue("inside"); text != "" && err == nil {
		p.Inside, _ = strconv.Atoi(text) // what is no number is refused
		o.Kind, err = check.Inside(p.Inside)
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil && slices.ContainsFunc(append(o.Lock().Keys(), p.Shared), func(key string) bool { return len(key) > scenario.MaxKey }) {
		err = phrase.New("a key has at most %d characters", scenario.MaxKey)
	}
	if err != nil {
		p.Problem, _ = l.Explain(err)
		return s.showDoor(w, r, http.StatusUnprocessableEntity, p)
	}
	var opened *labs.Lab
	site.SeatOf(r).Away(r.Context(), func() {
		opened, err = s.Labs.Open(r.Context(), site.Address(r), s.Visitor(w, r), l.Say("A lab"), o)
	})
	if site.LimitName(err) != "" {
		return site.OfLimit(err)
	}
	if err != nil {
		return fmt.Errorf("own: open a lab: %w", err)
	}
	http.Redirect(w, r, "/lab/"+opened.ID, http.StatusSeeOther)
	return nil
}

// found returns the lab that the path names, if the visitor may see it.
func (s *Labs) found(r *http.Request) (*labs.Lab, labs.State, error) {
	one, ok := s.Labs.Get(r.PathValue("id"))
	if !ok || s.may(r) != "" {
		return nil, labs.State{}, errNoLab
	}
	st, err := one.State()
	if err != nil {
		return nil, st, errNoLab
	}
	return one, st, nil
}

// Show is the page of a lab.
func (s *Labs) Show(w http.ResponseWriter, r *http.Request) error {
	one, st, err := s.found(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	at := "/lab/" + one.ID
	p := page.Lab{
		Page: s.Frame(r, l.Say("Lab"), "js/lab.js"), Socket: at + "/socket", Trace: at + "/trace?branch=", Exports: at + "/export?branch=", Files: export.Files(l),
		Rail: s.rail(l, r, st), Faults: page.LabFaults(l, s.Config.Wall), Command: s.command(one), Fixed: one.ID == s.Labs.Fixed(),
		Clock: l.Say("your clients · Redis' clock stands still"),
	}
	if s.wall(one) {
		p.Clock = l.Say("your clients · wall clock")
	}
	p.Viewer = runs.Unplayed(l, st.Scenario)
	p.Viewer.Steps, p.Viewer.Gated, p.Viewer.Scripts = true, true, nil // the clients bring theirs
	p.Viewer.Scenario.Bare = true
	return site.Render(r.Context(), w, http.StatusOK, templates.LabPage(p))
}

func (s *Labs) command(one *labs.Lab) string {
	if one.ID == s.Labs.Fixed() {
		return s.Config.Command
	}
	return ""
}

func (s *Labs) wall(one *labs.Lab) bool { return one.ID == s.Labs.Fixed() && s.Config.Wall }

// rail is what is beside the table, for a visitor's own address of this machine.
func (s *Labs) rail(l words.Language, r *http.Request, st labs.State) page.LabRail {
	host := "127.0.0.1"
	if name, _, err := net.SplitHostPort(r.Host); err == nil && s.Config.Anyone {
		host = name
	}
	one, _ := s.Labs.Get(r.PathValue("id"))
	return page.NewLabRail(l, st.Look.Threads, st.Scenario.Locks, host, s.command(one), s.wall(one))
}

// Socket serves a page of a lab.
func (s *Labs) Socket(w http.ResponseWriter, r *http.Request) error {
	one, st, err := s.found(r)
	if err != nil {
		return err
	}
	of := stepper.LabPage{Rail: func(st labs.State) page.LabRail { return s.rail(words.From(r.Context()), r, st) }}
	if one.Owned(s.VisitorOf(r)) && one.ID != s.Labs.Fixed() {
		of.End = func() { s.Labs.End(one) }
	}
	return s.Stepping.LabSocket(w, r, one, st, of)
}

// branch returns the branch that the address names.
func (s *Labs) branch(r *http.Request) (labs.State, *engine.Path, error) {
	_, st, err := s.found(r)
	if err != nil {
		return st, nil, err
	}
	id, err := strconv.Atoi(r.URL.Query().Get("branch"))
	for _, b := range st.Branches {
		if err == nil && b.ID == id {
			whole, err := b.Whole()
			if err != nil {
				return st, nil, err
			}
			return st, whole.Path, nil
		}
	}
	return st, nil, errNoLab
}

// Trace answers with a branch as a trace.
func (s *Labs) Trace(w http.ResponseWriter, r *http.Request) error {
	_, b, err := s.branch(r)
	if err != nil {
		return err
	}
	var out strings.Builder
	if err := trace.Write(&out, b.Header, b.Events); err != nil {
		return fmt.Errorf("own: %w", err)
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", `attachment; filename="relock-lab.jsonl"`)
	_, _ = w.Write([]byte(out.String())) // the visitor has left: nobody to tell
	return nil
}

// Export answers with a branch as a file.
func (s *Labs) Export(w http.ResponseWriter, r *http.Request) error {
	format, err := shell.FormatOf(r)
	if err != nil {
		return err
	}
	st, b, err := s.branch(r)
	if err != nil {
		return err
	}
	cures := page.NewLabCures(words.From(r.Context()).Plain(), lab.BrokenIn(b.Header, b.Events))
	return s.AnswerFile(w, r, format, export.Run{Header: b.Header, Events: b.Events, Scenario: st.Scenario, Cures: cures}, link.Contents{})
}
