package catalog

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/words"
)

// The size of an embed if nobody asks for a smaller one, in CSS pixels.
const (
	embedWidth  = 800
	embedHeight = 480
)

// oembedJSON is the answer that oembed.com defines for a page that can be
// framed.
type oembedJSON struct {
	Version      string `json:"version"`
	Type         string `json:"type"`
	Title        string `json:"title"`
	ProviderName string `json:"provider_name"`
	ProviderURL  string `json:"provider_url"`
	HTML         string `json:"html"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
}

// OEmbed answers how another site can frame what an address of this site shows.
func (s *Links) OEmbed(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if f := query.Get("format"); f != "" && f != "json" {
		return site.Refuse(http.StatusNotImplemented, "There is no such format", "Only JSON is served here: format=json.")
	}
	width, err := within(query.Get("maxwidth"), embedWidth)
	if err != nil {
		return err
	}
	height, err := within(query.Get("maxheight"), embedHeight)
	if err != nil {
		return err
	}
	u, err := url.Parse(query.Get("url"))
	if err != nil || !s.Owns(r, query.Get("url")) {
		return errNotFramed
	}
	at, err := s.subject(r, s.Languages.Match(u.Query().Get("lang"), words.From(r.Context()).Code()), u)
	if err != nil {
		return err
	}
	origin := u.Scheme + "://" + u.Host
	if s.Public() != nil {
		origin = s.Public().String()
	}
	answer := oembedJSON{
		Version: "1.0", Type: "rich", Title: at.title, ProviderName: "Relock", ProviderURL: origin + "/", Width: width, Height: height,
		HTML: fmt.Sprintf(`<iframe src="%s" title="%s" loading="lazy" width="%d" height="%d" sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>`,
			html.EscapeString(origin+at.embed), html.EscapeString(at.title), width, height),
	}
	site.AnswerJSON(w, http.StatusOK, answer)
	return nil
}

var errNotFramed = site.Refuse(http.StatusNotFound, "That cannot be framed", "Other sites can only frame addresses of this site under /play and /s.")

// within returns a length in pixels: usual, or less if less is asked for.
func within(asked string, usual int) (int, error) {
	if asked == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(asked)
	if err != nil || n < 1 {
		return 0, site.Refuse(http.StatusBadRequest, "That is not a size", "maxwidth and maxheight are whole numbers of pixels, from 1.")
	}
	return min(n, usual), nil
}

// subject is what a stepping page shows when it is opened.
type subject struct {
	title string
	shows string // in one line
	embed string // the embed that shows the same: path, query and fragment
}

// isLink matches a fragment that is meant to be a link.
var isLink = regexp.MustCompile(`^v\d+\.`)

// subject returns what an address under /play or /s shows, in l, for who sent
// r. It fails with a page to answer with.
func (s *Links) subject(r *http.Request, l words.Language, u *url.URL) (subject, error) {
	sc, err := s.shownAt(r, u)
	if err != nil {
		return subject{}, err
	}
	at := subject{
		title: shell.TitleOf(l, sc), embed: "/embed" + u.EscapedPath(),
		shows: l.Say("Goroutines take a real lock, with its real Lua scripts, on miniredis, a Redis inside this server. Every command that it ran is a line you can stop at, with the hash right after it. Then break it, go back, and try another order."),
	}
	if at.title == "" {
		at.title = l.Say("Your scenario")
	}
	groups, err := shell.Shelves(l)
	if err != nil {
		return subject{}, err
	}
	for _, g := range groups {
		for _, e := range g.Exhibits {
			if e.Title == at.title {
				at.shows = e.Shows
			}
		}
	}
	kept := url.Values{}
	for _, setting := range []string{"lang", "theme"} {
		if v := u.Query().Get(setting); v != "" {
			kept.Set(setting, v)
		}
	}
	if len(kept) > 0 {
		at.embed += "?" + kept.Encode()
	}
	if isLink.MatchString(u.Fragment) {
		at.embed += "#" + u.EscapedFragment()
	}
	return at, nil
}

// shownAt returns the scenario that an address shows, for who sent r. A fragment
// takes precedence over the path.
func (s *Links) shownAt(r *http.Request, u *url.URL) (*scenario.Scenario, error) {
	name, isExample := strings.CutPrefix(u.Path, "/play/")
	id, isKept := strings.CutPrefix(u.Path, "/s/")
	text := ""
	found := s.Examples[0].Scenario()
	switch {
	case u.Path == "/play":
	case isExample:
		n := slices.IndexFunc(s.Examples, func(e shell.Example) bool { return e.Name == name })
		if n < 0 {
			return nil, errNotFramed
		}
		found = s.Examples[n].Scenario()
	case isKept:
		kept, err := s.findLink(r, id)
		if errors.Is(err, keep.ErrNotKept) {
			return nil, errNotFramed
		}
		if err != nil {
			return nil, s.NotKept(r, err)
		}
		text = kept
	default:
		return nil, errNotFramed
	}
	if isLink.MatchString(u.Fragment) {
		text = u.Fragment
	}
	if text == "" {
		return found, nil
	}
	if !strings.Contains(text, "~") {
		text += "~0"
	}
	state, err := link.Decode(text)
	if err != nil {
		return nil, errNotFramed
	}
	return state.Scenario, nil
}

// preview returns what other sites show of the page that r asks for; nil if the page
// shows nothing to preview.
func (s *Links) preview(r *http.Request) *page.Preview {
	at, err := s.subject(r, words.From(r.Context()), &url.URL{Path: r.URL.Path})
	if err != nil {
		return nil // the page says why
	}
	address := s.Origin(r) + (&url.URL{Path: r.URL.Path}).String()
	return &page.Preview{
		Title: at.title, Shows: at.shows, Address: address,
		OEmbed: s.Origin(r) + "/oembed?" + url.Values{"url": {address}, "format": {"json"}}.Encode(),
	}
}
