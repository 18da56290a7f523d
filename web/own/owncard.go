package own

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"relock/engine/explore/card"
	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// OwnCard is the report card of a user's own lock: what one fault can do to it.
func (s *Editor) OwnCard(w http.ResponseWriter, r *http.Request) error {
	values, err := shell.ReadForm(w, r)
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
	err = s.Searches.Judge(r, card.MaxStates, func(ctx context.Context) (err error) {
		made, err = card.Make(ctx, sc.Lock, card.Options{Delays: card.Delays, Workers: 1})
		return err
	})
	if err != nil || made == nil {
		return err
	}
	p := page.OwnCard{Page: s.Frame(r, l.Say("Report card")), Title: sc.Title, Text: e.Text, Card: page.NewCardTable(l, made), Legend: page.CardLegend(l)}
	p.Page.Path = "/edit"
	p.Broken = p.Card.Broken(l, 0)
	if err := p.Card.Lead(func(cell string) (string, error) {
		shown, err := made.Example(made.Named(cell))
		if err != nil {
			return "", fmt.Errorf("own: %w", err)
		}
		return link.PlayAddress(shown, len(shown.Schedule))
	}); err != nil {
		return err
	}
	picture, err := export.CardPicture(r.Context(), l, cmp.Or(sc.Title, l.Say("Report card of your lock")), p.Card, s.Static.PictureStyle())
	if err != nil {
		return fmt.Errorf("own: %w", err)
	}
	p.Picture = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture)
	return site.Render(r.Context(), w, http.StatusOK, templates.OwnCardPage(p))
}
