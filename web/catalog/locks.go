package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"relock/engine/explore/card"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/lessons/advice"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// Locks is the page of all locks.
func (s *Pages) Locks(w http.ResponseWriter, r *http.Request) error {
	say := words.From(r.Context())
	p := page.Locks{Intro: say.Say("Each is a real implementation on the same stage. Some are here to show how they fail.")}
	p.Page = s.Frame(r, say.Say("The locks"))
	if err := s.chosenCards(r, &p); err != nil {
		return err
	}
	var err error
	if p.Libraries, err = page.NewLibraries(say); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	for _, known := range exhibit.All() {
		l, err := lockOf(say, known)
		if err != nil {
			return err
		}
		p.List = append(p.List, l)
	}
	p.Which = which(advice.Read(r.URL.Query()), p.List)
	return site.Render(r.Context(), w, http.StatusOK, templates.LocksPage(p))
}

// lockOf is a lock with its report card.
func lockOf(l words.Language, known *protocol.Protocol) (page.Lock, error) {
	c, err := card.Of(known.Name)
	if err != nil {
		return page.Lock{}, fmt.Errorf("catalog: %w", err)
	}
	one := page.Lock{Name: known.Name, Summary: l.Say(known.Summary), Card: page.NewCardTable(l, c)}
	one.Tally = one.Card.Tally(l, 0)
	return one, nil
}

// Lock is the page that says what one lock guarantees and where it fails.
func (s *Pages) Lock(w http.ResponseWriter, r *http.Request) error {
	all := exhibit.All()
	at := slices.IndexFunc(all, func(p *protocol.Protocol) bool { return p.Name == r.PathValue("lock") })
	if at < 0 {
		return site.ErrNoPage
	}
	texts, err := lessons.Protocols()
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	say := words.From(r.Context())
	groups, err := shell.Shelves(say)
	if err != nil {
		return err
	}
	p := page.LockPage{Page: s.Frame(r, all[at].Name), Legend: page.CardLegend(say)}
	if p.Lock, err = lockOf(say, all[at]); err != nil {
		return err
	}
	p.Lock.Source, p.Lock.Guarantees, p.Lock.Holes = say.Say(texts[at].Source), say.Each(texts[at].Guarantees), say.Each(texts[at].Holes)
	p.Lock.Examples = s.playedOn(all[at].Name, groups)
	return site.Render(r.Context(), w, http.StatusOK, templates.LockPage(p))
}

// which answers "Which lock do I use?" once all questions are answered.
func which(given advice.Answers, list []page.Lock) page.Which {
	w := page.Which{Questions: advice.Questions(), Answers: given}
	if !given.Complete() {
		return w
	}
	to := advice.To(given)
	w.Advice = &to
	if i := slices.IndexFunc(list, func(l page.Lock) bool { return to.Protocol != nil && l.Name == to.Protocol.Name }); i >= 0 {
		w.Lock = &list[i]
	}
	return w
}

// The locks whose cards are in one unless somebody asks for others: ours, and the
// article's.
const firstCard, secondCard = "reentrant", "reentrant-naive"

// CardPicture answers with the cards that the address names as one picture.
func (s *Pages) CardPicture(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context()).Plain() // it is a file
	r = r.WithContext(words.With(r.Context(), l))
	var p page.Locks
	if err := s.chosenCards(r, &p); err != nil {
		return err
	}
	title := l.Say("Report card of %s", l.List(phrase.Names(p.Both.Locks)))
	picture, err := export.CardPicture(r.Context(), l, title, p.Both, s.Static.PictureStyle())
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", export.SVG.MediaType())
	h.Set("Content-Language", l.Code())
	h.Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(picture)
	return nil
}

// chosenCards lays out the cards that the address names, in one table.
func (s *Pages) chosenCards(r *http.Request, p *page.Locks) error {
	say := words.From(r.Context())
	query := r.URL.Query()
	p.First, p.Second = firstCard, secondCard
	if p.Cards = query.Has("lock") || query.Has("beside"); p.Cards {
		p.First, p.Second = cmp.Or(query.Get("lock"), firstCard), query.Get("beside")
	}
	if p.Second == p.First {
		p.Second = ""
	}
	var cards []*card.Card
	for _, name := range []string{p.First, p.Second} {
		if name == "" {
			continue
		}
		c, err := card.Of(name)
		if errors.Is(err, card.ErrProtocol) {
			return site.Explained(http.StatusBadRequest, "There is no such report card", card.ErrProtocol)
		}
		if err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
		cards = append(cards, c)
	}
	p.Both, p.Legend = page.NewCardTable(say, cards...), page.CardLegend(say)
	for i := range cards {
		p.Broken = append(p.Broken, p.Both.Broken(say, i))
	}
	return nil
}

// Cell opens the example of a cell of a lock's report card.
func (s *Pages) Cell(w http.ResponseWriter, r *http.Request) error {
	c, err := card.Of(r.PathValue("lock"))
	if errors.Is(err, card.ErrProtocol) {
		return site.ErrNoPage
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	cell := c.Named(r.PathValue("cell"))
	if cell == nil {
		return site.ErrNoPage
	}
	sc, err := c.Example(cell)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	open, err := link.Encode(link.Contents{Scenario: sc, At: len(sc.Schedule)})
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	http.Redirect(w, r, "/play#"+open, http.StatusSeeOther)
	return nil
}

// playedOn returns the gallery's scenarios with a lock, in the gallery's order.
// Heartbeats have none.
func (s *Pages) playedOn(protocol string, groups []page.Group) []page.Example {
	var list []page.Example
	for _, g := range groups {
		for _, e := range g.Exhibits {
			if slices.ContainsFunc(s.Examples, func(x shell.Example) bool {
				return x.Name == e.Name && x.Scenario().Lock.Protocol == protocol && x.Scenario().Kind != scenario.KindHeartbeat
			}) {
				list = append(list, page.Example{Name: e.Name, Title: e.Title})
			}
		}
	}
	return list
}
