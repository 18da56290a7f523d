package class

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/film"
	"relock/web/lesson"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/words"
)

// Door is where a room's code is entered. A right one leads to its room.
func (s *Pages) Door(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	p := page.RoomDoor{Page: s.Styled(s.SmallFrame(r, l.Say("Join a room")), static.Rooms), Code: r.URL.Query().Get("code")}
	p.Page.Preview = &page.Preview{Title: p.Page.Title, Shows: roomShows(l), Address: s.Origin(r) + "/room"}
	if p.Code == "" {
		return site.Render(r.Context(), w, http.StatusOK, templates.RoomDoorPage(p))
	}
	r.SetPathValue("code", p.Code)
	found, err := s.roomOf(r)
	var status *site.Error
	switch {
	case err == nil:
		http.Redirect(w, r, "/room/"+found.Code(), http.StatusSeeOther) //nolint:gosec // a code has letters and digits only
		return nil
	case !errors.As(err, &status) || site.AsksForJSON(r):
		return err
	}
	if status.Limit != "" {
		s.NoteRefusal(r.Context(), site.Address(r), status.Limit)
	}
	p.Problem = status.Text(l)
	return site.Render(r.Context(), w, status.Status, templates.RoomDoorPage(p))
}

// roomShows is what other sites say of a link to a room.
func roomShows(l words.Language) string {
	return l.Say("A class around one lock: be a thread, and say what happens next. Nobody asks for your name: you get a nickname.")
}

// Propose says what a room would be around, and makes it by one press.
func (s *Pages) Propose(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	from := r.URL.Query().Get("from")
	p := page.RoomNew{Page: s.Styled(s.Frame(r, l.Say("Make a room"), "js/room-new.js"), static.Rooms), From: from}
	for _, w := range workshops() {
		if w.fits(s.plans.course()) {
			p.Lessons = append(p.Lessons, page.RoomLesson{Name: w.name, Title: w.lesson.Title.In(l), Steps: len(w.lesson.Steps), Minutes: w.lesson.Before(len(w.lesson.Steps))})
		}
	}
	if sent := r.URL.Query().Get("lesson"); sent != "" {
		plan, err := s.plans.read(r.Context(), l, sent)
		if err != nil {
			return noPlan(err)
		}
		plan.Page = s.Styled(s.Frame(r, plan.Heading), static.Rooms)
		return site.Render(r.Context(), w, http.StatusOK, templates.LessonPlanPage(*plan))
	}
	if from == "" {
		return site.Render(r.Context(), w, http.StatusOK, templates.RoomNewPage(p))
	}
	isExample := slices.ContainsFunc(s.Examples, func(e shell.Example) bool { return e.Name == from })
	item, isItem := s.plans.course().Item(from)
	var err error
	var plan board.Plan
	switch {
	case isExample:
		exhibit, err := shell.ExhibitOf(from)
		if err != nil {
			return err
		}
		p.Field, p.Title, p.Shows = "example", l.Say(exhibit.Title), l.Say(exhibit.Shows)
		if plan, err = s.plans.planOf(r.Context(), lesson.Place{Example: from}); err != nil {
			return noPlan(err)
		}
	case isItem:
		p.Field, p.Title = "item", item.Title(l)
		plan, err = s.plans.planOf(r.Context(), lesson.Place{Item: from})
	default:
		p.Field = "link"
		if plan, err = s.plans.planOf(r.Context(), lesson.Place{Link: from}); err == nil {
			p.Title = shell.TitleOf(l, plan.Scenario)
		}
	}
	if err != nil {
		return noPlan(err)
	}
	p.Threads = film.NewScenario(l, plan.Scenario).Threads
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomNewPage(p))
}

// Phone is the page of who plays a thread, and of who watches.
func (s *Pages) Phone(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	p, err := s.roomPage(r, found, page.RoomPlayer, "")
	if err != nil {
		return err
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomPhonePage(*p))
}

// Host is the page of a host. The link for co-hosts makes one of anybody who
// opens it.
func (s *Pages) Host(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	if key := r.URL.Query().Get("key"); key != "" {
		if !hosts(found, key) {
			return errNotHost
		}
		s.setHost(w, r, found.Code(), key)
		http.Redirect(w, r, "/room/"+found.Code()+"/host", http.StatusSeeOther) //nolint:gosec // as above
		return nil
	}
	secret := site.Cookie(r, hostCookie(found.Code()))
	if !hosts(found, secret) {
		return errNotHost
	}
	p, err := s.roomPage(r, found, page.RoomHost, secret)
	if err != nil {
		return err
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomBoardPage(*p))
}

