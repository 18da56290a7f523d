package export

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"relock/engine/bound"
	"relock/web/runs"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/words"
)

// filmCopy is a film in a language, as js/file.js reads it.
type filmCopy struct {
	Code      string            `json:"code"`
	Direction string            `json:"direction"`
	Title     string            `json:"title"`
	Words     map[string]string `json:"words"`
	Body      string            `json:"body"`
	Shown     *runs.Replay      `json:"shown"`
	Lanes     map[int]string    `json:"lanes"`
}

// writeHTML writes the film as a page that needs nothing else: no server, no network. It is in
// every language, the run's first, and packed.
func writeHTML(b *bound.Buffer, r Run) error {
	files, err := static.New()
	if err != nil {
		return err //nolint:wrapcheck // it says what it could not do
	}
	languages := []words.Language{r.Language}
	for _, l := range words.All() {
		if l.Code() != r.Language.Code() {
			languages = append(languages, l)
		}
	}
	var copies []filmCopy
	for _, l := range languages {
		c, err := r.copyIn(b, files, l, languages)
		if err != nil {
			return err
		}
		copies = append(copies, c)
	}
	var packed bytes.Buffer
	coder := base64.NewEncoder(base64.StdEncoding, &packed)
	deflated, err := flate.NewWriter(coder, flate.BestCompression)
	if err == nil {
		err = json.NewEncoder(deflated).Encode(copies)
	}
	if err == nil {
		err = deflated.Close()
	}
	if err != nil {
		return fmt.Errorf("pack a film: %w", err)
	}
	if err := coder.Close(); err != nil {
		return fmt.Errorf("pack a film: %w", err)
	}
	style, script := files.OfFilm()
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hashOf(script), hashOf(style))
	text, err := templates.Text(r.Language, templates.FilmFile(copies[0].Title, policy, style, script, packed.String()))
	if err != nil {
		return err //nolint:wrapcheck // it says what it could not do
	}
	_, err = b.WriteString(text)
	return err //nolint:wrapcheck // ErrWritten
}

// hashOf is a text's hash as a policy names it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// copyIn is the film in a language.
func (r Run) copyIn(b *bound.Buffer, files *static.Files, l words.Language, languages []words.Language) (filmCopy, error) {
	made := &runs.Recording{Scenario: r.Scenario, Header: r.Header, Events: slices.Clone(r.Events)}
	title := r.title()
	if l != r.Language {
		of := r
		of.Language, of.Title = l, ""
		title = of.title()
	}
	shown, err := made.Replay(b.Context(), l, title, 0)
	if err != nil {
		return filmCopy{}, err //nolint:wrapcheck // it says what it could not do
	}
	_, script := files.OfFilm()
	said := l.ForScripts()
	maps.DeleteFunc(said, func(text, _ string) bool { return !strings.Contains(script, text) })
	c := filmCopy{Code: l.Code(), Direction: l.Direction(), Title: title, Words: said, Shown: shown}
	if c.Lanes, err = shown.AllLanes(l); err != nil {
		return filmCopy{}, err //nolint:wrapcheck // it says what it could not do
	}
	c.Body, err = templates.Text(l, templates.FileBody(title, r.Link, languages))
	return c, err
}
