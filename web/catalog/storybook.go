package catalog

import (
	"net/http"

	"relock/web/site"
	"relock/web/static"
	"relock/web/story"
	"relock/web/words"
)

// Storybook shows every component in its states, for those who work on them.
func (s *Pages) Storybook(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	frame := s.Styled(s.Frame(r, l.Say("Storybook")), static.Rooms)
	shown := story.Page(frame, story.Groups(l), static.Prefix+"dev/story.js")
	return site.Render(r.Context(), w, http.StatusOK, shown)
}
