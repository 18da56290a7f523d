package export

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"relock/engine/bound"
	"relock/lessons"
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
		return err
	}
	style, script := files.OfFilm()
	languages := []words.Language{r.Language}
	for _, l := range words.All() {
		if l.Code() != r.Language.Code() {
			languages = append(languages, l)
		}
	}
	var copies []any
	for _, l := range languages {
		c, err := r.copyIn(b, script, l, languages)
		if err != nil {
			return err
		}
		copies = append(copies, c)
	}
	var packed bytes.Buffer
	coder := base64.NewEncoder(base64.StdEncoding, &packed)
	deflated, err := flate.NewWriter(coder, flate.BestCompression)
	if err == nil {
		err = json.NewEncoder(deflated).Encode(woven(copies))
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
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hashOf(script), hashOf(style))
	text, err := templates.Text(r.Language, templates.FilmFile(r.titleIn(r.Language), policy, style, script, packed.String()))
	if err != nil {
		return err
	}
	_, err = b.WriteString(text)
	return err
}

// hashOf is a text's hash as a policy names it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// woven are copies with what they have in common side by side, where that packs best: of objects
// with the same names an object, of lists of one length {"#": […]}, and a list of anything else,
// of one where all are the same. Each copy is what JSON has.
func woven(copies []any) any {
	switch first := copies[0].(type) {
	case map[string]any:
		out := map[string]any{}
		for name := range first {
			if side, ok := each(copies, func(m map[string]any) (any, bool) { v, ok := m[name]; return v, ok && len(m) == len(first) }); ok {
				out[name] = woven(side)
			}
		}
		if len(out) == len(first) && len(out) > 0 {
			return out
		}
	case []any:
		var out []any
		for i := range first {
			if side, ok := each(copies, func(list []any) (any, bool) { return list[min(i, len(list)-1)], len(list) == len(first) }); ok {
				out = append(out, woven(side))
			}
		}
		if len(out) == len(first) && len(out) > 0 {
			return map[string]any{"#": out}
		}
	case string:
		if !slices.ContainsFunc(copies, func(c any) bool { return c != copies[0] }) {
			return copies[:1]
		}
	}
	return copies
}

// each returns part of every copy, and whether all are of the type, and have it.
func each[T any](copies []any, part func(T) (any, bool)) ([]any, bool) {
	var side []any
	for _, c := range copies {
		of, is := c.(T)
		if !is {
			return nil, false
		}
		v, has := part(of)
		if !has {
			return nil, false
		}
		side = append(side, v)
	}
	return side, true
}

// titleIn is the run's title in a language.
func (r Run) titleIn(l words.Language) string {
	if l == r.Language {
		return r.title()
	}
	return cmp.Or(l.Clause(lessons.Title(r.Scenario.Title)), l.Say("Your scenario"))
}

// copyIn is the film in a language, as what JSON has, with the words that the script says.
func (r Run) copyIn(b *bound.Buffer, script string, l words.Language, languages []words.Language) (any, error) {
	made := &runs.Recording{Scenario: r.Scenario, Header: r.Header, Events: r.Events}
	title := r.titleIn(l)
	shown, err := made.Replay(b.Context(), l, title, 0)
	if err != nil {
		return nil, err
	}
	said := l.ForScripts()
	maps.DeleteFunc(said, func(text, _ string) bool { return !strings.Contains(script, text) })
	c := filmCopy{Code: l.Code(), Direction: l.Direction(), Title: title, Words: said, Shown: shown}
	if c.Lanes, err = shown.AllLanes(l); err != nil {
		return nil, err
	}
	shown.Lanes = "" // they are among all
	if c.Body, err = templates.Text(l, templates.FileBody(title, r.Link, languages)); err != nil {
		return nil, err
	}
	var out any
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("a film as JSON: %w", err)
	}
	return out, nil
}