// Stage is what the projector shows. Its keys act where a host has opened
// it.
func (s *Pages) Stage(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	p, err := s.roomPage(r, found, page.RoomStage, site.Cookie(r, hostCookie(found.Code())))
	if err != nil {
		return err
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomBoardPage(*p))
}

// Framed is a stage in somebody's page. It is for everybody and leads nobody, whoever
// asks.
func (s *Pages) Framed(w http.ResponseWriter, r *http.Request) error {
	found, err := s.roomOf(r)
	if err != nil {
		return err
	}
	p, err := s.roomPage(r, found, page.RoomStage, "")
	if err != nil {
		return err
	}
	p.Embedded = true
	return site.Render(r.Context(), w, http.StatusOK, templates.RoomBoardPage(*p))
}

// roomPage returns what the pages of a room have in common. They lead where the secret is
// a host's.
func (s *Pages) roomPage(r *http.Request, found *board.Room, part page.RoomPart, secret string) (*page.Room, error) {
	l := words.From(r.Context())
	var sc *scenario.Scenario
	var title string
	scene := 0
	if err := found.Look(func(v board.View) error {
		sc, scene = v.Run.Scenario(), len(v.State.Earlier)
		title = titleOf(l, v.State.Scene, sc)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	p := &page.Room{Code: found.Code(), Part: part, Title: title, Scene: scene, Reach: s.ReachOf(r), Leads: hosts(found, secret)}
	p.Page = s.roomFrame(r, title, found.Code(), part)
	origin := s.Origin(r)
	if p.Reach.Alone && len(p.Reach.Addresses) > 0 {
		origin = p.Reach.Addresses[0]
	}
	p.Join = origin + "/room/" + p.Code
	_, short, _ := strings.Cut(origin, "://")
	p.JoinShort = short + "/room"
	p.Play.Viewer = page.Viewer{Scenario: film.NewScenario(l, sc), Steps: p.Leads, Room: true, Standing: page.Before(l, sc)}
	p.Play.Viewer.Scenario.Bare = true
	p.Page.Preview = &page.Preview{Title: l.Say("Join the class: %s", p.Page.Title), Shows: roomShows(l), Address: p.Join}
	if part == page.RoomPlayer {
		return p, nil
	}
	p.Play.SetFaults(l)
	p.Play.Viewer.Scripts = film.Scripts(l, sc)
	p.Play.Viewer.Lanes = runs.LanesAround(l, film.New(l, sc, nil).Lanes(), 0)
	if p.Leads {
		p.Play.SetLocks(l)
		var err error
		if p.Play.Gallery, err = shell.Shelves(l); err != nil {
			return nil, err
		}
		// Those who came by that link hand it on.
		key := board.CoHost(secret)
		if !hosts(found, key) {
			key = secret
		}
		p.Framed = origin + "/embed/room/" + p.Code + "/stage"
		p.CoHost = origin + "/room/" + p.Code + "/host?key=" + key
	}
	return p, nil
}

// partNames are what the parts' pages are called.
var partNames = map[page.RoomPart]phrase.Text{page.RoomHost: "host", page.RoomStage: "stage"}

// roomFrame returns what surrounds a page of a room. A phone gets little: it
// may be on a slow line. A stage looks like one unless its address says
// otherwise.
func (s *Pages) roomFrame(r *http.Request, title, code string, part page.RoomPart) page.Page {
	l := words.From(r.Context())
	if title == "" {
		title = l.Say("Your scenario")
	}
	title += " · " + code
	if name, ok := partNames[part]; ok {
		title += " · " + l.Say(name)
	}
	p := s.Frame(r, title)
	if part == page.RoomPlayer {
		p.Styles = []string{s.Static.Path(static.Phone)}
		s.Scripted(&p, "js/room-phone.js")
	} else {
		p = s.Styled(p, static.Rooms)
		s.Scripted(&p, "js/room.js")
	}
	if part == page.RoomStage && !slices.Contains(site.Themes, r.URL.Query().Get("theme")) {
		p.Theme = "stage"
		for i := range p.Themes {
			p.Themes[i].Current = p.Themes[i].Name == p.Theme
		}
	}
	return p
}
