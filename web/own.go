package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"relock/engine/explore"
	"relock/engine/explore/card"
	"relock/engine/ownlock"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/site"
	"relock/web/site/turn"
	"relock/web/templates"
	"relock/web/words"
)

// judgedJSON is what a search says of a lock of one's own.
type judgedJSON struct {
	Broken    string           `json:"broken"` // how many orders break a rule, "0" for none
	All       string           `json:"all"`    // how many were tried
	Sound     bool             `json:"sound"`  // none breaks a rule, all were tried, and each thread can get in
	Failed    bool             `json:"failed,omitempty"`
	Link      string           `json:"link,omitempty"`      // opens the editor, which judges it again within the same bounds
	Unreached map[string][]int `json:"unreached,omitempty"` // lines with a command that no order came by, by call
}

// mistakeJSON is where a script was found wrong when it ran.
type mistakeJSON struct {
	Call string `json:"call"`
	Line int    `json:"line"` // of the script, 0 if it is not known
}

// mistaken returns what is wrong with a script of one's own, if err is that.
func mistaken(err error) *ownlock.Mistake {
	var m *ownlock.Mistake
	if errors.As(err, &m) {
		return m
	}
	return nil
}

// mistakeOf returns where a script is wrong, nil if err is about something else.
func mistakeOf(err error) *mistakeJSON {
	if m := mistaken(err); m != nil {
		return &mistakeJSON{m.Call, m.Line}
	}
	return nil
}

// toldMistake tells who asked for a search what is wrong with a script.
func (r *reader) toldMistake(x *exploration, m *ownlock.Mistake) error {
	html, err := templates.Text(r.l, templates.Found(page.Found{Ending: r.l.Sentence(m.Says())}))
	if err != nil {
		return err
	}
	return r.tell(x, toldBySearch{
		Mistake:  &mistakeJSON{m.Call, m.Line},
		Explored: &exploredJSON{Found: html, Judged: &judgedJSON{Failed: true}},
	})
}

// newJudged is what a search has found of the lock of a scenario.
func newJudged(sc *scenario.Scenario, s *explore.Space) *judgedJSON {
	j := &judgedJSON{
		Broken: page.Grouped(s.Broken()), All: page.Grouped(s.Schedules()),
		Sound: s.Ending() == explore.Exhausted && s.Broken().Sign() == 0 && !page.Useless(s), Unreached: map[string][]int{},
	}
	for _, u := range s.Unreached() {
		call := strings.TrimSuffix(u.Script, ".lua")
		for _, line := range u.Lines {
			j.Unreached[call] = append(j.Unreached[call], line.Number)
		}
	}
	open, err := link.Encode(link.State{Scenario: sc.WithSchedule(nil)})
	if err == nil && len(open) <= link.MaxPacked { // else it is shared as a file
		b, kinds := s.Bounds(), ""
		if b.MaxFaults > 0 && len(b.Kinds) < len(sc.StrikeKinds()) { // else all
			kinds = "&kinds=" + strings.Join(b.Kinds, ",")
		}
		j.Link = fmt.Sprintf("/edit?delays=%d&faults=%d%s#%s", b.Delays, b.MaxFaults, kinds, open)
	}
	return j
}

// withLinks gives each broken rule the address of its smallest order, as far as that
// fits into a link.
func withLinks(f *page.Found, sc *scenario.Scenario, rules []explore.Rule) error {
	for i, r := range rules {
		open, err := playAddress(sc.WithSchedule(r.Schedule), cmp.Or(max(r.Lost, 0), len(r.Schedule)))
		if err != nil {
			return err
		}
		f.Rules[i].Link = open
	}
	return nil
}

// playAddress is where a scenario is shown after so many of its moves, "" where it
// is too large for an address.
func playAddress(sc *scenario.Scenario, at int) (string, error) {
	open, err := link.Encode(link.State{Scenario: sc, At: at})
	if err != nil {
		return "", fmt.Errorf("web: %w", err)
	}
	if len(open) > link.MaxPacked {
		return "", nil
	}
	return "/play#" + open, nil
}

