package web

import (
	"net/http"
	"slices"

	"relock/web/static"
	"relock/web/view"
)

// roomFrame returns what surrounds a page of a room. A phone gets little: it
// may be on a slow line. A stage looks like one unless its address says
// otherwise.
func (s *Server) roomFrame(r *http.Request, title string, part view.RoomPart) view.Page {
	p := s.frame(r, title)
	script, sheet := "js/room.js", static.Rooms
	if part == view.RoomPlayer {
		script, sheet = "js/room-phone.js", static.Phone
	}
	p.Script, p.Preloads, p.Style = static.Prefix+script, s.static.Needs(script), s.static.Style(sheet)
	if part == view.RoomStage && !slices.Contains(themes, r.URL.Query().Get("theme")) {
		p.Theme = "stage"
		for i := range p.Themes {
			p.Themes[i].Current = p.Themes[i].Name == p.Theme
		}
	}
	return p
}