// judging does what searches a lock of one's own for the page that r asks for: after
// the searches before it, while nobody else wants a turn, and as long as a page may
// search. It counts as a start, and holds so many states while it works. Where the
// visitor has left, it has done nothing, and there is no error.
func (s *Server) judging(r *http.Request, states int, judge func(ctx context.Context) error) error {
	address := site.Address(r)
	if err := s.pages.starts.Allow(address); err != nil {
		return site.OfLimit(err)
	}
	if err := s.inSearch(r.Context(), site.SeatOf(r), address, states, judge); err != nil {
		return notShown(r, err, "That cannot be judged")
	}
	return nil
}

// inSearch judges own scripts for somebody who waits without the turn of seat: after
// the searches of theirs before it, while nobody else wants a turn, and as long as a
// page may search. It holds so many states while it works, and none while it waits.
func (s *Server) inSearch(ctx context.Context, seat *turn.Seat, whose string, states int, search func(ctx context.Context) error) error {
	place, err := s.searches.queue(whose, seat.Whose())
	if err != nil {
		return err
	}
	defer place.leave()
	seat.Away(ctx, func() {
		var done func()
		if done, err = place.take(ctx); err != nil {
			return
		}
		defer done()
		account := s.spaces.Open(whose)
		defer account.Close()
		if err = account.Hold(states * stateGoingBytes); err != nil {
			return
		}
		spare := s.Turns.SeatSpare(seat.Whose())
		defer spare.Done()
		within, cancel := context.WithTimeoutCause(pause.With(ctx, spare), searchLongest, errSearched)
		defer cancel()
		err = search(within)
	})
	return err
}

// ownCard is the report card of a lock of one's own: what one fault can do to it.
func (s *editorPages) ownCard(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(w, r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	e := s.edited(l, values, "")
	sc, err := scenario.Parse([]byte(e.Text))
	if err == nil && e.Problem == "" && sc.Lock.Own() {
		e.Problem = e.NoBox
	}
	if err != nil || e.Problem != "" {
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	if !sc.Lock.Own() { // that is made already
		http.Redirect(w, r, "/locks?lock="+url.QueryEscape(sc.Lock.Protocol)+"&beside=#card", http.StatusSeeOther)
		return nil
	}
	var made *card.Card
	err = s.server.judging(r, card.MaxStates, func(ctx context.Context) (err error) {
		made, err = card.Make(ctx, sc.Lock, card.Options{Delays: card.Delays, Workers: 1})
		return err
	})
	if err != nil || made == nil {
		return err
	}
	p := page.OwnCard{Page: s.frame(r, l.Say("Report card")), Title: sc.Title, Text: e.Text, Card: page.NewCardTable(l, made), Legend: page.CardLegend(l)}
	p.Page.Path = "/edit"
	p.Broken = p.Card.Broken(l, 0)
	if err := p.Card.Lead(func(cell string) (string, error) {
		shown, err := made.Example(made.Named(cell))
		if err != nil {
			return "", fmt.Errorf("web: %w", err)
		}
		return playAddress(shown, len(shown.Schedule))
	}); err != nil {
		return err
	}
	picture, err := export.CardPicture(r.Context(), l, cmp.Or(sc.Title, l.Say("Report card of your lock")), p.Card, s.Static.PictureStyle())
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	p.Picture = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture)
	return site.Render(r.Context(), w, http.StatusOK, templates.OwnCardPage(p))
}

// noBox says why locks of one's own are not run here, "" where they are.
func (s *Server) noBox(l words.Language) string {
	switch {
	case s.box != nil:
		return ""
	case s.boxless == nil:
		return l.Say("This server does not run your own scripts. In your own terminal it works: playground explore FILE.")
	default:
		return l.Say("This server does not run your own scripts, because nothing would confine them: %s. In your own terminal it works: playground explore FILE.", s.boxless.Error())
	}
}
